// What happened to sessions, for whoever listens now or comes back: a bounded
// memory of events, counted up.

import type { SessionEvent } from "../protocol/events.ts";
import { Listeners } from "../protocol/listeners.ts";

// A listener that was away for a while finds the last thousand; older ones are in `list`.
const REMEMBERED = 1000;

type Happened = Omit<SessionEvent, "seq" | "at">;

export class EventLog {
	readonly #listeners = new Listeners<SessionEvent>("session event");
	#events: SessionEvent[] = [];
	#seq = 0;

	emit(happened: Happened): void {
		const event: SessionEvent = { seq: ++this.#seq, at: Date.now(), ...happened };
		this.#events.push(event);
		if (this.#events.length > 2 * REMEMBERED) this.#events = this.#events.slice(-REMEMBERED);
		this.#listeners.emit(event);
	}

	/** Those after `afterSeq` that are remembered, then all that follow, none twice and none left out between. */
	subscribe(afterSeq: number, listener: (event: SessionEvent) => void): () => void {
		for (const event of this.#events) if (event.seq > afterSeq) listener(event);
		return this.#listeners.add(listener);
	}

	get seq(): number {
		return this.#seq;
	}
}
