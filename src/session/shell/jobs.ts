// What a shell's commands leave running in the background: each job is reported
// once, by the run that started it.

import { setTimeout } from "node:timers/promises";
import { commandLine, descendants, processGroups } from "../../pty/process-tree.ts";

export interface Job {
	readonly pid: number;
	readonly command: string;
}

// Right after the fork a job is still a copy of the shell, even in its group; one in parentheses stays a copy.
const EXEC_TRIES = 10;
const EXEC_MS = 2;

export class BackgroundJobs {
	#known: ReadonlySet<number> = new Set();

	/** The jobs since the last call: in a group of their own, not the shell's and not in the foreground. */
	async takeNew(shellPid: number): Promise<Job[]> {
		const pids = await descendants(shellPid);
		const fresh = pids.filter((pid) => !this.#known.has(pid));
		this.#known = new Set(pids);
		return (await Promise.all(fresh.map((pid) => jobOf(pid, shellPid)))).flat();
	}
}

async function jobOf(pid: number, shellPid: number): Promise<Job[]> {
	for (let tries = 0; ; tries++) {
		const [command, own, groups] = await Promise.all([commandLine(pid), commandLine(shellPid), processGroups(pid)]);
		if (groups === null) return [];
		// In the middle of its exec it has no command line at all.
		if ((command !== null && command !== own) || tries === EXEC_TRIES) {
			const isJob = command !== null && groups.own !== shellPid && groups.own !== groups.foreground;
			return isJob ? [{ pid, command }] : [];
		}
		await setTimeout(EXEC_MS);
	}
}
