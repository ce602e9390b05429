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

export interface CacheOptions {
	readonly maxScreens: number;
	readonly maxIdleMs: number;
	/** Called when many screens have been hibernated since the last time, and few are left: they leave garbage. */
	readonly onManyHibernated?: (() => void) | undefined;
}

const MANY = 50;

export class ScreenCache implements Disposable {
	readonly #options: CacheOptions;
	/** By last use, the oldest first. */
	readonly #used = new Map<Cached, number>();
	#timer: NodeJS.Timeout | null = null;
	#hibernated = 0;

	constructor(options: CacheOptions) {
		this.#options = options;
	}

	/** It has just been drawn or read. */
	use(cached: Cached): void {
		this.#used.delete(cached);
		this.#used.set(cached, performance.now());
		if (this.#used.size > this.#options.maxScreens) this.#hibernateOldest();
		this.#timer ??= setTimeout(() => this.#sweep(), this.#options.maxIdleMs).unref();
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
			if (this.#used.size <= this.#options.maxScreens) return;
			if (this.#hibernate(cached)) this.#used.delete(cached);
		}
	}

	#sweep(): void {
		this.#timer = null;
		const now = performance.now();
		const { maxIdleMs } = this.#options;
		for (const [cached, usedAt] of this.#used) {
			const leftMs = usedAt + maxIdleMs - now;
			if (leftMs > 0) {
				this.#timer = setTimeout(() => this.#sweep(), leftMs).unref();
				break;
			}
			this.#used.delete(cached);
			// One that must stay for now is checked again after the next idle time.
			if (!this.#hibernate(cached)) this.#used.set(cached, now);
		}
		// While many are in use, V8 collects by itself.
		if (this.#hibernated < MANY || this.#used.size >= MANY) return;
		this.#hibernated = 0;
		this.#options.onManyHibernated?.();
	}

	#hibernate(cached: Cached): boolean {
		const done = !cached.attended && cached.hibernate();
		if (done) this.#hibernated++;
		return done;
	}
}
