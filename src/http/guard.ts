// Access control, checked on every route and every upgrade: the exact Host,
// no foreign Origin, and a token. DNS rebinding, cross-site WebSockets and simple
// cross-site posts all worked in a real browser against loopback servers without this.

import type { TokenRecord } from "./tokens.ts";

export interface AccessPolicy {
	/** The exact values of Host that are ours: `127.0.0.1:17492`, `localhost:17492`. */
	readonly hosts: ReadonlySet<string>;
	verify(token: string): TokenRecord | null;
}

export interface AccessRequest {
	readonly path: string;
	readonly host: string | undefined;
	readonly origin: string | undefined;
	readonly authorization: string | undefined;
	/** Sec-WebSocket-Protocol: the only place where a browser's WebSocket can carry a token. */
	readonly protocols: string | undefined;
}

export type Admission =
	| { readonly token: TokenRecord | null; readonly protocol: string | undefined }
	| { readonly refused: 401 | 403; readonly why: string };

/** Open to every process on this machine: shows only that the server is up. */
const OPEN_PATHS = new Set(["/healthz"]);

/** Only what is bound is ours: on an unbound ::1, another user's page could be `localhost`. */
export function hostsOf(port: number, { ipv6 }: { ipv6: boolean }): ReadonlySet<string> {
	return new Set([`127.0.0.1:${port}`, ...(ipv6 ? [`localhost:${port}`, `[::1]:${port}`] : [])]);
}

export function admit(request: AccessRequest, policy: AccessPolicy): Admission {
	if (request.host === undefined || !policy.hosts.has(request.host.toLowerCase()))
		return { refused: 403, why: "this Host is not served here" };
	if (request.origin !== undefined && !isOurs(request.origin, policy.hosts))
		return { refused: 403, why: "requests from other sites are not served" };
	if (OPEN_PATHS.has(request.path)) return { token: null, protocol: undefined };
	for (const { token, protocol } of tokensIn(request)) {
		const record = policy.verify(token);
		if (record !== null) return { token: record, protocol };
	}
	return { refused: 401, why: "a valid token is needed" };
}

/** A page from another port of this machine is another site. "null" is a sandboxed frame. */
function isOurs(origin: string, hosts: ReadonlySet<string>): boolean {
	return origin.startsWith("http://") && hosts.has(origin.slice("http://".length).toLowerCase());
}

function* tokensIn(request: AccessRequest): Iterable<{ token: string; protocol: string | undefined }> {
	const bearer = /^Bearer ([\w-]+)$/i.exec(request.authorization ?? "");
	const offered = (request.protocols ?? "").split(",").map((word) => word.trim());
	// The server has to choose one of those offered, or a browser closes the socket again.
	const plain = offered.find((word) => word === "dialtone");
	if (bearer !== null) yield { token: bearer[1]!, protocol: plain };
	for (const word of offered)
		if (word !== "" && word !== plain) yield { token: word.replace(/^token\./, ""), protocol: plain ?? word };
}
