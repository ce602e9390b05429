// One writer of a file at a time, among processes. The lock is a symbolic link whose
// target names its holder: made in one system call, complete from its first moment.
//
// The lock of a process that died is removed by exactly one of those who wait: the
// one that holds the lock on that removal, which is named after the dead holder's lock.

import { randomBytes } from "node:crypto";
import { readlinkSync, symlinkSync, unlinkSync } from "node:fs";
import { Fault } from "../protocol/fault.ts";
import { bornOf } from "../pty/process-stat.ts";

// A holder needs milliseconds; one that is alive and takes longer is stopped.
const PATIENCE_MS = 10_000;
const RETRY_MS = 3;

/** Runs `work` while this process holds the lock; blocks until it does. */
export function withFileLock<T>(path: string, work: () => T): T {
	acquire(path, performance.now() + PATIENCE_MS);
	try {
		return work();
	} finally {
		unlinkSync(path);
	}
}

function acquire(path: string, deadline: number): void {
	// The last part makes each lock different, also two of one process.
	const own = `${process.pid}.${bornOf(process.pid) ?? ""}.${randomBytes(6).toString("hex")}`;
	for (;;) {
		try {
			symlinkSync(own, path);
			return;
		} catch (error) {
			if (!isCode(error, "EEXIST")) throw error;
		}
		const holder = holderOf(path);
		if (holder === null) continue; // released meanwhile
		if (!isAlive(holder)) removeStale(path, holder, deadline);
		else if (performance.now() > deadline)
			throw new Fault("tokens_invalid", { problem: `${path} is held by process ${holder.split(".", 1)[0]}` });
		else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS * (1 + Math.random()));
	}
}

/** Only the holder of the inner lock may remove this one, so nobody removes the lock that comes after it. */
function removeStale(path: string, holder: string, deadline: number): void {
	const inner = `${path}.${holder.split(".").at(-1)}`;
	acquire(inner, deadline);
	try {
		if (holderOf(path) === holder) unlinkSync(path);
	} finally {
		unlinkSync(inner);
	}
}

function holderOf(path: string): string | null {
	try {
		return readlinkSync(path);
	} catch (error) {
		if (isCode(error, "ENOENT")) return null;
		throw error;
	}
}

function isAlive(holder: string): boolean {
	const [pid = "", born] = holder.split(".");
	try {
		process.kill(Number(pid), 0);
	} catch (error) {
		return isCode(error, "EPERM");
	}
	return (bornOf(Number(pid)) ?? "") === born;
}

const isCode = (error: unknown, code: string) => (error as NodeJS.ErrnoException).code === code;
