// What a caller reaches of other hosts: a token of this daemon's HTTP may be limited. There only an owner can be enforced:
// that no more than one session is reached is settled here, before its host is asked.

import { Fault } from "../protocol/fault.ts";
import { farOwner, farSession } from "../session/scope.ts";
import { withoutOthers } from "../tools/looking-at.ts";
import type { Caller } from "../tools/tool.ts";
import type { KnownHosts } from "./aim.ts";
import { joinReference } from "./session-names.ts";

export type FarReach =
	/** All that its owner has there; null: whatever this daemon reaches itself. */
	| { readonly owner: string | null }
	/** One session, by the id that it has here, and only to look at it; null: none. */
	| { readonly session: string | null };

export function farReachOf(caller: Caller | undefined): FarReach {
	const scope = caller?.scope;
	if (scope === undefined) return { owner: null };
	const owner = farOwner(scope);
	if (owner !== null) return { owner };
	return { session: farSession(scope) };
}

/** Whether there is anything on other hosts for this caller. */
export function reachesOthers(caller: Caller | undefined): boolean {
	const reach = farReachOf(caller);
	return caller?.inside === undefined && ("owner" in reach || reach.session !== null);
}

/** Who may not know which hosts there are is refused whichever it names. */
export const knownTo = (reach: FarReach, known: KnownHosts): KnownHosts =>
	"owner" in reach ? known : { isKnown: () => true, names: () => [] };

/** Tools that only look at the session that they are given. */
const LOOKING: ReadonlySet<string> = new Set(["read", "wait"]);

/** A call on another host, with its input as that host takes it. */
export interface FarCall {
	readonly host: string;
	readonly tool: string;
	readonly input: unknown;
	/** The fields that the tool has. */
	readonly fields: readonly string[];
}

/** Throws where the call is not within reach. */
export function mustBeWithin(reach: FarReach, { host, tool, input, fields }: FarCall): void {
	if ("owner" in reach) return;
	const { session, ...others } = Object(input) as Readonly<Record<string, unknown>>;
	const isOwn = typeof session === "string" && joinReference(host, session) === reach.session;
	if (!isOwn || !LOOKING.has(tool))
		throw new Fault("not_allowed", { what: "Using another host with a token for some sessions only" });
	// Another spelling of a field could name another session.
	const unknown = Object.keys(others).filter((field) => !fields.includes(field));
	if (unknown.length > 0) throw new Fault("bad_input", { problems: unknown.map((field) => `${field}: no such field`) });
}

/** What is refused there, as this caller may be told it. */
export const toldTo = (reach: FarReach, error: unknown): unknown =>
	"owner" in reach || !(error instanceof Fault) ? error : withoutOthers(error);
