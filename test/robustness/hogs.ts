// Programs that take all they can get: each under the limit that contains it, and with an end of its own, so that none
// can hurt the machine where a limit fails.

import { join } from "node:path";

export interface Hog {
	readonly name: string;
	readonly argv: readonly string[];
	readonly limits: Readonly<Record<string, number>>;
	/** How its end is told. */
	readonly because: string;
}

const MB = 2 ** 20;
/** 2^10 processes at most, each of which sleeps for a minute at most. */
const BOMB = "bomb() { if [ $1 -ge 10 ]; then exec sleep 60; fi; bomb $(($1+1)) & bomb $(($1+1)) & wait; }; bomb 0";

/** The disk fillers write into `directory`, 300 MB each at most. */
export function hogs(directory: string): readonly Hog[] {
	return [
		{
			name: "fork-bomb",
			argv: ["bash", "-c", BOMB],
			limits: { processes: 40 },
			because: "ended: 40 processes limit",
		},
		{
			name: "memory-hog", // tail keeps the line in memory: 1.2 GB at most
			argv: ["bash", "-c", "(head -c 1200000000 /dev/zero; sleep 60) | tail -n 1 > /dev/null"],
			limits: { memoryBytes: 256 * MB },
			because: "ended: 256 MB memory limit",
		},
		{
			name: "flood",
			argv: ["timeout", "60", "yes"],
			limits: { outputBytesPerSecond: 200_000, wallMs: 6000 },
			because: "ended: 6 s wall-clock limit",
		},
		{
			name: "spinner",
			argv: ["timeout", "60", "bash", "-c", "(while :; do :; done) & while :; do :; done"],
			limits: { cpuSeconds: 2 },
			because: "ended: 2 s CPU limit",
		},
		...["workspace", "tmp"].map((place) => ({
			name: `filler-${place}`,
			argv: ["dd", "if=/dev/zero", `of=${join(directory, place)}`, "bs=1M", "count=300", "status=none"],
			limits: { fileBytes: 8 * MB },
			because: "ended: 8 MB file size limit",
		})),
	];
}
