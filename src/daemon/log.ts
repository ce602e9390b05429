// The daemon's own log: JSON lines in a 0600 file, rotated when it grows.

import { closeSync, constants, openSync, renameSync, statSync, writeSync } from "node:fs";
import { setAsideUnlessFile } from "./private-file.ts";

const MAX_BYTES = 5 << 20;
const CHECK_EVERY_LINES = 500;
const LEVELS = { info: 30, error: 50 } as const;

export interface FileLog {
	info(facts: object, message: string): void;
	error(facts: object, message: string): void;
}

/** Logs to a file; the previous one is kept as `.1`. `level: "error"` leaves everything else out. */
export function fileLog(path: string, level = "info"): FileLog {
	rotate(path);
	// Kept open: a home that was removed meanwhile is not made anew by a last line.
	let file = openLog(path);
	let lines = 0;
	const write = (name: keyof typeof LEVELS, facts: object, msg: string) => {
		if (LEVELS[name] < (level === "error" ? LEVELS.error : LEVELS.info)) return;
		const line = JSON.stringify({ level: LEVELS[name], time: Date.now(), pid: process.pid, ...facts, msg }, serialize);
		try {
			writeSync(file, `${line}\n`);
			if (++lines % CHECK_EVERY_LINES !== 0 || !rotate(path)) return;
			closeSync(file);
			file = openLog(path);
		} catch {
			// A full disk: the daemon's work comes first.
		}
	};
	return {
		info: (facts, message) => write("info", facts, message),
		error: (facts, message) => write("error", facts, message),
	};
}

/** Not through a link, and not into a pipe, whose opening would wait for its reader. */
function openLog(path: string): number {
	setAsideUnlessFile(path);
	const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
	return openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
}

function rotate(path: string): boolean {
	try {
		if (statSync(path).size < MAX_BYTES) return false;
		renameSync(path, `${path}.1`);
		return true;
	} catch {
		return false; // there is none yet, or it cannot be renamed: then it keeps growing
	}
}

function serialize(_key: string, value: unknown): unknown {
	if (!(value instanceof Error)) return value;
	const { name, message, stack, cause } = value;
	return { ...value, type: name, message, stack, ...(cause === undefined ? {} : { cause }) };
}
