// The listening sockets: loopback, or an address that was named, over TLS. HTTP through the app, WebSocket upgrades
// through the same guard. Whatever a connection does ends nothing but itself.

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer as createNetServer, type Server as NetServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import { type WebSocket, WebSocketServer } from "ws";
import { guarded } from "../protocol/boundary.ts";
import { Fault } from "../protocol/fault.ts";
import { reportError } from "../protocol/listeners.ts";
import { Connections } from "../pty/connections.ts";
import { type Options, resolveOptions } from "../session/options.ts";
import { ScopedSessions } from "../tools/scoped.ts";
import { type HttpParts, httpApp, refusal, resumeAt } from "./app.ts";
import { BadTokens } from "./bad-tokens.ts";
import { Bodies } from "./bodies.ts";
import { admit, cookieNameOf, hostsNamed, hostsOf } from "./guard.ts";
import { HEADERS_OF_ALL } from "./pages.ts";
import { queueRequest } from "./responses.ts";
import { may, mustBeAllowed } from "./roles.ts";
import { ROUTES, type Upgrade, upgradeOf } from "./routes.ts";
import { endSoon, eventFrames, outputFrames } from "./streams.ts";
import { serveTerminal } from "./terminal-socket.ts";
import type { Tls } from "./tls.ts";
import { TokenUses } from "./token-uses.ts";
import type { TokenRecord, Tokens } from "./tokens.ts";
import { endSocket, overWebSocket, watchClient } from "./web-sockets.ts";

export interface ListenOptions extends HttpParts {
	/** 0 takes a free one. */
	readonly port: number;
	readonly tokens: Tokens;
	/** For other machines; without it, on loopback. */
	readonly tls?: Tls;
	/** The limits; those of options.ts where none are given. */
	readonly limits?: Options;
}

export interface Listening {
	readonly url: string;
	close(): Promise<void>;
}

const HOST = "127.0.0.1";
const HOST6 = "::1";
// Clients send next to nothing; the default of ws, 100 MiB, would let one exhaust our memory.
const MAX_MESSAGE_BYTES = 64 << 10;
// A paste is typed as one write of at most a megabyte; as JSON it may be longer.
const MAX_TYPED_BYTES = 3 << 20;
// Each key is a message; saying with each frame how far it is drawn does not count.
const TERMINAL_MESSAGES = 500;
// How often node looks for requests that take too long.
const CHECK_EVERY_MS = 1000;

// A health check may keep its connection; one that only asks and never shows a token makes room.
const STRANGERS_REQUESTS = 100;

const ALL_HEADERS = Object.entries(HEADERS_OF_ALL);

