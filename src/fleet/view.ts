// What this daemon knows of the fleet: hosts with their leases, and the sessions that they have told of.
//
// A lease that is not refreshed in time ends here, by one timer for all: the broker drops an expired key without a
// word. While the broker is away, or says nothing at all (it has lost its majority, or the server of our watch), nothing
// expires, because nothing is heard of anybody: what was known stays, and `awaySince` or `unheardSince` says since when. Sessions are kept as the text that came (host-records.ts), and are
// followed only while somebody lists them.

import { Listeners } from "../protocol/listeners.ts";
import { hasEnded } from "../session/lifecycle.ts";
import { watchBucket } from "./bucket-watch.ts";
import {
	BUCKETS,
	type Buckets,
	bootOf,
	entryIn,
	type Lease,
	leaseIn,
	MOST_VALUE_BYTES,
	RECORD,
	type SessionEntry,
} from "./buckets.ts";
import { clockOf, hereMs } from "./clocks.ts";
import type { Connected } from "./connected.ts";
import { HostRecords } from "./host-records.ts";
import { splitKey } from "./session-names.ts";
import type { StreamWatch } from "./stream-watch.ts";
import { isHostName, keyToken } from "./subjects.ts";

export interface HostView {
	readonly host: string;
	/** Null where only its sessions are known. */
	readonly lease: Lease | null;
	readonly reachable: boolean;
	/** Since when it is reachable, or since when it is not heard of; null where that is not known. Ms since 1970. */
	readonly since: number | null;
	/** Where its clock is another one: what to add to its times (clocks.ts). */
	readonly clockMs?: number;
}

export interface FleetSession {
	readonly host: string;
	readonly id: string;
	/** Its times are by this machine's clock. */
	readonly entry: SessionEntry;
	/** `told`: what its host says · `unreachable`: what its host said last, and may not be so any more. */
	readonly state: "told" | "unreachable";
	/** Of its host's daemon, as far as it is known. */
	readonly version: string | null;
	/** Of an unreachable one: since when its host is not heard of; null where that is not known. */
	readonly since: number | null;
	/** Its place in the order of all. */
	readonly key: string;
}

export interface SessionFilter {
	readonly host?: string;
	readonly except?: string;
	/** The key of the last one that was listed before. */
	readonly after?: string | undefined;
}

export interface FleetViewParts {
	readonly buckets: Buckets;
	readonly connected: Connected;
	/** Only this owner's sessions; null: all. */
	readonly owner?: string | null;
	readonly ttlMs: number;
	/** How long sessions are followed after they were last asked for. */
	readonly idleMs?: number;
}

interface HostState {
	readonly host: string;
	lease: Lease | null;
	reachable: boolean;
	since: number | null;
	/** What to add to its times. */
	clockMs: number;
	/** When it was last heard of, ms since 1970, and the broker's time of the lease that said so, in ns. */
	heardAt: number;
	written: bigint;
	readonly records: HostRecords;
}

/** Of a lease's time. A host writes one every 0.3: when nothing came for so long, all is read again. */
const SILENT = 0.35;
/** By then it has been read, or the broker does not answer. Less than is left of a lease that was written in time. */
const UNHEARD = 0.6;
const IDLE_MS = 600_000;
/** There are thousands of hosts at most: a broker that does not answer within this answers nobody. */
const LEASES_MS = 5000;
/** Of the timer for leases: several that end at the same moment are told together. */
const MARGIN_MS = 20;

export class FleetView implements AsyncDisposable {
	readonly #parts: FleetViewParts;
	readonly #hosts = new Map<string, HostState>();
	/** When each reachable host's lease ends, of `performance.now()`; the first ends first, because all last as long. */
	readonly #ends = new Map<string, number>();
	readonly #changes = new Listeners<void>("fleet");
	readonly #leases: StreamWatch;
	readonly #undo: () => void;
	#records: StreamWatch | null = null;
	/** When the broker last told a lease, or that there are no others: of `performance.now()`, and ms since 1970. */
	#answered = { at: performance.now(), since: Date.now() };
	#leaseTimer: NodeJS.Timeout | undefined;
	#idleTimer: NodeJS.Timeout | undefined;
	#disposed = false;

