// What a caller with a token is limited to: one session, the sessions of some owners, or those of one
// conversation. What is outside does not exist for it: it is neither found, listed nor named. What it may do
// within is its role, decided in tools/abilities.ts.

import type { SessionRecord } from "../journal/records.ts";
import type { Approval } from "../protocol/approval.ts";
import { Fault } from "../protocol/fault.ts";
import { hasEnded } from "./lifecycle.ts";
import { matchesGlob } from "./policy.ts";
import type { Sessions } from "./sessions.ts";
import type { Caller } from "./start-spec.ts";

export type Scope =
	/** Its id: a name may mean another one tomorrow. */
	| { readonly session: string }
	/** A pattern: `mcp:*`. */
	| { readonly owner: string }
	/** The conversation. */
	| { readonly parent: string };

/** The session of another machine, by the id that it has here, that a scope is for; null where it is for those of this one. */
export const farSession = (scope: Scope | null): string | null =>
	scope !== null && "session" in scope && scope.session.includes("/") ? scope.session : null;

/** Null: it is limited to nothing. */
export function isWithin(scope: Scope | null, { id, owner, parent, host }: ScopedFacts): boolean {
	if (scope === null) return true;
	if ("session" in scope) return id === scope.session;
	if (host !== undefined) return owner !== null && owner === farOwner(scope);
	if ("parent" in scope) return parent === scope.parent;
	return owner !== null && matchesGlob(scope.owner, owner);
}

/** Of other machines a scope holds the sessions of this owner: nothing else is enforced there. Null: it holds none. */
export const farOwner = (scope: Scope): string | null =>
	"owner" in scope && !scope.owner.includes("*") ? scope.owner : null;

export interface ScopedFacts extends Pick<SessionRecord, "id" | "owner" | "parent"> {
	/** Where it is a session of another machine. */
	readonly host?: string;
}

/** Calls that wait for a person, of callers and sessions within the scope; with one, of this machine, where it is enforced. */
export const approvalsWithin = (scope: Scope | null, approvals: readonly Approval[]): readonly Approval[] =>
	approvals.filter(
		({ id, session, owner, parent }) =>
			scope === null || (!id.includes("/") && isWithin(scope, { id: session ?? "", owner, parent })),
	);

/** The caller as one whose new sessions belong to the scope. */
export function callerWithin(scope: Scope | null, caller: Caller): Caller {
	if (scope === null || "session" in scope) return caller;
	if ("parent" in scope) return { ...caller, parent: scope.parent };
	if (matchesGlob(scope.owner, caller.owner)) return caller;
	// A star is any text, so the result fits the pattern, and two tokens with the same one stay two owners.
	const [first = "", ...rest] = scope.owner.split("*");
	return { ...caller, owner: rest.length === 0 ? first : [`${first}${caller.owner}`, ...rest].join("") };
}

type Members = { readonly [K in keyof Sessions]: Sessions[K] };

/**
 * The sessions as a caller with this scope has them. Each public member of Sessions is listed: one that is added there
 * does not compile until it is decided here.
 */
export function sessionsWithin(sessions: Sessions, scope: Scope): Sessions {
	const list = () => sessions.list().filter(({ record }) => isWithin(scope, record));
	/** The id of what this caller means. */
	const meant = async (reference: string, owner?: string): Promise<string> => {
		await sessions.reread();
		const records = list().map(({ record }) => record);
		const named = records.filter(({ id, name }) => id === reference || name === reference);
		const own = named.filter((record) => record.owner === owner);
		const isOpen = ({ state }: SessionRecord) => !hasEnded(state);
		const [listed] = [named.find(({ id }) => id === reference), own.find(isOpen), own[0], named.find(isOpen), named[0]]
			.filter((record) => record !== undefined)
			.map(({ id }) => id);
		if (listed !== undefined) return listed;
		// Ended long ago, or meant by a part of its name or id. What is not found and what is not ours look the same.
		const found = await sessions.recordNamed(reference, { owner }).catch(() => null);
		if (found !== null && isWithin(scope, found)) return found.id;
		const open = records.filter(isOpen);
		throw new Fault("session_not_found", {
			id: reference,
			open: open.map(({ name }) => name),
			ids: open.map(({ id }) => id),
		});
	};
	const notHere = (): never => {
		throw new Error("not for a caller with a scope");
	};
	const members: Members = {
		options: sessions.options,
		policy: sessions.policy,
		secrets: sessions.secrets,
		approvals: sessions.approvals,
		shellTurns: sessions.shellTurns,
		get events() {
			return notHere();
		},
		start: async (spec) => {
			if ("session" in scope)
				throw new Fault("not_allowed", { what: "Starting a session with a token for one session" });
			const caller = callerWithin(scope, spec.caller);
			return sessions.start({ ...spec, caller, ...("parent" in scope && { parent: scope.parent }) });
		},
		reread: () => sessions.reread(),
		refresh: () => sessions.refresh(),
		list,
		find: async (reference, by) => sessions.find(await meant(reference, by?.owner)),
		shells: (owner, name) => sessions.shells(owner, name).filter(({ record }) => isWithin(scope, record)),
		ownerOf: (session) => sessions.ownerOf(session),
		recordOf: (session) => sessions.recordOf(session),
		recordNamed: async (reference, by) => sessions.recordNamed(await meant(reference, by?.owner)),
		recorded: async (reference) => sessions.recorded(await meant(reference)),
		endedRecord: async (reference, by) => sessions.endedRecord(await meant(reference, by.owner), by),
		findToEnd: async (reference, by) => sessions.findToEnd(await meant(reference, by.owner), by),
		close: (session, how) => sessions.close(session, how),
		signal: (session, name, as) => sessions.signal(session, name, as),
		resize: (session, size, how) => sessions.resize(session, size, how),
		rename: async (reference, name, by) => sessions.rename(await meant(reference, by?.owner), name),
		remove: async (id) => sessions.remove(await meant(id)),
		heldBy: () => notHere(),
		decided: () => notHere(),
		mustBeConfined: (record, caller) => sessions.mustBeConfined(record, caller),
		runningCount: () => list().filter(({ record }) => !hasEnded(record.state)).length,
		// Of the daemon as a whole.
		endAll: async () => notHere(),
		onCount: () => notHere(),
		[Symbol.asyncDispose]: async () => notHere(),
	};
	// A class with private fields has no other form in types; nothing but its public members is ever used.
	return members as Sessions;
}
