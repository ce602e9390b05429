// What a shell's commands leave running in the background: each job is reported
// once, by the run that started it.

import { setTimeout } from "node:timers/promises";
import { statusOf } from "../../pty/process-stat.ts";
import { commandLine, descendants, foregroundOf } from "../../pty/process-tree.ts";

export interface Job {
	readonly pid: number;
	readonly command: string;
}

// Right after the fork a job is still a copy of the shell, even in its group; one in parentheses stays a copy.
const COPY_MS = 20;
/** In the middle of its exec it has no command line at all: a moment, but on a busy machine that can be long. */
const STARTING_MS = 500;
const LOOK_MS = 2;
const SUBSHELL = "a subshell of the command";
const STARTING = "a program that starts";

export class BackgroundJobs {
	#known: ReadonlySet<number> = new Set();

	/** The jobs since the last call: in a group of their own, not the shell's and not in the foreground. */
	async takeNew(shellPid: number): Promise<Job[]> {
		const pids = descendants(shellPid);
		const fresh = pids.filter((pid) => !this.#known.has(pid));
		this.#known = new Set(pids);
		return (await Promise.all(fresh.map((pid) => jobOf(pid, shellPid)))).flat();
	}
}

async function jobOf(pid: number, shellPid: number): Promise<Job[]> {
	for (const startedAt = performance.now(); ; await setTimeout(LOOK_MS)) {
		const [command, own] = await Promise.all([commandLine(pid), commandLine(shellPid)]);
		const status = statusOf(pid);
		if (status === null || /[ZX]/.test(status.state)) return [];
		const isCopy = command === own;
		const waitedMs = performance.now() - startedAt;
		if ((command === null && waitedMs < STARTING_MS) || (isCopy && waitedMs < COPY_MS)) continue;
		if (status.group === shellPid || status.group === foregroundOf(shellPid)) return [];
		// A copy has the shell's own command line, which says how we started it and nothing of the job.
		return [{ pid, command: isCopy ? SUBSHELL : (command ?? STARTING) }];
	}
}
