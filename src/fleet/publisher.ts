// Tells the fleet of this host's sessions, each when its state has changed, while its lease (own-lease.ts) is held. Neither
// waits for the other: records are kept by other servers, and one of these that is slow must not end the lease.
//
// Each write of a record names the revision that it replaces. After a reconnect what the broker has is compared with what
// there is, and only differences are written.

import type { SessionRecord } from "../journal/records.ts";
import { oneLine } from "../protocol/clean.ts";
import { Listeners } from "../protocol/listeners.ts";
import { until, within } from "../pty/wait.ts";
import { inParallel } from "../session/in-parallel.ts";
import { hasEnded } from "../session/lifecycle.ts";
import type { Session } from "../session/session.ts";
import { readBucket } from "./bucket-watch.ts";
import { BUCKETS, type Buckets, bootOf, entryIn, isConflict, RECORD, type SessionEntry } from "./buckets.ts";
import type { Connected } from "./connected.ts";
import { type LeasedHost, OwnLease } from "./own-lease.ts";
import { sessionKey } from "./session-names.ts";

/** The sessions of this host, as `Sessions` has them. */
export interface OwnSessions {
	list(): readonly { readonly record: SessionRecord; readonly session: Pick<Session, "attention"> | null }[];
	readonly events: { onEvent(listener: () => void): () => void };
	runningCount(): number;
	onCount(listener: () => void): () => void;
}

export interface OwnHost extends LeasedHost {
	readonly sessions: OwnSessions;
	/** Looks at those whose state may have changed without a word; called with each lease. */
	readonly freshen?: () => Promise<void>;
}

export interface PublisherParts {
	readonly own: OwnHost;
	readonly buckets: Buckets;
	readonly connected: Connected;
	readonly refreshMs: number;
	readonly ttlMs: number;
	/** Errors that have no caller. */
	readonly onProblem: (problem: unknown, doing: string) => void;
}

/** A record is written at most so often, however often its session changes. */
const PACE_MS = 500;
/** Writes at a time. */
const PARALLEL_WRITES = 64;
const REQUEST_MS = 5000;
const MAX_COMMAND_CHARS = 160;

interface Published {
	/** Null where it is not known whether the last write was done. */
	revision: number | null;
	/** What was written, without its time. */
	said: string;
	/** Of `performance.now()`. */
	writtenAt: number;
	/** Ms since 1970. */
	at: number;
}

export class Publisher implements AsyncDisposable {
	readonly lease: OwnLease;
	readonly #parts: PublisherParts;
	readonly #published = new Map<string, Published>();
	readonly #undo: readonly (() => void)[];
	readonly #idle = new Listeners<void>("publisher");
	#paceTimer: NodeJS.Timeout | undefined;
	#busy = false;
	/** Sessions are to be looked at before they are told. */
	#stale = true;
	/** It is to look again when it is done. */
	#again = false;
	#scheduled = false;
	/** What the broker has was compared with what there is, since the last reconnect. */
	#compared = false;
	#disposed = false;

