// Long work in slices of the event loop: others have their turn between them.

import { setImmediate } from "node:timers/promises";

const SLICE_MS = 8;

export class Slices {
	readonly #signal: AbortSignal | undefined;
	#since = performance.now();

	/** Aborted: the next `turn` throws. */
	constructor(signal?: AbortSignal) {
		this.#signal = signal;
	}

	/** Gives others their turn when this slice is over. */
	async turn(): Promise<void> {
		if (performance.now() - this.#since >= SLICE_MS) await this.next();
	}

	/** The same before a piece that takes a slice of its own. */
	async next(): Promise<void> {
		await setImmediate();
		this.#signal?.throwIfAborted();
		this.#since = performance.now();
	}
}
