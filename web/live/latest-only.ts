// One request at a time, and after it only the newest wish: while a person drags,
// what lies between is passed over, and something is shown all the time.

export class LatestOnly<T> {
	readonly #run: (wish: T, signal: AbortSignal) => Promise<void>;
	readonly #stop = new AbortController();
	#next: { readonly wish: T } | null = null;
	#isBusy = false;

	constructor(run: (wish: T, signal: AbortSignal) => Promise<void>) {
		this.#run = run;
	}

	want(wish: T): void {
		this.#next = { wish };
		if (!this.#isBusy) void this.#work();
	}

	dispose(): void {
		this.#next = null;
		this.#stop.abort();
	}

	async #work(): Promise<void> {
		this.#isBusy = true;
		while (this.#next !== null && !this.#stop.signal.aborted) {
			const { wish } = this.#next;
			this.#next = null;
			await this.#run(wish, this.#stop.signal);
		}
		this.#isBusy = false;
	}
}
