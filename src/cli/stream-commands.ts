// The commands that stream: a session's output, the events of all sessions.

import { once } from "node:events";
import { oneLine } from "../protocol/clean.ts";
import type { EventsDropped, SessionEvent } from "../protocol/events.ts";
import type { Caller } from "../session/start-spec.ts";
import type { Client } from "../tools/client.ts";
import type { Invocation, Io } from "./command.ts";
import { drawingOnly, RESET_DRAWING } from "./drawing-only.ts";
import { EXIT } from "./exit-codes.ts";
import { badInput } from "./flags.ts";
import { lasting } from "./lasting-stream.ts";
import { look } from "./session-named.ts";
import { MOST_TOKENS } from "./tool-verbs.ts";

/** Aborts when the reader closes the pipe (`| head`) or presses Ctrl+C. */
export function abortedByReader(io: Io): AbortController {
	const controller = new AbortController();
	io.stdout.on("error", () => controller.abort());
	process.once("SIGINT", () => controller.abort());
	process.once("SIGTERM", () => controller.abort());
	return controller;
}

/** Settles when the reader has taken most of what was written: a log may be larger than our memory. */
export async function drained({ stdout }: Io, signal: AbortSignal): Promise<void> {
	if (stdout.writableNeedDrain) await once(stdout, "drain", { signal }).catch(() => {}); // the reader is gone
}

export async function logs(invocation: Invocation): Promise<number> {
	const { flags, json, io } = invocation;
	const tail = flags.number("tail");
	if (tail !== undefined && flags.number("from") !== undefined) throw badInput("give --from or --tail, not both");
	await using client = await invocation.dependencies.connect();
	const reader = abortedByReader(io);
	const { session, offset } = await look(invocation, client, invocation.words[0]!);
	let at =
		tail === undefined
			? (flags.number("from") ?? 0)
			: await startOfLast(tail, { client, observer: invocation.dependencies.observer(), session, end: offset });
	const follows = flags.on("follow");
	const end = follows ? Number.POSITIVE_INFINITY : offset;
	if (at >= end) return EXIT.ok;
	const shown = io.stdout.isTTY ? drawingOnly() : (bytes: Uint8Array) => bytes;
	const open = () => client.output(session, { from: at, signal: reader.signal });
	const onAway = (what: string) => io.err(`dialtone: ${what}; waiting (Ctrl+C ends)\n`);
	for await (const chunk of follows ? lasting({ open, signal: reader.signal, onAway }) : open()) {
		if ("gap" in chunk) {
			io.err(`dialtone: ${chunk.gap.to - chunk.gap.from} bytes are no longer kept\n`);
			at = chunk.gap.to;
		} else {
			const bytes = chunk.bytes.subarray(0, Math.max(0, end - chunk.offset));
			const base64 = () => Buffer.from(bytes).toString("base64");
			io.out(json ? `${JSON.stringify({ offset: chunk.offset, base64: base64() })}\n` : shown(bytes));
			at = chunk.offset + bytes.length;
		}
		if (at >= end) break;
		await drained(io, reader.signal);
	}
	if (io.stdout.isTTY && !json) io.out(RESET_DRAWING);
	return EXIT.ok;
}

interface Printed {
	readonly client: Client;
	readonly observer: Caller;
	readonly session: string;
	/** What was printed up to here. */
	readonly end: number;
}

const LF = 0x0a;
const PIECE_BYTES = 64 * 1024;

/** Where the last lines begin, read from the end; the oldest byte that is kept, where there are fewer. */
async function startOfLast(lines: number, { client, observer, session, end }: Printed): Promise<number> {
	if (lines === 0) return end;
	let left = lines;
	for (let to = end; to > 0; ) {
		const asked = { session, view: "raw", from: Math.max(0, to - PIECE_BYTES), to, maxTokens: MOST_TOKENS } as const;
		const { base64 = "", from = 0, gaps = [] } = (await client.call("read", asked, { caller: observer })).facts;
		const bytes = Buffer.from(base64, "base64");
		// The end of the last line begins no other one.
		for (let i = bytes.lastIndexOf(LF, to === end ? -2 : -1); i >= 0; i = i === 0 ? -1 : bytes.lastIndexOf(LF, i - 1))
			if (--left === 0) return to - bytes.length + i + 1;
		if (gaps.length > 0) return gaps.at(-1)!.to;
		to = from;
	}
	return 0;
}

export async function events(invocation: Invocation): Promise<number> {
	const { flags, json, io } = invocation;
	await using client = await invocation.dependencies.connect();
	const reader = abortedByReader(io);
	const afterSeq = flags.number("after");
	const stream = client.events({ ...(afterSeq !== undefined && { afterSeq }), signal: reader.signal });
	for await (const event of stream) {
		io.out(json ? `${JSON.stringify(event)}\n` : `${eventLine(event)}\n`);
		await drained(io, reader.signal);
	}
	return EXIT.ok;
}

function eventLine(event: SessionEvent | EventsDropped): string {
	const time = timeIn(event.at);
	if (event.event === "dropped") return `${time}  ${event.dropped} events were missed`;
	const state = event.exit
		? `${event.status} (${event.exit.signal ?? event.exit.code})`
		: event.activity
			? `${event.activity}${event.waitingFor ? ` for ${event.waitingFor}` : ""}`
			: event.status;
	return `${time}  ${oneLine(event.name)}  ${event.event}: ${oneLine(state)}${event.because ? ` · ${oneLine(event.because)}` : ""}`;
}

/** Of one that is none, whatever has told it, the end of no stream. */
function timeIn(ms: number): string {
	const time = new Date(ms);
	return Number.isNaN(time.getTime()) ? "--:--:--.---" : time.toISOString().slice(11, 23);
}