export async function listen(options: ListenOptions): Promise<Listening> {
	const limits = options.limits ?? resolveOptions();
	let hosts: ReadonlySet<string> = new Set();
	let cookie = "";
	let url = "";
	const connections = new Connections({ connections: limits.httpConnections, strangers: limits.httpStrangers });
	const uses = new TokenUses(options.tokens, {
		limit: limits.httpPerToken,
		onChange: (isValid) => options.mcp?.endRevoked(isValid),
	});
	const bad = new BadTokens(limits.httpBadTokens);
	const access = {
		get hosts() {
			return hosts;
		},
		get url() {
			return url;
		},
		get cookie() {
			return cookie;
		},
		secure: options.tls !== undefined,
		verify: verifier(options.tokens),
		countBad: (socket: Socket) => bad.count(socket),
		begin: (token: Parameters<typeof uses.begin>[0], { socket }: IncomingMessage, outgoing: ServerResponse) => {
			const use = uses.begin(token, () => outgoing.destroy());
			const rest = connections.begin(socket);
			outgoing.once("close", () => {
				use.done();
				rest();
			});
			return use;
		},
	};
	const app = httpApp(options, { access, tokens: options.tokens, limits, bodies: new Bodies(limits.httpBodiesBytes) });
	const answer = getRequestListener(app.fetch, { hostname: HOST });
	const begin = guarded(
		"http request",
		(incoming: IncomingMessage, outgoing: ServerResponse, before: number) => {
			// Set here, not by the app: changing a finished response would send it as a web stream, which is slower.
			for (const [name, value] of ALL_HEADERS) outgoing.setHeader(name, value);
			if (before >= STRANGERS_REQUESTS && connections.isStranger(incoming.socket))
				outgoing.setHeader("connection", "close");
			return answer(incoming, outgoing);
		},
		(_fault, _incoming, outgoing) => void outgoing.destroy(),
	);
	const { tls } = options;
	const timeouts = {
		headersTimeout: Math.min(limits.httpHeadersMs, limits.httpRequestMs),
		requestTimeout: limits.httpRequestMs,
		keepAliveTimeout: limits.httpIdleMs,
		connectionsCheckingInterval: CHECK_EVERY_MS,
	};
	const queue = guarded(
		"http request",
		(incoming: IncomingMessage, outgoing: ServerResponse) => {
			queueRequest(outgoing, limits.httpPipelined, (before) => begin(incoming, outgoing, before));
		},
		(_fault, _incoming, outgoing) => void outgoing.destroy(),
	);
	const pair = tls && { cert: tls.cert, key: tls.key, handshakeTimeout: limits.httpHeadersMs };
	const server = pair === undefined ? createServer(timeouts, queue) : createTlsServer({ ...timeouts, ...pair }, queue);
	if (tls !== undefined) server.maxConnections = limits.httpConnections; // before their handshake they are counted nowhere else
	server.on(
		tls === undefined ? "connection" : "secureConnection",
		guarded(
			"http connection",
			(socket: Socket) => connections.accept(socket),
			(_fault, socket) => void socket.destroy(),
		),
	);
	const sockets = new WebSocketServer({
		noServer: true,
		maxPayload: MAX_MESSAGE_BYTES,
		perMessageDeflate: false,
		autoPong: false,
		handleProtocols: (_offered, request) => chosen.get(request) ?? false,
	});
	const terminals = new WebSocketServer({ ...sockets.options, maxPayload: MAX_TYPED_BYTES });
	const chosen = new WeakMap<IncomingMessage, string>();

	const scoped = new ScopedSessions(options.within);
	async function* frames({ name, session }: Upgrade, { searchParams }: URL, token: TokenRecord, stop: AbortController) {
		const { signal } = stop;
		if (name === "UPGRADE /v1/events") {
			const afterSeq = resumeAt(searchParams.get("after") ?? undefined);
			const events = options.client.events({ ...(afterSeq !== undefined && { afterSeq }), signal });
			yield* eventFrames(scoped.events(token, events));
			return;
		}
		const from = resumeAt(searchParams.get("from") ?? undefined) ?? 0;
		const client = scoped.client(token, options.client);
		yield* outputFrames(client.output(await scoped.meant(token, session), { from, signal }), from);
	}

	const upgrade = (request: IncomingMessage, raw: Duplex, head: Buffer) => {
		const target = urlOf(request);
		const { method = "GET", headers } = request;
		const admission = admit({ method, path: target.pathname, upgrade: true, headers }, access);
		if ("refused" in admission) {
			const { fault } = admission.shown ? bad.count(raw as Socket) : { fault: null };
			return fault === null ? refuseUpgrade(raw, refusal(admission), admission.refused) : refuseUpgrade(raw, fault);
		}
		const { token } = admission;
		const stop = new AbortController();
		const wanted = upgradeOf(target);
		if (wanted === null || token === null)
			return refuseUpgrade(
				raw,
				new Fault("not_supported", { what: "This stream", instead: "See /v1/openapi.json." }),
				404,
			);
		mustBeAllowed(token, ROUTES[wanted.name], "This stream");
		if (admission.protocol !== undefined) chosen.set(request, admission.protocol);
		const use = uses.begin(token, () => raw.destroy());
		raw.once("close", () => use.done());
		connections.begin(raw as Socket);
		const isTerminal = wanted.name === "UPGRADE /v1/sessions/:id/terminal";
		const opened = (socket: WebSocket) => {
			use.end = () => endSocket(socket, "the token was revoked");
			const messages = isTerminal ? TERMINAL_MESSAGES : limits.webSocketMessages;
			const watched = { raw, limits: { ...limits, webSocketMessages: messages }, gone: () => stop.abort() };
			const expectAnswer = watchClient(socket, watched);
			if (!isTerminal) return overWebSocket(frames(wanted, target, token, stop), { socket, stop, limits });
			return serveTerminal({
				client: scoped.client(token, options.client),
				session: scoped.meant(token, wanted.session),
				socket,
				stop,
				expectAnswer,
				person: options.people?.person ?? null,
				may: (ability) => may(token, ability),
			});
		};
		const server = isTerminal ? terminals : sockets;
		server.handleUpgrade(request, raw, head, guarded("web socket", opened));
	};
	server.on(
		"upgrade",
		guarded("http upgrade", upgrade, (fault, _request, raw) => refuseUpgrade(raw, fault)),
	);

	await listenOn(server, { port: options.port, host: tls?.host ?? HOST });
	const { port } = server.address() as AddressInfo;
	const second = tls === undefined ? await alsoOnIpv6(server, port) : null;
	hosts = tls === undefined ? hostsOf(port, { ipv6: second !== null }) : hostsNamed(tls.names, port);
	cookie = cookieNameOf(port, tls !== undefined);
	url = tls === undefined ? `http://${HOST}:${port}` : `https://${tls.names[0]}:${port}`;
	return {
		url,
		close: async () => {
			uses.close();
			for (const socket of [...sockets.clients, ...terminals.clients]) socket.terminate();
			sockets.close();
			terminals.close();
			const closed = [server, ...(second === null ? [] : [second])].map((one) => once(one.close(), "close"));
			connections.closeAll();
			await Promise.all(closed);
		},
	};
}

