// The sessions as a caller sees them who may not use all: one that runs inside a session, or that is
// confined and could do more in an open one. A tool has no other way to a session than these methods.

import type { SessionRecord } from "../journal/records.ts";
import { Fault } from "../protocol/fault.ts";
import type { Session } from "./session.ts";
import type { ListedSession, Sessions, ToEnd } from "./sessions.ts";
import type { Caller, EnclosingSession, StartSpec } from "./start-spec.ts";

/** What tools use of Sessions. */
export type SessionsInReach = Pick<
	Sessions,
	| "options"
	| "shellTurns"
	| "secrets"
	| "start"
	| "reread"
	| "refresh"
	| "find"
	| "list"
	| "shells"
	| "ownerOf"
	| "recordOf"
	| "endedRecord"
	| "findToEnd"
	| "close"
	| "signal"
	| "resize"
	| "remove"
	| "mustBeConfined"
>;

/** All of them, or those that this caller may use for calls of that effect. */
export function reachOf(
	sessions: Sessions,
	caller: Caller,
	effect: "reads" | "asks" | "types" | "starts" | "ends",
): SessionsInReach {
	const acts = effect !== "reads" && effect !== "asks";
	if (caller.inside === undefined && !acts) return sessions;
	const { inside, confine } = sessions.policy.current();
	const isOwnOnly = caller.inside !== undefined && inside === "own";
	const isConfined = confine.length > 0 || (caller.inside?.sandbox ?? null) !== null;
	if (!isOwnOnly && !(acts && isConfined)) return sessions;
	const owner = caller.sessionsOf ?? caller.owner;
	return new ReachedSessions(sessions, {
		inside: isOwnOnly ? caller.inside! : null,
		confines: acts
			? async (record) => {
					// It may end what is its own, also from before it was confined.
					if (effect !== "ends" || record.owner !== owner) await sessions.mustBeConfined(record, caller);
				}
			: null,
	});
}

/** Throws where this record's session was not started from inside the other. */
export function mustBeFrom(inside: EnclosingSession, { name, within }: Pick<SessionRecord, "name" | "within">): void {
	if (!within.includes(inside.id)) throw new Fault("inside_session", { what: `Using ${name}`, session: inside.id });
}

interface Reach {
	/** Only what was started from inside this one. */
	readonly inside: EnclosingSession | null;
	/** Throws where the caller could do more in a session than is allowed to it. */
	readonly confines: ((record: SessionRecord) => Promise<void>) | null;
}

class ReachedSessions implements SessionsInReach {
	readonly #sessions: Sessions;
	readonly #reach: Reach;

	constructor(sessions: Sessions, reach: Reach) {
		this.#sessions = sessions;
		this.#reach = reach;
	}

	get options() {
		return this.#sessions.options;
	}
	get shellTurns() {
		return this.#sessions.shellTurns;
	}
	get secrets() {
		return this.#sessions.secrets;
	}

	start(spec: StartSpec): Promise<Session> {
		return this.#sessions.start({ ...spec, mustReach: (record) => this.#mustReach(record) });
	}

	async find(reference: string, by?: { readonly owner?: string | undefined }): Promise<Session> {
		return this.#sessions.find(await this.#reached(reference, by));
	}

	async endedRecord(reference: string, by: { readonly owner: string }): Promise<SessionRecord> {
		const record = await this.#sessions.endedRecord(reference, by);
		await this.#mustReach(record);
		return record;
	}

	async findToEnd(reference: string, by: { readonly owner: string; readonly force: boolean }): Promise<ToEnd> {
		return this.#sessions.findToEnd(await this.#reached(reference, by), by);
	}

	async remove(id: string): Promise<void> {
		return this.#sessions.remove(await this.#reached(id));
	}

	list(): readonly ListedSession[] {
		return this.#sessions.list().filter(this.#isSeen);
	}
	shells(owner: string, name: string): readonly ListedSession[] {
		return this.#sessions.shells(owner, name).filter(this.#isSeen);
	}

	// What follows is about sessions that were found by the methods above.
	reread(): Promise<void> {
		return this.#sessions.reread();
	}
	refresh(): Promise<void> {
		return this.#sessions.refresh();
	}
	ownerOf(session: Session): string | null {
		return this.#sessions.ownerOf(session);
	}
	recordOf(session: Session): Promise<SessionRecord> {
		return this.#sessions.recordOf(session);
	}
	close(...args: Parameters<Sessions["close"]>): ReturnType<Sessions["close"]> {
		return this.#sessions.close(...args);
	}
	signal(...args: Parameters<Sessions["signal"]>): Promise<void> {
		return this.#sessions.signal(...args);
	}
	resize(...args: Parameters<Sessions["resize"]>): Promise<void> {
		return this.#sessions.resize(...args);
	}
	mustBeConfined(...args: Parameters<Sessions["mustBeConfined"]>): Promise<void> {
		return this.#sessions.mustBeConfined(...args);
	}

	readonly #isSeen = ({ record }: ListedSession): boolean =>
		this.#reach.inside === null || record.within.includes(this.#reach.inside.id);

	async #mustReach(record: SessionRecord): Promise<void> {
		if (this.#reach.inside !== null) mustBeFrom(this.#reach.inside, record);
		await this.#reach.confines?.(record);
	}

	/** The id of the session that is meant, which may be used. */
	async #reached(reference: string, by?: { readonly owner?: string | undefined }): Promise<string> {
		await this.#sessions.reread();
		const record = await this.#sessions.recordNamed(reference, by);
		await this.#mustReach(record);
		return record.id;
	}
}
