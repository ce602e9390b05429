// The list of sessions, live: follows /v1/watch and reconnects by itself. Each
// connection begins with the whole list, so nothing is missed in between.

import type { Approval } from "../../src/protocol/approval.ts";
import type { FleetSeen, ListChange } from "../../src/protocol/session-list.ts";
import { Backoff } from "./backoff.ts";
import type { PersonSession } from "./person-session.ts";
import { Store } from "./store.ts";

export type Connection = "live" | "reconnecting" | "offline";

/** The part of EventSource that is used. */
export interface EventStream {
	addEventListener(type: string, listener: (event: { readonly data?: unknown }) => void): void;
	close(): void;
}

/** Silence after which a connection counts as dead: the daemon says something each 15 s, but comments reach no page. */
const RECONNECT_AFTER_HIDDEN_MS = 60_000;

interface WatchParts {
	open(): EventStream;
	readonly backoff?: Backoff;
}

export type Sessions = ReadonlyMap<string, PersonSession>;

export class SessionWatch {
	readonly sessions = new Store<Sessions>(new Map());
	/** Calls that wait for the person. */
	readonly approvals = new Store<readonly Approval[]>([]);
	/** Null: this machine is in none. */
	readonly fleet = new Store<FleetSeen | null>(null);
	readonly connection = new Store<Connection>("reconnecting");
	/** Whether the first list has arrived. */
	readonly isLoaded = new Store(false);
	readonly #open: () => EventStream;
	readonly #backoff: Backoff;
	#stream: EventStream | null = null;
	#timer: ReturnType<typeof setTimeout> | undefined;
	/** The daemon's clock minus ours. */
	#clockMs = 0;
	#heardAt = 0;

	constructor({ open, backoff = new Backoff() }: WatchParts) {
		this.#open = open;
		this.#backoff = backoff;
	}

	/** The daemon's time: ages are measured by its clock, not the browser's. */
	now(): number {
		return Date.now() + this.#clockMs;
	}

	connect(): void {
		this.close();
		const stream = this.#open();
		this.#stream = stream;
		stream.addEventListener("open", () => this.#live());
		stream.addEventListener("sessions", ({ data }) => {
			if (stream !== this.#stream) return;
			this.#live();
			this.#apply(JSON.parse(String(data)) as Omit<ListChange, "version">);
		});
		stream.addEventListener("error", () => {
			if (stream === this.#stream) this.#retry();
		});
	}

	/** A laptop that slept may hold a connection that is long dead. */
	reconnectIfSilent(): void {
		if (this.#stream === null || Date.now() - this.#heardAt > RECONNECT_AFTER_HIDDEN_MS) this.connect();
	}

	close(): void {
		clearTimeout(this.#timer);
		this.#stream?.close();
		this.#stream = null;
	}

	#live(): void {
		this.#heardAt = Date.now();
		this.#backoff.reset();
		this.connection.set("live");
	}

	// Not EventSource's own reconnecting: it gives up for good when the answer is an error, as it is while a daemon restarts.
	#retry(): void {
		this.close();
		this.#timer = setTimeout(() => this.connect(), this.#backoff.nextMs());
		this.connection.set(this.#backoff.isOffline ? "offline" : "reconnecting");
	}

	#apply({ full, now, sessions, removed, approvals, fleet }: Omit<ListChange, "version">): void {
		this.#clockMs = now - Date.now();
		const next = new Map(full ? [] : this.sessions.value);
		for (const session of sessions) next.set(session.session, session);
		for (const id of removed) next.delete(id);
		if (approvals !== undefined) this.approvals.set(approvals);
		if (full || fleet !== undefined) this.fleet.set(fleet ?? null);
		this.isLoaded.set(true);
		this.sessions.set(next);
	}
}
