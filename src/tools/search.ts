// Lines of a transcript that match, each with its number and the lines around it, within a budget.

import type { Session } from "../session/session.ts";
import type { NumberedLine, TranscriptView } from "../session/transcript-view.ts";
import { type FittedLines, nativeBudget } from "./excerpt.ts";
import type { ToolContext } from "./tool.ts";

export interface LineSearch {
	readonly search?: string | undefined;
	readonly pattern?: string | undefined;
	readonly from?: number | undefined;
	readonly to?: number | undefined;
	readonly lines: number;
	readonly context: number;
	readonly order: "newest" | "oldest";
	readonly maxTokens: number;
}

/** A quota makes one; a disk that is full now and then, some. */
const MAX_NOT_KEPT = 10;

interface Found extends FittedLines {
	readonly matches: { readonly count: number; readonly shown: number };
}

export async function searchLines(
	session: Session,
	input: LineSearch,
	{ caller, signal }: Pick<ToolContext, "caller" | "signal">,
): Promise<Found> {
	const view = await session.transcript.view({ signal });
	const { total } = view;
	const range = { from: Math.max(1, input.from ?? 1), to: Math.min(input.to ?? total, total) };
	const { count, lines } = await view.search({
		text: input.search,
		pattern: input.pattern,
		range,
		order: input.order,
		most: input.lines,
		caller: caller.owner,
		signal,
	});
	const { maxTokens, charsPerToken } = nativeBudget(input.maxTokens, session);
	const { parts, shown } = await partsWithin(view, lines, input, Math.floor(maxTokens * charsPerToken));
	// Where nothing was found, it may have been there.
	const notKept = view.notKept(range).slice(0, MAX_NOT_KEPT);
	const text = [...notKept.map((lines) => lines.text), ...parts].join("\n");
	return {
		text,
		truncated: shown < count,
		lines: { ...range, total },
		leftOut: null,
		chars: text.length,
		matches: { count, shown },
	};
}

/** As many matches as fit, from the end that was asked for; with context, a line between those that are apart. */
async function partsWithin(
	view: TranscriptView,
	lines: readonly number[],
	{ context, order }: LineSearch,
	room: number,
): Promise<{ parts: readonly string[]; shown: number }> {
	const isMatch = new Set(lines);
	const wanted = order === "oldest" ? lines : lines.toReversed();
	const groups: string[][] = [];
	let left = room;
	let shown = 0;
	let covered = order === "oldest" ? 0 : Number.POSITIVE_INFINITY;
	for (const line of wanted) {
		const range =
			order === "oldest"
				? { from: Math.max(line - context, covered + 1), to: line + context }
				: { from: line - context, to: Math.min(line + context, covered - 1) };
		const group: string[] = [];
		for (const found of await view.first(range, Math.max(1, left))) group.push(labelled(found, isMatch));
		const chars = group.reduce((sum, text) => sum + text.length + 1, 0);
		if (shown > 0 && chars > left) break;
		// Adjacent groups are one.
		const apart = context > 0 && shown > 0 && (order === "oldest" ? range.from > covered + 1 : range.to < covered - 1);
		if (apart) group[order === "oldest" ? "unshift" : "push"]("--");
		groups.push(group);
		left -= chars;
		shown += 1;
		covered = order === "oldest" ? range.to : range.from;
	}
	if (order === "newest") groups.reverse();
	return { parts: groups.flat(), shown };
}

const labelled = ({ number, text }: NumberedLine, isMatch: ReadonlySet<number>): string =>
	`${number}${isMatch.has(number) ? ":" : "-"} ${text}`;
