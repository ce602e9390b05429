// The resource limits of a process, as ulimit(1) shows them, for the programs that it
// has started.

import { readFileSync, readlinkSync } from "node:fs";
import { basename } from "node:path";

/** Soft and hard; null is unlimited. */
export type ResourceLimit = readonly [soft: number | null, hard: number | null];

/** In the order of /proc/PID/limits, which is the kernel's: cpu time first. */
export type ResourceLimits = readonly ResourceLimit[];

const LINE = /^Max .*?\s{2,}(\d+|unlimited)\s+(\d+|unlimited)\b/gm;
const OPEN_FILES = 7;
const MAX_ANCESTORS = 32;

/**
 * This process's own limits; undefined where the system does not tell. Node raises its soft limit of open files to the
 * hard one when it starts, and children inherit that. What it was before is not recorded anywhere, so it is taken from
 * the nearest ancestor that is not node: usually the shell, which would have given the same to the program.
 */
export function limitsHere(): ResourceLimits | undefined {
	const own = limitsOf("self");
	if (own === null) return undefined;
	const [soft, hard] = own[OPEN_FILES]!;
	const original = ancestorLimit(process.ppid) ?? soft;
	return own.with(OPEN_FILES, [least(original, hard), hard]);
}

function ancestorLimit(parent: number): number | null {
	for (let pid = parent, i = 0; pid > 0 && i < MAX_ANCESTORS; i++) {
		try {
			const name = basename(readlinkSync(`/proc/${pid}/exe`));
			if (name !== "node" && name !== basename(process.execPath)) return limitsOf(pid)?.[OPEN_FILES]?.[0] ?? null;
			const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
			pid = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
		} catch {
			return null; // ended, or another user's: then nobody knows
		}
	}
	return null;
}

/** Null where there is no /proc, or another kernel's. */
function limitsOf(pid: number | "self"): ResourceLimit[] | null {
	try {
		const lines = readFileSync(`/proc/${pid}/limits`, "utf8").matchAll(LINE);
		const limits = [...lines].map(([, soft, hard]) => [amount(soft!), amount(hard!)] as const);
		return limits.length > OPEN_FILES ? limits : null;
	} catch {
		return null;
	}
}

function amount(text: string): number | null {
	const value = Number(text); // NaN: unlimited
	return Number.isSafeInteger(value) ? value : null;
}

const least = (a: number | null, b: number | null) => (a === null ? b : b === null ? a : Math.min(a, b));
