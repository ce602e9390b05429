// Who may know whom (DESIGN §2): every import of one layer by another must be an
// arrow of this table.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { describe, expect, test } from "vitest";

const src = join(import.meta.dirname, "../src");

/** What each layer may import beside itself. */
const ARROWS: Readonly<Record<string, readonly string[]>> = {
	protocol: [],
	terminal: ["protocol"],
	journal: ["protocol"],
	// A holder that is gone is read from the log it left: the one arrow between neighbours.
	pty: ["protocol", "journal"],
	session: ["protocol", "pty", "terminal", "journal"],
	tools: ["protocol", "pty", "terminal", "journal", "session"],
	daemon: ["protocol", "pty", "terminal", "journal", "session", "tools"],
	mcp: ["protocol", "session", "tools"],
	// The lock on the token file asks whether a process is alive.
	http: ["protocol", "pty", "terminal", "journal", "session", "tools"],
	cli: ["protocol", "pty", "terminal", "journal", "session", "tools"],
	fleet: ["protocol", "pty", "terminal", "journal", "session", "tools"],
};

const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*["']([^"']+)["']/g;

interface Import {
	readonly file: string;
	readonly from: string;
	readonly to: string;
}

/** Imports that cross from one layer to another; files directly in src/ make the parts and may know all. */
function crossings(file: string, text: string): Import[] {
	const from = layerOf(file);
	if (from === null) return [];
	return [...text.matchAll(IMPORT)].flatMap(([, target = ""]) => {
		if (!target.startsWith(".")) return [];
		const path = resolve(file, "..", target);
		// A unit test may use what the other tests use.
		if (file.endsWith(".test.ts") && !path.startsWith(src)) return [];
		const to = layerOf(path) ?? "main";
		return to === from ? [] : [{ file: relative(src, file), from, to }];
	});
}

function layerOf(path: string): string | null {
	const parts = relative(src, path).split(sep);
	return parts.length > 1 ? parts[0]! : null;
}

const isForbidden = ({ from, to }: Import) => !(ARROWS[from] ?? []).includes(to);

describe("the arrows between layers", () => {
	const files = readdirSync(src, { recursive: true, encoding: "utf8" })
		.filter((name) => name.endsWith(".ts"))
		.map((name) => join(src, name));

	test("no layer imports another that it may not know", () => {
		const forbidden = files.flatMap((file) => crossings(file, readFileSync(file, "utf8"))).filter(isForbidden);
		expect(forbidden.map(({ file, to }) => `${file} → ${to}`)).toEqual([]);
	});

	test("every layer is in the table", () => {
		const layers = new Set(files.map(layerOf).filter((layer) => layer !== null));
		expect([...layers].filter((layer) => !(layer in ARROWS))).toEqual([]);
	});

	test("this test can fail", () => {
		const bad = crossings(
			join(src, "protocol/x.ts"),
			'import { a } from "../pty/pty.ts";\nawait import("../main.ts");',
		);
		expect(bad.filter(isForbidden).map(({ to }) => to)).toEqual(["pty", "main"]);
	});
});

