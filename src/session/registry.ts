// Which sessions there are, and by what they are called. Names belong to the
// newest session that bears them; an id or its beginning always works; `-` is
// the one that was touched last.

import type { RecordFile, SessionRecord } from "../journal/records.ts";
import { Fault } from "../protocol/fault.ts";
import { hasEnded } from "./lifecycle.ts";
import type { Session } from "./session.ts";
import type { ShellCommands } from "./shell/commands.ts";

/** A session we know of: its record, and while it is in memory the session itself. */
export interface SessionSlot {
	record: SessionRecord;
	readonly directory: string;
	readonly file: RecordFile;
	/** Null when it has ended and left memory. */
	session: Session | null;
	/** Set for a shell that `run` uses. */
	commands: ShellCommands | null;
	/** Revival from disk under way. */
	reviving: Promise<Session> | null;
	/** Ends it when nobody touches it, or lets it leave memory. */
	timer: NodeJS.Timeout | null;
	readonly idleMs: number;
	touchedAt: number;
}

const ID_PREFIX_LENGTH = 4;

export class Registry {
	readonly #slot = new Map<string, SessionSlot>();
	readonly #rememberEnded: number;

	constructor(rememberEnded: number) {
		this.#rememberEnded = rememberEnded;
	}

	add(slot: SessionSlot): void {
		this.#slot.set(slot.record.id, slot);
	}

	forget(slot: SessionSlot): void {
		this.#slot.delete(slot.record.id);
	}

	/** All of them, the newest first. */
	all(): SessionSlot[] {
		return [...this.#slot.values()].sort((a, b) => b.record.createdAt - a.record.createdAt);
	}

	running(): SessionSlot[] {
		return this.all().filter(({ record }) => !hasEnded(record.state));
	}

	runningNamed(name: string): SessionSlot | null {
		return this.running().find(({ record }) => record.name === name) ?? null;
	}

	nameIsTaken(name: string): boolean {
		return [...this.#slot.values()].some(({ record }) => record.name === name);
	}

	/** Refuses one more, for all or for this owner. */
	refuseTooMany(owner: string, limits: { all: number; mine: number }): void {
		const running = this.running();
		const mine = running.filter(({ record }) => record.owner === owner);
		for (const [slot, limit] of [
			[running, limits.all],
			[mine, limits.mine],
		] as const) {
			if (slot.length < limit) continue;
			throw new Fault("too_many_sessions", { limit, open: slot.map(({ record }) => record.name) });
		}
	}

	/** The session that is meant, or a fault that names the others. */
	find(reference: string): SessionSlot {
		const all = this.all();
		const found =
			this.#slot.get(reference) ??
			this.runningNamed(reference) ??
			all.find(({ record }) => record.name === reference) ??
			(reference === "-" ? all.reduce<SessionSlot | undefined>(laterTouched, undefined) : undefined) ??
			onlyOne(reference.length >= ID_PREFIX_LENGTH ? all.filter(({ record }) => record.id.startsWith(reference)) : []);
		if (found === undefined) {
			throw new Fault("session_not_found", {
				id: reference,
				open: this.running().map(({ record }) => record.name),
			});
		}
		return found;
	}

	/** Ended sessions beyond the number that is remembered, those resolved longest ago first. */
	surplus(): SessionSlot[] {
		return this.all()
			.filter(({ record }) => hasEnded(record.state))
			.sort((a, b) => (b.record.resolvedAt ?? 0) - (a.record.resolvedAt ?? 0))
			.slice(this.#rememberEnded);
	}
}

const laterTouched = (a: SessionSlot | undefined, b: SessionSlot) =>
	a === undefined || b.touchedAt > a.touchedAt ? b : a;
const onlyOne = (candidates: SessionSlot[]) => (candidates.length === 1 ? candidates[0] : undefined);
