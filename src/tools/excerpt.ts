// Output within a budget. What does not fit is cut between numbered lines of the transcript, and
// the cut names exactly what is missing and the call that shows it (recall.ts).

import { bytesOf, type Excerpt, type Part } from "../journal/journal.ts";
import { limits, options } from "../session/options.ts";
import type { Session } from "../session/session.ts";
import type { LineRange, NumberedLine, TranscriptView } from "../session/transcript-view.ts";
import { CHARS_PER_TOKEN, estimateTokens, fit } from "../terminal/budget.ts";
import type { ScreenDiff } from "../terminal/screen-diff.ts";
import { type Cut, type CutMark, markFor } from "./recall.ts";
import type { Caller } from "./tool.ts";

/** Of new output the end usually matters more. */
const HEAD_SHARE = 0.3;
/** For the mark itself. */
export const MARK_CHARS = 100;

/** How a caller counts, and what it can do about a cut. */
export interface Budget {
	readonly maxTokens: number;
	readonly charsPerToken: number;
	readonly mark: CutMark;
}

export const nativeBudget = (maxTokens: number, { name }: Pick<Session, "name">, caller: Caller): Budget => ({
	maxTokens,
	charsPerToken: CHARS_PER_TOKEN,
	mark: markFor(name, caller),
});

const named = ({ from, to }: LineRange): string => (from === to ? `line ${from}` : `lines ${from}–${to}`);

/** Lines that are not shown. */
export const cutLines = (range: LineRange, total: number): Cut => ({
	what: `${named(range)} of ${total}`,
	call: { from: range.from, to: range.to },
});

/** Text within a budget, and what is not in it. */
export interface FittedLines {
	readonly text: string;
	readonly truncated: boolean;
	/** The lines that it is about, where they are numbered. */
	readonly lines: (LineRange & { readonly total: number }) | null;
	/** Those of them that are not shown. */
	readonly leftOut: LineRange | null;
	/** The length of all, in characters, about. */
	readonly chars: number;
}

/** The lines of a range within a budget: all of them, or the first, the last, or both. */
export async function fitLines(
	view: TranscriptView,
	range: LineRange,
	{ keep, ...budget }: Budget & { readonly keep: "first" | "last" | "both" },
): Promise<FittedLines> {
	const { total } = view;
	const { from, to } = { from: Math.max(1, range.from), to: Math.min(range.to, total) };
	const lines = { from, to, total };
	if (from > to) return { text: "", truncated: false, lines, leftOut: null, chars: 0 };
	const most = Math.floor(budget.maxTokens * budget.charsPerToken);
	const whole = await view.first({ from, to }, most);
	const chars = charsOf(whole);
	if (whole.at(-1)!.last === to && chars <= most) {
		return { text: textOf(whole), truncated: false, lines, leftOut: null, chars };
	}
	const room = Math.max(most - MARK_CHARS, Math.floor(most / 2));
	const headRoom = keep === "first" ? room : keep === "last" ? 0 : Math.floor(room * HEAD_SHARE);
	const clipped = (lines: readonly NumberedLine[], room: number) =>
		lines.length === 1 ? [clip(lines[0]!, room, budget.mark)] : lines;
	const head = headRoom === 0 ? [] : clipped(await view.first({ from, to }, headRoom), headRoom);
	const after = head.at(-1)?.last ?? from - 1;
	const tailRoom = keep === "first" || after === to ? 0 : room - charsOf(head);
	const tail = tailRoom <= 0 ? [] : clipped(await view.last({ from: after + 1, to }, tailRoom), tailRoom);
	const leftOut = { from: after + 1, to: (tail[0]?.number ?? to + 1) - 1 };
	const isCut = leftOut.from <= leftOut.to;
	const mark = isCut ? [budget.mark(cutLines(leftOut, total))] : [];
	return {
		text: [...head.map(({ text }) => text), ...mark, ...tail.map(({ text }) => text)].join("\n"),
		truncated: true,
		lines,
		leftOut: isCut ? leftOut : null,
		chars: view.sizeOf({ from, to }),
	};
}

const textOf = (lines: readonly NumberedLine[]) => lines.map(({ text }) => text).join("\n");
const charsOf = (lines: readonly NumberedLine[]) => lines.reduce((sum, { text }) => sum + text.length + 1, 0);

