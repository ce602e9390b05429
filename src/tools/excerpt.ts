// Output within a budget. What does not fit is cut between numbered lines of the transcript, and
// the cut names exactly what is missing and the call that shows it (recall.ts).

import { bytesOf, type Excerpt } from "../journal/journal.ts";
import { Fault } from "../protocol/fault.ts";
import { limits, options } from "../session/options.ts";
import type { Session } from "../session/session.ts";
import { seenOf } from "../session/shell/output.ts";
import type { LineRange, NumberedLine, TranscriptView } from "../session/transcript-view.ts";
import { CHARS_PER_TOKEN, estimateTokens, fit } from "../terminal/budget.ts";
import type { ScreenDiff } from "../terminal/screen-diff.ts";
import { type Cut, type CutMark, markFor, type Reader } from "./recall.ts";

/** Of new output the end usually matters more, and of very much of it the end alone. */
const HEAD_SHARE = 0.3;
const EXCERPT_HEAD_SHARE = 0.15;
/** So many times the budget is very much: more than anybody reads answer by answer. */
const VERY_MUCH = 4;
/** For the mark itself. */
export const MARK_CHARS = 100;

/** How a caller counts, and what it can do about a cut. */
export interface Budget {
	readonly maxTokens: number;
	readonly charsPerToken: number;
	/** What a text really costs, where the rate alone does not say (`withinTokens`). */
	readonly count?: (text: string) => number;
	readonly mark: CutMark;
	/** For very much new output, where the caller did not say how much it wants. */
	readonly excerptTokens?: number;
	/** When the answer is due, of `performance.now()`: what is not rendered by then is passed over, but for the newest. */
	readonly by?: number;
}

/** What the call asks for, or what the options say. */
export function nativeBudget(asked: number | undefined, session: Session, reader: Reader): Budget {
	const { maxTokens, excerptTokens } = reader.sessions.options;
	const counted = { charsPerToken: CHARS_PER_TOKEN, count: estimateTokens, mark: markFor(session, reader) };
	return asked === undefined ? { maxTokens, excerptTokens, ...counted } : { maxTokens: asked, ...counted };
}

const MAX_FITTINGS = 5;

/** What was fitted by a rate, fitted again by a lower one as long as the text has more tokens than the budget. */
export async function withinTokens<T>(
	budget: Budget,
	fitTo: (budget: Budget) => Promise<T>,
	measured: (fitted: T) => { readonly text: string; readonly maxTokens?: number },
): Promise<T> {
	const { count = () => 0 } = budget;
	let { charsPerToken } = budget;
	for (let fittings = 1; ; fittings++) {
		const fitted = await fitTo({ ...budget, charsPerToken });
		const { text, maxTokens = budget.maxTokens } = measured(fitted);
		const tokens = count(text);
		if (tokens <= maxTokens || fittings === MAX_FITTINGS) return fitted;
		charsPerToken *= (0.98 * maxTokens) / tokens;
	}
}

const named = ({ from, to }: LineRange): string => (from === to ? `line ${from}` : `lines ${from}–${to}`);

/** Lines that are not shown. */
export const cutLines = (range: LineRange, total: number): Cut => ({
	what: `${named(range)} of ${total}`,
	call: { from: range.from, to: range.to },
});

