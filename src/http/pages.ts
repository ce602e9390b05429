// What a browser is shown: the page and its files as they were built, and the few plain pages
// around the login. All carry the same policy: nothing from elsewhere, no script that is not a file of ours,
// no frame around it.

import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import type { Fault } from "../protocol/fault.ts";

const POLICY = [
	"default-src 'none'",
	"script-src 'self'",
	// xterm.js sets the sizes and colours of its cells by style elements of its own.
	"style-src 'self' 'unsafe-inline'",
	"img-src 'self' data: blob:",
	"font-src 'self' data:",
	"connect-src 'self'",
	"manifest-src 'self'",
	"base-uri 'none'",
	"form-action 'none'",
	"frame-ancestors 'none'",
].join("; ");

/** Of every answer, whatever it is: the page's own has a policy of its own. */
export const HEADERS_OF_ALL = {
	"content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	"referrer-policy": "no-referrer",
	"x-content-type-options": "nosniff",
	"cross-origin-resource-policy": "same-origin",
	"cache-control": "no-store",
} as const;

const HEADERS = {
	"content-security-policy": POLICY,
	"referrer-policy": "no-referrer",
	"x-content-type-options": "nosniff",
	"cross-origin-opener-policy": "same-origin",
	"cross-origin-resource-policy": "same-origin",
};

const TYPES: Readonly<Record<string, string>> = {
	".html": "text/html; charset=utf-8",
	".js": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8",
	".json": "application/json",
	".webmanifest": "application/manifest+json",
	".svg": "image/svg+xml",
	".png": "image/png",
	".ico": "image/x-icon",
	".woff2": "font/woff2",
	".wasm": "application/wasm",
	".txt": "text/plain; charset=utf-8",
	".map": "application/json",
};

/** As the build names them: `index-BX3fk2a9.js`. Another content has another name. */
const HASHED = /-[\w-]{8}\.\w+$/;
const FOR_A_YEAR = "private, max-age=31536000, immutable";
const LIST_EVERY_MS = 1000;

/** The files of the page. An address is looked up among the names that the directory lists, never made into a path. */
export class WebFiles {
	readonly #directory: string;
	#paths: ReadonlyMap<string, string> = new Map();
	#listedAt = Number.NEGATIVE_INFINITY;

	constructor(directory: string) {
		this.#directory = directory;
	}

	/** Null where there is no such file. */
	async answer(address: string): Promise<Response | null> {
		const path = this.#paths.get(address) ?? this.#list().get(address);
		if (path === undefined) return null;
		const content = await readFile(path).catch(() => null); // built anew meanwhile, under other names
		if (content === null) return null;
		const type = TYPES[extname(path)] ?? "application/octet-stream";
		const cache = address.startsWith("/assets/") && HASHED.test(path) ? FOR_A_YEAR : "no-store";
		return new Response(content, { headers: { ...HEADERS, "content-type": type, "cache-control": cache } });
	}

	/** The page may be built while we run. */
	#list(): ReadonlyMap<string, string> {
		if (performance.now() - this.#listedAt < LIST_EVERY_MS) return this.#paths;
		this.#listedAt = performance.now();
		const index = join(this.#directory, "index.html");
		this.#paths = new Map([
			...filesIn(join(this.#directory, "assets")).map(
				(name) => [`/assets/${name}`, join(this.#directory, "assets", name)] as const,
			),
			...(filesIn(this.#directory).includes("index.html") ? [["/", index] as const] : []),
		]);
		return this.#paths;
	}
}

function filesIn(directory: string): readonly string[] {
	try {
		return readdirSync(directory, { withFileTypes: true })
			.filter((entry) => entry.isFile())
			.map(({ name }) => name);
	} catch {
		return []; // not built
	}
}

/** Of the plain pages: one without an icon makes browsers ask for /favicon.ico. As web/icon.svg. */
const ICON = `<link rel="icon" type="image/svg+xml" href="data:image/svg+xml,${encodeURIComponent(
	'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#16181d"/><path d="M8 10l6 6-6 6" fill="none" stroke="#7aa8ff" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"/><path d="M17 22h7" stroke="#e6e9ee" stroke-width="3" stroke-linecap="round"/></svg>',
)}">`;

/** Of the plain pages, which are served to who may not load the page's own files. */
const STYLE =
	"<style>body{margin:18vh auto 0;max-width:34rem;padding:0 1.5rem;font:16px/1.6 system-ui,sans-serif}h1{font-size:1.4rem}code{font:0.95em ui-monospace,monospace}</style>";

interface PlainPage {
	readonly status: 200 | 401 | 404 | 429;
	readonly title: string;
	/** HTML of ours. */
	readonly body: string;
	/** Goes there at once. */
	readonly to?: string;
	/** Loads the same address again, with what the browser alone knows: what is after `#`. */
	readonly again?: boolean;
	readonly headers?: Readonly<Record<string, string>>;
}

function plainPage({ status, title, body, to, again = false, headers = {} }: PlainPage): Response {
	const refresh = to === undefined ? "" : `<meta http-equiv="refresh" content="0;url=${escaped(to)}">`;
	const script = again ? `<script src="/reload.js"></script>` : "";
	const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">${ICON}${STYLE}${refresh}${script}<title>${title}</title></head><body><main>${body}</main></body></html>\n`;
	return new Response(html, { status, headers: { ...HEADERS, "content-type": TYPES[".html"]!, ...headers } });
}

const LOG_IN = "<p>Run <code>dialtone web</code> in a terminal on this machine and open the link that it prints.</p>";

/** `fromElsewhere`: a browser keeps the cookie back when another site's link leads here; our own page asks again with it. */
export const notLoggedIn = ({ fromElsewhere }: { readonly fromElsewhere: boolean }): Response =>
	plainPage({
		status: 401,
		title: "Dialtone: log in",
		body: `<h1>Not logged in</h1>${LOG_IN}`,
		again: fromElsewhere,
	});

// By a script, because a refresh to an address with a fragment loads nothing. Once: a browser may keep the cookie back again.
export const reloadScript = (): Response =>
	new Response('if (performance.getEntriesByType("navigation")[0]?.type !== "reload") location.reload();\n', {
		headers: { ...HEADERS, "content-type": TYPES[".js"]!, "cache-control": "no-store" },
	});

export const badLink = (tooMany: Fault | null): Response =>
	plainPage({
		status: tooMany === null ? 401 : 429,
		title: "Dialtone: this link cannot be used",
		body: `<h1>This link cannot be used</h1><p>It was used before, has expired or was revoked.</p>${LOG_IN}`,
	});

export const notBuilt = (): Response =>
	plainPage({
		status: 404,
		title: "Dialtone: the page is not built",
		body: "<h1>The page is not built</h1><p>Run <code>npm run setup</code> where Dialtone was cloned, and load this again.</p>",
	});

/** To the page, by a page of ours: a cookie that is SameSite=Strict is not sent on a redirect from another site's link. */
export const loggedIn = (fragment: string, headers: Readonly<Record<string, string>>): Response =>
	plainPage({
		status: 200,
		title: "Dialtone",
		body: `<p><a href="/${escaped(fragment)}">Continue</a></p>`,
		to: `/${fragment}`,
		headers,
	});

const escaped = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
