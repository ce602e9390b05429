// Saved screens: after a restart a session's screen is the last saved one plus
// the output since, so little is replayed.
//
// A keyframe is a cache: without one the log is replayed.

import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ScreenState } from "../terminal/screen.ts";

const FILE = "keyframe.json";
const VERSION = 1;
/** Saving takes some 5 ms: a flood that is drawn at 100 MB/s would spend half its time on keyframes. */
const MIN_INTERVAL_MS = 5000;

export interface Keyframe {
	readonly screen: ScreenState;
	/** Lines printed so far. */
	readonly lines: number;
}

export class Keyframes {
	readonly #path: string;
	readonly #everyBytes: number;
	#savedAt: number;
	#savedMs = 0;
	#saving: Promise<void> | null = null;

	constructor(directory: string, { everyBytes, savedAt }: { everyBytes: number; savedAt: number }) {
		this.#path = join(directory, FILE);
		this.#everyBytes = everyBytes;
		this.#savedAt = savedAt;
	}

	static async load(directory: string): Promise<Keyframe | null> {
		try {
			const { version, ...keyframe } = JSON.parse(await readFile(join(directory, FILE), "utf8"));
			return version === VERSION ? (keyframe as Keyframe) : null;
		} catch {
			return null; // none yet, or truncated by a crash
		}
	}

	/** Saves when there was enough output since the last one. */
	advance(offset: number, take: () => Keyframe | null): void {
		if (offset - this.#savedAt < this.#everyBytes || this.#saving !== null) return;
		if (performance.now() - this.#savedMs >= MIN_INTERVAL_MS) void this.save(take);
	}

	async save(take: () => Keyframe | null): Promise<void> {
		await this.#saving;
		const keyframe = take();
		if (keyframe === null) return; // in the middle of a character: retried after the next output
		this.#savedAt = keyframe.screen.offset;
		this.#savedMs = performance.now();
		this.#saving = this.#write(keyframe);
		await this.#saving;
		this.#saving = null;
	}

	async #write(keyframe: Keyframe): Promise<void> {
		try {
			await writeFile(`${this.#path}.tmp`, JSON.stringify({ version: VERSION, ...keyframe }), { mode: 0o600 });
			await rename(`${this.#path}.tmp`, this.#path);
		} catch {
			// A full disk, or the session was removed: the log has everything.
		}
	}
}
