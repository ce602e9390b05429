// The commands that go on until something ends: a session's output, everybody's events.

import { once } from "node:events";
import { oneLine } from "../protocol/clean.ts";
import type { SessionEvent } from "../protocol/events.ts";
import type { Invocation, Io } from "./command.ts";
import { EXIT } from "./exit-codes.ts";
import { sessionNamed } from "./session-named.ts";

/** Aborts when the reader goes away (`| head`) or presses Ctrl+C. */
function untilTheReaderLeaves(io: Io): AbortController {
	const controller = new AbortController();
	io.stdout.on("error", () => controller.abort());
	process.once("SIGINT", () => controller.abort());
	process.once("SIGTERM", () => controller.abort());
	return controller;
}

/** Settles when the reader has taken most of what was written: a log may be larger than our memory. */
async function keptUp({ stdout }: Io, signal: AbortSignal): Promise<void> {
	if (stdout.writableNeedDrain) await once(stdout, "drain", { signal }).catch(() => {}); // the reader has left
}

export async function logs(it: Invocation): Promise<number> {
	const { flags, json, io } = it;
	const session = sessionNamed(it);
	let at = flags.integer("from") ?? 0;
	await using client = await it.dependencies.connect();
	const reader = untilTheReaderLeaves(io);
	const { facts: look } = await client.call("read", { session, view: "screen" });
	const end = flags.on("follow") ? Number.POSITIVE_INFINITY : look.offset;
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
		await keptUp(io, reader.signal);
	}
	return EXIT.ok;
}

export async function events(it: Invocation): Promise<number> {
	const { flags, json, io } = it;
	await using client = await it.dependencies.connect();
	const reader = untilTheReaderLeaves(io);
	const afterSeq = flags.integer("after");
	const stream = client.events({ ...(afterSeq !== undefined && { afterSeq }), signal: reader.signal });
	for await (const event of stream) io.out(json ? `${JSON.stringify(event)}\n` : `${eventLine(event)}\n`);
	return EXIT.ok;
}

function eventLine(event: SessionEvent): string {
	const time = new Date(event.at).toISOString().slice(11, 23);
	const state = event.exit
		? `${event.status} (${event.exit.signal ?? event.exit.code})`
		: event.activity
			? `${event.activity}${event.waitingFor ? ` for ${event.waitingFor}` : ""}`
			: event.status;
	return `${time}  ${event.name}  ${event.event}: ${state}${event.because ? ` · ${oneLine(event.because)}` : ""}`;
}
