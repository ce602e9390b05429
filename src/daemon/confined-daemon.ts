// Whether it is the daemon that is confined, and not the caller whom it refuses: a confined program started it when none
// ran. Only what is certain counts: a confined caller must not be told to end the daemon of everybody else.

import { readFileSync, readlinkSync } from "node:fs";
import { NAMESPACES, ownNamespace } from "../pty/peer.ts";
import { privilegesOf } from "../pty/process-stat.ts";

/** Of the namespace that no other contains. */
const ALL_USERS = /^\s*0\s+0\s+4294967295\s*$/;

/** How the daemon is confined and this process is not; null where that is not certain. */
export function confinementOfDaemon(pid: number): string | null {
	// One that is not below us in PID namespaces has no number here.
	if (pid === 0 || privilegesOf(process.pid)?.noNew !== false) return null;
	const differing = Object.keys(NAMESPACES).filter((name) => namespaceOf(pid, name) !== ownNamespace(name));
	if (differing.some((name) => namespaceOf(pid, name) === null)) return null; // it is gone, or cannot be looked at
	const isBelow = differing.includes("user") && ALL_USERS.test(readFileSync("/proc/self/uid_map", "utf8"));
	// Without root's rights, process 1 cannot be looked at: then only a user namespace below our own is certain.
	const isOuter = (name: string) =>
		namespaceOf(1, name) === null ? isBelow : namespaceOf(1, name) === ownNamespace(name);
	const [first] = differing;
	return first === undefined || !differing.every(isOuter)
		? null
		: `it is in another ${NAMESPACES[first as keyof typeof NAMESPACES]} namespace`;
}

function namespaceOf(pid: number, name: string): string | null {
	try {
		return readlinkSync(`/proc/${pid}/ns/${name}`);
	} catch {
		return null;
	}
}
