// A session's past at a glance: its turns, commands, states, resizes, drivers, signals, approvals, what is missing and its end, each
// with its time and offset. Made of `timing`, `turns` and the record; for live and ended sessions alike.

import type { Mark, Timeline } from "../protocol/timeline.ts";
import type { SessionRecord } from "./records.ts";
import { listSegments } from "./segments.ts";
import { Slices } from "./slices.ts";
import type { TimingIndex } from "./timing-index.ts";
import { readTurns, type TurnEntry } from "./turns.ts";

/** More than a screen has columns; a page that draws more is slow. */
const MAX_MARKS = 5000;
/** What goes first where there are more. */
const LEAST_WORTH = ["state", "resize", "command", "turn", "signal", "driver", "approval"] as const;

export interface TimelineParts {
	readonly directory: string;
	readonly index: TimingIndex;
	readonly record: Pick<SessionRecord, "createdAt" | "resolvedAt" | "exit" | "state" | "reason" | "cols" | "rows">;
	/** The marks to show at most. */
	readonly maxMarks?: number;
	readonly signal?: AbortSignal | undefined;
}

export async function timeline(parts: TimelineParts): Promise<Timeline> {
	const { directory, index, record, maxMarks = MAX_MARKS, signal } = parts;
	await index.update();
	const slices = new Slices(signal);
	const startedAt = startOf(index, record);
	const hasEnded = record.resolvedAt !== null;
	const { offset, gaps } = await outputOf(directory);
	const turns = await readTurns(directory);
	const marks: Mark[] = [];
	for (const entry of turns.entries) {
		marks.push(await markOf(entry, { index, startedAt, hasEnded }));
		await slices.turn();
	}
	for (const { us, offset: at, cols, rows } of index.resizes) {
		marks.push({ kind: "resize", at: toMs(us), offset: at, cols, rows });
		await slices.turn();
	}
	for (const { from, to } of gaps) {
		const { from: us } = await index.window(from);
		marks.push({ kind: "gap", at: toMs(Math.min(us, index.end.us)), offset: from, to });
	}
	const lastMs = toMs(index.end.us);
	const durationMs = hasEnded ? lastMs : Math.max(lastMs, Date.now() - startedAt);
	if (hasEnded) {
		const { exit, state: status, reason } = record;
		marks.push({
			kind: "end",
			at: toMs(index.exitUs ?? index.end.us),
			offset,
			exit,
			status,
			...(reason !== null && { because: reason }),
		});
	}
	marks.sort((a, b) => a.at - b.at || a.offset - b.offset);
	const shown = worthiest(marks, maxMarks);
	const { cols, rows } = index.resizes.at(-1) ?? index.size ?? record;
	return {
		startedAt,
		endedAt: hasEnded ? startedAt + durationMs : null,
		durationMs,
		offset: Math.max(offset, index.end.offset),
		cols,
		rows,
		dropped: gaps.map((gap) => ({ ...gap, because: "not kept: the session's quota, or a full disk" })),
		marks: shown,
		marksDropped: turns.dropped + marks.length - shown.length,
	};
}

/** The recorded start has no fractions of a second; the record was made a moment before. */
function startOf({ startTimeMs }: TimingIndex, { createdAt }: Pick<SessionRecord, "createdAt">): number {
	return startTimeMs === null ? createdAt : Math.min(Math.max(createdAt, startTimeMs), startTimeMs + 999);
}

/** The end of the output, and what of it is not on disk. */
async function outputOf(directory: string): Promise<{ offset: number; gaps: { from: number; to: number }[] }> {
	const gaps: { from: number; to: number }[] = [];
	let offset = 0;
	for (const { from, to } of await listSegments(directory)) {
		if (from > offset) gaps.push({ from: offset, to: from });
		offset = Math.max(offset, to);
	}
	return { offset, gaps };
}

/** The clock of the log stands still while the machine sleeps, and ours may be set: what there was on the screen decides. */
async function markOf(
	entry: TurnEntry,
	{
		index,
		startedAt,
		hasEnded,
	}: { readonly index: TimingIndex; readonly startedAt: number; readonly hasEnded: boolean },
): Promise<Mark> {
	const { from, to } = await index.window(entry.offset);
	if (entry.kind === "command") {
		const { at: _, ...command } = entry;
		// Its end came with the byte after its output: the shell's mark.
		const ended = await index.window(entry.to);
		const [began, end] = [Math.min(from, index.end.us), Math.min(ended.to, index.end.us)];
		return { ...command, at: toMs(began), tookMs: toMs(Math.max(0, end - began)) };
	}
	const us = Math.min(
		Math.max((entry.at - startedAt) * 1000, Math.min(from, index.end.us)),
		hasEnded ? Math.min(to, index.end.us) : to,
	);
	return { ...entry, at: toMs(us) };
}

/** Rounded up: the screen of that millisecond has what happened. */
const toMs = (us: number) => Math.ceil(us / 1000);

/** At most so many: of the kinds that are worth least, the oldest go first. */
function worthiest(marks: readonly Mark[], most: number): readonly Mark[] {
	let shown = marks;
	for (const kind of LEAST_WORTH) {
		let excess = shown.length - most;
		if (excess <= 0) break;
		shown = shown.filter((mark) => mark.kind !== kind || excess-- <= 0);
	}
	return shown;
}
