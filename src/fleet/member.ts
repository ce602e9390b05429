// A daemon as a member of a fleet, from when it is connected until it leaves: it serves its sessions to others, tells
// of itself, and has a Client of all hosts.

import { reportError } from "../protocol/listeners.ts";
import type { Client } from "../tools/client.ts";
import type { FleetConnection } from "./connection.ts";
import { EventStream } from "./event-stream.ts";
import { FleetClient } from "./fleet-client.ts";
import type { FleetIdentity } from "./identity.ts";
import type { OwnSessions } from "./publisher.ts";
import { FleetRegistry } from "./registry.ts";

/** The servers of the least cluster. */
const CLUSTER = 3;

export type HostClient = Client & AsyncDisposable;

export interface FleetMemberParts {
	readonly connection: FleetConnection;
	/** Of this machine's sessions alone. */
	readonly local: Client;
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
	/** What to end when it leaves, the last first. */
	readonly #undo: (() => PromiseLike<unknown>)[];

	private constructor(parts: FleetMemberParts, registry: FleetRegistry, events: EventStream) {
		const { connection, local, sessions, serves, asks } = parts;
		const { host, as } = connection.options;
		this.connection = connection;
		this.registry = registry;
		this.#undo = [() => registry[Symbol.asyncDispose]()];
		if (serves) {
			const served = parts.serve(connection);
			this.#undo.push(() => served[Symbol.asyncDispose]());
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
		this.client = asks ? new FleetClient({ local, registry, host: own, as, clientOf, owner: "daemon", events }) : local;
		if (asks) this.#undo.push(() => this.client[Symbol.asyncDispose]());
		if (!serves) return;
		const stop = new AbortController();
		const published = events
			.publish({
				host,
				local,
				ownerOf: (id) => sessions.list().find(({ record }) => record.id === id)?.record.owner ?? null,
				epoch: `${parts.bootId}:${parts.epoch}`,
				signal: stop.signal,
			})
			.catch((error: unknown) => {
				if (!stop.signal.aborted) reportError(error, "telling the fleet of events");
			});
		this.#undo.push(() => {
			stop.abort();
			return published;
		});
	}

	static async open(parts: FleetMemberParts): Promise<FleetMember> {
		const { connection, sessions, freshen, serves, makes, version, bootId, epoch, capacity, onProblem } = parts;
		const { host, labels, as } = connection.options;
		const { nats } = connection;
		const own = { host, labels, version, bootId, daemonEpoch: epoch, capacity, sessions, freshen };
		// A cluster goes on without one of its servers only where each keeps a copy.
		const replicas = connection.options.servers.length >= CLUSTER ? CLUSTER : 1;
		const registry = await FleetRegistry.open({
			nats,
			...(serves && { own }),
			owner: as.owner,
			replicas,
			makes,
			onProblem,
		});
		try {
			const events = new EventStream({ nats, connected: registry.connected, replicas, makes });
			await events.ensure();
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
