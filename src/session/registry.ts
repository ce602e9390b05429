// All sessions, by id and name. Names belong to their owner: two may both have a `main`. For a caller a
// name means its own running session, else its own of that name that ended last; a prefix of an id and `-`,
// the one used last, are its own too. Another owner's session is reached by its id, or by its whole name
// where that was chosen and is the only one. One whose record cannot be read counts as far as its owner
// and name are known; else, and for other owners, it is reached by its id alone.
//
// The only place that makes slots, at most one for each id. In memory are the slots of what
// may run, of the last that ended, and of those that a call uses; all others are only in
// the index, and their slot is made from disk on demand.

import type { EndedIndex } from "../journal/ended-index.ts";
import type { SessionRecord } from "../journal/records.ts";
import { Fault, type RemovedSession } from "../protocol/fault.ts";
import { isFormOf } from "../protocol/short-name.ts";
import { isDefaultName } from "./identity.ts";
import { UnreadRecord } from "./recovered.ts";
import type { Session } from "./session.ts";
import type { SessionSlot } from "./session-slot.ts";

const MIN_PREFIX_LENGTH = 4;

/** The names of one owner's sessions. */
export interface NamesInUse {
	runningNamed(name: string): SessionSlot | null;
	/** Those that have ended and may have left something running. */
	leftNamed(name: string): readonly SessionSlot[];
	/** Also by one of the last that ended. */
	nameIsTaken(name: string): boolean;
	/** The record of one that may run and could not be read. */
	unreadNamed(name: string): SessionRecord | null;
}

type Launch = (slot: SessionSlot) => Promise<Session>;

export interface RegistryParts {
	readonly index: EndedIndex;
	/** How many ended sessions are kept in memory. */
	readonly rememberEnded: number;
	readonly slotOf: (record: SessionRecord, launch?: Launch) => SessionSlot;
	/** The record of a session, from disk; null when there is none. Rejects with an UnreadRecord where it cannot be read now. */
	readonly read: (id: string) => Promise<SessionRecord | null>;
}

export class Registry {
	readonly #parts: RegistryParts;
	/** Every slot in memory. One leaves only when it is at rest and no call uses it. */
	readonly #slots = new Map<string, SessionSlot>();
	/** Those of which something may run, the oldest first. */
	readonly #open = new Map<string, SessionSlot>();
	/** Of those, the ones whose main program runs, by owner and name. */
	readonly #running = new Map<string, SessionSlot>();
	/** The last that ended, in that order. */
	readonly #ended = new Map<string, SessionSlot>();
	/** How many of the open and the last ended slots have a name, by owner and name. */
	readonly #names = new Map<string, number>();
	/** What is known of those that may run and whose record could not be read; tried again by every call. */
	readonly #unread = new Map<string, SessionRecord>();
	/** Records that are being read; settles when the slot is made. */
	readonly #reading = new Map<string, Promise<boolean>>();
	/** How many calls use a slot. */
	readonly #uses = new Map<SessionSlot, number>();
	#closed = false;

	constructor(parts: RegistryParts) {
		this.#parts = parts;
	}

