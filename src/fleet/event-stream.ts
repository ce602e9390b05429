// Events of all hosts in one stream of the broker, `dt.event.<host>.<owner>.<session>`, kept for a day: for those who are
// connected, and for those who come back, from where they were.
//
// A host reads its own events like any other listener, by position in a bounded log, so nothing local ever waits for the
// broker: while that is away events are kept there, and what no longer fits is told as dropped. Metadata only: what a
// program printed last stays on its host.

import { type JetStreamClient, jetstream } from "@nats-io/jetstream";
import { type NatsConnection, nanos } from "@nats-io/nats-core";
import { z } from "zod";
import { lineValues } from "../protocol/clean.ts";
import type { EventsDropped, SessionEvent } from "../protocol/events.ts";
import { Listeners, reportError } from "../protocol/listeners.ts";
import { type Condition, onAbort, settled, until, wait, within } from "../pty/wait.ts";
import type { Client } from "../tools/client.ts";
import { eventsDroppedSchema, sessionEventSchema } from "../tools/facts.ts";
import type { Connected } from "./connected.ts";
import { inCopies } from "./copies.ts";
import { type Seen, StreamWatch } from "./stream-watch.ts";
import { isHostName, keyToken, textOf } from "./subjects.ts";

const EVENTS_STREAM = "DT_EVENTS";
const PREFIX = "dt.event";
const KEPT = { ageMs: 86_400_000, bytes: 256 * 1024 * 1024 } as const;
/** A repetition within this is the same event. */
const REPEATED_WITHIN_MS = 120_000;
const REQUEST_MS = 5000;
/** A refusal comes at once. */
const RETRY_MS = { first: 100, most: 5000 } as const;
const MOST_EVENT_BYTES = 64 << 10;
/** Later times are none. */
const time = z.int().min(0).max(8.64e15);
/** A newer version may say more. */
const eventSchema = z.union([
	sessionEventSchema.strip().extend({ at: time }),
	eventsDroppedSchema.strip().extend({ at: time }),
]);
/** A listener that is slower than this many is told how many it missed. */
const MOST_QUEUED = 10_000;
/** In the place of an owner or a session that there is none of. */
const NONE = "_";

export interface FleetEvent {
	readonly host: string;
	/** Whose its session is, by its subject, which the server enforces; null: nobody's, or of none. */
	readonly owner: string | null;
	/** Its place in the stream. */
	readonly seen: Seen;
	readonly event: SessionEvent | EventsDropped;
}

export interface EventStreamParts {
	readonly nats: NatsConnection;
	readonly connected: Connected;
	/** Whether this user may make the stream. */
	readonly makes?: boolean;
}

export interface PublishedEvents {
	readonly host: string;
	readonly local: Pick<Client, "events">;
	/** Whose a session is. */
	readonly ownerOf: (session: string) => string | null;
	/** Of this daemon: its numbers begin anew with each. */
	readonly epoch: string;
	readonly signal: AbortSignal;
}

export interface EventFilter {
	/** What came after it; without it, what comes. Where it is not there any more, all that is kept. */
	readonly after?: Seen;
	readonly host?: string;
	readonly owner?: string;
	readonly session?: string;
	/** Left out. */
	readonly except?: string;
	/** Called when nothing that comes from then on is missed. */
	readonly onListening?: () => void;
	readonly signal: AbortSignal;
}

export class EventStream {
	readonly #js: JetStreamClient;
	readonly #parts: EventStreamParts;

	constructor(parts: EventStreamParts) {
		this.#parts = parts;
		this.#js = jetstream(parts.nats);
	}

