// A program that polls the terminal with a timeout, again and again: for how long it has done nothing else. Pure.
//
// One that repaints by a short clock is never quiet. But between two ticks it sleeps, and takes whatever key comes: that it
// sleeps like this most of the time, for long enough, shows its turn as much as silence does.

import type { KernelFacts } from "../protocol/kernel-facts.ts";
import { isBusy, readerAmong, withTimeouts } from "./evidence.ts";

export interface Ticking {
	readonly pid: number;
	/** Since anything was done to it: how long it was asleep, and how long at work. */
	readonly asleepMs: number;
	readonly awakeMs: number;
	/** The last look: when, and how it found it. */
	readonly at: number;
	readonly asleep: boolean;
	/** It was found to do nothing else before: see `onlyTicks`. */
	readonly settled: boolean;
}

const LONG_ENOUGH_MS = 800;
const LONG_ENOUGH_AGAIN_MS = 250;
const ASLEEP_PER_AWAKE = 3;

export function ticking(before: Ticking | null, facts: KernelFacts): Ticking | null {
	const reader = readerAmong(withTimeouts(facts.threads, facts));
	const asleep = reader !== null && reader.reading === "ticking" && reader.thread.foreground;
	const pid = reader?.thread.pid ?? facts.threads.find(isBusy)?.pid;
	const other = pid === undefined || (before !== null && before.pid !== pid) || (reader !== null && !asleep);
	if (other || (before === null && !asleep)) return null;
	const { at } = facts;
	if (before === null) return { pid, asleepMs: 0, awakeMs: 0, at, asleep, settled: false };
	const sinceMs = Math.max(0, at - before.at);
	const seen = before.asleep
		? { ...before, at, asleep, asleepMs: before.asleepMs + sinceMs }
		: { ...before, at, asleep, awakeMs: before.awakeMs + sinceMs };
	return { ...seen, settled: seen.settled || onlyTicks(seen) };
}

/** Something was typed or done: what counts begins anew. */
export const disturbed = (before: Ticking | null): Ticking | null =>
	before && { ...before, asleepMs: 0, awakeMs: 0, at: Number.POSITIVE_INFINITY };

/** It has done nothing else for long enough. */
export function onlyTicks({ asleepMs, awakeMs, settled }: Ticking): boolean {
	return asleepMs >= (settled ? LONG_ENOUGH_AGAIN_MS : LONG_ENOUGH_MS) && asleepMs >= awakeMs * ASLEEP_PER_AWAKE;
}
