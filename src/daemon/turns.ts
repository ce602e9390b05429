// Which connection is served next: one step of one connection per turn of the event loop,
// of the connection that was served longest ago. So a client waits for at most one step of
// each other client, however much those have sent.

import { guarded } from "../protocol/boundary.ts";

export interface Served {
	/** Whether there is a step to take now; `Turns.look` is called when that may have changed. */
	canStep(): boolean;
	/** Never throws. */
	step(): void;
}

export class Turns {
	/** Those that have something to do. */
	readonly #waiting = new Set<Served>();
	/** The number of the last turn of each. */
	readonly #last = new WeakMap<Served, number>();
	#turn = 0;
	#next: NodeJS.Immediate | null = null;

	/** It has something to do, perhaps not now. */
	enter(served: Served): void {
		this.#waiting.add(served);
		this.look();
	}

	/** It has nothing to do any more. */
	leave(served: Served): void {
		this.#waiting.delete(served);
	}

	/** Something has changed: one that could take no step may be able to now. */
	look(): void {
		if (this.#waiting.size > 0) this.#next ??= setImmediate(this.#serve);
	}

	readonly #serve = guarded("a turn of the daemon's socket", () => {
		this.#next = null;
		let chosen: Served | null = null;
		let oldest = Number.POSITIVE_INFINITY;
		for (const served of this.#waiting) {
			const last = this.#last.get(served) ?? 0;
			if (last >= oldest || !served.canStep()) continue;
			chosen = served;
			oldest = last;
		}
		if (chosen === null) return;
		this.#last.set(chosen, ++this.#turn);
		this.look();
		chosen.step();
	});
}
