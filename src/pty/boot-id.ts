// Which boot this is: pids and sockets are meaningless after the next one.

import { readFileSync } from "node:fs";

let known: string | null = null;

export function bootId(): string {
	if (known === null) {
		try {
			known = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
		} catch {
			known = ""; // not Linux: boots cannot be told apart; a dead socket is detected anyway
		}
	}
	return known;
}
