// Waiting with a name: until something is so, never for a while.
import { setTimeout as delay } from "node:timers/promises";

/** What only a hang takes longer than, however busy the machine is. */
export const HANG_MS = 20_000;

/** Settles with what `look` finds; fails by name when it never does. */
export async function until<T>(
	what: string,
	look: () => T | Promise<T>,
	{ withinMs = 90_000 }: { withinMs?: number } = {},
): Promise<Exclude<T, false | null | undefined>> {
	const deadline = Date.now() + withinMs;
	for (;;) {
		const found = await look();
		if (found !== false && found !== null && found !== undefined) return found as Exclude<T, false | null | undefined>;
		if (Date.now() > deadline) throw new Error(`waited ${withinMs} ms in vain until ${what}`);
		await delay(5);
	}
}
