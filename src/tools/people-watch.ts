// The list of all sessions, live, for any number of people: one watcher for all of them.
//
// Rows are made anew when an event, output or the clock says that they may differ, at most a few times a second. Each
// reader has a position, the version of the list it has seen, and takes what differs from it when it can: a slow
// one gets the newest state, never a queue. Verdicts are refreshed only while somebody watches.

import type { Approval } from "../protocol/approval.ts";
import { guarded } from "../protocol/boundary.ts";
import { Listeners } from "../protocol/listeners.ts";
import type { PersonSession } from "../protocol/person-session.ts";
import { onAbort, type Subscribe, until, within } from "../pty/wait.ts";
import { inParallel } from "../session/in-parallel.ts";
import { hasEnded } from "../session/lifecycle.ts";
import { approvalsWithin, isWithin, type Scope } from "../session/scope.ts";
import type { Session } from "../session/session.ts";
import type { ListedSession, Sessions } from "../session/sessions.ts";
import { listedSession } from "./list.ts";
import { changesAt, PEOPLE, type PersonFacts, personSession } from "./people.ts";

/** What changes is told at most this often. */
const TELL_EVERY_MS = 250;
/** How old a verdict may be in a session that has printed, was typed to, or is at work. Each costs its holder a look at /proc. */
const REFRESH_MS = 2000;
/** The same where nothing has happened that would change it. */
const CALM_MS = 10_000;
/** Ports are not told by anything: they are looked for this often, and when what the program does has changed. */
const PORTS_MS = 10_000;
const PARALLEL_REFRESHES = 8;
/** A holder that does not answer for 2 s makes its own session unresponsive. */
const REFRESH_TIMEOUT_MS = 2200;
/** Of sessions that are gone, for readers that have not heard of it; one that is further behind gets the whole list. */
const REMEMBERED_REMOVALS = 1000;

export interface ListChange {
	/** Of the list, increasing. */
	readonly version: number;
	/** `sessions` are all; else those that differ from what this reader has. */
	readonly full: boolean;
	readonly now: number;
	readonly sessions: readonly PersonSession[];
	readonly removed: readonly string[];
	/** All calls that wait for a person, where these have changed and the reader may decide. */
	readonly approvals?: readonly Approval[];
}

interface Row {
	readonly row: PersonSession;
	/** To tell whether it has changed: all but the evidence, which has the time since the last output in it. */
	readonly json: string;
	readonly version: number;
	/** When it changes without an event. */
	readonly changesAt: number | null;
}

/** What is remembered of a live session between two rows. */
interface Followed {
	readonly session: Session;
	readonly undo: readonly (() => void)[];
	doing: string;
	waitingSince: number;
	ports: readonly number[];
	portsAt: number;
	refreshing: boolean;
}

export class PeopleWatch {
	readonly #sessions: Sessions;
	readonly #changed = new Listeners<void>("people watch");
	readonly #rows = new Map<string, Row>();
	readonly #removed = new Map<string, number>();
	readonly #followed = new Map<string, Followed>();
	readonly #dirty = new Set<string>();
	#version = 0;
	#approvals: { readonly list: readonly Approval[]; readonly version: number } = { list: [], version: 0 };
	/** Readers further behind have missed removals. */
	#forgotten = 0;
	#readers = 0;
	#watching: { readonly undo: readonly (() => void)[]; seq: number } | null = null;
	#telling: NodeJS.Timeout | null = null;
	#toldAt = 0;

	constructor(sessions: Sessions) {
		this.#sessions = sessions;
	}

