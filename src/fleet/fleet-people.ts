// The list of all hosts' sessions, live, for people: that of this host, and those of the others as they tell them
// themselves, over one link to each. No output is in it.
//
// Links are open only while somebody watches. Where there is none (a host that is not heard of, one of another version,
// more hosts than are followed) its records are shown. A host that is lost keeps its rows: they are marked, never removed, and
// are live again with the first list that it tells then.

import type { Approval } from "../protocol/approval.ts";
import { guarded } from "../protocol/boundary.ts";
import type { FleetHostStatus } from "../protocol/fleet.ts";
import { Listeners, reportError } from "../protocol/listeners.ts";
import { type ListChange, NO_HOST } from "../protocol/session-list.ts";
import { type Condition, onAbort, wait } from "../pty/wait.ts";
import { options } from "../session/options.ts";
import type { Client, PeopleOptions } from "../tools/client.ts";
import { approvalSchema, personSessionSchema } from "../tools/facts.ts";
import { SessionList } from "../tools/session-list.ts";
import { approvalOn } from "./approval-on-host.ts";
import { charsOf, type FollowedHost, followedHost, forget, keep, shaped } from "./followed-host.ts";
import { lostRow, recordedRow, rowOn } from "./host-rows.ts";
import { hostStatus, isOfOtherVersion } from "./host-status.ts";
import type { FleetRegistry } from "./registry.ts";
import { joinReference } from "./session-names.ts";
import type { HostView } from "./view.ts";

/** What changes is told at most this often. */
const TELL_EVERY_MS = 250;
/** How long the first list waits for all hosts that are followed. */
const FIRST_MS = 1000;
/** Leases are renewed without a word; records that changed are read again at most this often, too. */
const LOOK_MS = 3000;
/** Of hosts: more links than this would cost a page more than it can show. */
const MOST_FOLLOWED = 100;
/** Records are followed for ten minutes after they were asked for (view.ts). */
const ASK_RECORDS_MS = 300_000;
const RETRY_MS = { first: 500, most: 10_000 };
/** Of one host. No daemon lists more sessions. */
const MOST_TOLD = options.maxSessions.max + options.rememberEnded.max;
/** Of what all hosts have told, in characters: above it the one that has told most is not followed any more. */
const MOST_CHARS = 256 << 20;

export interface FleetPeopleParts {
	readonly local: Pick<Client, "people">;
	readonly registry: Pick<FleetRegistry, "awaySince" | "hosts" | "withSessions" | "sessions" | "onChange">;
	/** The name of this host; null where it is none. */
	readonly host: string | null;
	readonly clientOf: (host: string) => Pick<Client, "people">;
	/** Of this daemon. */
	readonly version: string;
	readonly mostChars?: number;
}

/** While there are readers. */
interface Watching {
	readonly stop: AbortController;
	readonly undo: readonly (() => void)[];
	telling: NodeJS.Timeout | null;
	toldAt: number;
	/** Records may have changed. */
	hasNews: boolean;
	recordsAskedAt: number;
}

export class FleetPeople implements AsyncDisposable {
	readonly #parts: FleetPeopleParts;
	readonly #list = new SessionList();
	readonly #others = new Map<string, FollowedHost>();
	readonly #stopped = new AbortController();
	readonly #pumps = new Set<Promise<void>>();
	/** What waits for a person on this host; null: it has told nothing yet. */
	#own: readonly Approval[] | null = null;
	/** A host has told something. */
	readonly #heard = new Listeners<void>("fleet list");
	#readers = 0;
	#watching: Watching | null = null;
	/** Why there will be no more. */
	#failure: unknown = null;

	constructor(parts: FleetPeopleParts) {
		this.#parts = parts;
	}

