// How long and how much is kept of all sessions together: those that ended too long ago are removed, and when all
// outgrow the limit, those that ended first. Running sessions are never touched; the holder
// enforces each session's own quota.
//
// Sizes and times are known from when each session ended, so nothing is scanned.

import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { EndedEntry, EndedIndex, RemovedBecause } from "./ended-index.ts";

export interface TotalQuotaParts {
	readonly index: EndedIndex;
	/** 0: no limit. */
	readonly maxBytes: number;
	/** How long an ended session is kept; 0: always. */
	readonly maxAgeMs: number;
	/** What the running sessions have on disk, at most. */
	readonly runningBytes: () => number;
	/** When a session ended whose entry is of an older version; null where that is not known. */
	readonly endedAt: (id: string) => Promise<number | null>;
	/** Removes an ended session and everything it has on disk. */
	readonly remove: (entry: EndedEntry, because: RemovedBecause) => Promise<void>;
}

export class TotalQuota {
	readonly #parts: TotalQuotaParts;
	#enforcing: Promise<void> | null = null;
	#stopped = false;

	constructor(parts: TotalQuotaParts) {
		this.#parts = parts;
	}

	/** Removes ended sessions, oldest first, that are too old, and until all together are within the limit. */
	enforce(): Promise<void> {
		this.#enforcing ??= this.#removeOldest().finally(() => {
			this.#enforcing = null;
		});
		return this.#enforcing;
	}

	/** Removes nothing more; settles when the removal that is under way has ended. The next daemon goes on. */
	async stop(): Promise<void> {
		this.#stopped = true;
		await this.#enforcing?.catch(() => {}); // told to who asked for it
	}

	async #removeOldest(): Promise<void> {
		const { index, maxBytes, maxAgeMs, runningBytes, remove } = this.#parts;
		const endedBefore = maxAgeMs === 0 ? 0 : Date.now() - maxAgeMs;
		while (!this.#stopped) {
			const oldest = index.oldest();
			if (oldest === undefined) return;
			const endedAt = maxAgeMs === 0 ? null : (oldest.endedAt ?? (await this.#parts.endedAt(oldest.id)));
			const isOld = endedAt !== null && endedAt < endedBefore;
			const isTooMuch = maxBytes > 0 && index.totalBytes + runningBytes() > maxBytes;
			if (!isOld && !isTooMuch) return;
			// First, so that one that cannot be removed does not block the others; the next start finds it again.
			index.delete(oldest.id);
			await remove(oldest, isOld ? "age" : "size");
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
