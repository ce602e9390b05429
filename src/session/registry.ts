// All sessions, by id and name. A name means the running session that has it, else the
// one of that name that ended last; an id or its prefix always works; `-` is the one
// that was used last.
//
// In memory are the slots of what may run and of the last that ended; all others are only
// in the index, and their slot is loaded from disk on demand.

import type { EndedIndex } from "../journal/ended-index.ts";
import { Fault } from "../protocol/fault.ts";
import type { SessionSlot } from "./session-slot.ts";

const MIN_PREFIX_LENGTH = 4;

export interface RegistryParts {
	readonly index: EndedIndex;
	/** How many ended sessions are kept in memory. */
	readonly rememberEnded: number;
	/** Makes the slot of an ended session from disk; null when there is none. */
	readonly load: (id: string) => Promise<SessionSlot | null>;
}

export class Registry {
	readonly #parts: RegistryParts;
	/** Those of which something may run, the oldest first. */
	readonly #open = new Map<string, SessionSlot>();
	/** Of those, the ones whose main program runs. */
	readonly #running = new Map<string, SessionSlot>();
	/** The last that ended, in that order. */
	readonly #ended = new Map<string, SessionSlot>();
	/** How many of the slots in memory have a name. */
	readonly #names = new Map<string, number>();
	/** Older ones loaded on demand, while they are in memory. */
	readonly #recalled = new Map<string, Promise<SessionSlot | null>>();

	constructor(parts: RegistryParts) {
		this.#parts = parts;
	}

	/** A slot of which something may run. */
	add(slot: SessionSlot): void {
		this.#open.set(slot.record.id, slot);
		if (slot.isRunning) this.#running.set(slot.record.name, slot);
		this.#countName(slot, 1);
	}

	/** Its main program has ended: the name is free. */
	freeName(slot: SessionSlot): void {
		if (this.#running.get(slot.record.name) === slot) this.#running.delete(slot.record.name);
	}

	/** Nothing of it runs any more. */
	remember(slot: SessionSlot): void {
		if (!this.#open.delete(slot.record.id)) this.#countName(slot, 1);
		this.#ended.set(slot.record.id, slot);
		for (const [id, oldest] of this.#ended) {
			if (this.#ended.size <= this.#parts.rememberEnded) break;
			this.#ended.delete(id);
			this.#countName(oldest, -1);
			// While its session is in memory, there must not be a second one.
			if (oldest.state !== "ended") this.#recalled.set(id, Promise.resolve(oldest));
		}
	}

	/** It has left memory: an old one is read from disk again on demand. */
	evicted(slot: SessionSlot): void {
		this.#recalled.delete(slot.record.id);
	}

	forget(id: string): void {
		const slot = this.#ended.get(id);
		if (slot !== undefined) this.#countName(slot, -1);
		this.#ended.delete(id);
		this.#recalled.delete(id);
		this.#parts.index.delete(id);
	}

	/** Those in memory, newest first. */
	all(): SessionSlot[] {
		return [...this.#ended.values(), ...this.#open.values()].sort((a, b) => b.record.createdAt - a.record.createdAt);
	}

	/** Everything that has something in memory. */
	async inMemory(): Promise<readonly SessionSlot[]> {
		const recalled = await Promise.all([...this.#recalled.values()]);
		return [...this.#ended.values(), ...this.#open.values(), ...recalled.filter((slot) => slot !== null)];
	}

	/** Those of which something may run, the newest first. */
	open(): SessionSlot[] {
		return [...this.#open.values()].reverse();
	}

	running(): SessionSlot[] {
		return this.open().filter((slot) => slot.isRunning);
	}

	runningNamed(name: string): SessionSlot | null {
		return this.#running.get(name) ?? null;
	}

	nameIsTaken(name: string): boolean {
		return this.#names.has(name);
	}

	/** Throws when a limit is reached, in total or for this owner. */
	refuseTooMany(owner: string, limits: { all: number; owner: number }): void {
		const running = this.running();
		const owned = running.filter(({ record }) => record.owner === owner);
		for (const [slots, limit] of [
			[running, limits.all],
			[owned, limits.owner],
		] as const) {
			if (slots.length < limit) continue;
			throw new Fault("too_many_sessions", { limit, open: slots.map(({ record }) => record.name) });
		}
	}

	/** The referenced session, or a fault that lists the open ones. */
	async find(reference: string): Promise<SessionSlot> {
		const { index } = this.#parts;
		const slot =
			(await this.#byId(reference)) ??
			this.runningNamed(reference) ??
			(reference === "-" ? this.#lastUsed() : undefined) ??
			this.all().find(({ record }) => record.name === reference) ??
			(await this.#byId(index.newestNamed(reference))) ??
			(await this.#byId(this.#byPrefix(reference)));
		if (slot) return slot;
		throw new Fault("session_not_found", { id: reference, open: this.running().map(({ record }) => record.name) });
	}

	/** The slot of this id, if in memory. */
	atHand(id: string): SessionSlot | undefined {
		return this.#open.get(id) ?? this.#ended.get(id);
	}

	#byId(id: string | undefined): Promise<SessionSlot | null> | SessionSlot | null {
		if (id === undefined) return null;
		const slot = this.atHand(id);
		if (slot !== undefined) return slot;
		if (!this.#parts.index.has(id)) return null;
		const recalled = this.#recalled.get(id) ?? this.#parts.load(id);
		this.#recalled.set(id, recalled);
		return recalled;
	}

	#byPrefix(prefix: string): string | undefined {
		if (prefix.length < MIN_PREFIX_LENGTH) return undefined;
		const open = [...this.#open.keys()].filter((id) => id.startsWith(prefix));
		const found = [...open, ...this.#parts.index.withPrefix(prefix)];
		return found.length === 1 ? found[0] : undefined;
	}

	#lastUsed(): SessionSlot | undefined {
		let last: SessionSlot | undefined;
		for (const slots of [this.#ended, this.#open]) {
			for (const slot of slots.values()) if (last === undefined || slot.touchedAt > last.touchedAt) last = slot;
		}
		return last;
	}

	#countName({ record: { name } }: SessionSlot, change: 1 | -1): void {
		const count = (this.#names.get(name) ?? 0) + change;
		if (count > 0) this.#names.set(name, count);
		else this.#names.delete(name);
	}
}