/** Output that is not shown, and whose lines there was no time to number. */
export const cutBytes = ({ transcript }: Session, range: LineRange): Cut => ({
	what: `bytes ${range.from} to ${range.to}, too many to number their lines in time,`,
	call: { view: "raw", ...range },
	line: transcript.lineBefore(range.from),
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
	/** What it should have at most, where that is less than the budget. */
	readonly maxTokens?: number;
	/** Bytes of output before those that it shows, where there was no time to number lines. */
	readonly passedOver?: LineRange;
}

/** The lines of a range within a budget: all of them, or the first, the last, or both. `column`: of the first line, from there on. */
export async function fitLines(
	view: TranscriptView,
	range: LineRange & { readonly column?: number | undefined },
	{ keep, ...budget }: Budget & { readonly keep: "first" | "last" | "both" },
): Promise<FittedLines> {
	const { total } = view;
	const { from, to } = { from: Math.max(1, range.from), to: Math.min(range.to, total) };
	const lines = { from, to, total };
	if (from > to) return { text: "", truncated: false, lines, leftOut: null, chars: 0 };
	const most = Math.floor(budget.maxTokens * budget.charsPerToken);
	const column = Math.max(1, range.column ?? 1);
	const begin = (lines: readonly NumberedLine[]) =>
		lines.map((line, i) => (i === 0 ? { ...line, text: line.text.slice(column - 1) } : line));
	const whole = begin(await view.first({ from, to }, most));
	const chars = charsOf(whole);
	if (whole.at(-1)!.last === to && chars <= most) {
		return { text: textOf(whole), truncated: false, lines, leftOut: null, chars };
	}
	const longestMark = budget.mark(cutLines({ from: to - 1, to }, total));
	const size = view.sizeOf({ from, to });
	const excerpt =
		keep === "both" && size > most * VERY_MUCH && budget.excerptTokens !== undefined
			? {
					chars: Math.min(most, Math.floor(budget.excerptTokens * budget.charsPerToken)),
					headShare: EXCERPT_HEAD_SHARE,
					maxTokens: budget.excerptTokens,
				}
			: { chars: most, headShare: HEAD_SHARE, maxTokens: budget.maxTokens };
	const room = Math.max(excerpt.chars - longestMark.length - 1, Math.floor(excerpt.chars / 2));
	const headRoom = keep === "first" ? room : keep === "last" ? 0 : Math.floor(room * excerpt.headShare);
	const clipped = (lines: readonly NumberedLine[], room: number, column = 1) =>
		lines.length === 1 ? [clip(lines[0]!, { room, column, mark: budget.mark })] : lines;
	const head = headRoom === 0 ? [] : clipped(begin(await view.first({ from, to }, headRoom)), headRoom, column);
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
		chars: size,
		maxTokens: Math.min(excerpt.maxTokens, budget.maxTokens),
	};
}

const textOf = (lines: readonly NumberedLine[]) => lines.map(({ text }) => text).join("\n");
const charsOf = (lines: readonly NumberedLine[]) => lines.reduce((sum, { text }) => sum + text.length + 1, 0);

interface Clipping {
	readonly room: number;
	/** Where the text begins in its line. */
	readonly column: number;
	readonly mark: CutMark;
}

/** A single line may be longer than there is room for: its beginning, and how to see the rest. */
export function clip(line: NumberedLine, { room, column, mark }: Clipping): NumberedLine {
	const { number, text } = line;
	if (text.length <= room) return line;
	// The first character is shown even if it is longer.
	const kept = text.slice(0, wholeCharacters(text, room) || firstCharacter(text));
	const call = { from: number, to: number, column: column + kept.length };
	const rest = text.length - kept.length;
	return {
		...line,
		text: kept + mark({ what: `${rest} more ${rest === 1 ? "character" : "characters"} of line ${number}`, call }),
	};
}

/** The same around a place in it. */
export function clipAround(line: NumberedLine, at: number, { room, mark }: Omit<Clipping, "column">): NumberedLine {
	const { number, text } = line;
	if (text.length <= room) return line;
	const start = wholeCharacters(text, Math.max(0, Math.min(at - Math.floor(room / 4), text.length - room)));
	if (start === 0) return clip(line, { room, column: 1, mark });
	const kept = text.slice(start, wholeCharacters(text, start + Math.max(1, room)));
	const what = `all but characters ${start + 1}–${start + kept.length} of line ${number}`;
	return { ...line, text: kept + mark({ what, call: { from: number, to: number } }) };
}

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });
/** Longer clusters are nobody's writing: they are cut anywhere. */
const MAX_CLUSTER = 256;
const FLAG_LETTER = /^[\u{1f1e6}-\u{1f1ff}]$/u;

/** So many characters, or fewer: what is drawn as one, such as a joined emoji, is not cut. */
function wholeCharacters(text: string, length: number): number {
	if (length <= 0 || length >= text.length) return Math.max(0, length);
	let from = Math.max(0, length - MAX_CLUSTER);
	if (from > 0 && /^[\udc00-\udfff]$/.test(text.charAt(from))) from--;
	// Flags are pairs, counted from the first one.
	while (from > 0 && FLAG_LETTER.test(text.slice(from, from + 2))) from = Math.max(0, from - 2);
	const window = text.slice(from, length + MAX_CLUSTER);
	const start = from + (graphemes.segment(window).containing(length - from)?.index ?? 0);
	const cut = start > from || from === 0 ? start : length;
	return /^[\ud800-\udbff]$/.test(text.charAt(cut - 1)) ? cut - 1 : cut;
}

