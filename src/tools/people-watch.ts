// The list of all sessions, live, for any number of people: one watcher for all of them.
//
// Rows are made anew when an event, output or the clock says that they may differ, at most a few times a second;
// session-list.ts tells each reader what differs from what it has. Verdicts are refreshed only while somebody watches.

import { guarded } from "../protocol/boundary.ts";
import type { PersonSession } from "../protocol/person-session.ts";
import type { ListChange } from "../protocol/session-list.ts";
import { within } from "../pty/wait.ts";
import { inParallel } from "../session/in-parallel.ts";
import { hasEnded } from "../session/lifecycle.ts";
import type { Session } from "../session/session.ts";
import type { ListedSession, Sessions } from "../session/sessions.ts";
import type { PeopleOptions } from "./client.ts";
import { listedSession } from "./list.ts";
import { changesAt, PEOPLE, type PersonFacts, personSession } from "./people.ts";
import { SessionList } from "./session-list.ts";

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
	readonly #list = new SessionList();
	/** When each row changes without an event. */
	readonly #changesAt = new Map<string, number | null>();
	readonly #followed = new Map<string, Followed>();
	readonly #dirty = new Set<string>();
	#readers = 0;
	#watching: { readonly undo: readonly (() => void)[]; seq: number } | null = null;
	#telling: NodeJS.Timeout | null = null;
	#toldAt = 0;

	constructor(sessions: Sessions) {
		this.#sessions = sessions;
	}

	/** The list and then what changes in it, as far as it is within the scope. Ends when `signal` aborts. */
	async *changes(options: PeopleOptions): AsyncGenerator<ListChange> {
		this.#enter();
		try {
			yield* this.#list.changes(options);
		} finally {
			this.#leave();
		}
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
		this.#list.clear();
		this.#changesAt.clear();
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
		const now = Date.now();
		const listed = new Map(this.#sessions.list().map((one) => [one.record.id, one]));
		for (const [id, one] of listed) {
			this.#follow(one);
			const at = this.#changesAt.get(id);
			const isDue = at === undefined || (at !== null && at <= now);
			if (!isDue && !this.#dirty.has(id)) continue;
			const made = this.#made(one, now);
			this.#changesAt.set(id, made.changesAt);
			this.#list.put(made.row);
		}
		this.#dirty.clear();
		for (const id of this.#changesAt.keys()) {
			if (listed.has(id)) continue;
			this.#changesAt.delete(id);
			this.#unfollow(id);
			this.#list.remove(id);
		}
		this.#list.setApprovals(this.#sessions.approvals.list());
		this.#list.tell();
	}

	/** Of which sessions something has happened. */
	#takeEvents(): void {
		const { events } = this.#sessions;
		const watching = this.#watching;
		if (watching === null) return;
		for (let next = events.after(watching.seq); next !== null; next = events.after(watching.seq)) {
			watching.seq = next.seq;
			if ("session" in next) this.#dirty.add(next.session);
			else for (const id of this.#changesAt.keys()) this.#dirty.add(id);
		}
	}

	#made(one: ListedSession, now: number): { readonly row: PersonSession; readonly changesAt: number | null } {
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