describe("the boundary to the outside (G2)", () => {
	/** Layers whose connections, upgrades and messages come from outside. */
	const GUARDED = ["daemon"];
	/** Reads only what our own child prints. */
	const EXEMPT = ["start.ts"];
	const HANDLER =
		/(?:\.(?:on|once|prependListener)\(\s*"(?:data|connection|upgrade|request|message|line|change)",|\bcreateServer\(|\bwatch\(\w+,)\s*(?!guarded\b|check\b)(?=\S)/g;

	const unguarded = (text: string) => text.match(HANDLER) ?? [];

	test("handlers of connections and messages are registered through it", () => {
		for (const layer of GUARDED) {
			const files = readdirSync(join(src, layer)).filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
			for (const name of files.filter((file) => !EXEMPT.includes(file))) {
				expect(unguarded(readFileSync(join(src, layer, name), "utf8")), `${layer}/${name}`).toEqual([]);
			}
		}
	});

	test("this check finds a handler that is not", () => {
		expect(unguarded('socket.on("data", (chunk) => read(chunk));')).toHaveLength(1);
		expect(unguarded("createServer((socket) => serve(socket));")).toHaveLength(1);
		expect(unguarded('socket.on(\n"data",\nguarded("x", read))')).toEqual([]);
	});
});

describe("one wait (S2)", () => {
	// A promise that is settled from elsewhere, a race, a listener on a signal: each needs an undoing on every way out.
	const BY_HAND =
		/\bnew Promise\b|\bPromise\.(?:race|any|withResolvers)\b|\bAbortSignal\.(?:any|timeout)\b|\b(?:add|remove)EventListener\(|\.(?:once|on)\([^\n]*=> clear(?:Timeout|Interval)\(/g;
	/** Where that is allowed, how often, and why. */
	const ALLOWED: Readonly<Record<string, number>> = {
		"pty/wait.ts": 3, // the one
		"pty/deferred.ts": 1, // nothing to undo: whoever owns it settles it
		"http/web-sockets.ts": 1, // the callback of a write
		"mcp/stdio-transport.ts": 1, // the callback of a write
		"mcp/stdio.ts": 1, // ends with the process
	};
	const code = (text: string) => text.replaceAll(/^\s*(?:\/\/|\*|\/\*).*$/gm, "");
	const found = (text: string) => code(text).match(BY_HAND) ?? [];

	test("nothing but wait.ts settles and undoes by itself", () => {
		const counts = readdirSync(src, { recursive: true, encoding: "utf8" })
			.filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
			.map((name) => [name.split(sep).join("/"), found(readFileSync(join(src, name), "utf8")).length] as const)
			.filter(([, count]) => count > 0);
		expect(Object.fromEntries(counts)).toEqual(ALLOWED);
	});

	test("this check finds one that does", () => {
		expect(found("await new Promise<void>((resolve) => { wake = resolve; });")).toHaveLength(1);
		expect(found("await Promise.race([ready, late]);")).toHaveLength(1);
		expect(found('signal.addEventListener("abort", stop);')).toHaveLength(1);
		expect(found('socket.once("close", () => clearTimeout(timer));')).toHaveLength(1);
		expect(found("// new Promise( in a comment")).toEqual([]);
	});
});

describe("the holder's loop", () => {
	/** These run as work, from which another thread takes over the loop (holder/takeover.h). */
	const LOOKS =
		/^(attention|blocked|calls|crowd|descriptor|ends|members|openings|proc|relations|report-facts|risks|set|sharing|sockets|thread)-linux\.c$/;
	/** Reads of /proc for which a process inside execve makes the reader wait; `identity` asks them of a helper. */
	const WAITS =
		/\bproc_(stat|reads|call|memory|wait_channel|program|descriptor\w*|socket_protocol|share|is_shared|numbers_like_us|has_our_mounts|terminal_number)\s*\(/;
	const holder = join(src, "../holder");
	const waitingIn = (text: string) => text.split("\n").filter((line) => WAITS.test(line));

	test("reads nothing of another process that can make it wait", () => {
		const files = readdirSync(holder).filter((name) => name.endsWith(".c") && !LOOKS.test(name));
		expect(files).toContain("tree-linux.c");
		for (const file of files.filter((name) => name !== "identity-linux.c"))
			expect(waitingIn(readFileSync(join(holder, file), "utf8")), file).toEqual([]);
		expect(waitingIn("if (proc_stat(pid, pid, &process)) return;")).toHaveLength(1);
	});
});

describe("the documents", () => {
	const root = join(src, "..");
	const LINK = /\]\((?!https?:|#|mailto:)([^)\s#]+)(?:#[^)\s]*)?\)/g;
	const documents = [root, join(root, "docs")].flatMap((directory) =>
		readdirSync(directory)
			.filter((name) => name.endsWith(".md"))
			.map((name) => join(directory, name)),
	);

	test("link only to what is there: SECURITY.md names the test of each threat", () => {
		const links = documents.flatMap((file) =>
			[...readFileSync(file, "utf8").matchAll(LINK)].map(([, target = ""]) => resolve(file, "..", target)),
		);
		expect(links.length).toBeGreaterThan(50);
		expect(links.filter((path) => !existsSync(path))).toEqual([]);
	});
});

/** What a file loads when it is loaded: not types, nor what it imports later. */
const LOADED = /^(?:import|export)(?!\s+type\b)[^;]*?\bfrom\s*"([^"]+)"|^import\s+"([^"]+)"/gm;

/** All that a file loads, by path or by package. */
function loadedBy(entry: string): ReadonlySet<string> {
	const loaded = new Set<string>();
	const load = (target: string) => {
		if (loaded.has(target)) return;
		loaded.add(target);
		if (!existsSync(target)) return; // a package
		for (const [, from, alone] of readFileSync(target, "utf8").matchAll(LOADED)) {
			const what = (from ?? alone)!;
			load(what.startsWith(".") ? resolve(target, "..", what) : what);
		}
	};
	load(join(src, entry));
	return loaded;
}

describe("issue 15: without a fleet", () => {
	const isOfNats = (target: string) => target.startsWith("@nats-io") || target === "nats";

	test("the library loads nothing of one", () => {
		const loaded = [...loadedBy("index.ts")];
		expect(loaded.length).toBeGreaterThan(50);
		expect(loaded.filter((target) => isOfNats(target) || relative(src, target).startsWith(`fleet${sep}`))).toEqual([]);
	});

	test.each(["serve.ts", "main.ts"])("%s loads no library of its broker", (entry) => {
		const loaded = [...loadedBy(entry)];
		expect(loaded.length).toBeGreaterThan(50);
		expect(loaded.filter(isOfNats)).toEqual([]);
	});

	test("(this test can fail)", () => {
		expect([...loadedBy("fleet/connection.ts")].some(isOfNats)).toBe(true);
	});
});
