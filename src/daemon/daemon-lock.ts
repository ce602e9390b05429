// Who is the daemon: one lock per user and directory, numbered.
//
// A lock is the file `daemon.<epoch>` that names its process. It is created by
// link(2), so each number is taken once and with complete content; a start that
// finds the newest lock stale takes the next number. No lock is ever taken over, so
// two racing starts give one daemon. The number is also the epoch that fences an
// older daemon at the holders; the last one is kept in the state directory, because
// $RUN may be removed under running sessions (a cleaner of /tmp, a person).

import { existsSync, linkSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ownNamespace } from "../pty/peer.ts";
import { identityOf, isAlive } from "../pty/process-stat.ts";
import { readPrivate, setAsideUnlessFile } from "./private-file.ts";

/** $RUN has the locks, $STATE the last number. */
export interface LockPlaces {
	readonly run: string;
	readonly state: string;
}

export interface DaemonLock {
	readonly epoch: number;
	readonly pid: number;
	/** The kernel's start time of that process, so that a reused pid is not taken for it; null where unknown. */
	readonly born: string | null;
	/** In which its pid means something; null where unknown. */
	readonly pidNamespace: string | null;
	/** Derived from the epoch, never read from the file. */
	readonly socket: string;
	readonly version: string;
}

const NAME = /^daemon\.([1-9]\d{0,15})$/;
/**
 * No daemon counts that far: it grows faster than daemons are started. Where the last number is lost, counting goes on
 * from here, above every number that a holder may have been given; and a number above it is not ours.
 */
const ceiling = () => Date.now() + 31_536_000_000;
const isOurs = (epoch: number) => Number.isSafeInteger(epoch) && epoch > 0 && epoch < ceiling() + 60_000;
/** A lock has about 80 bytes. */
const MAX_BYTES = 4096;

/** The newest lock that can be read, held or stale; null when there is none. */
export function newestLock(run: string): DaemonLock | null {
	const epochs = lockEpochs(run).sort((a, b) => b - a);
	for (const epoch of epochs) {
		const lock = readLock(run, epoch);
		if (lock !== null) return lock;
	}
	return null;
}

/** The files that have a lock's name but not its content. They count as stale; `doctor` shows them. */
export function corruptLocks(run: string): string[] {
	return readdir(run)
		.filter((name) => name.includes(".corrupt-") || (name.startsWith("daemon.") && !isReadableLock(run, name)))
		.map((name) => join(run, name));
}

/** The highest number taken so far, also by a corrupt lock. Read it before you look at the newest lock. */
export function lastNumber(where: LockPlaces): number {
	return Math.max(lastEpoch(where), ...lockEpochs(where.run));
}

/** Takes the number after `last`; null when another process has had it in the meantime. */
export function acquireLock(where: LockPlaces, last: number, version: string): DaemonLock | null {
	const { run, state } = where;
	const epoch = last + 1;
	const lock = { ...identityOf(process.pid), pidNamespace: ownNamespace("pid"), version };
	const draft = join(run, `.daemon.${process.pid}.${epoch}`);
	const number = join(state, `.epoch.${process.pid}.${epoch}`);
	try {
		writeFileSync(draft, JSON.stringify(lock), { mode: 0o600 });
		linkSync(draft, join(run, `daemon.${epoch}`));
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "EEXIST") return null;
		throw error;
	} finally {
		rmSync(draft, { force: true });
	}
	const taken = { ...lock, epoch, socket: socketOf(run, epoch) };
	if ((writtenEpoch(where) ?? 0) >= epoch) {
		releaseLock(run, taken); // its daemon came and went since `last` was read
		return null;
	}
	try {
		// The number must outlive its daemon, or holders would fence the next one. Renamed: a full disk leaves the old one.
		writeFileSync(number, String(epoch), { mode: 0o600 });
		setAsideUnlessFile(join(state, "epoch"));
		renameSync(number, join(state, "epoch"));
	} catch (error) {
		rmSync(number, { force: true });
		releaseLock(run, taken);
		throw error;
	}
	return taken;
}

const socketOf = (run: string, epoch: number) => join(run, `d${epoch}.sock`);
const epochOf = (name: string) => Number(name.slice("daemon.".length));
const isLockName = (name: string) => NAME.test(name) && isOurs(epochOf(name));
const isReadableLock = (run: string, name: string) => isLockName(name) && readLock(run, epochOf(name)) !== null;

/** Null where it has just been removed, or is corrupt. */
function readLock(run: string, epoch: number): DaemonLock | null {
	let found: unknown;
	try {
		found = JSON.parse(readPrivate(join(run, `daemon.${epoch}`), MAX_BYTES));
	} catch {
		return null;
	}
	if (typeof found !== "object" || found === null) return null;
	const { pid, born, version, pidNamespace = null } = found as Record<string, unknown>; // 0.1.0 wrote no namespace
	if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid <= 0) return null;
	if (typeof version !== "string" || !isTextOrNull(born) || !isTextOrNull(pidNamespace)) return null;
	return { epoch, pid, born, pidNamespace, version, socket: socketOf(run, epoch) };
}

const isTextOrNull = (value: unknown): value is string | null => value === null || typeof value === "string";

/** Whether the process that took this lock is still alive, as far as its number means something here. */
export const isHeld = (lock: DaemonLock): boolean => !isElsewhere(lock) && isAlive(lock);

/** Taken in another PID namespace: only its socket tells whether its daemon lives. */
export function isElsewhere(lock: DaemonLock): boolean {
	const own = ownNamespace("pid");
	return lock.pidNamespace !== null && own !== null && lock.pidNamespace !== own;
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
		rmSync(socketOf(run, number), { force: true });
	}
}

function lockEpochs(run: string): number[] {
	return readdir(run).filter(isLockName).map(epochOf);
}

function readdir(run: string): string[] {
	try {
		return readdirSync(run);
	} catch (error) {
		if (/^(ENOENT|ENOTDIR)$/.test((error as NodeJS.ErrnoException).code ?? "")) return []; // nothing was ever started here
		throw error;
	}
}

/** A number that cannot be read is replaced by one above all that were counted: holders refuse a daemon with a lower one. */
function lastEpoch(where: LockPlaces): number {
	const epoch = writtenEpoch(where);
	if (epoch !== null) return epoch;
	const { run, state } = where;
	const sessions = holderSockets(run).length > 0 || readdir(join(state, "sessions")).length > 0;
	return sessions || epochFiles(where).some(existsSync) ? ceiling() : 0;
}

/** The number of the last daemon; null where it is not known. */
function writtenEpoch(where: LockPlaces): number | null {
	const epochs = epochFiles(where).flatMap((path) => {
		try {
			return Number(readPrivate(path, MAX_BYTES));
		} catch {
			return []; // there is none, or the file is not ours
		}
	});
	return epochs.length > 0 && epochs.every(isOurs) ? Math.max(...epochs) : null;
}

/** Earlier versions kept it in $RUN. */
const epochFiles = ({ run, state }: LockPlaces) => [join(state, "epoch"), join(run, "epoch")];

/** Their sessions may be running. */
export const holderSockets = (run: string): readonly string[] =>
	readdir(run)
		.filter((name) => name.endsWith(".sock") && !/^d\d+\.sock$/.test(name))
		.map((name) => join(run, name));
