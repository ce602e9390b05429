// The recordings that are being looked at, with what was drawn of each: a few, and none for long.

import { IdleTimer } from "./idle-timer.ts";
import { Recording, type RecordingParts } from "./recording.ts";

/** A screen and up to 128 keyframes: some megabytes each. */
const MAX_OPEN = 4;
const IDLE_MS = 120_000;

export class Recordings implements Disposable {
	readonly #scrollback: number;
	/** By directory, the one that was used last at the end. */
	readonly #open = new Map<string, Recording>();
	#usedAt = 0;
	#timer: IdleTimer | null = null;

	constructor({ scrollback }: Pick<RecordingParts, "scrollback">) {
		this.#scrollback = scrollback;
	}

	/** The recording in a session's directory. */
	of({ directory, cols, rows }: Omit<RecordingParts, "scrollback">): Recording {
		const parts = { directory, scrollback: this.#scrollback, ...(cols && { cols }), ...(rows && { rows }) };
		const recording = this.#open.get(directory) ?? new Recording(parts);
		this.#open.delete(directory);
		this.#open.set(directory, recording);
		const [oldest] = this.#open.keys();
		if (this.#open.size > MAX_OPEN && oldest !== undefined) this.#close(oldest);
		this.#usedAt = performance.now();
		this.#timer ??= new IdleTimer({
			idleMs: IDLE_MS,
			usedAt: () => this.#usedAt,
			onIdle: () => this[Symbol.dispose](),
		});
		return recording;
	}

	[Symbol.dispose](): void {
		this.#timer?.[Symbol.dispose]();
		this.#timer = null;
		for (const directory of [...this.#open.keys()]) this.#close(directory);
	}

	#close(directory: string): void {
		this.#open.get(directory)?.[Symbol.dispose]();
		this.#open.delete(directory);
	}
}
