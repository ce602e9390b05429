// This host's lease. Its name belongs to whoever refreshes the lease on it, and only who has the name serves and tells of
// sessions: two that do so under one name would end each other's links.
//
// A later daemon of the same machine and user takes the name over at once. A daemon of another boot, another user, or
// another machine of the same name waits until the lease is no longer refreshed: then it was one that is gone.

import { availableParallelism, loadavg } from "node:os";
import { Listeners } from "../protocol/listeners.ts";
import { until, within } from "../pty/wait.ts";
import { type Buckets, isConflict, type Lease, leaseIn } from "./buckets.ts";
import type { Connected } from "./connected.ts";

/** What is told of a host in its lease. */
export interface LeasedHost {
	readonly host: string;
	readonly labels: Readonly<Record<string, string>>;
	readonly version: string;
	readonly bootId: string;
	/** Tells the daemons of several users of a machine apart. */
	readonly home: string;
	readonly daemonEpoch: number;
	/** How many sessions it takes. */
	readonly capacity: number;
	readonly sessions: { runningCount(): number };
}

export interface OwnLeaseParts {
	readonly own: LeasedHost;
	readonly buckets: Pick<Buckets, "hosts" | "ensure">;
	readonly connected: Connected;
	readonly refreshMs: number;
	readonly ttlMs: number;
	/** After each try. */
	readonly onTried: () => void;
	/** Errors that have no caller. */
	readonly onProblem: (problem: unknown, doing: string) => void;
}

/**
 * `asked`: never had · `ours` · `doubtful`: had, and the last write failed · `seen`: another has a lease on it, maybe one that
 * is gone · `taken`: another refreshes it.
 */
type NameState = "asked" | "ours" | "doubtful" | "seen" | "taken";
type NameEvent = "written" | "failed" | "seen" | "refreshed";

const AFTER: Readonly<Record<NameState, Readonly<Record<NameEvent, NameState>>>> = {
	asked: { written: "ours", failed: "asked", seen: "seen", refreshed: "taken" },
	ours: { written: "ours", failed: "doubtful", seen: "seen", refreshed: "taken" },
	doubtful: { written: "ours", failed: "doubtful", seen: "seen", refreshed: "taken" },
	seen: { written: "ours", failed: "seen", seen: "seen", refreshed: "taken" },
	taken: { written: "ours", failed: "taken", seen: "taken", refreshed: "taken" },
};

/**
 * A cluster that elects a leader drops requests: each try is short, and the next one follows soon, so that the lease is written
 * as soon as there is a leader and has not ended by then.
 */
const TRY_MS = 1500;
const RETRY_MS = { first: 100, most: 1000 } as const;
const LEAVE_MS = 5000;

export class OwnLease implements Disposable {
	readonly #parts: OwnLeaseParts;
	readonly #since = Date.now();
	readonly #changes = new Listeners<void>("own lease");
	readonly #undo: () => void;
	readonly #refresh: NodeJS.Timeout;
	#state: NameState = "asked";
	/** The revision of our lease; null while it is not ours. */
	#held: number | null = null;
	/** Somebody else's lease on our name, and when we saw it first, of `performance.now()`. */
	#other: { readonly revision: number; readonly seenAt: number } | null = null;
	/** What is under way. */
	#renewal: Promise<void> | null = null;
	/** Tries in a row that failed. */
	#failures = 0;
	#retry: NodeJS.Timeout | undefined;
	#ensuring = false;
	#disposed = false;

