// Acts once after a time without use. One timer, re-armed when it fires, so that
// marking a use costs nothing.

/** setTimeout takes at most 2^31-1 ms. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

export interface IdleTimerParts {
	readonly idleMs: number;
	/** When it was last used, by performance.now(): a clock that is set ends nothing, and the time in which the machine sleeps does not count. */
	readonly usedAt: () => number;
	readonly onIdle: () => void;
}

export class IdleTimer implements Disposable {
	readonly #parts: IdleTimerParts;
	#timer: NodeJS.Timeout;

	constructor(parts: IdleTimerParts) {
		this.#parts = parts;
		this.#timer = this.#arm(parts.idleMs);
	}

	[Symbol.dispose](): void {
		clearTimeout(this.#timer);
	}

	#arm(ms: number): NodeJS.Timeout {
		return setTimeout(() => this.#check(), Math.min(ms, MAX_TIMEOUT_MS)).unref();
	}

	#check(): void {
		const { idleMs, usedAt, onIdle } = this.#parts;
		const leftMs = usedAt() + idleMs - performance.now();
		if (leftMs > 0) this.#timer = this.#arm(leftMs);
		else onIdle();
	}
}
