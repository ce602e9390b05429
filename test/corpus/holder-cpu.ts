// The processor time of a session's holder, by the scheduler's own count: a clock tick would be too coarse for one watch.

import { readdirSync, readFileSync } from "node:fs";

/** The process that started a session's program. */
export function holderOf(program: number): number | null {
	try {
		const stat = readFileSync(`/proc/${program}/stat`, "utf8");
		return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
	} catch {
		return null; // it has ended
	}
}

/** Milliseconds on a processor, of all its threads; null once it has ended. */
export function cpuMs(pid: number): number | null {
	try {
		return readdirSync(`/proc/${pid}/task`)
			.map((tid) => Number(readFileSync(`/proc/${pid}/task/${tid}/schedstat`, "utf8").split(" ")[0]) / 1e6)
			.reduce((sum, ms) => sum + ms, 0);
	} catch {
		return null;
	}
}
