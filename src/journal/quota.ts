// The cap over all sessions together: when their logs outgrow it, those that
// ended first are removed. Running sessions are never touched; the holder
// enforces each session's own quota.
//
// Sizes are known from when each session ended, so nothing is scanned.

import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { EndedIndex } from "./ended-index.ts";

export interface TotalQuotaParts {
	readonly index: EndedIndex;
	/** 0: no limit. */
	readonly maxBytes: number;
	/** What the running sessions have on disk, at most. */
	readonly runningBytes: () => number;
	/** Removes an ended session and everything it has on disk. */
	readonly remove: (id: string) => Promise<void>;
}

export class TotalQuota {
	readonly #parts: TotalQuotaParts;
	#enforcing: Promise<void> | null = null;

	constructor(parts: TotalQuotaParts) {
		this.#parts = parts;
	}

	/** Removes ended sessions, oldest first, until all together are within the limit. */
	enforce(): Promise<void> {
		this.#enforcing ??= this.#removeOldest().finally(() => {
			this.#enforcing = null;
		});
		return this.#enforcing;
	}

	async #removeOldest(): Promise<void> {
		const { index, maxBytes, runningBytes, remove } = this.#parts;
		if (maxBytes === 0) return;
		for (;;) {
			const oldest = index.oldest();
			if (oldest === undefined || index.totalBytes + runningBytes() <= maxBytes) return;
			// First, so that one that cannot be removed does not block the others; the next start finds it again.
			index.delete(oldest.id);
			await remove(oldest.id);
		}
	}
}

/** The bytes of a session's directory. */
export async function directoryBytes(directory: string): Promise<number> {
	// Already removed: nothing to count.
	const names = await readdir(directory).catch(() => []);
	const sizes = await Promise.all(
		names.map((name) =>
			lstat(join(directory, name)).then(
				({ size }) => size,
				() => 0,
			),
		),
	);
	return sizes.reduce((sum, size) => sum + size, 0);
}
