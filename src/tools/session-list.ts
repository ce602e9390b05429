// A list of sessions with versions, for any number of readers. Each reader has a position, the version of the list it
// has seen, and takes what differs from it when it can: a slow one gets the newest state, never a queue.

import type { Approval } from "../protocol/approval.ts";
import { Listeners } from "../protocol/listeners.ts";
import type { PersonSession } from "../protocol/person-session.ts";
import type { FleetSeen, ListChange } from "../protocol/session-list.ts";
import { onAbort, type Subscribe, until } from "../pty/wait.ts";
import { approvalsWithin, isWithin, type Scope } from "../session/scope.ts";
import type { PeopleOptions } from "./client.ts";

/** Of sessions that are gone, for readers that have not heard of it; one that is further behind gets the whole list. */
const REMEMBERED_REMOVALS = 1000;

interface Row {
	readonly row: PersonSession;
	/** To tell whether it has changed: all but the evidence, which has the time since the last output in it. */
	readonly json: string;
	readonly version: number;
}

export class SessionList {
	readonly #changed = new Listeners<void>("session list");
	readonly #rows = new Map<string, Row>();
	readonly #removed = new Map<string, number>();
	#version = 0;
	/** Something will be of the next version. */
	#isChanged = false;
	/** Readers further behind have missed removals. */
	#forgotten = 0;
	#approvals: { readonly list: readonly Approval[]; readonly version: number } = { list: [], version: 0 };
	#fleet: { readonly json: string; readonly seen: FleetSeen; readonly version: number } | null = null;

	put(row: PersonSession): void {
		const { session: id } = row;
		const json = JSON.stringify({ ...row, because: null });
		const before = this.#rows.get(id);
		const differs = json !== before?.json;
		this.#removed.delete(id); // it could not be read for a while
		this.#rows.set(id, { row, json, version: differs ? this.#next : before.version });
		this.#isChanged ||= differs;
	}

	remove(id: string): void {
		if (!this.#rows.delete(id)) return;
		this.#removed.set(id, this.#next);
		this.#isChanged = true;
	}

	/** Those that wait now. */
	setApprovals(list: readonly Approval[]): void {
		const { list: before } = this.#approvals;
		if (list.length === before.length && list.every((one, at) => one === before[at])) return;
		this.#approvals = { list, version: this.#next };
		this.#isChanged = true;
	}

	setFleet(seen: FleetSeen): void {
		const json = JSON.stringify(seen);
		if (json === this.#fleet?.json) return;
		this.#fleet = { json, seen, version: this.#next };
		this.#isChanged = true;
	}

	/** Wakes the readers where something has changed since. */
	tell(): void {
		for (const [id, at] of this.#removed) {
			if (this.#removed.size <= REMEMBERED_REMOVALS) break;
			this.#removed.delete(id);
			this.#forgotten = Math.max(this.#forgotten, at);
		}
		if (!this.#isChanged) return;
		this.#isChanged = false;
		this.#version = this.#next;
		this.#changed.emit();
	}

	/** Begins anew: what a reader has seen until now counts for nothing. */
	clear(): void {
		this.#forgotten = ++this.#version;
		this.#rows.clear();
		this.#removed.clear();
		this.#approvals = { list: [], version: 0 };
		this.#fleet = null;
		this.#isChanged = false;
	}

	/** The list and then what changes in it, as far as it is within the scope. Ends when `signal` aborts. */
	async *changes({ signal, scope = null, decides = false }: PeopleOptions): AsyncGenerator<ListChange> {
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
	}

	get #next(): number {
		return this.#version + 1;
	}

	#since(
		seen: number,
		{ scope, told, decides }: { scope: Scope | null; told: Set<string> | null; decides: boolean },
	): ListChange | null {
		const full = seen < this.#forgotten || seen < 0;
		const rows = [...this.#rows.values()].filter(({ row, version }) => {
			return (full || version > seen) && isSeen(scope, row);
		});
		const removed = full
			? []
			: [...this.#removed].filter(([id, at]) => at > seen && (told === null || told.delete(id))).map(([id]) => id);
		for (const { row } of rows) told?.add(row.session);
		const { list, version } = this.#approvals;
		const approvals = decides && (full || version > seen) ? { approvals: approvalsWithin(scope, list) } : {};
		const isFleetNew = this.#fleet !== null && scope === null && (full || this.#fleet.version > seen);
		const fleet = isFleetNew ? { fleet: this.#fleet!.seen } : {};
		const isNothing = rows.length === 0 && removed.length === 0 && !("approvals" in approvals) && !isFleetNew;
		if (!full && isNothing) return null;
		const sessions = rows.map(({ row }) => row);
		return { version: this.#version, full, now: Date.now(), sessions, removed, ...approvals, ...fleet };
	}
}

/** Which owners or conversations are meant is known on this machine alone; one session of another is known by its id. */
const isSeen = (scope: Scope | null, row: PersonSession): boolean =>
	scope === null || ((row.host === undefined || "session" in scope) && isWithin(scope, { ...row, id: row.session }));