/** Resolves once it listens; what goes wrong later (no descriptors to accept with) is reported. */
async function listenOn(server: NetServer, at: { port: number; host: string }): Promise<void> {
	await once(server.listen(at.port, at.host), "listening").catch((error: NodeJS.ErrnoException) => {
		throw error.code === "EADDRINUSE" ? new Fault("port_taken", { port: at.port }, { cause: error }) : error;
	});
	server.on("error", (error) => reportError(error, "http server"));
}

/**
 * The same port on ::1, where browsers look for `localhost` too. Null where another program has it, or there is no IPv6:
 * then `localhost` is not ours alone and does not count as ours.
 */
async function alsoOnIpv6(server: Server, port: number): Promise<NetServer | null> {
	const second = createNetServer(
		{ allowHalfOpen: true, noDelay: true },
		guarded("http connection", (socket: Socket) => void server.emit("connection", socket)),
	);
	try {
		await listenOn(second, { port, host: HOST6 });
		return second;
	} catch {
		return null;
	}
}

/** A token file that cannot be used refuses everyone; its problem is reported once, and not told to those without a token. */
function verifier(tokens: Tokens): Tokens["verify"] {
	let reported: unknown = null;
	return (token) => {
		try {
			return tokens.verify(token);
		} catch (error) {
			if (reported !== error) reportError(error, "tokens");
			reported = error;
			throw new Fault("tokens_invalid", { problem: "the daemon's log says why" }, { cause: error });
		}
	};
}

/** The requested address; `/` for one that cannot be parsed. */
function urlOf(request: IncomingMessage): URL {
	return URL.canParse(request.url ?? "", `http://${HOST}`)
		? new URL(request.url!, `http://${HOST}`)
		: new URL(`http://${HOST}/`);
}

/** Answers and disconnects. The peer may take a moment to read it, and keeps nothing open after that. */
function refuseUpgrade(raw: Duplex, fault: Fault, status: number = fault.status): void {
	const body = JSON.stringify(fault);
	raw.end(
		`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Type: application/json\r\n` +
			ALL_HEADERS.map(([name, value]) => `${name}: ${value}\r\n`).join("") +
			`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
	);
	// What it still sends is read and dropped: closing over unread bytes would reset the connection and lose the answer.
	raw.resume();
	raw.once("end", () => raw.destroy());
	endSoon(raw, () => raw.destroy());
}