	/** The slot of a session that is new in memory, opened by `launch` or from disk. */
	add(record: SessionRecord, launch?: Launch): SessionSlot {
		const { id } = record;
		if (this.#slots.has(id)) throw new Error(`${id} has a slot already`);
		const slot = this.#parts.slotOf(record, launch);
		this.#slots.set(id, slot);
		if (record.terminalOpen) {
			this.#open.set(id, slot);
			if (slot.isRunning) this.#running.set(ownName(record), slot);
			this.#countName(slot, 1);
		}
		return slot;
	}

	/** One whose record cannot be read now. */
	addUnread(record: SessionRecord): void {
		this.#unread.set(record.id, record);
	}

	unread(): readonly SessionRecord[] {
		return [...this.#unread.values()];
	}

	/** Its main program has ended: the name is free. */
	freeName(slot: SessionSlot): void {
		const key = ownName(slot.record);
		if (this.#running.get(key) === slot) this.#running.delete(key);
	}

	/** Gives it another name. Refused where a running one of its owner has that, if it runs itself. */
	rename(slot: SessionSlot, name: string): void {
		const { id, owner } = slot.record;
		const key = ownName({ name, owner });
		const other = this.#running.get(key);
		if (slot.isRunning && ((other !== undefined && other !== slot) || this.#unreadNamed(name, owner ?? "") !== null))
			throw new Fault("name_taken", { name });
		const isCounted = this.#open.has(id) || this.#ended.has(id);
		const holdsName = this.#running.get(ownName(slot.record)) === slot;
		if (isCounted) this.#countName(slot, -1);
		this.freeName(slot);
		slot.rename(name);
		if (isCounted) this.#countName(slot, 1);
		if (holdsName) this.#running.set(key, slot);
		this.#parts.index.rename(id, name);
	}

	/** Nothing of it runs any more. */
	remember(slot: SessionSlot): void {
		if (!this.#open.delete(slot.record.id)) this.#countName(slot, 1);
		this.#ended.set(slot.record.id, slot);
		for (const [id, oldest] of this.#ended) {
			if (this.#ended.size <= this.#parts.rememberEnded) break;
			this.#ended.delete(id);
			this.#countName(oldest, -1);
			this.release(oldest);
		}
	}

	/** Drops a slot that nothing needs: the next call makes it again from disk. */
	release(slot: SessionSlot): void {
		const { id } = slot.record;
		if (this.#open.has(id) || this.#ended.has(id) || this.#uses.has(slot) || !slot.isAtRest) return;
		if (this.#slots.get(id) === slot) this.#slots.delete(id);
	}

	/** Its files are gone. */
	forget(id: string): void {
		const slot = this.#ended.get(id);
		if (slot !== undefined) this.#countName(slot, -1);
		this.#ended.delete(id);
		this.#slots.delete(id);
		this.#unread.delete(id);
		this.#parts.index.delete(id);
	}

	/** Those that run and the last that ended, newest first. */
	all(): SessionSlot[] {
		return [...this.#ended.values(), ...this.#open.values()].sort((a, b) => b.record.createdAt - a.record.createdAt);
	}

	/** Makes no more slots; returns all there are. */
	async close(): Promise<readonly SessionSlot[]> {
		this.#closed = true;
		await Promise.allSettled(this.#reading.values());
		return [...this.#slots.values()];
	}

	/** Those of which something may run, the newest first. */
	open(): SessionSlot[] {
		return [...this.#open.values()].reverse();
	}

	running(): SessionSlot[] {
		return this.open().filter((slot) => slot.isRunning);
	}

	/** Those that run, and those that have ended and left something running. */
	withProcesses(): SessionSlot[] {
		return this.open().filter((slot) => slot.hasProcesses);
	}

	/** Whether an owner has a name in use. */
	namesOf(owner: string): NamesInUse {
		return {
			runningNamed: (name) => this.#running.get(ownName({ name, owner })) ?? null,
			leftNamed: (name) => {
				const isMeant = ({ record, isRunning }: SessionSlot) =>
					!isRunning && record.name === name && record.owner === owner;
				return this.withProcesses().filter(isMeant);
			},
			nameIsTaken: (name) => this.#names.has(ownName({ name, owner })) || this.#unreadNamed(name, owner) !== null,
			unreadNamed: (name) => this.#unreadNamed(name, owner),
		};
	}

	/** Throws when a limit is reached, in total or for this owner. */
	refuseTooMany(owner: string, limits: { all: number; owner: number }): void {
		// What was made to stay without a terminal takes nothing of ours: nobody has to end it for the next session.
		const running = this.withProcesses().filter((slot) => slot.inMemory?.leftAway !== true);
		const own = running.filter(({ record }) => record.owner === owner);
		for (const [count, limit] of [
			[running.length, limits.all],
			[own.length, limits.owner],
		] as const) {
			if (count < limit) continue;
			throw new Fault("too_many_sessions", { limit, ...openOnes(own), others: count - own.length });
		}
	}

	/**
	 * Calls `act` with the slot that this owner means, which stays the only one of its id meanwhile; or a fault that lists
	 * its open ones. Without an owner (a person's stream), a name means whoever's.
	 */
	async use<T>(
		reference: string,
		act: (slot: SessionSlot) => T | Promise<T>,
		{ owner }: { readonly owner?: string | undefined } = {},
	): Promise<T> {
		for (;;) {
			const id = this.#idOf(reference, owner);
			const slot = this.#slots.get(id);
			if (slot !== undefined) return this.#using(slot, act);
			if (!(await this.#read(id))) this.forget(id); // removed externally
		}
	}

	/** What is known of the session that this owner means, where its record cannot be read now; null where it can. */
	unreadMeant(reference: string, { owner }: { readonly owner?: string | undefined } = {}): SessionRecord | null {
		const id = this.#idOf(reference, owner);
		return this.#slots.has(id) ? null : (this.#unread.get(id) ?? null);
	}

	/** The same by id, also for one that is not in the index; null where there is no record. */
	async useId<T>(id: string, act: (slot: SessionSlot | null) => T | Promise<T>): Promise<T> {
		for (;;) {
			const slot = this.#slots.get(id);
			if (slot !== undefined) return this.#using(slot, act);
			if (!(await this.#read(id))) return act(null);
		}
	}

	/** The slot of this id, if in memory. */
	atHand(id: string): SessionSlot | undefined {
		return this.#slots.get(id);
	}

	async #using<T>(slot: SessionSlot, act: (slot: SessionSlot) => T | Promise<T>): Promise<T> {
		this.#uses.set(slot, (this.#uses.get(slot) ?? 0) + 1);
		try {
			return await act(slot);
		} finally {
			const left = (this.#uses.get(slot) ?? 1) - 1;
			if (left > 0) this.#uses.set(slot, left);
			else this.#uses.delete(slot);
			this.release(slot);
		}
	}

	/** Makes the slot of a session from disk, once for all that ask at the same time; false where there is none. */
	#read(id: string): Promise<boolean> {
		if (this.#closed) throw new Fault("no_daemon", { problem: "it is stopping" });
		const reading =
			this.#reading.get(id) ??
			this.#parts
				.read(id)
				.then(
					(record) => {
						this.#unread.delete(id);
						if (record !== null && !this.#closed) this.add(record);
						return record !== null;
					},
					(error) => {
						throw this.#unreadable(id, error);
					},
				)
				.finally(() => this.#reading.delete(id));
		this.#reading.set(id, reading);
		return reading;
	}

	#unreadable(id: string, error: unknown): unknown {
		if (!(error instanceof UnreadRecord)) return error;
		// One that has ended is listed by its entry in the index.
		if (!this.#parts.index.has(id)) this.#unread.set(id, error.record);
		const facts = { id: error.record.name, sessionId: id, problem: error.message };
		return new Fault("session_unreachable", facts, { cause: error });
	}

	/** One of this owner that may run and could not be read. */
	#unreadNamed(name: string, owner: string): SessionRecord | null {
		return this.unread().find((one) => one.name === name && one.owner === owner && one.terminalOpen) ?? null;
	}

	#isId(reference: string): boolean {
		return this.#slots.has(reference) || this.#unread.has(reference) || this.#parts.index.has(reference);
	}

	#idOf(reference: string, owner: string | undefined): string {
		const own = owner === undefined ? undefined : this.#own(reference, owner);
		const id = own ?? (owner === undefined ? this.#anyones(reference) : this.#others(reference, owner));
		if (id === undefined)
			throw new Fault("session_not_found", {
				id: reference,
				...this.#openTo(owner),
				...this.#removed(reference, owner),
			});
		return id;
	}

	#removed(reference: string, owner: string | undefined): { removed?: RemovedSession } {
		const entry = this.#parts.index.removed(reference, owner);
		return entry === null ? {} : { removed: { ...entry.removed, name: entry.name, endedAt: entry.endedAt } };
	}

	#own(reference: string, owner: string): string | undefined {
		if (this.#isId(reference)) return reference;
		const isOwn = ({ record }: SessionSlot) => record.owner === owner;
		const running = this.namesOf(owner).runningNamed(reference)?.record ?? this.#unreadNamed(reference, owner);
		if (running !== null) return running.id;
		const slot =
			(reference === "-" ? this.#lastUsed(isOwn) : undefined) ??
			this.all().find((one) => one.record.name === reference && isOwn(one));
		return (
			slot?.record.id ??
			this.#parts.index.newestNamed(reference, owner) ??
			this.unread().find((one) => one.name === reference && one.owner === owner)?.id ??
			this.#byPrefix(reference, owner) ??
			this.#byShortName(reference, isOwn)
		);
	}

	/** As the header of an answer shortens a long name; what runs first. */
	#byShortName(reference: string, isOwn: (slot: SessionSlot) => boolean): string | undefined {
		const named = this.all().filter((slot) => isOwn(slot) && isFormOf(reference, slot.record.name));
		const running = named.filter(({ isRunning }) => isRunning);
		const [one, other] = running.length > 0 ? running : named;
		return other === undefined || other.record.name === one?.record.name ? one?.record.id : undefined;
	}

	/** Another owner's, by its whole name: only one that was chosen, or the words of one agent would reach another's shell. */
	#others(reference: string, owner: string): string | undefined {
		const named = this.#namedByOthers(reference, owner);
		if (named.length === 0) return isDefaultName(reference) ? undefined : this.#parts.index.newestNamed(reference);
		if (named.length === 1 && !isDefaultName(reference)) return named[0]!.id;
		throw new Fault("session_not_found", {
			id: reference,
			...this.#openTo(owner),
			others: named.map((record) => ({ id: record.id, owner: record.owner ?? "" })),
		});
	}

	/** What runs of this owner's. Whose call it is may be unknown, and others' are not named to it. */
	#openTo(owner: string | undefined): Partial<ReturnType<typeof openOnes>> {
		return owner === undefined ? {} : openOnes(this.running().filter(({ record }) => record.owner === owner));
	}

	/** Those that run; where none does, those that ended last. */
	#namedByOthers(name: string, owner: string): readonly SessionRecord[] {
		const named = this.all()
			.filter((slot) => slot.record.name === name && slot.record.owner !== owner)
			.map(({ record, isRunning }) => ({ record, isRunning }));
		const running = named.filter(({ isRunning }) => isRunning);
		return (running.length > 0 ? running : named.slice(0, 1)).map(({ record }) => record);
	}

	#anyones(reference: string): string | undefined {
		const { index } = this.#parts;
		if (this.#isId(reference)) return reference;
		const named = this.all().filter(({ record }) => record.name === reference);
		const slot =
			named.find(({ isRunning }) => isRunning) ?? (reference === "-" ? this.#lastUsed(() => true) : named[0]);
		return (
			slot?.record.id ??
			index.newestNamed(reference) ??
			this.unread().find(({ name }) => name === reference)?.id ??
			this.#byPrefix(reference)
		);
	}

	#byPrefix(prefix: string, owner?: string): string | undefined {
		if (prefix.length < MIN_PREFIX_LENGTH) return undefined;
		const isOwn = (record: SessionRecord) => owner === undefined || record.owner === owner;
		const open = [...this.#open.values()].map(({ record }) => record);
		const known = [...open, ...this.unread()].filter((record) => record.id.startsWith(prefix) && isOwn(record));
		const found = [...known.map(({ id }) => id), ...this.#parts.index.withPrefix(prefix, owner)];
		return found.length === 1 ? found[0] : undefined;
	}

	#lastUsed(isWanted: (slot: SessionSlot) => boolean): SessionSlot | undefined {
		let last: SessionSlot | undefined;
		for (const slots of [this.#ended, this.#open]) {
			for (const slot of slots.values())
				if (isWanted(slot) && (last === undefined || slot.touchedAt > last.touchedAt)) last = slot;
		}
		return last;
	}

	#countName({ record }: SessionSlot, change: 1 | -1): void {
		const key = ownName(record);
		const count = (this.#names.get(key) ?? 0) + change;
		if (count > 0) this.#names.set(key, count);
		else this.#names.delete(key);
	}
}

/** A name within its owner's. No name has a space. */
const ownName = ({ name, owner }: Pick<SessionRecord, "name" | "owner">) => `${name} ${owner ?? ""}`;

/** For a refusal: the names of these, and their ids. */
const openOnes = (slots: readonly SessionSlot[]) => ({
	open: slots.map(({ record }) => record.name),
	ids: slots.map(({ record }) => record.id),
});
