// What /proc/PID/stat says of a process.

import { readFileSync } from "node:fs";

const SESSION = 2;
const START_TIME = 18;
const GONE = "gone";

/** The state, and the fields after it; null where there is no such process, or no /proc. */
function fieldsOf(pid: number): { readonly state: string; readonly fields: readonly string[] } | null {
	try {
		const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
		// The name before may contain anything, also parentheses.
		const [state = "", ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
		return { state, fields };
	} catch {
		return null;
	}
}

/** When the process started, so that a reused pid is not taken for it; null where the kernel does not tell. */
export function bornOf(pid: number): string | null {
	const stat = fieldsOf(pid);
	if (stat === null) return null;
	// A zombie still has a pid, but holds nothing.
	return stat.state === "Z" || stat.state === "X" ? GONE : (stat.fields[START_TIME] ?? null);
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
	return now !== GONE && (born === null || born === now);
}

/** False where there is no /proc. */
export const tellsStartTimes = (): boolean => bornOf(process.pid) !== null;

/** Whether the process leads a session of its own. */
export function leadsSession(pid: number): boolean {
	return fieldsOf(pid)?.fields[SESSION] === String(pid);
}
