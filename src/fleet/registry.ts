// The fleet as a daemon has it: what it tells of its own host (publisher.ts) and what it knows of all (view.ts).

import type { NatsConnection } from "@nats-io/nats-core";
import { Fault } from "../protocol/fault.ts";
import { within } from "../pty/wait.ts";
import { inParallel } from "../session/in-parallel.ts";
import { hasEnded } from "../session/lifecycle.ts";
import { readBucket, type Written } from "./bucket-watch.ts";
import {
	BUCKETS,
	type BucketOptions,
	type Buckets,
	entryIn,
	LEASE,
	openBuckets,
	type SessionEntry,
	stored,
} from "./buckets.ts";
import { Connected } from "./connected.ts";
import type { OwnLease } from "./own-lease.ts";
import { Pins } from "./pins.ts";
import { type OwnHost, Publisher } from "./publisher.ts";
import { splitKey } from "./session-names.ts";
import { isHostName, keyToken } from "./subjects.ts";
import { type FleetSession, FleetView, type HostView, type SessionFilter } from "./view.ts";

export interface FleetRegistryParts {
	readonly nats: NatsConnection;
	/** What is told of this host; without it, this process only looks. */
	readonly own?: OwnHost;
	/** Only this owner's sessions are known; null: all. */
	readonly owner?: string | null;
	/** Whether it makes what the broker is to keep, where that is missing. */
	readonly makes?: boolean;
	readonly refreshMs?: number;
	readonly ttlMs?: number;
	/** Errors that have no caller. */
	readonly onProblem: (problem: unknown, doing: string) => void;
}

const REQUEST_MS = 5000;
/** Two tries for a consumer, of which the second waits for longer. */
const HOSTS_MS = 15_000;
const PARALLEL_REMOVALS = 64;

export class FleetRegistry implements AsyncDisposable {
	/** Where starts were placed. */
	readonly pins: Pins;
	readonly #buckets: Buckets;
	readonly #owner: string | null;
	readonly #connected: Connected;
	readonly #view: FleetView;
	readonly #publisher: Publisher | null;

	private constructor(parts: FleetRegistryParts, buckets: Buckets, connected: Connected) {
		const { own, owner = null, onProblem, refreshMs = LEASE.refreshMs, ttlMs = LEASE.ttlMs } = parts;
		this.#buckets = buckets;
		this.#owner = owner;
		this.#connected = connected;
		this.pins = new Pins(buckets);
		this.#publisher =
			own === undefined ? null : new Publisher({ own, buckets, connected, refreshMs, ttlMs, onProblem });
		this.#view = new FleetView({ buckets, connected, owner, ttlMs });
	}