	/** Ends when `signal` aborts, and when the fleet is left. */
	async *changes({ signal, ...options }: PeopleOptions): AsyncGenerator<ListChange> {
		const watching = this.#enter();
		const over = new AbortController();
		const ends = [signal, watching.stop.signal, this.#stopped.signal];
		const undo = ends.map((one) => onAbort(one)(() => over.abort()));
		if (ends.some(({ aborted }) => aborted)) over.abort();
		try {
			// A list that lacks what is about to be told would say that there is nothing else.
			const ready: Condition<void> = {
				start: ({ after, own, settle }) => {
					after(FIRST_MS, settle);
					own(this.#heard.add(() => this.#isHeard && settle()));
					if (this.#isHeard) settle();
				},
			};
			await wait([ready], over).catch(() => {}); // over
			yield* this.#list.changes({ ...options, signal: over.signal });
			if (this.#failure !== null && !signal.aborted) throw this.#failure;
		} finally {
			for (const each of undo) each();
			this.#leave(watching);
		}
	}

	/** This host and all that are followed have told their lists. */
	get #isHeard(): boolean {
		return this.#own !== null && [...this.#others.values()].every(({ stop, told }) => stop === null || told !== null);
	}

	#enter(): Watching {
		this.#readers++;
		if (this.#watching !== null) return this.#watching;
		const look = guarded("looking at the fleet", () => this.#look());
		const timer = setInterval(look, LOOK_MS).unref();
		const watching: Watching = {
			stop: new AbortController(),
			undo: [
				() => clearInterval(timer),
				this.#parts.registry.onChange(() => {
					watching.hasNews = true;
					this.#tellSoon();
				}),
			],
			telling: null,
			toldAt: 0,
			hasNews: true,
			recordsAskedAt: Number.NEGATIVE_INFINITY,
		};
		this.#watching = watching;
		this.#failure = null;
		this.#pump(this.#followOwn(watching.stop.signal), "the list of this host");
		this.#look();
		return watching;
	}

	#leave(watching: Watching): void {
		if (--this.#readers > 0 || this.#watching !== watching) return;
		this.#watching = null;
		watching.stop.abort();
		for (const undo of watching.undo) undo();
		if (watching.telling !== null) clearTimeout(watching.telling);
		for (const { stop } of this.#others.values()) stop?.abort();
		this.#others.clear();
		this.#own = null;
		this.#list.clear();
	}

	/** Work that ends with its signal. */
	#pump(work: Promise<void>, what: string): void {
		const pump = work
			.catch((error: unknown) => reportError(error, what))
			.finally(() => {
				this.#pumps.delete(pump);
			});
		this.#pumps.add(pump);
	}

	async #followOwn(signal: AbortSignal): Promise<void> {
		let shown = new Set<string>();
		try {
			for await (const change of this.#parts.local.people({ decides: true, signal })) {
				if (signal.aborted) return;
				if (change.full) {
					const all = new Set(change.sessions.map(({ session }) => session));
					for (const id of shown) if (!all.has(id)) this.#list.remove(id);
					shown = all;
				}
				for (const row of change.sessions) {
					shown.add(row.session);
					this.#list.put(row);
				}
				for (const id of change.removed) this.#list.remove(id);
				this.#own = change.approvals ?? this.#own ?? [];
				this.#heard.emit();
				this.#tellSoon();
			}
		} catch (error) {
			if (signal.aborted) return;
			this.#failure = error;
			this.#watching?.stop.abort();
		}
	}

	/** What another host tells, until the signal aborts. */
	async #follow(other: FollowedHost, signal: AbortSignal): Promise<void> {
		const { host } = other;
		for (let ms = RETRY_MS.first; !signal.aborted; ms = Math.min(2 * ms, RETRY_MS.most)) {
			try {
				for await (const change of this.#parts.clientOf(host).people({ decides: true, signal })) {
					if (signal.aborted) return;
					this.#take(other, change);
					ms = RETRY_MS.first;
				}
			} catch {
				// It is away or restarts: its lease says whether it is reachable.
			}
			const pause: Condition<void> = { start: ({ after, settle }) => after(ms, settle) };
			await wait([pause], { signal }).catch(() => {}); // over
		}
	}

	#take(other: FollowedHost, change: ListChange): void {
		const rows = shaped(personSessionSchema, change.sessions).map((row) => rowOn(other.host, row, other.clockMs));
		if (change.approvals !== undefined) {
			other.approvals = shaped(approvalSchema, change.approvals).map((one) =>
				approvalOn(other.host, one, other.clockMs),
			);
			other.approvalChars = JSON.stringify(other.approvals).length;
		}
		const isAnew = change.full || other.told === null;
		if (isAnew) forget(other);
		other.told ??= new Map();
		const gone = change.removed.map((id) => joinReference(other.host, id));
		for (const row of rows) keep(other, row.session, { row, chars: JSON.stringify(row).length });
		for (const id of gone) keep(other, id, null);
		if (this.#isTooMuch(other)) return;
		if (isAnew) {
			other.lostSince = undefined;
			this.#draw(other);
		} else {
			for (const row of rows) this.#list.put(row);
			for (const id of gone) this.#list.remove(id);
			other.shown = new Set(other.told.keys());
		}
		this.#heard.emit();
		this.#tellSoon();
	}

