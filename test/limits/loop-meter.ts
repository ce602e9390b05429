// How long the event loop was busy in one piece, in processor time of its thread, and how much the process grew.
//
// Not by the clock: on a shared machine a thread that is not scheduled looks like one that stalls. The kernel counts the
// nanoseconds that the thread ran (schedstat); between two ticks of a timer that is the longest single turn of the loop.

import { closeSync, openSync, readSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

export interface Measured {
	readonly stallMs: number;
	readonly grewMb: number;
}

/** Runs `act` and measures it; `collect`: on a collected heap. */
export async function measured(
	act: () => Promise<unknown>,
	{ collect = false }: { collect?: boolean } = {},
): Promise<Measured> {
	const schedstat = openSync(`/proc/self/task/${process.pid}/schedstat`, "r");
	const buffer = Buffer.alloc(64);
	const ranMs = () => Number.parseInt(buffer.toString("latin1", 0, readSync(schedstat, buffer, 0, 64, 0)), 10) / 1e6;
	if (collect) collectGarbage();
	const before = process.memoryUsage.rss();
	let longest = 0;
	let most = before;
	let last = ranMs();
	const tick = () => {
		const now = ranMs();
		longest = Math.max(longest, now - last);
		most = Math.max(most, process.memoryUsage.rss());
		last = ranMs();
	};
	const timer = setInterval(tick, 1);
	try {
		await act();
		await new Promise((resolve) => setImmediate(resolve));
		tick();
	} finally {
		clearInterval(timer);
		closeSync(schedstat);
	}
	return { stallMs: Math.round(longest), grewMb: Math.round((most - before) / (1 << 20)) };
}
