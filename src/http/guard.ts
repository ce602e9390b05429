// Access control, checked on every route and every upgrade: the exact Host,
// no foreign Origin, and a token. DNS rebinding, cross-site WebSockets and simple
// cross-site posts all worked in a real browser against loopback servers without this.
//
// A browser sends the cookie of a page by itself, also for requests that another page makes it
// send: those of other ports of this machine are the same site, so SameSite alone does not stop
// them. Therefore a cookie counts only where the request shows that it is our own page's.

import type { IncomingHttpHeaders } from "node:http";
import { OPEN_PATHS } from "./routes.ts";
import type { TokenRecord } from "./tokens.ts";

export interface AccessPolicy {
	/** The exact values of Host that are ours: `127.0.0.1:17492`, `localhost:17492`. */
	readonly hosts: ReadonlySet<string>;
	/** Over TLS. */
	readonly secure: boolean;
	/** The name of the cookie. Cookies do not know ports, so each server has its own. */
	readonly cookie: string;
	verify(token: string): TokenRecord | null;
}

export interface AccessRequest {
	readonly method: string;
	readonly path: string;
	readonly upgrade: boolean;
	readonly headers: IncomingHttpHeaders;
}

export type Admission =
	| { readonly token: TokenRecord | null; readonly protocol: string | undefined }
	/** `shown`: it came with a token that is not valid. */
	| { readonly refused: 401 | 403; readonly why: string; readonly shown: boolean };

/** Only what is bound is ours: on an unbound ::1, another user's page could be `localhost`. */
export function hostsOf(port: number, { ipv6 }: { ipv6: boolean }): ReadonlySet<string> {
	return new Set([`127.0.0.1:${port}`, ...(ipv6 ? [`localhost:${port}`, `[::1]:${port}`] : [])]);
}

/** The prefix has a browser refuse a cookie of this name that another host or plain HTTP sets. */
export const cookieNameOf = (port: number, secure: boolean): string => `${secure ? "__Host-" : ""}dialtone-${port}`;

/** The same for names of another machine. Browsers leave out the usual port. */
export const hostsNamed = (names: readonly string[], port: number): ReadonlySet<string> =>
	new Set(names.flatMap((name) => [`${name}:${port}`, ...(port === 443 ? [name] : [])]));

export function admit(request: AccessRequest, policy: AccessPolicy): Admission {
	const { host, origin } = request.headers;
	if (host === undefined || !policy.hosts.has(host.toLowerCase()))
		return { refused: 403, why: "this Host is not served here", shown: false };
	if ((origin !== undefined && !isOurs(origin, policy)) || isFromElsewhere(request))
		return { refused: 403, why: "requests from other sites are not served", shown: false };
	if (OPEN_PATHS.has(request.path)) return { token: null, protocol: undefined };
	let shown = false;
	for (const { token, protocol } of tokensIn(request, policy)) {
		const record = policy.verify(token);
		shown = true;
		if (record !== null) return { token: record, protocol };
	}
	return { refused: 401, why: "a valid token is needed", shown };
}

/** What a link elsewhere may lead to: neither does anything by being opened, and neither can be framed. */
const LINKED_PATHS: ReadonlySet<string> = new Set(["/", "/login"]);

/** A browser says that another site, or another port of this machine, makes it send this. */
function isFromElsewhere({ method, path, headers }: AccessRequest): boolean {
	const site = headers["sec-fetch-site"] ?? "none";
	if (site === "none" || site === "same-origin") return false;
	const isOpened = headers["sec-fetch-mode"] === "navigate" && (headers["sec-fetch-dest"] ?? "document") === "document";
	return !(isOpened && method === "GET" && LINKED_PATHS.has(path));
}

/** A page from another port of this machine is another site. "null" is a sandboxed frame. */
function isOurs(origin: string, { hosts, secure }: AccessPolicy): boolean {
	const scheme = schemeOf(secure);
	return origin.startsWith(scheme) && hosts.has(origin.slice(scheme.length).toLowerCase());
}

const schemeOf = (secure: boolean) => (secure ? "https://" : "http://");

function* tokensIn(
	request: AccessRequest,
	policy: AccessPolicy,
): Iterable<{ token: string; protocol: string | undefined }> {
	const { authorization, "sec-websocket-protocol": protocols } = request.headers;
	const bearer = /^Bearer ([\w-]+)$/i.exec(authorization ?? "");
	const offered = request.upgrade ? (protocols ?? "").split(",").map((word) => word.trim()) : [];
	// The server has to choose one of those offered, or a browser closes the socket again.
	const plain = offered.find((word) => word === "dialtone");
	if (bearer !== null) yield { token: bearer[1]!, protocol: plain };
	for (const word of offered)
		if (word !== "" && word !== plain) yield { token: word.replace(/^token\./, ""), protocol: plain ?? word };
	if (isOfOurPage(request, policy)) for (const token of cookiesIn(request, policy)) yield { token, protocol: plain };
}

/** The values of our cookie: whoever can set one for this host can set a second. */
export function cookiesIn({ headers }: Pick<AccessRequest, "headers">, { cookie }: AccessPolicy): readonly string[] {
	const pairs = (headers.cookie ?? "").split(";").map((pair) => pair.trim());
	return pairs.filter((pair) => pair.startsWith(`${cookie}=`)).map((pair) => pair.slice(cookie.length + 1));
}

/**
 * Sent by our own page, or by a person who opens it. Browsers send Origin with every upgrade and everything that changes
 * something, and it must be the very address that is asked: `localhost` is another origin than `127.0.0.1`. What only
 * reads has none from our own page; there Sec-Fetch-Site says whose request it is, as far as a browser knows it.
 */
export function isOfOurPage(
	{ method, path, upgrade, headers }: AccessRequest,
	{ secure }: Pick<AccessPolicy, "secure">,
): boolean {
	const { origin, host = "" } = headers;
	if (origin !== undefined) return origin.toLowerCase() === `${schemeOf(secure)}${host.toLowerCase()}`;
	if (upgrade || (method !== "GET" && method !== "HEAD")) return false;
	const site = headers["sec-fetch-site"] ?? "none";
	// A link elsewhere may lead to the page, which does nothing by being opened and cannot be framed.
	return site === "none" || site === "same-origin" || (path === "/" && headers["sec-fetch-mode"] === "navigate");
}
