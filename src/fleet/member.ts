// A daemon as a member of a fleet, from when it is connected until it leaves: it serves its sessions to others and tells
// of itself while its name is its own, and has a Client of all hosts.

import { reportError } from "../protocol/listeners.ts";
import { deferred } from "../pty/deferred.ts";
import type { Client } from "../tools/client.ts";
import type { FleetConnection } from "./connection.ts";
import { moreCopies } from "./copies.ts";
import { EventStream } from "./event-stream.ts";
import { FleetClient } from "./fleet-client.ts";
import type { FleetIdentity } from "./identity.ts";
import type { MergedEvents } from "./merged-events.ts";
import type { OwnLease } from "./own-lease.ts";
import { STREAMS } from "./permissions.ts";
import type { OwnSessions } from "./publisher.ts";
import { FleetRegistry } from "./registry.ts";
import type { Seen } from "./stream-watch.ts";

export type HostClient = Client & AsyncDisposable;

export interface FleetMemberParts {
	readonly connection: FleetConnection;
	/** Of this machine's sessions alone. */
	readonly local: Client;
	/** Of all hosts, for longer than it is a member. */
	readonly merged: MergedEvents;
	/** The last event of the others that was told here; null: those that come are told. */
	readonly heard: () => Seen | null;
	readonly onHeard: (seen: Seen) => void;
	readonly sessions: OwnSessions;
	readonly freshen: () => Promise<void>;
	/** Whether others may be served: a user that only asks may not. */
	readonly serves: boolean;
	/** Whether this daemon may ask of other hosts. */
	readonly asks: boolean;
	/** Whether it may make what the servers are to keep. */
	readonly makes: boolean;
	readonly version: string;
	readonly bootId: string;
	readonly home: string;
	readonly epoch: number;
	readonly capacity: number;
	/** Serves links to this host until it is disposed of. */
	readonly serve: (connection: FleetConnection) => AsyncDisposable;
	/** A lasting client of another host. */
	readonly connect: (connection: FleetConnection, host: string, as: FleetIdentity) => HostClient;
	readonly onProblem: (problem: unknown, doing: string) => void;
}

export class FleetMember implements AsyncDisposable {
	readonly connection: FleetConnection;
	readonly registry: FleetRegistry;
	readonly client: Client;
	/** Settles when no event of the others is missed from then on. */
	readonly listening: Promise<void>;
	readonly #parts: FleetMemberParts;
	readonly #events: EventStream;
	/** What to end when it leaves, the last first. */
	readonly #undo: (() => PromiseLike<unknown>)[];
	/** Ends what is done as a host; null while this is none. */
	#endHost: (() => Promise<unknown>) | null = null;

	private constructor(parts: FleetMemberParts, registry: FleetRegistry, events: EventStream) {
		const { connection, local, serves, asks, version } = parts;
		this.#parts = parts;
		this.#events = events;
		const { host, as } = connection.options;
		this.connection = connection;
		this.registry = registry;
		this.#undo = [() => registry[Symbol.asyncDispose]()];
		const { lease } = registry;
		if (lease !== null) {
			const look = () => void this.#lookAtName(lease).catch((error: unknown) => reportError(error, "a host's name"));
			const stop = lease.onChange(look);
			look();
			this.#undo.push(async () => {
				stop();
				await this.#endHost?.();
			});
		}
		const clients = new Map<string, HostClient>();
		this.#undo.push(() => Promise.all([...clients.values()].map((client) => client[Symbol.asyncDispose]())));
		const clientOf = (other: string, limited?: { readonly owner: string }): HostClient => {
			const key = JSON.stringify([other, limited?.owner]);
			const known = clients.get(key);
			if (known !== undefined) return known;
			const isAs = limited === undefined || limited.owner === as.owner;
			const identity = isAs ? as : { ...as, role: "drive" as const, owner: limited.owner };
			const client = parts.connect(connection, other, identity);
			clients.set(key, client);
			return client;
		};
		const own = serves ? host : null;
		const { merged } = parts;
		this.client = asks
			? new FleetClient({ local, registry, host: own, as, clientOf, owner: "daemon", events: merged, version })
			: local;
		this.listening = asks ? this.#listen(own) : Promise.resolve();
		if (asks) this.#undo.push(() => this.client[Symbol.asyncDispose]());
	}

	#listen(except: string | null): Promise<void> {
		const { owner } = this.connection.options.as;
		const { merged, heard, onHeard } = this.#parts;
		const stop = new AbortController();
		const listening = deferred<void>();
		const after = heard();
		const events = this.#events.events({
			...(after !== null && { after }),
			...(except !== null && { except }),
			...(owner !== null && { owner }),
			onListening: listening.resolve,
			signal: stop.signal,
		});
		const followed = merged.follow(events, onHeard);
		this.#undo.push(() => {
			stop.abort();
			return followed;
		});
		return listening.promise;
	}

	/** A host while the name is ours. */
	async #lookAtName({ isOurs }: OwnLease): Promise<void> {
		if (isOurs === (this.#endHost !== null)) return;
		const end = this.#endHost;
		this.#endHost = isOurs ? this.#beHost() : null;
		await end?.();
	}

	#beHost(): () => Promise<unknown> {
		const { connection, local, sessions, bootId, epoch } = this.#parts;
		const served = this.#parts.serve(connection);
		const stop = new AbortController();
		const published = this.#events
			.publish({
				host: connection.options.host,
				local,
				ownerOf: (id) => sessions.list().find(({ record }) => record.id === id)?.record.owner ?? null,
				epoch: `${bootId}:${epoch}`,
				signal: stop.signal,
			})
			.catch((error: unknown) => {
				if (!stop.signal.aborted) reportError(error, "telling the fleet of events");
			});
		return async () => {
			stop.abort();
			await Promise.all([served[Symbol.asyncDispose](), published]);
		};
	}

	static async open(parts: FleetMemberParts): Promise<FleetMember> {
		const { connection, sessions, freshen, serves, makes, version, bootId, home, epoch, capacity, onProblem } = parts;
		const { host, labels, as } = connection.options;
		const { nats } = connection;
		const own = { host, labels, version, bootId, home, daemonEpoch: epoch, capacity, sessions, freshen };
		const registry = await FleetRegistry.open({
			nats,
			...(serves && { own }),
			owner: as.owner,
			makes,
			onProblem,
		});
		try {
			const events = new EventStream({ nats, connected: registry.connected, makes });
			await events.ensure();
			if (as.role === "admin" && as.owner === null)
				moreCopies(nats, Object.values(STREAMS)).catch((error: unknown) => {
					if (!nats.isClosed()) onProblem(error, "asking for copies on each server");
				});
			return new FleetMember(parts, registry, events);
		} catch (error) {
			await registry[Symbol.asyncDispose]();
			throw error;
		}
	}

	async [Symbol.asyncDispose](): Promise<void> {
		for (const undo of this.#undo.toReversed()) await undo();
	}
}
