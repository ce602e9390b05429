// The clocks of other hosts: when something happened there, by this machine's clock. A host tells its time with each
// lease; ages and "since" are reckoned here, where they are asked for.

import { LEASE } from "./buckets.ts";

/** A lease may be read so long after it was written: clocks that differ by less are taken for the same. */
const SAME_MS = LEASE.ttlMs;
/** The last time that a date has. */
const LAST = 8.64e15;

/** What to add to the times of a host that has said `theirs`; `before`: what was added until now, which does not waver. */
export function clockOf(before: number, theirs: number | undefined, ours = Date.now()): number {
	if (theirs === undefined) return 0; // of an older version
	const found = ours - theirs;
	if (Math.abs(found - before) < SAME_MS) return before;
	return Math.abs(found) < SAME_MS ? 0 : found;
}

/** A time of a host by our clock. */
export const hereMs = (theirs: number, clock = 0): number => Math.min(LAST, Math.max(0, theirs + clock));
