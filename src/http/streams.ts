// Events and output as frames: the same two streams over server-sent events and over
// WebSocket. Both pull from the client, so a slow reader costs nothing but its position.

import type { WebSocket } from "ws";
import type { EventsDropped, SessionEvent } from "../protocol/events.ts";
import { Fault } from "../protocol/fault.ts";
import type { OutputChunk } from "../protocol/output.ts";

/** One frame of a stream, for both transports. */
export interface Frame {
	/** Where to resume: a sequence number or an offset. */
	readonly id: number;
	readonly event?: string;
	/** For SSE. */
	readonly data: string;
	/** For WebSocket, where it differs. */
	readonly binary?: Uint8Array;
}

export async function* eventFrames(events: AsyncIterable<SessionEvent | EventsDropped>): AsyncIterable<Frame> {
	for await (const event of events) yield { id: event.seq, data: JSON.stringify(event) };
}

const OFFSET_BYTES = 8;

export async function* outputFrames(chunks: AsyncIterable<OutputChunk>, from: number): AsyncIterable<Frame> {
	let at = from;
	for await (const chunk of chunks) {
		if ("gap" in chunk) {
			at = chunk.gap.to;
			yield { id: at, event: "gap", data: JSON.stringify({ gap: chunk.gap }) };
			continue;
		}
		const binary = Buffer.alloc(OFFSET_BYTES + chunk.bytes.length);
		binary.writeBigUInt64LE(BigInt(chunk.offset));
		binary.set(chunk.bytes, OFFSET_BYTES);
		at = chunk.offset + chunk.bytes.length;
		yield { id: at, data: binary.subarray(OFFSET_BYTES).toString("base64"), binary };
	}
	yield { id: at, event: "ended", data: JSON.stringify({ ended: true, offset: at }) };
}

// Proxies and browsers drop a stream that is silent for 30 to 60 s.
const HEARTBEAT_MS = 15_000;

/** A response that pulls frames as fast as its reader takes them. */
export function sse(frames: AsyncIterable<Frame>, stop: AbortController): Response {
	const source = frames[Symbol.asyncIterator]();
	let next: Promise<IteratorResult<Frame>> | null = null;
	const encode = (text: string) => new TextEncoder().encode(text);
	const body = new ReadableStream<Uint8Array>(
		{
			// Headers are sent with the first byte: without it, a client that waits for rare events cannot tell that it is connected.
			start: (controller) => controller.enqueue(encode(": dialtone\n\n")),
			pull: async (controller) => {
				next ??= source.next();
				let timer: NodeJS.Timeout | undefined;
				const quiet = new Promise<"quiet">((resolve) => {
					timer = setTimeout(() => resolve("quiet"), HEARTBEAT_MS);
				});
				try {
					const result = await Promise.race([next, quiet]);
					if (result === "quiet") return controller.enqueue(encode(": still here\n\n"));
					next = null;
					if (result.done) return controller.close();
					const { id, event, data } = result.value;
					controller.enqueue(encode(`${event ? `event: ${event}\n` : ""}id: ${id}\ndata: ${data}\n\n`));
				} catch (error) {
					controller.enqueue(encode(`event: fault\ndata: ${JSON.stringify(asFault(error))}\n\n`));
					controller.close();
				} finally {
					clearTimeout(timer);
				}
			},
			cancel: () => stop.abort(),
		},
		{ highWaterMark: 2 },
	);
	return new Response(body, {
		headers: { "content-type": "text/event-stream", "cache-control": "no-store", "x-accel-buffering": "no" },
	});
}

// Bounds the memory of a stuck reader: without a limit it reached 505 MB in 2.5 s.
const MAX_BUFFERED_BYTES = 1 << 20;

/** Sends frames until they end or the socket closes; stops pulling while the other side does not read. */
export async function overWebSocket(
	frames: AsyncIterable<Frame>,
	socket: WebSocket,
	stop: AbortController,
): Promise<void> {
	socket.once("close", () => stop.abort());
	socket.on("error", () => stop.abort());
	try {
		for await (const frame of frames) {
			if (socket.readyState !== socket.OPEN) return;
			const sent = new Promise<void>((resolve) => socket.send(frame.binary ?? frame.data, () => resolve()));
			if (socket.bufferedAmount > MAX_BUFFERED_BYTES) await sent;
		}
		socket.close(1000);
	} catch (error) {
		socket.send(JSON.stringify(asFault(error)));
		socket.close(1011);
	}
}

function asFault(error: unknown): object {
	const fault = error instanceof Fault ? error : new Fault("internal", { problem: (error as Error).message });
	return fault.toJSON();
}
