// Lines of a transcript that match, each with its number and the lines around it, within a budget.

import { type CleanLine, comparable, oneLine, safe } from "../protocol/clean.ts";
import { matchPlace } from "../session/line-finder.ts";
import { lineMatcher } from "../session/line-pattern.ts";
import type { Session } from "../session/session.ts";
import type { LineRange, NumberedLine, TranscriptView } from "../session/transcript-view.ts";
import {
	type Budget,
	clip,
	clipAround,
	cutLines,
	type FittedLines,
	MARK_CHARS,
	nativeBudget,
	withinTokens,
} from "./excerpt.ts";
import { type Cut, callOn, type Reader } from "./recall.ts";
import type { ToolContext } from "./tool.ts";

export interface LineSearch {
	readonly search?: string | undefined;
	readonly pattern?: string | undefined;
	readonly from?: number | undefined;
	readonly to?: number | undefined;
	readonly lines?: number | undefined;
	readonly context: number;
	readonly order: "newest" | "oldest";
	readonly maxTokens?: number | undefined;
}

const USUAL_MATCHES = 50;
/** Of a longer line a part is shown: what it is about is where it matches. */
const LONG_LINE_CHARS = 1500;
/** The lines around a match are no more, or not shown. */
const MAX_READ_CHARS = 1 << 20;
/** A quota makes one; a disk that is full now and then, some. */
const MAX_NOT_KEPT = 10;

interface Found extends FittedLines {
	readonly matches: { readonly count: number; readonly shown: number };
}

export async function searchLines(
	session: Session,
	input: LineSearch,
	context: Pick<ToolContext, "caller" | "sessions" | "signal">,
): Promise<Found> {
	const { caller, signal } = context;
	const view = await session.transcript.view({ signal });
	const { total } = view;
	const range = { from: Math.max(1, input.from ?? 1), to: Math.min(input.to ?? total, total) };
	const { count, lines } = await view.search({
		text: input.search,
		pattern: input.pattern,
		range,
		order: input.order,
		most: input.lines ?? USUAL_MATCHES,
		caller: caller.owner,
		signal,
	});
	const budget = nativeBudget(input.maxTokens, session, context);
	const { parts, shown } = await withinTokens(
		budget,
		(tried) => partsWithin(view, lines, input, tried, { caller, signal }),
		({ parts }) => ({ text: parts.join("\n") }),
	);
	const cut = shown.length < count ? [budget.mark(others(input, count, shown))] : [];
	// Where nothing was found, it may have been there.
	const notKept = view.notKept(range).slice(0, MAX_NOT_KEPT);
	const found = input.order === "oldest" ? [...parts, ...cut] : [...cut, ...parts];
	const text = [...notKept.map((lines) => lines.text), ...found].join("\n");
	return {
		text,
		truncated: cut.length > 0,
		lines: { ...range, total },
		leftOut: null,
		chars: text.length,
		matches: { count, shown: shown.length },
	};
}

/** What a full-screen program shows now is in no numbered line. Null where there is no such program. */
export function onFullScreen(
	session: Session,
	{ search, pattern }: Pick<LineSearch, "search" | "pattern">,
	reader: Reader,
): CleanLine | null {
	if (session.ended || !session.screen.modes.alternateScreen) return null;
	const call = oneLine(callOn(session, { view: "screen" }, reader));
	const without = safe`the program's full screen is not in these lines`;
	if (search === undefined && pattern === undefined) return safe`${without}: ${call}`;
	const rows = comparable(session.screen.snapshot().text).split("\n");
	const matching =
		pattern === undefined
			? rows.filter((row) => row.includes(comparable(search!))).length
			: lineMatcher(comparable(pattern))(rows).length;
	const rowsOfIt = matching === 0 ? safe`no row` : matching === 1 ? safe`1 row` : safe`${matching} rows`;
	return safe`${without}, and ${rowsOfIt} of it ${matching > 1 ? "match" : "matches"}: ${call}`;
}

/** The matches that are not shown: those before the shown ones, or after them. */
function others(input: LineSearch, count: number, shown: readonly number[]): Cut {
	const { search, pattern, lines, context, order } = input;
	const range =
		order === "oldest"
			? { from: Math.max(...shown) + 1, to: input.to }
			: { from: input.from, to: Math.min(...shown) - 1 };
	return {
		what: `${count - shown.length} of ${count} matching lines`,
		call: {
			search,
			pattern,
			...range,
			lines,
			context: context === 0 ? undefined : context,
			order: order === "oldest" ? order : undefined,
		},
	};
}

/** As many matches as fit, from the end that was asked for; with context, a line between those that are apart. */
async function partsWithin(
	view: TranscriptView,
	lines: readonly number[],
	{ context, order, search, pattern }: LineSearch,
	{ maxTokens, charsPerToken, mark }: Budget,
	{ caller, signal }: Pick<ToolContext, "caller" | "signal">,
): Promise<{ parts: readonly string[]; shown: readonly number[] }> {
	const isMatch = new Set(lines);
	const labelled = async (line: NumberedLine, room: number) => {
		const { text } = isMatch.has(line.number) ? await around(line, room) : clip(line, { room, column: 1, mark });
		return `${line.number}${isMatch.has(line.number) ? ":" : "-"} ${text}`;
	};
	const most = Math.floor(maxTokens * charsPerToken);
	const wanted = order === "oldest" ? lines : lines.toReversed();
	const groups: string[][] = [];
	const shown: number[] = [];
	let left = Math.max(most - MARK_CHARS, Math.floor(most / 2));
	let covered = order === "oldest" ? 0 : Number.POSITIVE_INFINITY;
	for (const line of wanted) {
		const range =
			order === "oldest"
				? { from: Math.max(line - context, covered + 1), to: line + context }
				: { from: line - context, to: Math.min(line + context, covered - 1) };
		const inRange = await view.first(range, MAX_READ_CHARS);
		const whole = await Promise.all(inRange.map((one) => labelled(one, LONG_LINE_CHARS)));
		const fits = (inRange.at(-1)?.last ?? 0) >= Math.min(range.to, view.total) && charsOf(whole) <= left;
		if (!fits && shown.length > 0) break;
		const group = fits ? whole : await alone(line, range);
		// Adjacent groups are one.
		const apart =
			context > 0 && shown.length > 0 && (order === "oldest" ? range.from > covered + 1 : range.to < covered - 1);
		if (apart) group[order === "oldest" ? "unshift" : "push"]("--");
		groups.push(group);
		left -= charsOf(group);
		shown.push(line);
		covered = order === "oldest" ? range.to : range.from;
	}
	if (order === "newest") groups.reverse();
	return { parts: groups.flat(), shown };

	/** There is no room for its context, and perhaps not even for all of the line itself. */
	async function alone(line: number, { from, to }: LineRange): Promise<string[]> {
		const [match] = await view.first({ from: line, to: line }, 1);
		const beside = { from: Math.max(1, from), to: Math.min(to, view.total) };
		const shortened = await labelled(match!, Math.min(left, LONG_LINE_CHARS));
		return [shortened, ...(context > 0 ? [mark(cutLines(beside, view.total))] : [])];
	}

	/** Of a long line the part with the match. */
	async function around(line: NumberedLine, room: number): Promise<NumberedLine> {
		if (line.text.length <= room) return line;
		const text = comparable(line.text);
		const at =
			pattern === undefined
				? text.indexOf(comparable(search!))
				: await matchPlace(comparable(pattern), text, { caller: caller.owner, signal });
		return clipAround(line, at, { room, mark });
	}
}

const charsOf = (texts: readonly string[]) => texts.reduce((sum, text) => sum + text.length + 1, 0);
