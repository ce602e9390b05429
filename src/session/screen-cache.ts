// Which screens are kept drawn: those used last, up to a number and an age. The
// others are hibernated; a screen takes a quarter of a megabyte, a keyframe a few
// kilobytes.

/** What the cache needs from a session. */
export interface Cached {
	/** It must stay drawn: a caller waits on it or watches it. */
	readonly attended: boolean;
	/** Compresses the screen; false where that is not possible right now. */
	hibernate(): boolean;
}

export interface CacheLimits {
	readonly maxScreens: number;
	readonly maxIdleMs: number;
}

export class ScreenCache implements Disposable {
	readonly #limits: CacheLimits;
	/** By last use, the oldest first. */
	readonly #used = new Map<Cached, number>();
	#timer: NodeJS.Timeout | null = null;

	constructor(limits: CacheLimits) {
		this.#limits = limits;
	}

	/** It has just been drawn or read. */
	use(cached: Cached): void {
		this.#used.delete(cached);
		this.#used.set(cached, performance.now());
		if (this.#used.size > this.#limits.maxScreens) this.#hibernateOldest();
		this.#timer ??= setTimeout(() => this.#sweep(), this.#limits.maxIdleMs).unref();
	}

	forget(cached: Cached): void {
		this.#used.delete(cached);
	}

	[Symbol.dispose](): void {
		if (this.#timer !== null) clearTimeout(this.#timer);
		this.#used.clear();
	}

	#hibernateOldest(): void {
		for (const cached of this.#used.keys()) {
			if (this.#used.size <= this.#limits.maxScreens) return;
			if (!cached.attended && cached.hibernate()) this.#used.delete(cached);
		}
	}

	#sweep(): void {
		this.#timer = null;
		const now = performance.now();
		const { maxIdleMs } = this.#limits;
		for (const [cached, usedAt] of this.#used) {
			const leftMs = usedAt + maxIdleMs - now;
			if (leftMs > 0) {
				this.#timer = setTimeout(() => this.#sweep(), leftMs).unref();
				return;
			}
			this.#used.delete(cached);
			// One that must stay for now is checked again after the next idle time.
			if (cached.attended || !cached.hibernate()) this.#used.set(cached, now);
		}
	}
}
