// The listening socket: loopback only, HTTP through the app, WebSocket upgrades
// through the same guard.

import type { IncomingMessage, Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { createAdaptorServer } from "@hono/node-server";
import { type WebSocket, WebSocketServer } from "ws";
import { Fault } from "../protocol/fault.ts";
import { type HttpParts, httpApp, resumeAt } from "./app.ts";
import { admit, hostsOf } from "./guard.ts";
import { eventFrames, outputFrames, overWebSocket } from "./streams.ts";
import type { Tokens } from "./tokens.ts";

export interface ListenOptions extends HttpParts {
	/** 0 takes a free one. */
	readonly port: number;
	readonly tokens: Tokens;
}

export interface Listening {
	readonly url: string;
	close(): Promise<void>;
}

const HOST = "127.0.0.1";
// Clients send next to nothing; the default of ws, 100 MiB, would let one exhaust our memory.
const MAX_MESSAGE_BYTES = 64 << 10;

export async function listen(options: ListenOptions): Promise<Listening> {
	let hosts: ReadonlySet<string> = new Set();
	const policy = {
		get hosts() {
			return hosts;
		},
		verify: (token: string) => options.tokens.verify(token),
	};
	const app = httpApp(options, policy);
	const server = createAdaptorServer({ fetch: app.fetch, hostname: HOST }) as Server;
	// Set here, not by the app: changing a finished response would send it as a web stream, which is slower.
	server.prependListener("request", (_, response) => {
		response.setHeader("x-content-type-options", "nosniff");
		response.setHeader("cache-control", "no-store");
	});
	const sockets = new WebSocketServer({
		noServer: true,
		maxPayload: MAX_MESSAGE_BYTES,
		perMessageDeflate: false,
		handleProtocols: (_offered, request) => chosen.get(request) ?? false,
	});
	const chosen = new WeakMap<IncomingMessage, string>();

	server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
		const url = urlOf(request);
		const { host, origin, authorization } = request.headers;
		const protocols = request.headers["sec-websocket-protocol"];
		const admission = admit({ path: url.pathname, host, origin, authorization, protocols }, policy);
		if ("refused" in admission) return refuse(socket, admission.refused);
		const stream = streamFor(url, options);
		if (stream === null) return refuse(socket, 404);
		if (admission.protocol !== undefined) chosen.set(request, admission.protocol);
		sockets.handleUpgrade(request, socket, head, (webSocket) => void stream(webSocket));
	});

	await new Promise<void>((resolve, reject) => {
		server.once("error", (error: NodeJS.ErrnoException) =>
			reject(error.code === "EADDRINUSE" ? new Fault("port_taken", { port: options.port }, { cause: error }) : error),
		);
		server.listen(options.port, HOST, resolve);
	});
	const { port } = server.address() as AddressInfo;
	hosts = hostsOf(port);
	return {
		url: `http://${HOST}:${port}`,
		close: async () => {
			for (const socket of sockets.clients) socket.terminate();
			sockets.close();
			const closed = new Promise<void>((resolve) => server.close(() => resolve()));
			server.closeAllConnections();
			await closed;
		},
	};
}

/** The requested address; `/` for one that cannot be parsed. */
function urlOf(request: IncomingMessage): URL {
	return URL.canParse(request.url ?? "", `http://${HOST}`)
		? new URL(request.url!, `http://${HOST}`)
		: new URL(`http://${HOST}/`);
}

/** The stream behind an address. */
function streamFor(url: URL, { client }: HttpParts): ((socket: WebSocket) => Promise<void>) | null {
	const stop = new AbortController();
	if (url.pathname === "/v1/events") {
		const afterSeq = resumeAt(url.searchParams.get("after") ?? undefined);
		return (socket) => {
			const events = client.events({ ...(afterSeq !== undefined && { afterSeq }), signal: stop.signal });
			return overWebSocket(eventFrames(events), socket, stop);
		};
	}
	// Names may contain characters that an address must escape; what does not decode is no session.
	const session = /^\/v1\/sessions\/((?:[^/%]|%[0-7][0-9a-f])+)\/output$/i.exec(url.pathname)?.[1];
	if (session === undefined) return null;
	const from = resumeAt(url.searchParams.get("from") ?? undefined) ?? 0;
	return (socket) => {
		const chunks = client.output(decodeURIComponent(session), { from, signal: stop.signal });
		return overWebSocket(outputFrames(chunks, from), socket, stop);
	};
}

const REASONS = { 401: "Unauthorized", 403: "Forbidden", 404: "Not Found" } as const;

function refuse(socket: Duplex, status: keyof typeof REASONS): void {
	socket.end(`HTTP/1.1 ${status} ${REASONS[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