	/** Settles when the hosts are known. */
	static async open(parts: FleetRegistryParts): Promise<FleetRegistry> {
		const { ttlMs, makes } = parts;
		const options: BucketOptions = {
			...(makes !== undefined && { makes }),
			...(ttlMs !== undefined && { leaseTtlMs: ttlMs }),
		};
		const buckets = await openBuckets(parts.nats, options);
		const registry = new FleetRegistry(parts, buckets, new Connected(parts.nats));
		try {
			// From servers without a leader nothing comes, and whoever waits has to be told.
			await within(HOSTS_MS, "reading the fleet's hosts", registry.#view.ready());
			return registry;
		} catch (error) {
			await registry[Symbol.asyncDispose]();
			throw error;
		}
	}

	get connected(): Connected {
		return this.#connected;
	}

	/** Since when the broker is away, ms since 1970; null while it is there. What is known stays known meanwhile. */
	get awaySince(): number | null {
		return this.#view.awaySince;
	}

	/** Since when the broker, which is there, has said nothing of any host, ms since 1970; null while it does. */
	get unheardSince(): number | null {
		return this.#view.unheardSince;
	}

	/** Since when nothing is known of any other host, ms since 1970; null while it is. */
	get lostSince(): number | null {
		return this.#view.lostSince;
	}

	/** See FleetView.doubtful. */
	doubtful(): readonly { readonly host: string; readonly since: number }[] {
		return this.#view.doubtful();
	}

	hosts(): readonly HostView[] {
		return this.#view.hosts();
	}

	host(name: string): HostView | undefined {
		return this.#view.host(name);
	}

	/** Settles when the sessions of all hosts are known. */
	withSessions(): Promise<void> {
		return this.#view.withSessions();
	}

	/** Those that are known, in a fixed order: by host, owner and id. */
	sessions(filter?: SessionFilter): Generator<FleetSession> {
		return this.#view.sessions(filter);
	}

	/** One session as the broker has it now, whosever of those that may be known; null where it has none of this id. */
	async find(host: string, id: string): Promise<SessionEntry | null> {
		const [found] = await this.#records(`${host}.${this.#ownerToken()}.${id}`);
		return found?.[1] ?? null;
	}

	/** Whether the broker has told of sessions of this host, which may not be heard of itself. */
	async hasSessionsOf(host: string): Promise<boolean> {
		return (await this.#records(`${host}.${this.#ownerToken()}.*`)).length > 0;
	}

	/** Of those that may be known. */
	#ownerToken(): string {
		return this.#owner === null ? "*" : keyToken(this.#owner);
	}

	/** Those that can be read. */
	async #records(filter: string): Promise<readonly (readonly [string, SessionEntry])[]> {
		return [...(await this.#written(filter))].flatMap(([key, { text }]) => {
			const entry = splitKey(key) === null || text === null ? null : entryIn(text);
			return entry === null ? [] : [[key, entry] as const];
		});
	}

	async #written(filter: string): Promise<ReadonlyMap<string, Written>> {
		const parts = { buckets: this.#buckets, bucket: BUCKETS.sessions, connected: this.#connected };
		return stored("the records", readBucket({ ...parts, filter, withinMs: REQUEST_MS }));
	}

	/** The hosts on which this owner has a running session of that name, as the broker has them now. */
	async running(owner: string, name: string): Promise<readonly string[]> {
		const records = await this.#records(`*.${keyToken(owner)}.*`);
		return records.flatMap(([key, record]) =>
			record.name === name && !hasEnded(record.status) ? [splitKey(key)!.host] : [],
		);
	}

	/** Told when a host or a session has changed. */
	onChange(listener: () => void): () => void {
		return this.#view.onChange(listener);
	}

	/** The lease of this host; null where this process only looks. */
	get lease(): OwnLease | null {
		return this.#publisher?.lease ?? null;
	}

	/** Takes back all that was told of this host: it leaves for good. */
	async leave(): Promise<void> {
		await this.#publisher?.leave();
	}

	/** Takes back what was told of a host that is gone; how many sessions that were. */
	async forget(host: string): Promise<number> {
		if (this.host(host)?.reachable) throw new Fault("host_in_use", { host });
		// Anything else would be a pattern of hosts.
		const written = isHostName(host) ? [...(await this.#written(`${host}.*.*`)).keys()] : [];
		// A key that no host makes is listed nowhere, and cannot be removed by name: it expires.
		const records = written.filter((key) => splitKey(key) !== null);
		if (records.length === 0 && this.host(host) === undefined)
			throw new Fault("unknown_host", { host, hosts: this.hosts().map((one) => one.host) });
		const { hosts, sessions } = this.#buckets;
		await stored(
			"what is kept of it",
			inParallel(PARALLEL_REMOVALS, records, (key) => sessions.delete(key)),
		);
		await stored("its lease", hosts.purge(host));
		return records.length;
	}

	/** Settles when all that is to be told of this host has been. */
	async told(): Promise<void> {
		await this.#publisher?.settled();
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.#publisher?.[Symbol.asyncDispose]();
		await this.#view[Symbol.asyncDispose]();
		this.#connected[Symbol.dispose]();
	}
}
