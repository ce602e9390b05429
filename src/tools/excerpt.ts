// Output within a budget. What does not fit is cut between numbered lines of the transcript, and
// the cut names exactly what is missing and the call that shows it (recall.ts).

import { bytesOf, type Excerpt } from "../journal/journal.ts";
import { Fault } from "../protocol/fault.ts";
import { limits, options } from "../session/options.ts";
import type { Session } from "../session/session.ts";
import { NOTHING, type StreamPart, type Streams } from "../session/shell/streams.ts";
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
	const longestMark = budget.mark(cutLines({ from: to - 1, to }, total));
	const room = Math.max(most - longestMark.length - 1, Math.floor(most / 2));
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
	mark: CutMark,
): Promise<FittedLines> {
	const view = await session.transcript.view();
	const { total } = view;
	const range = end === "first" ? { from: 1, to: count } : { from: total - count + 1, to: total };
	return fitLines(view, range, { ...unasked(mark), keep: end });
}

/** The budget of a tool that has none of its own. */
export const unasked = (mark: CutMark): Budget => ({ maxTokens: limits.linesChars, charsPerToken: 1, mark });

/** Lines by number, as a call may ask for them. */
export interface AskedLines {
	readonly from?: number | undefined;
	readonly to?: number | undefined;
	/** How many, where only one end is given. */
	readonly count?: number | undefined;
}

/** A range from its beginning; with only its end, the last up to there. */
export async function numberedLines(
	session: Session,
	{ from, to, count }: AskedLines,
	budget: Budget,
): Promise<FittedLines> {
	if (from !== undefined && to !== undefined && to < from)
		throw new Fault("bad_input", { problems: [`\`to\` (${to}) is before \`from\` (${from})`] });
	const view = await session.transcript.view();
	const last = to ?? (count === undefined ? view.total : Math.max(1, from!) + count - 1);
	const first = from ?? (count === undefined ? 1 : last - count + 1);
	return fitLines(view, { from: first, to: last }, { ...budget, keep: from === undefined ? "last" : "first" });
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

const LF = 0x0a;

/** Output as it came, of too much its beginning and its end, cut between lines where there are some. */
export async function fitAsItCame(session: Session, { from, to }: LineRange, budget: Budget): Promise<FittedLines> {
	const { headBytes, tailBytes } = limits;
	const read = async (first: number, last: number) => bytesOf(await session.journal.read(first, last));
	const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
	const most = Math.min(Math.floor(budget.maxTokens * budget.charsPerToken), headBytes + tailBytes);
	const whole = to - from <= headBytes + tailBytes ? decode(await read(from, to)) : null;
	const chars = whole?.length ?? to - from;
	if (whole !== null && chars <= most) return { text: whole, truncated: false, lines: null, leftOut: null, chars };
	const longestMark = budget.mark(cutLines({ from: chars, to: chars + 1 }, chars));
	const room = Math.max(most - longestMark.length - 2, Math.floor(most / 2));
	const [head, tail] = await Promise.all([
		read(from, from + Math.floor(room * HEAD_SHARE)),
		read(to - Math.ceil(room * (1 - HEAD_SHARE)), to),
	]);
	const [first, last] = [wholeLines(head), fromLineStart(tail)];
	const gap = { from: from + first.length, to: to - last.length };
	const view = await session.transcript.view({ at: [gap.from, gap.to] });
	const leftOut = view.linesBetween(gap.from, gap.to);
	const text = `${decode(first)}${budget.mark(cutLines(leftOut, view.total))}\r\n${decode(last)}`;
	return { text, truncated: true, lines: null, leftOut, chars };
}

/** All of it where it is within one line. */
const wholeLines = (bytes: Uint8Array) => bytes.subarray(0, bytes.lastIndexOf(LF) + 1 || bytes.length);
const fromLineStart = (bytes: Uint8Array) => bytes.subarray(bytes.indexOf(LF) + 1);

/**
 * What a command wrote to each of its streams. Of too much: its lines on the terminal, where the other stream is empty. Where
 * both wrote, only the terminal has their order: the ends of the stream, and the lines in which all of it is.
 */
export async function streamTexts(
	session: Session,
	{ streams, from, to }: { readonly streams: Streams | null } & LineRange,
	mark: CutMark,
): Promise<{ readonly stdout: string; readonly stderr: string }> {
	const { stdout, stderr } = streams ?? NO_STREAMS;
	const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
	const maxTokens = limits.headBytes + limits.tailBytes;
	const textOf = async ({ head, tail, leftOut }: StreamPart, other: StreamPart): Promise<string> => {
		if (leftOut === 0) return decode(head);
		if (other.head.length === 0)
			return `${(await fitBetween(session, { from, to }, { maxTokens, charsPerToken: 1, mark })).text}\n`;
		const view = await session.transcript.view({ at: [from, to] });
		const both = cutLines(view.linesBetween(from, to), view.total);
		const [first, last] = [wholeLines(head), fromLineStart(tail)];
		const bytes = leftOut + head.length - first.length + tail.length - last.length;
		const what = `${bytes} bytes of ${both.what} (both streams)`;
		return `${decode(first)}${mark({ ...both, what })}\n${decode(last)}`;
	};
	return { stdout: await textOf(stdout, stderr), stderr: await textOf(stderr, stdout) };
}

const NO_STREAMS: Streams = { stdout: NOTHING, stderr: NOTHING };