	/** Refuses whoever has told too much; whether that is this one. */
	#isTooMuch(other: FollowedHost): boolean {
		const all = [...this.#others.values()];
		const isOver = all.reduce((sum, one) => sum + charsOf(one), 0) > (this.#parts.mostChars ?? MOST_CHARS);
		if (isOver) this.#refuse(all.reduce((most, one) => (charsOf(one) > charsOf(most) ? one : most)));
		else if ((other.told?.size ?? 0) > MOST_TOLD) this.#refuse(other);
		return other.isRefused;
	}

	#refuse(other: FollowedHost): void {
		other.isRefused = true;
		forget(other);
		other.stop?.abort();
		reportError(new Error("it tells more sessions than there can be"), `the list of ${other.host}`);
		if (this.#watching !== null) this.#watching.hasNews = true;
		this.#tellSoon();
	}

	/** Who is there: opens and ends links, marks what is lost, and reads records where there is no link. */
	#look(): void {
		const watching = this.#watching;
		if (watching === null) return;
		const { registry, host: own, version } = this.#parts;
		const { awaySince } = registry;
		const hosts = registry.hosts().toSorted((a, b) => (a.host < b.host ? -1 : 1));
		const others = hosts.filter(({ host }) => host !== own);
		for (const [host, other] of this.#others) {
			if (others.some((view) => view.host === host)) continue;
			this.#others.delete(host);
			other.stop?.abort();
			for (const id of other.shown) this.#list.remove(id);
		}
		const { hasNews } = watching;
		watching.hasNews = false;
		let followed = 0;
		for (const view of others) {
			// One of another version answers nothing.
			const isHeard = view.reachable && !isOfOtherVersion(view, version) && !this.#otherOf(view.host).isRefused;
			const mayFollow = isHeard && followed < MOST_FOLLOWED;
			if (mayFollow) followed++;
			this.#lookAt(view, { awaySince, mayFollow, hasNews });
		}
		this.#askForRecords(watching);
		this.#list.setFleet({ host: own ?? NO_HOST, awaySince, hosts: hosts.map((view) => statusOf(view, version)) });
		this.#tellSoon();
	}

	#lookAt(
		{ host, reachable, since, clockMs = 0 }: HostView,
		{ awaySince, mayFollow, hasNews }: { awaySince: number | null; mayFollow: boolean; hasNews: boolean },
	): void {
		const other = this.#otherOf(host);
		const isThere = reachable && awaySince === null;
		if (other.clockMs !== clockMs) {
			// What it has told was by another clock: it tells all again.
			other.clockMs = clockMs;
			other.stop?.abort();
			other.stop = null;
		}
		if (isThere && other.stop === null && mayFollow) {
			const stop = new AbortController();
			other.stop = stop;
			this.#pump(this.#follow(other, stop.signal), `the list of ${host}`);
		}
		if (!isThere || !mayFollow) {
			other.stop?.abort();
			other.stop = null;
			other.approvals = [];
			other.approvalChars = 0;
		}
		if (!isThere) {
			const lostSince = reachable ? awaySince : since;
			const isNew = other.lostSince !== lostSince;
			other.lostSince = lostSince;
			if (isNew || (hasNews && other.told === null)) this.#draw(other);
			return;
		}
		if (!mayFollow) forget(other);
		if (other.told !== null) return; // until it has told all anew, what is lost stays marked
		other.lostSince = undefined;
		if (hasNews) this.#draw(other);
	}

	#otherOf(host: string): FollowedHost {
		const known = this.#others.get(host);
		if (known !== undefined) return known;
		const other = followedHost(host);
		this.#others.set(host, other);
		return other;
	}

	/** All its rows, as they are to be shown now. */
	#draw(other: FollowedHost): void {
		const { host, told, lostSince } = other;
		const now = Date.now();
		const known =
			told !== null
				? [...told.values()].map(({ row }) => row)
				: [...this.#parts.registry.sessions({ host })].map((one) =>
						recordedRow(one, { now, version: this.#parts.version }),
					);
		const shown = new Set<string>();
		for (const row of known) {
			shown.add(row.session);
			this.#list.put(lostSince === undefined ? row : lostRow(row, lostSince));
		}
		for (const id of other.shown) if (!shown.has(id)) this.#list.remove(id);
		other.shown = shown;
	}

	/** Where a host tells nothing itself. */
	#askForRecords(watching: Watching): void {
		const isDue = performance.now() - watching.recordsAskedAt >= ASK_RECORDS_MS;
		if (!isDue || [...this.#others.values()].every(({ told }) => told !== null)) return;
		watching.recordsAskedAt = performance.now();
		// Not waited for at the end: without the servers they are not known for as long as those are away.
		this.#parts.registry.withSessions().then(
			() => {
				watching.hasNews = true;
				this.#tellSoon();
			},
			() => {
				watching.recordsAskedAt = Number.NEGATIVE_INFINITY; // asked again
			},
		);
	}

	#tellSoon(): void {
		const watching = this.#watching;
		if (watching === null || watching.telling !== null) return;
		const wait = Math.max(0, watching.toldAt + TELL_EVERY_MS - performance.now());
		const tell = guarded("telling the list", () => {
			watching.telling = null;
			watching.toldAt = performance.now();
			if (watching.hasNews) this.#look();
			const others = [...this.#others.values()].flatMap(({ approvals }) => approvals);
			this.#list.setApprovals([...(this.#own ?? []), ...others].sort((a, b) => a.at - b.at));
			this.#list.tell();
		});
		watching.telling = setTimeout(tell, wait).unref();
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#stopped.abort();
		this.#watching?.stop.abort();
		for (const { stop } of this.#others.values()) stop?.abort();
		await Promise.all(this.#pumps);
	}
}

/** A load that hardly differs is no news. */
function statusOf(view: HostView, ours: string): FleetHostStatus {
	const status = hostStatus(view, ours);
	return { ...status, load: status.load === null ? null : Math.round(10 * status.load) / 10 };
}
