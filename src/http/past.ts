// The answers about a session's past: its timeline, the screen of a moment, and downloads.

import type { Context } from "hono";
import { Fault } from "../protocol/fault.ts";
import type { When } from "../session/recording.ts";
import { DOWNLOADS, type DownloadFormat, type Past } from "../tools/past.ts";
import { type Env, untilGone } from "./app.ts";

export async function timelineAnswer(c: Context<Env>, past: Past, session: string): Promise<Response> {
	return c.json(await past.timeline(session, untilGone(c.env.outgoing)));
}

export async function momentAnswer(c: Context<Env>, past: Past, session: string): Promise<Response> {
	const [at, offset] = [numberIn(c, "at"), numberIn(c, "offset")];
	if ((at === undefined) === (offset === undefined)) throw badQuery("give `at` or `offset`");
	const when: When = at === undefined ? { offset: Math.floor(offset!) } : { at };
	return c.json(await past.moment(session, when, untilGone(c.env.outgoing)));
}

export async function exportAnswer(c: Context<Env>, past: Past, session: string): Promise<Response> {
	const asked = c.req.query("format") ?? "cast";
	const format = DOWNLOADS.find((one): one is DownloadFormat => one === asked);
	if (format === undefined) throw badQuery(`\`format\` is one of ${DOWNLOADS.join(", ")}`);
	const at = numberIn(c, "at");
	const signal = untilGone(c.env.outgoing);
	const { name, type, body } = await past.download(session, { format, signal, ...(at !== undefined && { at }) });
	const headers = { "content-type": type, "content-disposition": `attachment; filename="${name}"` };
	return new Response(bytesOf(body), { headers });
}

/** A time or an offset; undefined where it is not asked for. */
function numberIn(c: Context<Env>, name: string): number | undefined {
	const text = c.req.query(name);
	if (text === undefined || text === "") return undefined;
	const value = Number(text);
	if (Number.isFinite(value) && value >= 0) return value;
	throw badQuery(`\`${name}\` is not a number from 0 on`);
}

const badQuery = (problem: string) => new Fault("bad_input", { problems: [problem] });

/** Pulled as fast as the reader takes it. */
function bytesOf(parts: AsyncIterable<string | Uint8Array>): ReadableStream<Uint8Array> {
	const source = parts[Symbol.asyncIterator]();
	const encoder = new TextEncoder();
	return new ReadableStream<Uint8Array>({
		async pull(controller) {
			const { done, value } = await source.next();
			if (done) return controller.close();
			controller.enqueue(typeof value === "string" ? encoder.encode(value) : value);
		},
		async cancel() {
			await source.return?.();
		},
	});
}