const firstCharacter = (text: string) =>
	graphemes.segment(text.slice(0, MAX_CLUSTER)).containing(0)?.segment.length ?? 0;

type NewOutput = Pick<ScreenDiff, "kind" | "text" | "missed" | "offset"> & Partial<Pick<ScreenDiff, "erased">>;

/** What is new to a caller, within the budget. */
export async function fitNew(
	session: Session,
	{ diff, since }: { diff: NewOutput; since: number },
	budget: Budget,
): Promise<FittedLines> {
	const { kind, text, missed, erased = null } = diff;
	const whole = { text, truncated: false, lines: null, leftOut: null, chars: text.length };
	const fits = text.length <= budget.maxTokens * budget.charsPerToken;
	if (missed === null && erased?.printed === false) {
		const view = await session.transcript.viewBy(budget.by ?? NEVER, { at: [since, diff.offset] });
		if (view === null) return { ...whole, ...fitScreen(erased.current, budget) };
		const { from } = view.linesBetween(since, diff.offset);
		return withErased(view, { from, to: view.lineAt(diff.offset) - erased.cursorLine - 1 }, erased.current, budget);
	}
	const complete = missed === null && erased === null;
	if (fits && complete) return whole;
	// What was printed after the screen was cleared may be more than the screen has.
	if (kind !== "lines" && complete) return { ...whole, ...fitScreen(text, budget) };
	return fitBetween(session, { from: since, to: diff.offset }, budget);
}

/** The lines of the output between two offsets: what a command printed, say. */
export async function fitBetween(session: Session, range: LineRange, budget: Budget): Promise<FittedLines> {
	const view = await session.transcript.viewBy(budget.by ?? NEVER, { at: [range.from, range.to] });
	if (view === null) return newestBetween(session, range, budget);
	return fitLines(view, view.linesBetween(range.from, range.to), { ...budget, keep: "both" });
}

export const NEVER = Number.POSITIVE_INFINITY;
/** For a call that has no timeout: of a flood the newest is enough. */
export const READ_MS = 2000;
/** Of what it takes to draw a character: colours, and line ends. */
const BYTES_PER_SHOWN_CHAR = 4;

/** The end of the output between two offsets, from its bytes, and which bytes are before it, unless it has all lines that are wanted. */
async function newestBetween(
	session: Session,
	{ from, to }: LineRange,
	{ maxLines = Number.POSITIVE_INFINITY, ...budget }: Budget & { readonly maxLines?: number },
): Promise<FittedLines> {
	const maxTokens = Math.min(budget.maxTokens, budget.excerptTokens ?? budget.maxTokens);
	const room = Math.max(1, Math.floor(maxTokens * budget.charsPerToken) - 2 * MARK_CHARS);
	const start = Math.max(from, to - Math.min(limits.tailBytes, room * BYTES_PER_SHOWN_CHAR));
	const { text } = seenOf(bytesOf(await session.journal.read(start, to)), session.screen.cols);
	const shown = ending(text, room);
	const rows = shown.split("\n");
	if (rows.length > maxLines) {
		const wanted = rows.slice(-maxLines).join("\n");
		return { text: wanted, truncated: false, lines: null, leftOut: null, chars: wanted.length };
	}
	// It took at least as many bytes: what is named may begin to be shown before its end, but nothing is in neither.
	const passedOver = { from, to: Math.max(start, to - Buffer.byteLength(shown)) };
	return {
		text: passedOver.from < passedOver.to ? `${budget.mark(cutBytes(session, passedOver))}\n${shown}` : shown,
		truncated: true,
		lines: null,
		leftOut: null,
		chars: to - from,
		maxTokens,
		passedOver,
	};
}

/** Whole lines from the end, or the end of the last one. */
function ending(text: string, room: number): string {
	const last = text.trimEnd();
	if (last.length <= room) return last;
	const line = last.indexOf("\n", last.length - room - 1) + 1;
	return last.slice(line || last.length - room);
}

