// Output that is no longer on the screen, as lines again: read from the journal
// by offset and drawn on an empty terminal of the same width.

import { bytesOf, type Excerpt, type Part } from "../journal/journal.ts";
import { clean } from "../protocol/clean.ts";
import { limits } from "../session/options.ts";
import type { Session } from "../session/session.ts";
import { asSeen } from "../session/shell/output.ts";
import { estimateTokens, type Fitted, fit } from "../terminal/budget.ts";
import type { ScreenDiff } from "../terminal/screen-diff.ts";

const HEAD_SHARE = 0.3;
// Bytes of output per token of the head, escape sequences included; more only in unusual cases.
const BYTES_PER_TOKEN = 8;

/** A part of the output, by offset; the newest where no offset is given. */
export function excerptOf(
	{ journal }: Session,
	{ from, to, maxBytes }: { from?: number | undefined; to?: number | undefined; maxBytes: number },
): Promise<Excerpt> {
	const { end } = journal;
	const start = Math.min(from ?? Math.max(0, end - maxBytes), end);
	return journal.read(start, Math.min(to ?? end, end, start + maxBytes));
}

/** A range of output, of a large one its beginning and its end. */
export async function headAndTail(journal: Session["journal"], from: number, to: number): Promise<Part> {
	const { headBytes, tailBytes } = limits;
	if (to - from <= headBytes + tailBytes) return { bytes: bytesOf(await journal.read(from, to)), cut: false };
	const [head, tail] = await Promise.all([journal.read(from, from + headBytes), journal.read(to - tailBytes, to)]);
	const mark = `\r\n[… bytes ${from + headBytes} to ${to - tailBytes} left out; \`read\` them raw …]\r\n`;
	return { bytes: Buffer.concat([bytesOf(head), Buffer.from(mark), bytesOf(tail)]), cut: true };
}

/** The lines that a part of the output draws. */
export function linesOf({ screen }: Session, excerpt: Excerpt): string[] {
	const lines = asSeen(bytesOf(excerpt), screen.cols).split("\n");
	while (lines.at(-1) === "") lines.pop();
	return lines;
}

/**
 * What is new, within the budget. Where lines have gone by that the screen no longer
 * holds, their beginning is read from the journal: long output keeps its first lines too.
 */
export async function fitNew(
	session: Session,
	{
		diff,
		since,
		maxTokens,
	}: { diff: Pick<ScreenDiff, "text" | "missed" | "offset">; since: number; maxTokens: number },
): Promise<Fitted> {
	const { missed, offset } = diff;
	if (missed === null) return fit(diff.text, maxTokens, { recall: `read lines from ${since} to ${offset}` });
	const headTokens = Math.floor(maxTokens * HEAD_SHARE);
	const beginning = { from: missed.from, to: Math.min(missed.to, missed.from + headTokens * BYTES_PER_TOKEN) };
	const head: string[] = [];
	let tokens = 0;
	// The last line may be cut in the middle; it is left to the part that is not shown.
	for (const line of linesOf(session, await session.journal.read(beginning.from, beginning.to)).slice(0, -1)) {
		tokens += estimateTokens(line) + 1;
		if (tokens > headTokens) break;
		head.push(line);
	}
	const tail = fit(diff.text, maxTokens - headTokens, { headShare: 0 });
	// If the tail was cut too, one mark covers both.
	const shown = tail.truncated ? tail.text.slice(tail.text.indexOf("\n") + 1) : diff.text;
	const lines = missed.lines - head.length + (tail.leftOut?.lines ?? 0);
	const mark = `[… ${lines} lines left out; read lines from ${missed.from} to ${offset} …]`;
	return { text: [clean(head.join("\n")).text, mark, shown].join("\n"), truncated: true, leftOut: null };
}