	/** The list and then what changes in it, as far as it is within the scope. Ends when `signal` aborts. */
	async *changes({
		signal,
		scope = null,
		decides = false,
	}: {
		signal: AbortSignal;
		scope?: Scope | null;
		/** Whether they are told what waits for approval. */
		decides?: boolean;
	}): AsyncGenerator<ListChange> {
		this.#enter();
		try {
			const onChange: Subscribe = (listener) => this.#changed.add(listener);
			let seen = -1;
			/** What this reader has, where it does not see all: only that can be removed for it. */
			const told = scope === null ? null : new Set<string>();
			while (!signal.aborted) {
				const change = this.#since(seen, { scope, told, decides });
				seen = this.#version;
				if (change !== null) yield change;
				const version = seen;
				await until(() => signal.aborted || this.#version > version, onAbort(signal), onChange);
			}
		} finally {
			this.#leave();
		}
	}

	#since(
		seen: number,
		{ scope, told, decides }: { scope: Scope | null; told: Set<string> | null; decides: boolean },
	): ListChange | null {
		const full = seen < this.#forgotten || seen < 0;
		const rows = [...this.#rows.values()].filter(({ row, version }) => {
			return (full || version > seen) && isWithin(scope, { ...row, id: row.session });
		});
		const removed = full
			? []
			: [...this.#removed].filter(([id, at]) => at > seen && (told === null || told.delete(id))).map(([id]) => id);
		for (const { row } of rows) told?.add(row.session);
		const { list, version } = this.#approvals;
		const approvals = decides && (full || version > seen) ? { approvals: approvalsWithin(scope, list) } : {};
		if (!full && rows.length === 0 && removed.length === 0 && !("approvals" in approvals)) return null;
		const sessions = rows.map(({ row }) => row);
		return { version: this.#version, full, now: Date.now(), sessions, removed, ...approvals };
	}

	#enter(): void {
		this.#readers++;
		if (this.#watching !== null) return;
		const { events } = this.#sessions;
		const refresh = setInterval(
			guarded("refreshing the list", () => this.#refresh()),
			REFRESH_MS,
		).unref();
		this.#watching = {
			seq: events.seq,
			undo: [
				events.onEvent(() => this.#tellSoon()),
				this.#sessions.onCount(() => this.#tellSoon()),
				this.#sessions.approvals.onChange(() => this.#tellSoon()),
				() => clearInterval(refresh),
			],
		};
		this.#tell();
		this.#refresh();
	}

	#leave(): void {
		if (--this.#readers > 0) return;
		for (const undo of this.#watching?.undo ?? []) undo();
		this.#watching = null;
		if (this.#telling !== null) clearTimeout(this.#telling);
		this.#telling = null;
		for (const { undo } of this.#followed.values()) for (const each of undo) each();
		this.#followed.clear();
		// The next reader begins anew: what happens meanwhile is not followed.
		this.#forgotten = ++this.#version;
		this.#rows.clear();
		this.#removed.clear();
		this.#dirty.clear();
	}

	#tellSoon(id?: string): void {
		if (id !== undefined) this.#dirty.add(id);
		if (this.#telling !== null || this.#watching === null) return;
		const wait = Math.max(0, this.#toldAt + TELL_EVERY_MS - performance.now());
		const tell = guarded("telling the list", () => this.#tell());
		this.#telling = setTimeout(tell, wait).unref();
	}

	/** Makes the rows anew that may differ, and wakes the readers if one does. */
	#tell(): void {
		this.#telling = null;
		this.#toldAt = performance.now();
		this.#takeEvents();
		const version = this.#version + 1;
		const now = Date.now();
		const listed = new Map(this.#sessions.list().map((one) => [one.record.id, one]));
		let changed = false;
		for (const [id, one] of listed) {
			this.#follow(one);
			const before = this.#rows.get(id);
			const isDue = before?.changesAt != null && before.changesAt <= now;
			if (before !== undefined && !isDue && !this.#dirty.has(id)) continue;
			const made = this.#made(one, now);
			const json = JSON.stringify({ ...made.row, because: null });
			const differs = json !== before?.json;
			this.#removed.delete(id); // it could not be read for a while
			this.#rows.set(id, { ...made, json, version: differs ? version : before.version });
			changed ||= differs;
		}
		this.#dirty.clear();
		for (const id of this.#rows.keys()) {
			if (listed.has(id)) continue;
			this.#rows.delete(id);
			this.#unfollow(id);
			this.#removed.set(id, version);
			changed = true;
		}
		for (const [id, at] of this.#removed) {
			if (this.#removed.size <= REMEMBERED_REMOVALS) break;
			this.#removed.delete(id);
			this.#forgotten = Math.max(this.#forgotten, at);
		}
		const list = this.#sessions.approvals.list();
		if (list.length !== this.#approvals.list.length || list.some((one, at) => one !== this.#approvals.list[at])) {
			this.#approvals = { list, version };
			changed = true;
		}
		if (!changed) return;
		this.#version = version;
		this.#changed.emit();
	}

	/** Of which sessions something has happened. */
	#takeEvents(): void {
		const { events } = this.#sessions;
		const watching = this.#watching;
		if (watching === null) return;
		for (let next = events.after(watching.seq); next !== null; next = events.after(watching.seq)) {
			watching.seq = next.seq;
			if ("session" in next) this.#dirty.add(next.session);
			else for (const id of this.#rows.keys()) this.#dirty.add(id);
		}
	}

	#made(one: ListedSession, now: number): Pick<Row, "row" | "changesAt"> {
		const { record, session } = one;
		const listed = listedSession(one, { mine: record.owner === PEOPLE, byName: false });
		const followed = this.#followed.get(record.id);
		const doing = `${listed.activity} ${listed.waitingFor}`;
		if (followed !== undefined && followed.doing !== doing) {
			// What it did before anybody watched, it has done at least since its last output.
			followed.waitingSince = followed.doing === "" ? Math.min(now, followed.session.lastOutputAt || now) : now;
			followed.doing = doing;
			followed.portsAt = 0;
		}
		const facts: PersonFacts = {
			cols: record.cols,
			rows: record.rows,
			ports: followed?.ports ?? [],
			driver: session?.driving.driver ?? { kind: "agent" },
			asked: session?.asked ?? null,
			reader: session?.reader ?? null,
			quietSince: Math.max(session?.calledAt ?? now, session?.lastOutputAt ?? now),
			waitingSince: followed?.waitingSince ?? now,
			now,
		};
		return { row: personSession(listed, facts), changesAt: changesAt(listed, facts) };
	}

	/** Listens to one that is live, and no longer to one that is not. */
	#follow({ record, session }: ListedSession): void {
		const { id } = record;
		const before = this.#followed.get(id);
		const live = hasEnded(record.state) ? null : session;
		if (before?.session === live || (before === undefined && live === null)) return;
		this.#unfollow(id);
		this.#dirty.add(id);
		if (live === null) return;
		const mark = () => this.#tellSoon(id);
		const undo = [live.onOutput(mark), live.onDecided(mark), live.onEnded(mark)];
		const now = Date.now();
		this.#followed.set(id, {
			session: live,
			undo,
			doing: "",
			waitingSince: now,
			ports: [],
			portsAt: 0,
			refreshing: false,
		});
	}

	#unfollow(id: string): void {
		for (const undo of this.#followed.get(id)?.undo ?? []) undo();
		this.#followed.delete(id);
	}

	/** Verdicts and ports that may not hold any more. */
	#refresh(): void {
		this.#tellSoon(); // rows that change by time
		const now = Date.now();
		const due = [...this.#followed.values()].filter((one) => !one.refreshing && this.#isDue(one, now));
		for (const one of due) one.refreshing = true;
		const refresh = async (one: Followed) => {
			try {
				const { session } = one;
				await within(REFRESH_TIMEOUT_MS, "a refresh", session.refresh()).catch(() => {}); // the last verdict stays
				const isDue = one.portsAt < Date.now() - PORTS_MS;
				if (!isDue || session.ended || this.#followed.get(session.id) !== one) return;
				one.portsAt = Date.now();
				one.ports = await session.ports();
				this.#tellSoon(session.id);
			} finally {
				one.refreshing = false;
			}
		};
		guarded("refreshing the list", () => inParallel(PARALLEL_REFRESHES, due, refresh))();
	}

	#isDue({ session, portsAt }: Followed, now: number): boolean {
		if (session.ended) return false;
		const { attention, attentionAt, lastOutputAt } = session;
		if (portsAt === 0) return true;
		// 0: it was typed to since. At work, it may begin to wait without a word.
		if (attentionAt === 0 || lastOutputAt >= attentionAt || attention.activity === "working")
			return attentionAt <= now - REFRESH_MS / 2;
		return attentionAt <= now - CALM_MS;
	}
}
