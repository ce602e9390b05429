// Session events for current and reconnecting subscribers: a bounded, numbered log.
//
// A subscriber is a position in the log: one that is slow costs nothing, and is told how many it missed.

import type { EventsDropped, SessionEvent } from "../protocol/events.ts";
import { Listeners } from "../protocol/listeners.ts";

type Happened = Omit<SessionEvent, "seq" | "at">;
type Told = SessionEvent | EventsDropped;

export class EventLog {
	readonly #kept: number;
	readonly #listeners = new Listeners<void>("session event");
	#events: Told[] = [];
	#seq = 0;

	constructor(kept: number) {
		this.#kept = kept;
	}

	emit(happened: Happened): void {
		this.add({ seq: 0, at: Date.now(), ...happened });
	}

	/** With a number of this log in place of its own. */
	add(event: Told): void {
		this.#events.push({ ...event, seq: ++this.#seq });
		// Twice as many at most, so that the array is not moved for every event.
		if (this.#events.length > 2 * this.#kept) this.#events = this.#events.slice(-this.#kept);
		this.#listeners.emit();
	}

	/** The event that follows `seq`, or how many were dropped before the next one; null when there is none yet. */
	after(seq: number): Told | null {
		const oldest = this.#events[0];
		if (oldest === undefined || seq >= this.#seq) return null;
		if (seq >= oldest.seq - 1) return this.#events[seq + 1 - oldest.seq]!;
		return { seq: oldest.seq - 1, at: Date.now(), event: "dropped", dropped: oldest.seq - 1 - seq };
	}

	/** Called after every event. */
	onEvent(listener: () => void): () => void {
		return this.#listeners.add(listener);
	}

	get seq(): number {
		return this.#seq;
	}
}
