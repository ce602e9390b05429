import { readFileSync } from "node:fs";

/** Whether a process is there, and more than a zombie that waits to be reaped. */
export function isAlive(pid: number): boolean {
	try {
		const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
		return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3) !== "Z";
	} catch {
		return false; // gone
	}
}
