// Session events for current and reconnecting listeners: a bounded, numbered log.

import type { SessionEvent } from "../protocol/events.ts";
import { Listeners } from "../protocol/listeners.ts";

// A reconnecting listener gets the last thousand; for older ones there is `list`.
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

	/** The kept events after `afterSeq`, then all that follow, each exactly once. */
	subscribe(afterSeq: number, listener: (event: SessionEvent) => void): () => void {
		for (const event of this.#events) if (event.seq > afterSeq) listener(event);
		return this.#listeners.add(listener);
	}

	get seq(): number {
		return this.#seq;
	}
}
