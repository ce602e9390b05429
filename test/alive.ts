import { readFileSync } from "node:fs";
import { until } from "./condition.ts";

/** Whether a process is there, and more than a zombie that waits to be reaped. */
export function isAlive(pid: number): boolean {
	try {
		const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
		return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3) !== "Z";
	} catch {
		return false; // gone
	}
}

/** For a process that ends a little after what is told of it, such as a holder after its program. */
export const gone = (pid: number): Promise<true> => until(`process ${pid} is gone`, () => !isAlive(pid));