/** The present screen, and which lines were erased before it. */
export function withErased(view: TranscriptView, leftOut: LineRange, current: string, budget: Budget): FittedLines {
	const { total } = view;
	const fitted = fitScreen(current, budget);
	const chars = view.sizeOf({ from: leftOut.from, to: total });
	if (leftOut.from > leftOut.to) return { ...fitted, lines: null, leftOut: null, chars };
	const mark = budget.mark(cutLines(leftOut, total));
	return {
		text: fitted.text === "" ? mark : `${mark}\n${fitted.text}`,
		truncated: true,
		lines: fitted.truncated ? null : { from: leftOut.from, to: total, total },
		leftOut,
		chars,
	};
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
	const by = performance.now() + READ_MS;
	const { transcript, journal } = session;
	const view = await (end === "first" ? transcript.viewSoFar(by) : transcript.viewBy(by));
	const all = { from: 0, to: journal.end };
	const total = view?.total ?? 0;
	const range = end === "first" ? { from: 1, to: count } : { from: total - count + 1, to: total };
	return withinTokens(
		unasked(mark),
		(budget) =>
			view === null
				? newestBetween(session, all, { ...budget, maxLines: count })
				: fitLines(view, range, { ...budget, keep: end }),
		(fitted) => fitted,
	);
}

/** The budget of a tool that has none of its own; its answer is JSON. */
export const unasked = (mark: CutMark): Budget => ({
	maxTokens: limits.answerTokens,
	charsPerToken: CHARS_PER_TOKEN,
	count: (text) => estimateTokens(JSON.stringify(text)),
	mark,
});

/** Lines by number, as a call may ask for them. */
export interface AskedLines {
	readonly from?: number | undefined;
	readonly to?: number | undefined;
	/** How many, where only one end is given. */
	readonly count?: number | undefined;
	/** Where the first one begins. */
	readonly column?: number | undefined;
}

/** A range from its beginning; with only its end, the last up to there. */
export async function numberedLines(
	session: Session,
	{ from, to, count, column }: AskedLines,
	budget: Budget,
): Promise<FittedLines> {
	if (from !== undefined && to !== undefined && to < from)
		throw new Fault("bad_input", { problems: [`\`to\` (${to}) is before \`from\` (${from})`] });
	const view = await session.transcript.view();
	const last = to ?? (count === undefined ? view.total : Math.max(1, from!) + count - 1);
	const first = from ?? (count === undefined ? 1 : last - count + 1);
	const keep = from === undefined ? "last" : "first";
	return withinTokens(
		budget,
		(tried) => fitLines(view, { from: first, to: last, column }, { ...tried, keep }),
		(fitted) => fitted,
	);
}

/** Four characters of base64 are three bytes. */
const BYTES_PER_CHAR = 3 / 4;
const BASE64_CHARS_PER_TOKEN = 1.4;

/** Output as it came, by offset, as much of it as base64 may fill the budget: from where it was asked for, or the newest. */
export async function fitRaw(
	{ journal }: Session,
	asked: { readonly from?: number | undefined; readonly to?: number | undefined },
	{ maxTokens, charsPerToken, mark }: Budget,
): Promise<FittedLines & { readonly excerpt: Excerpt }> {
	const most = Math.floor(maxTokens * Math.min(charsPerToken, BASE64_CHARS_PER_TOKEN) * BYTES_PER_CHAR);
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

export const LF = 0x0a;
export const decoded = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** Output as it came, of too much its beginning and its end, cut between lines where there are some. */
export async function fitAsItCame(session: Session, { from, to }: LineRange, budget: Budget): Promise<FittedLines> {
	const { headBytes, tailBytes } = limits;
	const read = async (first: number, last: number) => bytesOf(await session.journal.read(first, last));
	const most = Math.min(Math.floor(budget.maxTokens * budget.charsPerToken), headBytes + tailBytes);
	const whole = to - from <= headBytes + tailBytes ? decoded(await read(from, to)) : null;
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
	const view = await session.transcript.viewBy(budget.by ?? NEVER, { at: [gap.from, gap.to] });
	const leftOut = view?.linesBetween(gap.from, gap.to) ?? null;
	const cut = leftOut === null ? cutBytes(session, gap) : cutLines(leftOut, view!.total);
	const text = `${decoded(first)}${budget.mark(cut)}\r\n${decoded(last)}`;
	return { text, truncated: true, lines: null, leftOut, chars };
}

/** All of it where it is within one line. */
export const wholeLines = (bytes: Uint8Array) => bytes.subarray(0, bytes.lastIndexOf(LF) + 1 || bytes.length);
export const fromLineStart = (bytes: Uint8Array) => bytes.subarray(bytes.indexOf(LF) + 1);
