// Flow control of one stream on the daemon's socket: how much was sent that its reader has not taken.

import { limits } from "../session/options.ts";

export class StreamWindow {
	#untaken = 0;
	#wake = () => {};

	sent(bytes: number): void {
		this.#untaken += bytes;
	}

	taken(bytes: number): void {
		if (bytes > 0) this.#untaken = Math.max(0, this.#untaken - bytes);
		if (this.#untaken < limits.streamBytes) this.#wake();
	}

	/** Settles when more may be sent, or the stream is closed. */
	async room(): Promise<void> {
		while (this.#untaken >= limits.streamBytes) {
			await new Promise<void>((resolve) => {
				this.#wake = resolve;
			});
		}
	}

	/** Its reader is gone: nothing is held back any more. */
	close(): void {
		this.#untaken = Number.NEGATIVE_INFINITY;
		this.#wake();
	}
}