	constructor(parts: PublisherParts) {
		this.#parts = parts;
		const { own, connected } = parts;
		this.lease = new OwnLease({ ...parts, onTried: () => this.#leaseTried() });
		this.#undo = [
			own.sessions.events.onEvent(() => this.#soon()),
			own.sessions.onCount(() => this.#soon()),
			connected.onChange(() => {
				this.#compared = false;
			}),
		];
	}

	/** Settles when all that is to be told has been, or this is disposed: for tests and an orderly end. */
	settled(): Promise<void> {
		return until(
			() =>
				this.#disposed ||
				(this.#compared && this.#isIdle && !this.#scheduled && !this.#again && this.#paceTimer === undefined),
			(listener) => this.#idle.add(listener),
		);
	}

	get #isIdle(): boolean {
		return !this.#busy && !this.lease.isBusy;
	}

	/** At the end of this turn: what happens together is told together. */
	#soon(): void {
		if (this.#scheduled || this.#disposed) return;
		this.#scheduled = true;
		setImmediate(() => {
			this.#scheduled = false;
			void this.#work();
		});
	}

	/** Then what has changed. */
	#leaseTried(): void {
		// Whoever had it meanwhile may have written other records.
		if (!this.lease.isHeld) this.#compared = false;
		this.#idle.emit();
		this.#stale = true;
		void this.#work();
	}

	get #isThere(): boolean {
		return this.#parts.connected.awaySince === null;
	}

	async #failed(error: unknown): Promise<void> {
		await this.#parts.buckets.ensure().catch(() => {}); // the first problem is the one to tell
		if (this.#isThere && !this.#disposed) this.#parts.onProblem(error, "telling the fleet");
	}

	/** What has changed, one at a time. Without a lease, the next refresh looks. */
	async #work(): Promise<void> {
		if (this.#disposed) return;
		if (this.#busy) {
			this.#again = true;
			return;
		}
		this.#busy = true;
		this.#again = false;
		try {
			if (this.#isThere && this.lease.isHeld) {
				if (this.#stale) await this.#parts.own.freshen?.();
				this.#stale = false;
				await this.#tell();
			}
		} catch (error) {
			this.#compared = false;
			await this.#failed(error);
		} finally {
			this.#busy = false;
		}
		if (this.#again && this.lease.isHeld && this.#isThere) this.#soon();
		this.#idle.emit();
	}

	/** Writes what has changed since it was last written. */
	async #tell(): Promise<void> {
		if (!this.#compared) await this.#compare();
		const { own } = this.#parts;
		const entries = new Map(
			own.sessions
				.list()
				.map((one) => [sessionKey(own.host, one.record.owner, one.record.id), entryOf(one, own.bootId)]),
		);
		const now = performance.now();
		let next = Number.POSITIVE_INFINITY;
		const due: (() => Promise<void>)[] = [];
		const paced = (published: Published | undefined, write: () => Promise<void>) => {
			const at = published === undefined ? now : published.writtenAt + PACE_MS;
			if (at <= now) due.push(write);
			else next = Math.min(next, at);
		};
		for (const [key, entry] of entries) {
			const published = this.#published.get(key);
			const isSaid = published !== undefined && published.revision !== null && published.said === saidBy(entry);
			if (!isSaid || Date.now() - published.at > RECORD.rewriteMs) paced(published, () => this.#write(key, entry));
		}
		for (const [key, published] of this.#published)
			if (!entries.has(key)) paced(published, () => this.#remove(key, published));
		const failed: unknown[] = [];
		await inParallel(PARALLEL_WRITES, due, async (write) => {
			if (failed.length === 0) await write().catch((error: unknown) => failed.push(error));
		});
		if (failed.length > 0) throw failed[0];
		clearTimeout(this.#paceTimer);
		this.#paceTimer = undefined;
		if (Number.isFinite(next) && !this.#disposed)
			this.#paceTimer = setTimeout(() => {
				this.#paceTimer = undefined;
				this.#soon();
			}, next - now);
	}

	/** Reads what the broker has of this host. */
	async #compare(): Promise<void> {
		const { own, buckets, connected } = this.#parts;
		this.#published.clear();
		const filter = `${own.host}.>`;
		const found = await readBucket({ buckets, bucket: BUCKETS.sessions, connected, filter, withinMs: REQUEST_MS });
		for (const [key, { revision, at, text }] of found) {
			const before = text === null ? null : entryIn(text);
			const said = before === null ? "" : saidBy(before);
			this.#published.set(key, { revision, said, writtenAt: Number.NEGATIVE_INFINITY, at });
		}
		this.#compared = true;
	}

	async #write(key: string, entry: SessionEntry): Promise<void> {
		const { sessions } = this.#parts.buckets;
		const before = this.#published.get(key);
		const now = { revision: null, said: saidBy(entry), writtenAt: performance.now(), at: Date.now() };
		this.#published.set(key, now);
		const text = JSON.stringify(entry);
		try {
			const previousSeq = before === undefined ? 0 : (before.revision ?? (await this.#revisionOf(key)));
			Object.assign(now, { revision: await sessions.put(key, text, { previousSeq, timeout: REQUEST_MS }) });
		} catch (error) {
			await this.#mustPrevail(error);
			Object.assign(now, {
				revision: await sessions.put(key, text, { previousSeq: await this.#revisionOf(key), timeout: REQUEST_MS }),
			});
		}
	}

	async #remove(key: string, published: Published): Promise<void> {
		const { sessions } = this.#parts.buckets;
		const revision = published.revision ?? (await this.#revisionOf(key));
		try {
			await within(REQUEST_MS, "removing a record", sessions.delete(key, { previousSeq: revision }));
		} catch (error) {
			await this.#mustPrevail(error);
			const previousSeq = await this.#revisionOf(key);
			await within(REQUEST_MS, "removing a record", sessions.delete(key, { previousSeq }));
		}
		this.#published.delete(key);
	}

	/** Another has written it, or we did and were not told: who has the lease decides, as the broker has it now. Else this throws. */
	async #mustPrevail(error: unknown): Promise<void> {
		if (!isConflict(error) || !(await this.lease.confirm())) throw error;
	}

	/** The last one; 0 where there is none. */
	async #revisionOf(key: string): Promise<number> {
		return (await within(REQUEST_MS, "a record", this.#parts.buckets.sessions.get(key)))?.revision ?? 0;
	}

	/** Others learn of it at once. Its sessions stay listed, as those of a host that is not there. */
	[Symbol.asyncDispose](): Promise<void> {
		return this.#end({ forGood: false });
	}

	/** Nothing is told of this host any more. */
	leave(): Promise<void> {
		return this.#end({ forGood: true });
	}

	async #end({ forGood }: { readonly forGood: boolean }): Promise<void> {
		if (this.#disposed) return;
		this.#disposed = true;
		this.lease[Symbol.dispose]();
		clearTimeout(this.#paceTimer);
		for (const undo of this.#undo) undo();
		await until(
			() => this.#isIdle,
			(listener) => this.#idle.add(listener),
		);
		this.#idle.clear();
		const wasOurs = await this.lease.leave({ forGood });
		if (!forGood || !wasOurs) return;
		// What is not removed now is gone when it expires.
		await inParallel(PARALLEL_WRITES, [...this.#published], ([key, published]) =>
			this.#remove(key, published).catch(() => {}),
		);
	}
}

/** What others are told of a session. */
function entryOf({ record, session }: ReturnType<OwnSessions["list"]>[number], bootId: string): SessionEntry {
	const attention = session === null || hasEnded(record.state) ? null : session.attention;
	return {
		name: oneLine(record.name),
		command: oneLine(record.command, MAX_COMMAND_CHARS),
		status: record.state,
		activity: attention?.activity ?? null,
		waitingFor: attention?.waitingFor ?? null,
		owner: record.owner,
		createdAt: record.createdAt,
		updatedAt: Date.now(),
		exit: record.exit,
		sandbox: record.sandbox === null ? "none" : "enforced",
		// Not this boot: a daemon that has just begun finds sessions that ran before it on record as running, until it has looked for their holders.
		boot: bootOf(record.bootId || bootId),
	};
}

/** Without its time. How one ended stays said, whatever boot it is. */
function saidBy({ updatedAt: _, boot, ...entry }: SessionEntry): string {
	return JSON.stringify(hasEnded(entry.status) ? entry : { ...entry, boot });
}
