// Renders transcripts in the background, one after the other, at a small share of the event loop.

import { reportError } from "../protocol/listeners.ts";

export interface Renderable {
	/** Renders for some milliseconds; false when little is left. */
	renderSome(): Promise<boolean>;
}

/** One part in this many of the loop. */
const SHARE = 10;

export class RenderQueue implements Disposable {
	readonly #waiting = new Set<Renderable>();
	#timer: NodeJS.Timeout | null = null;
	#working = false;
	#disposed = false;

	add(renderable: Renderable): void {
		if (this.#disposed) return;
		this.#waiting.add(renderable);
		this.#schedule(0);
	}

	forget(renderable: Renderable): void {
		this.#waiting.delete(renderable);
	}

	[Symbol.dispose](): void {
		this.#disposed = true;
		this.#waiting.clear();
		if (this.#timer !== null) clearTimeout(this.#timer);
	}

	#schedule(afterMs: number): void {
		if (this.#working || this.#disposed || this.#waiting.size === 0) return;
		this.#timer ??= setTimeout(() => void this.#next(), afterMs).unref();
	}

	async #next(): Promise<void> {
		this.#timer = null;
		const [next] = this.#waiting;
		if (next === undefined) return;
		this.#waiting.delete(next);
		this.#working = true;
		const startedAt = performance.now();
		try {
			if (await next.renderSome()) this.#waiting.add(next);
		} catch (error) {
			reportError(error, "rendering a transcript in the background");
		}
		this.#working = false;
		this.#schedule((performance.now() - startedAt) * (SHARE - 1));
	}
}
