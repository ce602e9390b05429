// Events and output as frames: the same two streams over server-sent events (here) and over
// WebSocket (web-sockets.ts). Both pull from the client, so a slow reader costs nothing but its position.

import { type EventEmitter, once } from "node:events";
import type { ServerResponse } from "node:http";
import { faultAt } from "../protocol/boundary.ts";
import type { EventsDropped, SessionEvent } from "../protocol/events.ts";
import { Fault } from "../protocol/fault.ts";
import { reportError } from "../protocol/listeners.ts";
import type { OutputChunk } from "../protocol/output.ts";
import type { ListChange } from "../protocol/session-list.ts";
import { type Condition, onAbort, settled, wait, within } from "../pty/wait.ts";

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

/** Reconnecting begins with the whole list, so the id is of no use to a reader. */
export async function* listFrames(changes: AsyncIterable<ListChange>): AsyncIterable<Frame> {
	for await (const { version, ...data } of changes)
		yield { id: version, event: "sessions", data: JSON.stringify(data) };
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
export const HEARTBEAT_MS = 15_000;

/** How long a connection that is being ended may take to deliver the reason. */
const LAST_WORDS_MS = 500;

/** Calls `destroy` if it has not closed by itself soon. */
export function endSoon(closing: EventEmitter, destroy: () => void): void {
	within(LAST_WORDS_MS, "closing", once(closing, "close")).catch(destroy);
}

interface SseOptions {
	readonly outgoing: ServerResponse;
	/** Aborted when the client is gone; aborting it with a fault ends the stream in words. */
	readonly stop: AbortController;
	/** Only the headers are sent, and the frames are never asked for. */
	readonly headersOnly: boolean;
	/** How long a reader may take nothing. */
	readonly stallMs: number;
}

const SSE_HEADERS = { "content-type": "text/event-stream", "cache-control": "no-store", "x-accel-buffering": "no" };

/** A response that pulls frames as fast as its reader takes them. */
export function sse(frames: AsyncIterable<Frame>, { outgoing, stop, headersOnly, stallMs }: SseOptions): Response {
	if (headersOnly) return new Response(null, { headers: SSE_HEADERS });
	const source = frames[Symbol.asyncIterator]();
	let next: Promise<IteratorResult<Frame>> | null = null;
	const encoder = new TextEncoder();
	const encode = (text: string) => encoder.encode(text);
	const fault = (error: unknown) => encode(`event: fault\ndata: ${JSON.stringify(faultAt("http stream", error))}\n\n`);
	let ended = false;
	const over = () => {
		ended = true;
		stop.abort();
		// A generator that is suspended at a `yield` would keep what it holds.
		source.return?.().catch((error: unknown) => reportError(error, "http stream"));
	};
	const end = (controller: ReadableStreamDefaultController, last?: Uint8Array) => {
		if (ended) return;
		ended = true;
		if (last !== undefined) controller.enqueue(last);
		controller.close();
	};
	// Not only when the body is cancelled: the client may be gone before it was ever read.
	outgoing.once("close", over);
	if (outgoing.destroyed) over();
	// Heartbeats are written only while the reader reads, so silence in both directions means that it does not.
	outgoing.socket?.setTimeout(stallMs);
	const body = new ReadableStream<Uint8Array>(
		{
			start: (controller) => {
				// Headers are sent with the first byte: without it, a client that waits for rare events cannot tell that it is connected.
				controller.enqueue(encode(": dialtone\n\n"));
				onAbort(stop.signal)(() => {
					if (ended) return;
					const { reason } = stop.signal;
					end(controller, reason instanceof Fault ? fault(reason) : undefined);
					endSoon(outgoing, () => outgoing.destroy());
				});
			},
			pull: async (controller) => {
				next ??= source.next();
				const quiet: Condition<"quiet"> = { start: ({ after, settle }) => after(HEARTBEAT_MS, () => settle("quiet")) };
				try {
					const result = await wait<IteratorResult<Frame> | "quiet">([settled(next), quiet], stop);
					if (ended) return;
					if (result === "quiet") return controller.enqueue(encode(": still here\n\n"));
					next = null;
					if (result.done) return end(controller);
					const { id, event, data } = result.value;
					controller.enqueue(encode(`${event ? `event: ${event}\n` : ""}id: ${id}\ndata: ${data}\n\n`));
				} catch (error) {
					end(controller, fault(error));
				}
			},
			cancel: over,
		},
		{ highWaterMark: 2 },
	);
	return new Response(body, { headers: SSE_HEADERS });
}
