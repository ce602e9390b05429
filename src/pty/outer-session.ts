// A daemon that is started from inside a session does not belong to it: its own
// sessions must not end with that one. The holder's program says so to the holders
// above, as it does for every holder (docs/holder.md, "Leaving").

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { HOLDER } from "./launch.ts";

/** More than a holder above takes for its answer. */
const LEAVE_MS = 5000;

/** From now on the end of an enclosing session does not end this process. */
export function leaveOuterSessions(): void {
	const isInside = ancestors().some((pid) => /^Name:\s*dialtone-holder$/m.test(text(`/proc/${pid}/status`)));
	if (isInside) spawnSync(HOLDER, ["leave"], { stdio: "ignore", timeout: LEAVE_MS });
}

/** The processes above this one; none where there is no /proc. */
function ancestors(): number[] {
	const found: number[] = [];
	for (let pid = process.ppid; pid > 1; ) {
		found.push(pid);
		pid = Number(/^PPid:\s*(\d+)/m.exec(text(`/proc/${pid}/status`))?.[1] ?? 0);
	}
	return found;
}

function text(path: string): string {
	try {
		return readFileSync(path, "utf8");
	} catch {
		return ""; // gone, hidden, or not Linux
	}
}
