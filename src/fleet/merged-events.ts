// The events of this host and, while it is a member, of the others, in one log with numbers of its own. It lasts as long as the
// daemon: a listener that stays, or that comes back with the last number it has seen, misses nothing when a fleet is joined,
// joined again or left. Until the events of another host come, the numbers are those of this host.

import type { EventsDropped, SessionEvent } from "../protocol/events.ts";
import { reportError } from "../protocol/listeners.ts";
import { onAbort, until } from "../pty/wait.ts";
import { EventLog } from "../session/event-log.ts";
import type { Client, EventsOptions } from "../tools/client.ts";
import type { FleetEvent } from "./event-stream.ts";
import { joinReference } from "./session-names.ts";

/** While one fleet follows another, both may tell of an event: of so many it is known that they were told. */
const REMEMBERED = 1000;

export class MergedEvents implements AsyncDisposable {
	readonly #log: EventLog;
	readonly #stopped = new AbortController();
	readonly #pump: Promise<void>;
	readonly #told = new Set<string>();
	/** Why there will be no more. */
	#failure: unknown = null;

	/** `kept`: as many as a host keeps of its own. */
	constructor(local: Pick<Client, "events">, kept: number) {
		this.#log = new EventLog(kept);
		const { signal } = this.#stopped;
		const fromHere = async () => {
			for await (const event of local.events({ afterSeq: 0, signal })) if (this.#isNew(event)) this.#log.add(event);
		};
		this.#pump = fromHere().catch((error: unknown) => {
			this.#failure = error;
			this.#stopped.abort();
		});
	}

	/** Adds what others tell, until that ends. */
	async follow(events: AsyncIterable<FleetEvent>, onTold: (seen: FleetEvent["seen"]) => void): Promise<void> {
		try {
			for await (const { host, owner, event, seen } of events) {
				if (this.#isNew(event)) this.#log.add(eventOnHost(event, { host, owner }));
				onTold(seen);
			}
		} catch (error) {
			reportError(error, "events of the fleet");
		}
	}

	/** As it was told first, by its own host's number and time: this host may have been another one then. */
	#isNew(event: SessionEvent | EventsDropped): boolean {
		const key = `${event.at} ${event.seq} ${"session" in event ? event.session : ""}`;
		if (this.#told.has(key)) return false;
		this.#told.add(key);
		const [oldest] = this.#told;
		if (this.#told.size > REMEMBERED) this.#told.delete(oldest!);
		return true;
	}

	async *events({ afterSeq, signal }: EventsOptions): AsyncGenerator<SessionEvent | EventsDropped> {
		const log = this.#log;
		const { signal: stopped } = this.#stopped;
		for (let at = Math.min(afterSeq ?? log.seq, log.seq); !signal.aborted; ) {
			const next = log.after(at);
			if (next !== null) {
				at = next.seq;
				yield next;
			} else if (this.#failure !== null) throw this.#failure;
			else if (stopped.aborted) return;
			else
				await until(
					() => signal.aborted || stopped.aborted || log.seq > at,
					onAbort(signal),
					onAbort(stopped),
					(listener) => log.onEvent(listener),
				);
		}
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#stopped.abort();
		await this.#pump;
	}
}

/** An event of another host, with the names that its sessions have here. */
function eventOnHost(
	event: SessionEvent | EventsDropped,
	{ host, owner }: Pick<FleetEvent, "host" | "owner">,
): SessionEvent | EventsDropped {
	if (event.event === "dropped") return event;
	const { session, name, because } = event;
	const named = (value: string) => (value === "" ? value : joinReference(host, value));
	return {
		...event,
		session: named(session),
		name: named(name),
		host,
		owner,
		// Begins with the id of what waits for a person.
		...(event.event === "approval" && because !== undefined && { because: named(because) }),
	};
}
