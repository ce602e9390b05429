// What /proc says of a process. One that is inside execve and waits for a mount that does not answer keeps a lock for
// which readers of `stat` wait, and of links such as `cwd` and those in `fd`; readers of `status` do not. In this thread
// `stat` is read only of known processes, where a start time or the group of a shell's foreground is needed: never of
// processes that may be anybody's.

import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { type Condition, wait } from "./wait.ts";

/** Of the fields after the state. */
const START_TIME = 18;
const GONE = "gone";

/** A process, zombies included, without what could wait for it. */
export interface ProcessStatus {
	readonly command: string;
	readonly state: string;
	readonly parent: number;
	readonly threads: number;
	readonly group: number;
	readonly session: number;
}

/** Null where there is no such process, or no /proc. */
export function statusOf(pid: number): ProcessStatus | null {
	const text = read(pid, "status");
	if (text === null) return null;
	const field = (name: RegExp) => name.exec(text)?.[1] ?? "";
	// The first number is the one that we see; the others are those of namespaces within.
	const number = (name: RegExp) => Number.parseInt(field(name), 10) || 0;
	return {
		command: field(/^Name:\t(.*)/m),
		state: field(/^State:\t(.)/m),
		parent: number(/^PPid:\t(\d+)/m),
		threads: number(/^Threads:\t(\d+)/m),
		group: number(/^NSpgid:\t(\d+)/m),
		session: number(/^NSsid:\t(\d+)/m),
	};
}

/** Whether the process can get no privileges by executing a program; null where there is no such process, or no /proc. */
export function privilegesOf(pid: number): { readonly noNew: boolean } | null {
	const text = read(pid, "status");
	return text === null ? null : { noNew: /^NoNewPrivs:\t1/m.test(text) };
}

function read(pid: number, name: string): string | null {
	try {
		return readFileSync(`/proc/${pid}/${name}`, "utf8");
	} catch {
		return null;
	}
}

/** When the process started, so that a reused pid is not taken for it; null where the kernel does not tell. */
export function bornOf(pid: number): string | null {
	const stat = read(pid, "stat");
	if (stat === null) return null;
	// The name before may contain anything, also parentheses.
	const [state = "", ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
	// A zombie still has a pid, but holds nothing.
	return state === "Z" || state === "X" ? GONE : (fields[START_TIME] ?? null);
}

/** Names a process for good: its pid may be another's one day, but not with that start time. */
export interface ProcessIdentity {
	readonly pid: number;
	/** Null where the kernel does not tell. */
	readonly born: string | null;
}

export const identityOf = (pid: number): ProcessIdentity => ({ pid, born: pid > 0 ? bornOf(pid) : null });

/** Whether that very process is still alive; where its start time is unknown, whether it may be. */
export function isAlive({ pid, born }: ProcessIdentity): boolean {
	if (pid <= 0) return false;
	try {
		process.kill(pid, 0);
	} catch {
		return false; // gone, or the pid is now another user's process
	}
	const now = bornOf(pid);
	// Not told now (no descriptor is left, say): it may be alive.
	return now !== GONE && (born === null || now === null || born === now);
}

/** Sends a signal to a process that may have ended since it was looked at, or become another user's. */
export function sendSignal({ pid }: ProcessIdentity, signal: NodeJS.Signals): void {
	try {
		process.kill(pid, signal);
	} catch {
		// The next look tells.
	}
}

/** False where there is no /proc. */
export const tellsStartTimes = (): boolean => bornOf(process.pid) !== null;

/** Whether the process leads a session of its own. */
export function leadsSession(pid: number): boolean {
	return statusOf(pid)?.session === pid;
}

export interface RunningProcess extends ProcessIdentity {
	/** Read when it is asked for. */
	readonly born: string;
	readonly command: string;
	readonly state: string;
	readonly parent: number;
	readonly session: number;
}

/** A process that has not ended; null where there is none, or no /proc. */
export function runningProcess(pid: number): RunningProcess | null {
	const status = statusOf(pid);
	// A zombie has ended, unless it is the first thread of a process that goes on without it.
	if (status === null || (/[ZX]/.test(status.state) && status.threads <= 1)) return null;
	const { command, state, parent, session } = status;
	let born: string | undefined;
	return {
		pid,
		command,
		state,
		parent,
		session,
		get born() {
			born ??= bornOf(pid) ?? "";
			return born;
		},
	};
}

/** Every process that has not ended; none where there is no /proc. */
export function runningProcesses(): RunningProcess[] {
	let names: readonly string[];
	try {
		names = readdirSync("/proc");
	} catch {
		return []; // not Linux
	}
	return names.flatMap((name) => (/^\d+$/.test(name) ? (runningProcess(Number(name)) ?? []) : []));
}

/** A busy machine seldom takes this long to read a file of /proc. */
const PROBE_MS = 250;
/** Each keeps one of the four threads that read files: beyond that nobody is asked. */
const MOST_HELD_UP = 2;
const heldUp = new Set<number>();

/** Whether the links of these processes can be read without waiting, as far as one can know: none of them is held up. */
export async function canBeRead(pids: readonly number[]): Promise<boolean> {
	for (const pid of pids) {
		if (heldUp.has(pid) || heldUp.size >= MOST_HELD_UP || !(await answers(pid))) return false;
	}
	return true;
}

/** Read beside this thread: one that does not return is left to its sleep. */
function answers(pid: number): Promise<boolean> {
	const answered: Condition<boolean> = {
		start(scope) {
			const done = () => {
				heldUp.delete(pid);
				scope.settle(true);
			};
			readFile(`/proc/${pid}/stat`).then(done, done);
		},
	};
	// On a busy machine every read is late: it is held up where one that was begun later has returned, and it has not soon after.
	const late: Condition<boolean> = {
		start(scope) {
			const held = () => {
				heldUp.add(pid);
				scope.settle(false);
			};
			const soon = () => scope.after(PROBE_MS, held);
			scope.after(PROBE_MS, () => void readFile("/proc/self/stat").then(soon, soon));
		},
	};
	return wait([answered, late]);
}
