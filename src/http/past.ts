// The answers about a session's past: its timeline, the screen of a moment, and downloads. Its own machine draws them.

import type { Context } from "hono";
import { Fault } from "../protocol/fault.ts";
import type { Client, DrawnOptions } from "../tools/client.ts";
import { type Env, untilGone } from "./app.ts";

type Drawn = Pick<Client, "drawn">;

const MAX_NAME_CHARS = 60;

export const DOWNLOADS = {
	cast: { type: "application/x-asciicast", extension: "cast" },
	text: { type: "text/plain; charset=utf-8", extension: "txt" },
	svg: { type: "image/svg+xml", extension: "svg" },
	png: { type: "image/png", extension: "png" },
} as const;
type DownloadFormat = keyof typeof DOWNLOADS;
const FORMATS = Object.keys(DOWNLOADS) as readonly DownloadFormat[];

export async function timelineAnswer(c: Context<Env>, client: Drawn, session: string): Promise<Response> {
	return answered(c, client, session, { as: "timeline" }, { "content-type": "application/json" });
}

export async function momentAnswer(c: Context<Env>, client: Drawn, session: string): Promise<Response> {
	const [at, offset] = [numberIn(c, "at"), numberIn(c, "offset")];
	if ((at === undefined) === (offset === undefined)) throw badQuery("give `at` or `offset`");
	const when = at === undefined ? { offset: Math.floor(offset!) } : { at };
	return answered(c, client, session, { as: "moment", ...when }, { "content-type": "application/json" });
}

export interface Exported {
	readonly session: string;
	/** How the session is called: the file is, too. */
	readonly name: () => Promise<string>;
}

export async function exportAnswer(c: Context<Env>, client: Drawn, { session, name }: Exported): Promise<Response> {
	const asked = c.req.query("format") ?? "cast";
	const format = FORMATS.find((one) => one === asked);
	if (format === undefined) throw badQuery(`\`format\` is one of ${FORMATS.join(", ")}`);
	const at = numberIn(c, "at");
	const { type, extension } = DOWNLOADS[format];
	const moment = at === undefined || format === "cast" ? "" : `-${Math.round(at)}ms`;
	const file = `${fileNameOf(await name())}${moment}.${extension}`;
	const headers = { "content-type": type, "content-disposition": `attachment; filename="${file}"` };
	return answered(c, client, session, { as: format, ...(at !== undefined && { at }) }, headers);
}

/** Letters, digits, dots and dashes. */
function fileNameOf(name: string): string {
	const base = name
		.replace(/[^\w.-]+/g, "-")
		.replace(/^[.-]+/, "")
		.slice(0, MAX_NAME_CHARS);
	return base || "session";
}

/** What is drawn, as fast as the reader takes it; begun before it is answered, so that a refusal is one. */
async function answered(
	c: Context<Env>,
	client: Drawn,
	session: string,
	what: Omit<DrawnOptions, "signal">,
	headers: Readonly<Record<string, string>>,
): Promise<Response> {
	const pieces = client.drawn(session, { ...what, signal: untilGone(c.env.outgoing) })[Symbol.asyncIterator]();
	let next = await pieces.next();
	const body = new ReadableStream<Uint8Array>({
		async pull(controller) {
			if (next.done) return controller.close();
			controller.enqueue(next.value);
			next = await pieces.next();
		},
		async cancel() {
			await pieces.return?.();
		},
	});
	return new Response(body, { headers });
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
