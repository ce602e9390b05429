// How long to wait before the next attempt to connect.

const FIRST_MS = 250;
const LONGEST_MS = 5_000;
/** After so many failures a person is told that it is offline; attempts go on. */
const FAILURES_OFFLINE = 6;

export class Backoff {
	readonly #random: () => number;
	#failures = 0;

	constructor(random: () => number = Math.random) {
		this.#random = random;
	}

	get isOffline(): boolean {
		return this.#failures >= FAILURES_OFFLINE;
	}

	/** Counts a failure. The jitter keeps many tabs from reconnecting to a restarted daemon all at once. */
	nextMs(): number {
		const full = Math.min(LONGEST_MS, FIRST_MS * 2 ** this.#failures++);
		return Math.round(full * (0.75 + this.#random() / 4));
	}

	reset(): void {
		this.#failures = 0;
	}
}
