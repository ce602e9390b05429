// Flow control of the streams on the daemon's socket: how much was sent that its reader has not taken, and what
// each client has read or drawn for it, one at a time until that is sent: of a thousand streams of a client that reads
// nothing each would hold something.

import { Listeners } from "../protocol/listeners.ts";
import { deferred } from "../pty/deferred.ts";
import { until } from "../pty/wait.ts";

export class StreamWindow {
	readonly #most: number;
	#untaken = 0;
	readonly #taken = new Listeners<void>("stream window");

	constructor(most: number) {
		this.#most = most;
	}

	sent(bytes: number): void {
		this.#untaken += bytes;
	}

	taken(bytes: number): void {
		if (bytes > 0) this.#untaken = Math.max(0, this.#untaken - bytes);
		this.#taken.emit();
	}

	/** Settles when more may be sent, or the stream is closed. */
	room(): Promise<void> {
		return until(
			() => this.#untaken < this.#most,
			(listener) => this.#taken.add(listener),
		);
	}

	/** Its reader is gone: nothing is held back any more. */
	close(): void {
		this.#untaken = Number.NEGATIVE_INFINITY;
		this.#taken.emit();
	}
}

/** What is read for the streams of one client. */
export class Readings {
	#last: Promise<void> = Promise.resolve();

	/** Settles when it is its turn, with what ends it. */
	async turn(): Promise<() => void> {
		const before = this.#last;
		const over = deferred<void>();
		this.#last = over.promise;
		await before;
		return () => over.resolve();
	}
}