	/** Makes the stream where it is missing and this user may. */
	readonly ensure = async (): Promise<void> => {
		if (this.#parts.makes === false) return;
		const manager = await within(REQUEST_MS, "the event stream", this.#js.jetstreamManager(false));
		const found = await manager.streams.info(EVENTS_STREAM).catch((error: unknown) => {
			if (/stream not found/.test(String(error))) return null;
			throw error;
		});
		if (found !== null) return;
		await inCopies((copies) =>
			manager.streams.add({
				name: EVENTS_STREAM,
				subjects: [`${PREFIX}.>`],
				max_age: nanos(KEPT.ageMs),
				max_bytes: KEPT.bytes,
				discard: "old",
				duplicate_window: nanos(REPEATED_WITHIN_MS),
				num_replicas: copies,
			}),
		);
	};

	/** Tells the fleet of a host's events until the signal aborts. */
	async publish({ host, local, ownerOf, epoch, signal }: PublishedEvents): Promise<void> {
		const owners = new Map<string, string | null>(); // also of a session that is removed
		for await (const event of local.events({ signal })) {
			const isOfSession = event.event !== "dropped" && event.session !== "";
			const owner = isOfSession ? (ownerOf(event.session) ?? owners.get(event.session) ?? null) : null;
			if (isOfSession && event.event !== "closed") owners.set(event.session, owner);
			else if (isOfSession) owners.delete(event.session);
			const subject = [
				PREFIX,
				host,
				owner === null ? NONE : keyToken(owner),
				isOfSession ? keyToken(event.session) : NONE,
			].join(".");
			const text = JSON.stringify(withoutOutput(event));
			await this.#untilTaken(subject, text, `${host}:${epoch}:${event.seq}`, signal);
		}
	}

	/** Repeats it until the broker has it: with the same id, it has it once. */
	async #untilTaken(subject: string, text: string, msgID: string, signal: AbortSignal): Promise<void> {
		const { connected } = this.#parts;
		for (let failures = 0; !signal.aborted; failures++) {
			await until(
				() => signal.aborted || connected.awaySince === null,
				onAbort(signal),
				(listener) => connected.onChange(listener),
			);
			if (signal.aborted) return;
			try {
				const published = this.#js.publish(subject, text, { msgID, timeout: REQUEST_MS }).then(() => true);
				// What was on its way when the connection was lost is not answered any more.
				const lost: Condition<boolean> = {
					start: ({ own, settle }) => own(connected.onChange(() => settle(false))),
				};
				if (await wait([settled(published), lost], { signal })) return;
			} catch (error) {
				if (signal.aborted) return;
				if (failures === 3) reportError(error, "telling the fleet of an event");
				await this.ensure().catch(() => {}); // told by the next try
				const ms = Math.min(RETRY_MS.first * 2 ** Math.min(failures, 10), RETRY_MS.most);
				const later: Condition<void> = { start: ({ after, settle }) => after(ms, settle) };
				await wait([later], { signal }).catch(() => {}); // over
			}
		}
	}

	/** Ends when the signal aborts. */
	async *events({ after, host, owner, session, except, onListening, signal }: EventFilter): AsyncGenerator<FleetEvent> {
		const queue: FleetEvent[] = [];
		let dropped: FleetEvent | null = null;
		const arrived = new Listeners<void>("fleet event");
		const tokens = [host ?? "*", owner === undefined ? "*" : keyToken(owner), session ?? "*"];
		await using watch = new StreamWatch({
			js: this.#js,
			ensure: this.ensure,
			stream: EVENTS_STREAM,
			filter: [PREFIX, ...tokens].join("."),
			begin: after === undefined ? "new" : { after },
			connected: this.#parts.connected,
			onMessage: ({ subject, data, seq, timestampNanos }) => {
				const [, , at = "", of = NONE] = subject.split(".");
				const event = eventIn(data);
				if (event === null || at === except || !isHostName(at)) return;
				const one: FleetEvent = {
					host: at,
					owner: of === NONE ? null : textOf(of),
					seen: [seq, timestampNanos],
					event,
				};
				if (queue.length < MOST_QUEUED) queue.push(one);
				else dropped = missed(one, dropped);
				arrived.emit();
			},
		});
		if (onListening !== undefined) void watch.ready().then(onListening);
		while (!signal.aborted) {
			const next: FleetEvent | null = queue.shift() ?? dropped;
			if (next === null) {
				await until(
					() => signal.aborted || queue.length > 0,
					onAbort(signal),
					(listener) => arrived.add(listener),
				);
				continue;
			}
			if (next === dropped) dropped = null;
			yield next;
		}
	}
}

function missed({ event, ...one }: FleetEvent, before: FleetEvent | null): FleetEvent {
	const sum = before !== null && "dropped" in before.event ? before.event.dropped : 0;
	return { ...one, event: { seq: event.seq, at: event.at, event: "dropped", dropped: sum + 1 } };
}

function withoutOutput(event: SessionEvent | EventsDropped): object {
	if (event.event === "dropped") return event;
	const { lastLines: _, ...facts } = event;
	return facts;
}

/** Of a text in an event: a line of a list has fewer. */
const MOST_TEXT_CHARS = 4096;

/** Null: not of a Dialtone. Its texts may be shown. */
export function eventIn(data: Uint8Array): SessionEvent | EventsDropped | null {
	if (data.length > MOST_EVENT_BYTES) return null;
	try {
		const { data: event } = eventSchema.safeParse(JSON.parse(Buffer.from(data).toString()));
		return event === undefined ? null : (lineValues(event, MOST_TEXT_CHARS) as typeof event);
	} catch {
		return null; // not JSON
	}
}
