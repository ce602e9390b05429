// A session's processes without a holder that could end them: below one that is stopped, or
// left behind by one that died or has gone. Each is told by pid and start time, never by pid
// alone. From /proc on Linux; elsewhere nothing is found, and nothing is signalled.

import { setTimeout as delay } from "node:timers/promises";
import {
	type ProcessIdentity,
	type RunningProcess,
	runningProcess,
	runningProcesses,
	sendSignal,
} from "./process-stat.ts";
import { descendants } from "./process-tree.ts";

/** What KILL did not end by then is stuck in the kernel, or another user's. */
const KILL_MS = 2000;
/** What SIGSTOP did not stop by then is killed as it is. */
const STOP_MS = 1000;
/** Between two looks. */
const PAUSE_MS = { first: 2, most: 100 };
/** One look can miss a process that was started during it. */
const CLEAN_LOOKS = 2;

/** By what a session's processes are known when no holder is their parent. */
export interface Traces {
	/** The main program: while it lives, what is in its session (setsid) belongs to it. */
	readonly program: ProcessIdentity | null;
	/** Others that were seen. */
	readonly others: readonly Partial<ProcessIdentity>[];
	/**
	 * Its session counts also when the program is dead: only for one whose holder was alive a moment ago. Later another
	 * program may have got its number and left processes of its own.
	 */
	readonly justDied?: boolean;
}

/** Those that live, with everything below them. */
export function leftRunning({ program, others, justDied = false }: Traces): readonly RunningProcess[] {
	const seen = [...others, ...(program === null ? [] : [program])].filter(({ born }) => born != null);
	if (seen.length === 0) return [];
	const all = runningProcesses();
	const leader = all.find(({ pid }) => pid === program?.pid);
	const isLed = leader === undefined ? justDied : leader.born === program?.born;
	const session = isLed && program !== null && program.pid > 1 ? program.pid : null;
	const known = (one: RunningProcess) =>
		one.session === session || seen.some(({ pid, born }) => one.pid === pid && one.born === born);
	return withDescendants(all, known);
}

/** Everything below this process, without it. */
export function below(pid: number): readonly RunningProcess[] {
	return withDescendants(runningProcesses(), ({ parent }) => parent === pid);
}

/** The same by a walk from it: a few reads instead of one for every process. One that forks at that moment may be missed. */
export function heldBy(holder: number): readonly RunningProcess[] {
	const tree = descendants(holder).flatMap((pid) => runningProcess(pid) ?? []);
	return withDescendants(tree, ({ parent }) => parent === holder);
}

/**
 * Not those that left: another session's holder, and this daemon, which may have been started from inside of the session
 * (docs/holder.md, "Leaving").
 */
function withDescendants(
	all: readonly RunningProcess[],
	isKnown: (one: RunningProcess) => boolean,
): readonly RunningProcess[] {
	const stays = ({ pid, command }: RunningProcess) => pid !== process.pid && command !== "dialtone-holder";
	const found = new Map(all.filter((one) => isKnown(one) && stays(one)).map((one) => [one.pid, one]));
	for (let before = -1; before < found.size; ) {
		before = found.size;
		for (const one of all) if (found.has(one.parent) && stays(one)) found.set(one.pid, one);
	}
	return [...found.values()];
}

/**
 * TERM, and KILL after the grace; returns what is left. Before KILL all are stopped: what is stopped starts nothing, so
 * that the last list of them is complete, and none of them outlives the parent by which it is found.
 */
export async function endProcesses(
	list: () => readonly RunningProcess[],
	graceMs: number,
): Promise<readonly RunningProcess[]> {
	const asked = new Set<number>();
	const ask = (living: readonly RunningProcess[]) => {
		for (const one of living.filter((each) => !asked.has(each.pid))) {
			asked.add(one.pid);
			sendSignal(one, "SIGTERM");
			sendSignal(one, "SIGCONT"); // a stopped program gets no signal until it continues
		}
		return living.length === 0;
	};
	if (graceMs > 0 && (await repeatedly(graceMs, list, ask)).length === 0) return [];
	const stopped = new Set<number>();
	await repeatedly(STOP_MS, list, (living) => {
		const running = living.filter((one) => !stopped.has(one.pid) || !/[TtD]/.test(one.state));
		for (const one of running) {
			stopped.add(one.pid);
			sendSignal(one, "SIGSTOP");
		}
		return running.length === 0;
	});
	return repeatedly(KILL_MS, list, (living) => {
		for (const one of living) sendSignal(one, "SIGKILL");
		return living.length === 0;
	});
}

/** Looks until it is done twice in a row, or the time is over; returns what the last look found. */
async function repeatedly(
	timeoutMs: number,
	list: () => readonly RunningProcess[],
	isDone: (living: readonly RunningProcess[]) => boolean,
): Promise<readonly RunningProcess[]> {
	const until = performance.now() + timeoutMs;
	for (let [clean, pauseMs] = [0, PAUSE_MS.first]; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MS.most)) {
		const living = list();
		clean = isDone(living) ? clean + 1 : 0;
		if (clean === CLEAN_LOOKS || performance.now() >= until) return living;
		// There is no event for the end of a process that is not our child.
		await delay(clean > 0 ? PAUSE_MS.first : pauseMs);
	}
}
