// Streams over WebSocket, and what a client may send on one: next to nothing. Whatever it
// does, one socket holds a bounded number of bytes and of messages per second.

import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { faultAt, guarded } from "../protocol/boundary.ts";
import { endSoon, type Frame, HEARTBEAT_MS } from "./streams.ts";

export interface WebSocketLimits {
	readonly streamBufferBytes: number;
	readonly streamStallMs: number;
	readonly webSocketMessages: number;
}

// Policy violation, as RFC 6455 calls it.
const REFUSED = 1008;

/** Sends frames until they end or the socket closes; stops pulling while the other side does not read. */
export async function overWebSocket(
	frames: AsyncIterable<Frame>,
	{ socket, stop, limits }: { socket: WebSocket; stop: AbortController; limits: WebSocketLimits },
): Promise<void> {
	try {
		for await (const frame of frames) {
			if (socket.readyState !== socket.OPEN) return;
			const sent = new Promise<void>((resolve) => socket.send(frame.binary ?? frame.data, () => resolve()));
			if (socket.bufferedAmount > limits.streamBufferBytes) await sent;
		}
		socket.close(1000);
	} catch (error) {
		if (stop.signal.aborted) return;
		socket.send(JSON.stringify(faultAt("web socket stream", error)));
		socket.close(1011);
	}
}

/**
 * Watches the client of a socket: disconnects one that floods or never reads. Calls `gone` once it is closed. Returns what to
 * call where an answer is expected, which does not count.
 */
export function watchClient(
	socket: WebSocket,
	{ raw, limits, gone }: { raw: Duplex & { setTimeout?: unknown }; limits: WebSocketLimits; gone: () => void },
): () => void {
	// While the reader reads, heartbeats are written: silence in both directions means that it does not.
	if ("setTimeout" in raw && typeof raw.setTimeout === "function")
		raw.setTimeout(
			limits.streamStallMs,
			guarded("web socket timeout", () => socket.terminate()),
		);
	const heartbeat = setInterval(
		guarded("web socket heartbeat", () => {
			if (socket.readyState === socket.OPEN && socket.bufferedAmount === 0) socket.ping();
		}),
		HEARTBEAT_MS,
	);
	const { allowed, expected } = rateLimit(limits.webSocketMessages, () => endSocket(socket, "too many messages"));
	const pong = latestPong(socket);
	socket.on("error", () => {}); // a client that broke the protocol or is gone; "close" follows
	socket.once(
		"close",
		guarded("web socket closed", () => {
			clearInterval(heartbeat);
			gone();
		}),
	);
	socket.on(
		"message",
		guarded("web socket message", () => allowed()),
	);
	socket.on(
		"pong",
		guarded("web socket pong", () => allowed()),
	);
	socket.on(
		"ping",
		guarded("web socket ping", (data: Buffer) => {
			if (allowed()) pong(data);
		}),
	);
	return expected;
}

/** Closes with a reason, and at once if that cannot be delivered. */
export function endSocket(socket: WebSocket, reason: string): void {
	socket.close(REFUSED, reason);
	endSoon(socket, () => socket.terminate());
}

/** At most one pong waits for its reader, the latest: answering each ping of a client that never reads took 1.1 GB in 6 s. */
function latestPong(socket: WebSocket): (data: Buffer) => void {
	let sending = false;
	let latest: Buffer | null = null;
	const send = (data: Buffer) => {
		if (socket.readyState !== socket.OPEN) return;
		sending = true;
		socket.pong(data, false, () => {
			sending = false;
			if (latest === null) return;
			const next = latest;
			latest = null;
			send(next);
		});
	};
	return (data) => {
		if (sending) latest = data;
		else send(data);
	};
}

/** `allowed` is false, and `exceeded` called once, above this number per second and as many as were `expected`. */
function rateLimit(perSecond: number, exceeded: () => void): { allowed: () => boolean; expected: () => void } {
	let since = performance.now();
	let count = 0;
	let over = false;
	const allowed = () => {
		const now = performance.now();
		if (now - since >= 1000) {
			since = now;
			count = 0;
		}
		if (!over && ++count > perSecond) {
			over = true;
			exceeded();
		}
		return !over;
	};
	return { allowed, expected: () => void count-- };
}