/** A single line may be longer than there is room for: its beginning, and how to see the rest. */
export function clip(line: NumberedLine, room: number, mark: CutMark): NumberedLine {
	const { number, text } = line;
	if (text.length <= room) return line;
	const kept = text.slice(0, wholeCharacters(text, Math.max(1, room)));
	const needed = Math.min(options.maxTokens.max, estimateTokens(text) + 1);
	const call = { from: number, to: number, ...(needed > options.maxTokens.default && { maxTokens: needed }) };
	return {
		...line,
		text: kept + mark({ what: `${text.length - kept.length} more characters of line ${number}`, call }),
	};
}

/** So many characters, or one less: half a pair is none. */
const wholeCharacters = (text: string, length: number) =>
	/^[\ud800-\udbff]$/.test(text.charAt(length - 1)) ? length - 1 : length;

/** What is new to a caller, within the budget. */
export async function fitNew(
	session: Session,
	{ diff, since }: { diff: Pick<ScreenDiff, "kind" | "text" | "missed" | "offset">; since: number },
	budget: Budget,
): Promise<FittedLines> {
	const { kind, text, missed } = diff;
	const whole = { text, truncated: false, lines: null, leftOut: null, chars: text.length };
	const fits = text.length <= budget.maxTokens * budget.charsPerToken;
	if (fits && missed === null) return whole;
	// What was printed after the screen was cleared may be more than the screen has.
	if (kind !== "lines" && missed === null) return { ...whole, ...fitScreen(text, budget) };
	return fitBetween(session, { from: since, to: diff.offset }, budget);
}

/** The lines of the output between two offsets: what a command printed, say. */
export async function fitBetween(session: Session, range: LineRange, budget: Budget): Promise<FittedLines> {
	const view = await session.transcript.view({ at: [range.from, range.to] });
	return fitLines(view, view.linesBetween(range.from, range.to), { ...budget, keep: "both" });
}

/** A screen has no lines of its own: it is shown again with a larger budget. */
function fitScreen(text: string, { maxTokens, charsPerToken, mark }: Budget): { text: string; truncated: boolean } {
	const count = (part: string) => Math.ceil(part.length / charsPerToken);
	const call = { view: "screen", maxTokens: Math.min(options.maxTokens.max, 2 * estimateTokens(text)) } as const;
	const fitted = fit(text, maxTokens, { count, mark: (what) => mark({ what, call }) });
	return { text: fitted.text, truncated: fitted.truncated };
}

/** The last lines of everything that was printed, or the first. */
export async function outerLines(
	session: Session,
	{ count, end }: { readonly count: number; readonly end: "first" | "last" },
	mark: Budget["mark"],
): Promise<FittedLines> {
	const view = await session.transcript.view();
	const { total } = view;
	const range = end === "first" ? { from: 1, to: count } : { from: total - count + 1, to: total };
	return fitLines(view, range, { maxTokens: limits.linesChars, charsPerToken: 1, mark, keep: end });
}

/** Four characters of base64 are three bytes. */
const BYTES_PER_CHAR = 3 / 4;

/** Output as it came, by offset, as much of it as base64 may fill the budget: from where it was asked for, or the newest. */
export async function fitRaw(
	{ journal }: Session,
	asked: { readonly from?: number | undefined; readonly to?: number | undefined },
	{ maxTokens, charsPerToken, mark }: Budget,
): Promise<FittedLines & { readonly excerpt: Excerpt }> {
	const most = Math.floor(maxTokens * charsPerToken * BYTES_PER_CHAR);
	const { end } = journal;
	const to = Math.min(asked.to ?? end, end);
	const from = Math.min(asked.from ?? 0, to);
	const excerpt =
		asked.from === undefined
			? await journal.read(Math.max(from, to - most), to)
			: await journal.read(from, Math.min(to, from + most));
	const leftOut = asked.from === undefined ? { from, to: excerpt.from } : { from: excerpt.to, to };
	const text =
		leftOut.from < leftOut.to
			? mark({ what: `bytes ${leftOut.from} to ${leftOut.to} of ${end}`, call: { view: "raw", ...leftOut } })
			: "";
	return { excerpt, text, truncated: text !== "", lines: null, leftOut: null, chars: to - from };
}

/** A range of output as it came, of a large one its beginning and its end. */
export async function headAndTail(journal: Session["journal"], from: number, to: number): Promise<Part> {
	const { headBytes, tailBytes } = limits;
	if (to - from <= headBytes + tailBytes) return { bytes: bytesOf(await journal.read(from, to)), cut: false };
	const [head, tail] = await Promise.all([journal.read(from, from + headBytes), journal.read(to - tailBytes, to)]);
	const mark = `\r\n[… bytes ${from + headBytes} to ${to - tailBytes} truncated …]\r\n`;
	return { bytes: Buffer.concat([bytesOf(head), Buffer.from(mark), bytesOf(tail)]), cut: true };
}
