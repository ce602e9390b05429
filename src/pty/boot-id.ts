// Which boot this is: process numbers and sockets mean nothing after the next one.

import { readFileSync } from "node:fs";

let known: string | null = null;

export function bootId(): string {
	if (known === null) {
		try {
			known = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
		} catch {
			known = ""; // not Linux: every boot looks alike, and a dead socket tells the rest
		}
	}
	return known;
}