	constructor(parts: FleetViewParts) {
		this.#parts = parts;
		const { buckets, connected } = parts;
		this.#leases = watchBucket({
			buckets,
			bucket: BUCKETS.hosts,
			connected,
			always: true, // an expired key leaves no mark
			silentMs: SILENT * parts.ttlMs,
			mostAnswerMs: LEASES_MS,
			onChange: (key, value, { isForGood, written }) =>
				value === null ? this.#left(key, isForGood) : this.#heard(key, value, written),
			// After a restart of the broker, hosts that live are heard of again soon, and the timer decides.
			onComplete: () => this.#answer(),
		});
		this.#undo = connected.onChange((isConnected) => {
			if (isConnected) this.#expectAll();
			this.#changes.emit();
		});
	}

	/** The hosts that there were when it began are known. */
	async ready(): Promise<void> {
		await this.#leases.ready();
	}

	/** Since when the broker is away, ms since 1970; null while it is there. */
	get awaySince(): number | null {
		return this.#parts.connected.awaySince;
	}

	/** Since when the broker, which is there, has said nothing of any host, ms since 1970; null while it does. */
	get unheardSince(): number | null {
		const { at, since } = this.#answered;
		return performance.now() - at > UNHEARD * this.#parts.ttlMs ? since : null;
	}

	/**
	 * Since when nothing is known of any other host, ms since 1970; null while it is, and until a lease would have ended: a broker
	 * that is away for a moment tells all when it is back.
	 */
	get lostSince(): number | null {
		const { at, since } = this.#answered;
		return performance.now() - at > this.#parts.ttlMs ? (this.awaySince ?? since) : null;
	}

	/** Told when a host or a session has changed. */
	onChange(listener: () => void): () => void {
		return this.#changes.add(listener);
	}

	hosts(): readonly HostView[] {
		for (const state of this.#hosts.values()) this.#dropOld(state);
		return [...this.#hosts.values()].map(viewOf);
	}

	host(name: string): HostView | undefined {
		const known = this.#hosts.get(name);
		if (known !== undefined) this.#dropOld(known);
		const state = this.#hosts.get(name);
		return state && viewOf(state);
	}

	/**
	 * Hosts that are taken for reachable, and were not heard of for longer than a lease: the broker was away, and may not have
	 * told of them yet.
	 */
	doubtful(): readonly { readonly host: string; readonly since: number }[] {
		const late = Date.now() - this.#parts.ttlMs;
		const doubtful = [...this.#hosts.values()].filter(({ reachable, heardAt }) => reachable && heardAt < late);
		return doubtful.map(({ host, heardAt }) => ({ host, since: heardAt }));
	}

	/** Settles when the sessions of all hosts are known; they are followed for some time from then on. */
	async withSessions(): Promise<void> {
		if (this.#disposed) return;
		const { buckets, connected, owner = null, idleMs = IDLE_MS } = this.#parts;
		this.#records ??= watchBucket({
			buckets,
			bucket: BUCKETS.sessions,
			...(owner !== null && { filter: `*.${keyToken(owner)}.*` }),
			connected,
			onChange: (key, value) => this.#told(key, value),
			onComplete: (keys) => this.#keepOnly(keys),
		});
		clearTimeout(this.#idleTimer);
		this.#idleTimer = setTimeout(() => void this.#forgetSessions(), idleMs).unref();
		await this.#records.ready();
	}

	/** By host, and by owner and id. Those whose record cannot be read are left out. */
	*sessions({ host, except, after }: SessionFilter = {}): Generator<FleetSession> {
		const [afterHost = "", ...rest] = after?.split(".") ?? [];
		const { lostSince } = this;
		const wanted = [...this.#hosts.values()]
			.filter((one) => one.host !== except && (host === undefined || one.host === host) && one.host >= afterHost)
			.sort((a, b) => (a.host < b.host ? -1 : 1));
		for (const state of wanted) {
			const from = state.host === afterHost ? rest.join(".") : "";
			const keys = [...state.records.keys()].filter((key) => key > from).sort();
			for (const key of keys) {
				const entry = entryIn(state.records.get(key)!);
				if (entry !== null) yield sessionOf(state, key, entry, lostSince);
			}
		}
	}

	#stateOf(host: string): HostState {
		const known = this.#hosts.get(host);
		if (known !== undefined) return known;
		const state: HostState = {
			host,
			lease: null,
			reachable: false,
			since: null,
			clockMs: 0,
			heardAt: 0,
			written: 0n,
			records: new HostRecords(),
		};
		this.#hosts.set(host, state);
		return state;
	}

	#heard(host: string, value: Uint8Array, written: bigint): void {
		const found = isHostName(host) && value.length <= MOST_VALUE_BYTES ? leaseIn(Buffer.from(value).toString()) : null;
		if (found === null) return; // of another version: it is not heard of
		this.#answer();
		const state = this.#stateOf(host);
		if (written === state.written) return; // it is read again: its host has said nothing since
		state.written = written;
		const isNew = !state.reachable || state.lease?.bootId !== found.bootId;
		state.lease = found;
		state.heardAt = Date.now();
		const before = state.clockMs;
		state.clockMs = clockOf(before, found.now, state.heardAt);
		if (isNew) {
			state.reachable = true;
			state.since = state.heardAt;
		}
		this.#expect(host);
		if (isNew || state.clockMs !== before) this.#changes.emit();
	}

	/** The broker tells of leases. Until it did, hosts could not be heard of: that is not held against them. */
	#answer(): void {
		const now = performance.now();
		const unansweredMs = now - this.#answered.at - SILENT * this.#parts.ttlMs;
		if (this.unheardSince !== null) this.#expectAll();
		else if (unansweredMs > 0) for (const [host, end] of this.#ends) this.#ends.set(host, end + unansweredMs);
		this.#answered = { at: now, since: Date.now() };
	}

	/** Each host gets the time of a lease to be heard of again. */
	#expectAll(): void {
		for (const host of [...this.#ends.keys()]) this.#expect(host);
	}

	/** It has said so itself. */
	#left(host: string, isForGood: boolean): void {
		this.#answer();
		const wasThere = this.#ends.delete(host);
		const state = this.#hosts.get(host);
		if (state === undefined) return;
		if (isForGood) {
			state.lease = null; // what it has told of its sessions goes with them
			this.#dropEmpty(host);
		}
		if (wasThere || isForGood) this.#lose(state, Date.now());
		this.#arm();
	}

	#lose(state: HostState, since: number): void {
		state.reachable = false;
		state.since = since;
		this.#changes.emit();
	}

	#expect(host: string): void {
		this.#ends.delete(host);
		this.#ends.set(host, performance.now() + this.#parts.ttlMs);
		this.#arm();
	}

	#arm(): void {
		if (this.#leaseTimer !== undefined || this.#disposed) return;
		const [first] = this.#ends.values();
		if (first === undefined) return;
		const ms = Math.max(0, first - performance.now()) + MARGIN_MS;
		this.#leaseTimer = setTimeout(() => this.#expire(), ms).unref();
	}

	#expire(): void {
		this.#leaseTimer = undefined;
		const isAway = this.awaySince !== null || this.unheardSince !== null;
		const now = performance.now();
		for (const [host, end] of this.#ends) {
			if (end > now) break;
			this.#ends.delete(host);
			const state = this.#stateOf(host);
			if (isAway) this.#ends.set(host, now + this.#parts.ttlMs);
			else this.#lose(state, state.heardAt);
		}
		this.#arm();
	}

	#told(key: string, value: Uint8Array | null): void {
		const found = splitKey(key);
		if (found === null) return;
		if (value !== null) this.#stateOf(found.host).records.set(found.rest, value);
		else this.#hosts.get(found.host)?.records.delete(found.rest);
		this.#dropEmpty(found.host);
		if (this.#records?.isReady) this.#changes.emit();
	}

	#keepOnly(keys: ReadonlySet<string>): void {
		for (const state of [...this.#hosts.values()]) {
			for (const rest of [...state.records.keys()]) if (!keys.has(`${state.host}.${rest}`)) state.records.delete(rest);
			this.#dropEmpty(state.host);
		}
		this.#changes.emit();
	}

	/** One of which nothing is known. */
	#dropEmpty(host: string): void {
		const state = this.#hosts.get(host);
		if (state !== undefined && state.lease === null && state.records.size === 0) this.#hosts.delete(host);
	}

	/** One that was lost so long ago that the broker has no record of its sessions any more. */
	#dropOld({ host, reachable, since }: HostState): void {
		if (!reachable && since !== null && since < Date.now() - RECORD.ttlMs) this.#hosts.delete(host);
	}

	async #forgetSessions(): Promise<void> {
		const records = this.#records;
		this.#records = null;
		for (const state of this.#hosts.values()) state.records.clear();
		await records?.[Symbol.asyncDispose]();
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#disposed = true;
		this.#undo();
		clearTimeout(this.#leaseTimer);
		clearTimeout(this.#idleTimer);
		await Promise.all([this.#leases[Symbol.asyncDispose](), this.#forgetSessions()]);
		this.#changes.clear();
	}
}

const viewOf = ({ host, lease, reachable, since, clockMs }: HostState): HostView => ({
	...{ host, lease, reachable, since },
	...(clockMs !== 0 && { clockMs }),
});

function sessionOf(
	{ host, lease, reachable, since, heardAt, clockMs }: HostState,
	key: string,
	written: SessionEntry,
	lostSince: number | null,
): FleetSession {
	// How it ended stays true; of what ran in an earlier boot its host has not spoken yet, and without the servers nobody speaks.
	const [createdAt, updatedAt] = [hereMs(written.createdAt, clockMs), hereMs(written.updatedAt, clockMs)];
	const entry = clockMs === 0 ? written : { ...written, createdAt, updatedAt };
	const isOfThisBoot = reachable && entry.boot === bootOf(lease?.bootId ?? "");
	const isTold = hasEnded(entry.status) || (isOfThisBoot && lostSince === null);
	const id = key.slice(key.lastIndexOf(".") + 1);
	return {
		host,
		id,
		entry,
		state: isTold ? "told" : "unreachable",
		version: lease?.version ?? null,
		since: isTold ? null : isOfThisBoot ? lostSince : reachable ? heardAt : since,
		key: `${host}.${key}`,
	};
}
