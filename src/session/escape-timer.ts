// Has the program taken a lone Escape? Pure.
//
// Escape alone, or the start of an arrow key? A program that cannot know sleeps with a short timer for the rest, and what is
// typed meanwhile becomes part of the key. It has taken Escape when it sleeps without such a timer, or when a
// sleep with one has lasted to its end and no longer one follows (vim: 25 ms, then a second). A sleep is known by its
// thread's count of switches; it began before it was first seen. Some look again and again, with very short sleeps between
// (fzf: 5 ms, twenty times): of these no single one tells, only how long they have gone on.

import type { ThreadFacts } from "../protocol/kernel-facts.ts";

// Curses and vim wait a second for the rest of a key, readline half of one; a longer sleep has other reasons.
const LONGEST_MS = 1050;
// A timer fires late by a tick or two of the kernel, and the program needs a moment to act.
const LATE_MS = 20;
// Whatever a program does all the time in short sleeps, it is not waiting for the rest of a key any more.
const GIVE_UP_MS = 2000;

// Shorter sleeps are over before the next probe, and come in rows …
const SHORT_MS = LATE_MS;
// … which last a tenth of a second where they are for a key.
const ROW_MS = 150;

interface Sleep {
	readonly tid: number;
	readonly switches: number;
	readonly timeoutMs: number;
	/** When it was first seen; of short ones, the first in the row. */
	readonly seenAt: number;
}

export interface EscapeTimer {
	/** The sleep that it may end with; null until one is seen. */
	readonly sleep: Sleep | null;
}

/** Escape has just been typed. */
export const TYPED: EscapeTimer = { sleep: null };

/** After another probe; null once Escape has been taken. `reader` is null while no thread reads the terminal. */
export function escapeTimer(
	timer: EscapeTimer,
	reader: ThreadFacts | null,
	{ at, sinceInputMs }: { readonly at: number; readonly sinceInputMs: number | null },
): EscapeTimer | null {
	if (sinceInputMs !== null && sinceInputMs > GIVE_UP_MS) return null;
	if (reader === null || !reader.fresh) return timer;
	const { tid, switches, timeoutMs } = reader;
	if (timeoutMs === undefined || timeoutMs > LONGEST_MS) return null;
	const { sleep } = timer;
	const lastedMs = sleep === null ? 0 : at - sleep.seenAt;
	if (sleep !== null && isShort(sleep) && (isShort(reader) || lastedMs >= ROW_MS))
		return lastedMs < ROW_MS ? timer : null;
	if (sleep?.tid === tid && sleep.switches === switches) return lastedMs < sleep.timeoutMs + LATE_MS ? timer : null;
	// The one before has ended: by its timer, unless something else woke the program. A longer one may still be for the key.
	if (sleep !== null && lastedMs >= sleep.timeoutMs - LATE_MS && timeoutMs <= sleep.timeoutMs) return null;
	return { sleep: { tid, switches, timeoutMs, seenAt: at } };
}

const isShort = ({ timeoutMs }: { readonly timeoutMs?: number | undefined }) =>
	timeoutMs !== undefined && timeoutMs < SHORT_MS;

/** When to look again, in milliseconds. */
export function untilTaken({ sleep }: EscapeTimer, at: number): number {
	if (sleep === null) return LATE_MS;
	return Math.max(1, sleep.seenAt + (isShort(sleep) ? ROW_MS : sleep.timeoutMs + LATE_MS) - at);
}
