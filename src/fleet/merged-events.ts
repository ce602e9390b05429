// The events of this host and of the others in one bounded log with numbers of its own, so that a listener that comes back
// with the last number it has seen misses none of either.

import type { EventsDropped, SessionEvent } from "../protocol/events.ts";
import { Listeners, reportError } from "../protocol/listeners.ts";
import { onAbort, until } from "../pty/wait.ts";
import type { Client, EventsOptions } from "../tools/client.ts";
import type { EventFilter, EventStream } from "./event-stream.ts";
import { joinReference } from "./session-names.ts";

/** As many as a host keeps of its own. */
const KEPT = 1000;

export class MergedEvents implements AsyncDisposable {
	readonly #stopped = new AbortController();
	readonly #arrived = new Listeners<void>("merged event");
	readonly #pumps: readonly Promise<void>[];
	#events: (SessionEvent | EventsDropped)[] = [];
	#seq = 0;
	/** Why there will be no more. */
	#failure: unknown = null;

	constructor(
		local: Pick<Client, "events">,
		fleet: Pick<EventStream, "events"> | null,
		/** This host, and whose events may be asked for. */
		filter: Pick<EventFilter, "except" | "owner">,
	) {
		const { signal } = this.#stopped;
		const fromHere = async () => {
			for await (const event of local.events({ signal })) this.#add(event);
		};
		const fromOthers = async () => {
			if (fleet === null) return;
			for await (const one of fleet.events({ ...filter, signal })) this.#add(eventOnHost(one.host, one.event));
		};
		this.#pumps = [
			fromHere().catch((error: unknown) => {
				this.#failure = error;
				this.#arrived.emit();
			}),
			fromOthers().catch((error: unknown) => reportError(error, "events of the fleet")),
		];
	}

	#add(event: SessionEvent | EventsDropped): void {
		this.#events.push({ ...event, seq: ++this.#seq });
		if (this.#events.length > 2 * KEPT) this.#events = this.#events.slice(-KEPT);
		this.#arrived.emit();
	}

	async *events({ afterSeq, signal }: EventsOptions): AsyncGenerator<SessionEvent | EventsDropped> {
		const { signal: stopped } = this.#stopped;
		const isOver = () => signal.aborted || stopped.aborted || this.#failure !== null;
		for (let at = Math.min(afterSeq ?? this.#seq, this.#seq); !signal.aborted; ) {
			const next = this.#after(at);
			if (next !== null) {
				at = next.seq;
				yield next;
			} else if (this.#failure !== null) throw this.#failure;
			else if (stopped.aborted) return;
			else
				await until(
					() => isOver() || this.#seq > at,
					onAbort(signal),
					onAbort(stopped),
					(listener) => this.#arrived.add(listener),
				);
		}
	}

	#after(seq: number): SessionEvent | EventsDropped | null {
		const oldest = this.#events[0];
		if (oldest === undefined || seq >= this.#seq) return null;
		if (seq >= oldest.seq - 1) return this.#events[seq + 1 - oldest.seq]!;
		return { seq: oldest.seq - 1, at: Date.now(), event: "dropped", dropped: oldest.seq - 1 - seq };
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#stopped.abort();
		await Promise.all(this.#pumps);
		this.#arrived.clear();
	}
}

/** An event of another host, with the names that its sessions have here. */
function eventOnHost<E extends SessionEvent | EventsDropped>(host: string, event: E): E {
	if (event.event === "dropped") return event;
	const { session, name, because } = event as SessionEvent;
	const named = (value: string) => (value === "" ? value : joinReference(host, value));
	return {
		...event,
		session: named(session),
		name: named(name),
		// Begins with the id of what waits for a person.
		...(event.event === "approval" && because !== undefined && { because: named(because) }),
	};
}
