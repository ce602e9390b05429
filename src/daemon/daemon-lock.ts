// Who is the daemon: one lock per user and directory, numbered.
//
// A lock is the file `daemon.<epoch>` that names its process. It is created by
// link(2), so each number is taken once and with complete content; a start that
// finds the newest lock stale takes the next number. No lock is ever taken over, so
// two racing starts give one daemon. The number is also the epoch that fences an
// older daemon at the holders.

import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface DaemonLock {
	readonly epoch: number;
	readonly pid: number;
	/** The kernel's start time of that process, so that a reused pid is not taken for it; null where unknown. */
	readonly born: string | null;
	readonly socket: string;
	readonly version: string;
}

const NAME = /^daemon\.(\d+)$/;

/** The newest lock, held or stale; null when there is none. */
export function newestLock(run: string): DaemonLock | null {
	const epochs = lockEpochs(run).sort((a, b) => b - a);
	for (const epoch of epochs) {
		try {
			return JSON.parse(readFileSync(join(run, `daemon.${epoch}`), "utf8")) as DaemonLock;
		} catch {
			// Removed between the two calls: its daemon has just stopped.
		}
	}
	return null;
}

/** Takes the lock after `previous`; null when another process was faster. */
export function acquireLock(run: string, previous: DaemonLock | null, version: string): DaemonLock | null {
	mkdirSync(run, { recursive: true, mode: 0o700 });
	const epoch = Math.max(lastEpoch(run), previous?.epoch ?? 0) + 1;
	const lock: DaemonLock = {
		epoch,
		pid: process.pid,
		born: bornOf(process.pid),
		socket: join(run, `d${epoch}.sock`),
		version,
	};
	const draft = join(run, `.daemon.${process.pid}.${epoch}`);
	writeFileSync(draft, JSON.stringify(lock), { mode: 0o600 });
	try {
		linkSync(draft, join(run, `daemon.${epoch}`));
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "EEXIST") return null;
		throw error;
	} finally {
		rmSync(draft, { force: true });
	}
	// The number must outlive its daemon, or holders would fence the next one.
	writeFileSync(join(run, "epoch"), String(epoch), { mode: 0o600 });
	return lock;
}

/** Whether the process that took this lock is still alive. */
export function isHeld(lock: DaemonLock): boolean {
	try {
		process.kill(lock.pid, 0);
	} catch (error) {
		return (error as NodeJS.ErrnoException).code === "EPERM";
	}
	return lock.born === null || lock.born === bornOf(lock.pid);
}

/** Removes the lock and its socket. */
export function releaseLock(run: string, lock: DaemonLock): void {
	rmSync(lock.socket, { force: true });
	rmSync(join(run, `daemon.${lock.epoch}`), { force: true });
}

/** Removes the locks of daemons that died without releasing them. */
export function removeLocksBefore(run: string, epoch: number): void {
	for (const number of lockEpochs(run)) {
		if (number >= epoch) continue;
		rmSync(join(run, `daemon.${number}`), { force: true });
		rmSync(join(run, `d${number}.sock`), { force: true });
	}
}

function lockEpochs(run: string): number[] {
	try {
		return readdirSync(run).flatMap((name) => (NAME.test(name) ? [Number(name.slice("daemon.".length))] : []));
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
		throw error;
	}
}

function lastEpoch(run: string): number {
	try {
		return Number(readFileSync(join(run, "epoch"), "utf8")) || 0;
	} catch {
		return 0; // the first daemon here
	}
}

function bornOf(pid: number): string | null {
	try {
		const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
		const [state, ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
		// A zombie still has a pid, but holds nothing.
		return state === "Z" || state === "X" ? "gone" : (fields[18] ?? null);
	} catch {
		return null; // no /proc: the pid alone has to do
	}
}
