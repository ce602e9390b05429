// The daemon's own log: JSON lines in a 0600 file, rotated when it grows.

import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";

const MAX_BYTES = 5 << 20;
const CHECK_EVERY_LINES = 500;
const LEVELS = { info: 30, error: 50 } as const;

export interface FileLog {
	info(facts: object, message: string): void;
	error(facts: object, message: string): void;
}

/** Logs to a file; the previous one is kept as `.1`. `level: "error"` leaves everything else out. */
export function fileLog(path: string, level = "info"): FileLog {
	mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
	let lines = 0;
	const write = (name: keyof typeof LEVELS, facts: object, msg: string) => {
		if (LEVELS[name] < (level === "error" ? LEVELS.error : LEVELS.info)) return;
		const line = JSON.stringify({ level: LEVELS[name], time: Date.now(), pid: process.pid, ...facts, msg }, serialize);
		try {
			appendFileSync(path, `${line}\n`, { mode: 0o600 });
			if (++lines % CHECK_EVERY_LINES === 0) rotate(path);
		} catch {
			// A full disk: the daemon's work comes first.
		}
	};
	rotate(path);
	return {
		info: (facts, message) => write("info", facts, message),
		error: (facts, message) => write("error", facts, message),
	};
}

function rotate(path: string): void {
	try {
		if (statSync(path).size >= MAX_BYTES) renameSync(path, `${path}.1`);
	} catch {
		// There is none yet, or it cannot be renamed: then it keeps growing.
	}
}

function serialize(_key: string, value: unknown): unknown {
	if (!(value instanceof Error)) return value;
	const { name, message, stack, cause } = value;
	return { ...value, type: name, message, stack, ...(cause === undefined ? {} : { cause }) };
}
