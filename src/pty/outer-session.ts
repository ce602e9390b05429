// A daemon that is started from inside a session does not belong to it: its own
// sessions must not end with that one. It says so to the holders above it, as every
// holder does (docs/holder.md, "Leaving").

import { readFileSync } from "node:fs";

/** LEAVE_SIGNAL of holder/tree.h. */
const LEAVE_SIGNAL = 50;

/** From now on the end of an enclosing session does not end this process. */
export function leaveOuterSessions(): void {
	for (const pid of ancestors()) {
		const status = text(`/proc/${pid}/status`);
		const caught = BigInt(`0x${/^SigCgt:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? "0"}`);
		const knowsTheSignal = (caught >> BigInt(LEAVE_SIGNAL - 1)) & 1n; // it would end an older one
		if (/^Name:\s*dialtone-holder$/m.test(status) && knowsTheSignal) process.kill(pid, LEAVE_SIGNAL);
	}
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