	constructor(parts: OwnLeaseParts) {
		this.#parts = parts;
		this.#undo = parts.connected.onChange((isConnected) => {
			if (isConnected) void this.#renew();
		});
		this.#refresh = setInterval(() => void this.#renew(), parts.refreshMs);
		// Whoever makes this has it before it is told of the first try.
		setImmediate(() => void this.#renew());
	}

	/** The last write was done: what is told of this host is ours to write. */
	get isHeld(): boolean {
		return this.#held !== null;
	}

	/** The name is ours as far as we know: also while the broker takes no lease. */
	get isOurs(): boolean {
		return this.#state === "ours" || this.#state === "doubtful";
	}

	/** Another machine or user is in the fleet under this name. */
	get isTaken(): boolean {
		return this.#state === "taken";
	}

	get isBusy(): boolean {
		return this.#renewal !== null;
	}

	/** Told when one of these has changed. */
	onChange(listener: () => void): () => void {
		return this.#changes.add(listener);
	}

	/** Settles when it is known whose the name is, or this is disposed. */
	known(): Promise<void> {
		return until(
			() => this.isOurs || this.isTaken || this.#disposed,
			(listener) => this.#changes.add(listener),
		);
	}

	/** Looks now, whatever was known: whether the lease is ours. */
	async confirm(): Promise<boolean> {
		await this.#renewal; // it may have begun before the doubt
		await this.#renew();
		return this.isHeld && !this.#disposed;
	}

	/** One at a time: who comes meanwhile waits for the same. */
	#renew(): Promise<void> {
		if (this.#disposed) return Promise.resolve();
		this.#renewal ??= this.#try().finally(() => {
			this.#renewal = null;
			this.#parts.onTried();
		});
		return this.#renewal;
	}

	async #try(): Promise<void> {
		clearTimeout(this.#retry);
		try {
			if (this.#parts.connected.awaySince === null) await this.#write();
			this.#failures = 0;
		} catch (error) {
			this.#failed(error);
		}
	}

	#failed(error: unknown): void {
		const { connected, onProblem } = this.#parts;
		// One that is away is back with news of it.
		if (this.#disposed || connected.awaySince !== null) return;
		if (this.#failures === 0) onProblem(error, "telling the fleet");
		const ms = Math.min(RETRY_MS.first * 2 ** this.#failures++, RETRY_MS.most);
		this.#retry = setTimeout(() => void this.#renew(), ms);
		void this.#ensure();
	}

	/** It may have been lost. No try waits for this: a cluster takes long to answer it. */
	async #ensure(): Promise<void> {
		if (this.#ensuring) return;
		this.#ensuring = true;
		await this.#parts.buckets.ensure().catch(() => {}); // the problem of the try is the one to tell
		this.#ensuring = false;
	}

	async #write(): Promise<void> {
		const { own, buckets } = this.#parts;
		const { hosts } = buckets;
		const text = JSON.stringify(this.#leaseNow());
		const put = (previousSeq: number) =>
			within(TRY_MS, "the lease", hosts.put(own.host, text, { previousSeq, timeout: TRY_MS }));
		try {
			if (this.#held !== null) this.#held = await put(this.#held);
			else {
				const found = await within(TRY_MS, "the lease", hosts.get(own.host));
				const isThere = found !== null && found.operation === "PUT";
				if (isThere && !this.#mayTake(found.revision, found.string())) return;
				this.#held = await put(found?.revision ?? 0);
				this.#other = null;
			}
			this.#happen("written");
		} catch (error) {
			this.#held = null; // expired, taken by another, or not known: looked at the next time
			this.#happen("failed");
			if (!isConflict(error)) throw error;
			setImmediate(() => void this.#renew()); // the next look need not wait for the next refresh
		}
	}

	/** Whether a lease on our name that another has written is ours to take. */
	#mayTake(revision: number, text: string): boolean {
		const { own, ttlMs } = this.#parts;
		const theirs = leaseIn(text);
		if (theirs === null) return true;
		const isOfHere = theirs.bootId === own.bootId && theirs.home === own.home;
		if (isOfHere && theirs.since <= this.#since) return true; // the daemon before us, or we
		const now = performance.now();
		if (this.#other?.revision === revision) return now - this.#other.seenAt > ttlMs;
		this.#happen(this.#other === null ? "seen" : "refreshed");
		this.#other = { revision, seenAt: now };
		return false;
	}

	#happen(event: NameEvent): void {
		const before = this.#state;
		this.#state = AFTER[before][event];
		if (this.#state === before) return;
		const { own, onProblem } = this.#parts;
		if (this.isTaken)
			onProblem(new Error(`another machine or user is in the fleet as ${own.host}`), "joining the fleet");
		this.#changes.emit();
	}

	#leaseNow(): Lease {
		const { host, labels, version, bootId, home, daemonEpoch, capacity, sessions } = this.#parts.own;
		return {
			host,
			bootId,
			home,
			daemonEpoch,
			version,
			labels: { ...labels },
			capacity: { sessions: capacity },
			running: sessions.runningCount(),
			load: Math.round((loadavg()[0]! / availableParallelism()) * 100) / 100,
			since: this.#since,
			now: Date.now(),
		};
	}

	/** Ends the refreshing; `leave` is for when what is under way has ended. */
	[Symbol.dispose](): void {
		this.#disposed = true;
		this.#undo();
		clearInterval(this.#refresh);
		clearTimeout(this.#retry);
		this.#changes.emit();
	}

	/** Others learn at once that it is gone, for good or for now. Whether the name was ours until then, and is nobody's now. */
	async leave({ forGood }: { readonly forGood: boolean }): Promise<boolean> {
		const { own, buckets, connected } = this.#parts;
		this.#changes.clear();
		if (this.#held === null || connected.awaySince !== null) return false;
		const last = { previousSeq: this.#held };
		const leaving = forGood ? buckets.hosts.purge(own.host, last) : buckets.hosts.delete(own.host, last);
		return within(LEAVE_MS, "leaving the fleet", leaving).then(
			() => true,
			() => false, // it expires
		);
	}
}
