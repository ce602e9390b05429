// The commands that stream: a session's output, the events of all sessions.

import { once } from "node:events";
import { oneLine } from "../protocol/clean.ts";
import type { EventsDropped, SessionEvent } from "../protocol/events.ts";
import type { Invocation, Io } from "./command.ts";
import { EXIT } from "./exit-codes.ts";
import { onSession } from "./session-named.ts";

/** Aborts when the reader closes the pipe (`| head`) or presses Ctrl+C. */
function abortedByReader(io: Io): AbortController {
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
	let at = flags.number("from") ?? 0;
	await using client = await invocation.dependencies.connect();
	const reader = abortedByReader(io);
	const look = (session: string) => client.call("read", { session, view: "screen" });
	const { session, offset } = (await onSession(invocation, client, invocation.words[0]!, look)).facts;
	const end = flags.on("follow") ? Number.POSITIVE_INFINITY : offset;
	if (at >= end) return EXIT.ok;
	for await (const chunk of client.output(session, { from: at, signal: reader.signal })) {
		if ("gap" in chunk) {
			io.err(`dialtone: ${chunk.gap.to - chunk.gap.from} bytes are no longer kept\n`);
			at = chunk.gap.to;
		} else {
			const bytes = chunk.bytes.subarray(0, Math.max(0, end - chunk.offset));
			const base64 = () => Buffer.from(bytes).toString("base64");
			io.out(json ? `${JSON.stringify({ offset: chunk.offset, base64: base64() })}\n` : bytes);
			at = chunk.offset + bytes.length;
		}
		if (at >= end) break;
		await drained(io, reader.signal);
	}
	return EXIT.ok;
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
	const time = new Date(event.at).toISOString().slice(11, 23);
	if (event.event === "dropped") return `${time}  ${event.dropped} events were missed`;
	const state = event.exit
		? `${event.status} (${event.exit.signal ?? event.exit.code})`
		: event.activity
			? `${event.activity}${event.waitingFor ? ` for ${event.waitingFor}` : ""}`
			: event.status;
	return `${time}  ${event.name}  ${event.event}: ${state}${event.because ? ` · ${oneLine(event.because)}` : ""}`;
}
