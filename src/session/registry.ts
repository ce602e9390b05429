// All sessions, by id and name. Names belong to their owner: two may both have a `main`. For a caller a
// name means its own running session, else its own of that name that ended last; a prefix of an id and `-`,
// the one used last, are its own too. Another owner's session is reached by its id, or by its whole name
// where that was chosen and is the only one.
//
// The only place that makes slots, at most one for each id. In memory are the slots of what
// may run, of the last that ended, and of those that a call uses; all others are only in
// the index, and their slot is made from disk on demand.

import type { EndedIndex } from "../journal/ended-index.ts";
import type { SessionRecord } from "../journal/records.ts";
import { Fault } from "../protocol/fault.ts";
import { isDefaultName } from "./identity.ts";
import type { Session } from "./session.ts";
import type { SessionSlot } from "./session-slot.ts";

const MIN_PREFIX_LENGTH = 4;

/** The names of one owner's sessions. */
export interface NamesInUse {
	runningNamed(name: string): SessionSlot | null;
	/** Also by one of the last that ended. */
	nameIsTaken(name: string): boolean;
}

type Launch = (slot: SessionSlot) => Promise<Session>;

export interface RegistryParts {
	readonly index: EndedIndex;
	/** How many ended sessions are kept in memory. */
	readonly rememberEnded: number;
	readonly slotOf: (record: SessionRecord, launch?: Launch) => SessionSlot;
	/** The record of a session, from disk; null when there is none. */
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

	/** Its main program has ended: the name is free. */
	freeName(slot: SessionSlot): void {
		const key = ownName(slot.record);
		if (this.#running.get(key) === slot) this.#running.delete(key);
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

	/** Whether an owner has a name in use. */
	namesOf(owner: string): NamesInUse {
		return {
			runningNamed: (name) => this.#running.get(ownName({ name, owner })) ?? null,
			nameIsTaken: (name) => this.#names.has(ownName({ name, owner })),
		};
	}

	/** Throws when a limit is reached, in total or for this owner. */
	refuseTooMany(owner: string, limits: { all: number; owner: number }): void {
		const running = this.running();
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
			const id =
				owner === undefined
					? this.#anyones(reference)
					: (this.#own(reference, owner) ?? this.#others(reference, owner));
			if (id === undefined) throw new Fault("session_not_found", { id: reference, ...this.#openTo(owner) });
			const slot = this.#slots.get(id);
			if (slot !== undefined) return this.#using(slot, act);
			if (!(await this.#read(id))) this.forget(id); // removed externally, or never complete
		}
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

	/** Makes the slot of a session from disk, once for all that ask at the same time; false where there is no record. */
	#read(id: string): Promise<boolean> {
		if (this.#closed) throw new Fault("no_daemon", { problem: "it is stopping" });
		const reading =
			this.#reading.get(id) ??
			this.#parts
				.read(id)
				.then((record) => {
					if (record !== null && !this.#closed) this.add(record);
					return record !== null;
				})
				.finally(() => this.#reading.delete(id));
		this.#reading.set(id, reading);
		return reading;
	}

	#own(reference: string, owner: string): string | undefined {
		const { index } = this.#parts;
		if (this.#slots.has(reference) || index.has(reference)) return reference;
		const isOwn = ({ record }: SessionSlot) => record.owner === owner;
		const slot =
			this.namesOf(owner).runningNamed(reference) ??
			(reference === "-" ? this.#lastUsed(isOwn) : undefined) ??
			this.all().find((one) => one.record.name === reference && isOwn(one));
		return slot?.record.id ?? index.newestNamed(reference, owner) ?? this.#byPrefix(reference, owner);
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
		if (this.#slots.has(reference) || index.has(reference)) return reference;
		const named = this.all().filter(({ record }) => record.name === reference);
		const slot =
			named.find(({ isRunning }) => isRunning) ?? (reference === "-" ? this.#lastUsed(() => true) : named[0]);
		return slot?.record.id ?? index.newestNamed(reference) ?? this.#byPrefix(reference);
	}

	#byPrefix(prefix: string, owner?: string): string | undefined {
		if (prefix.length < MIN_PREFIX_LENGTH) return undefined;
		const isOwn = ({ record }: SessionSlot) => owner === undefined || record.owner === owner;
		const open = [...this.#open].filter(([id, slot]) => id.startsWith(prefix) && isOwn(slot)).map(([id]) => id);
		const found = [...open, ...this.#parts.index.withPrefix(prefix, owner)];
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
