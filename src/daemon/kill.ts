// Ends a daemon that does not answer. Its sessions and everything it knows are on disk or in holders.

import { setTimeout as delay } from "node:timers/promises";
import { isHeld, newestLock } from "./daemon-lock.ts";

const CHECK_MS = 20;
const MAX_CHECKS = 250;

/** Kills the process that has the newest lock; settles with its pid when it is gone, or with null where none has it. */
export async function killDaemon(run: string): Promise<number | null> {
	const lock = newestLock(run);
	if (lock === null || !isHeld(lock)) return null;
	process.kill(lock.pid, "SIGKILL");
	// There is no event for the death of a process that is not our child.
	for (let check = 0; check < MAX_CHECKS && isHeld(lock); check++) await delay(CHECK_MS);
	return lock.pid;
}
