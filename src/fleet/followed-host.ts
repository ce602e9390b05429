// Another host while somebody watches the list of people (fleet-people.ts): what it has told, and how much that is.

import type { Approval } from "../protocol/approval.ts";
import type { PersonSession } from "../protocol/person-session.ts";

interface Told {
	readonly row: PersonSession;
	readonly chars: number;
}

export interface FollowedHost {
	readonly host: string;
	/** Ends the link; null: it is not followed. */
	stop: AbortController | null;
	/** What it has told itself, by the names that its sessions have here; null: nothing. */
	told: Map<string, Told> | null;
	/** How much all of that is. */
	chars: number;
	/** It has told more than a host can have: its records are shown, for as long as somebody watches. */
	isRefused: boolean;
	/** What to add to its times. */
	clockMs: number;
	/** Since when it is lost; undefined: it is not, or has told everything anew. */
	lostSince: number | null | undefined;
	approvals: readonly Approval[];
	approvalChars: number;
	/** Its rows in the list. */
	shown: ReadonlySet<string>;
}

export const followedHost = (host: string): FollowedHost => ({
	host,
	stop: null,
	told: null,
	chars: 0,
	isRefused: false,
	clockMs: 0,
	lostSince: undefined,
	approvals: [],
	approvalChars: 0,
	shown: new Set(),
});

/** Those that are what they should be: a page would fail at others. */
export function shaped<T>(schema: { safeParse(value: unknown): { data?: T } }, values: readonly T[]): readonly T[] {
	return values.flatMap((value) => schema.safeParse(value).data ?? []);
}

/** What it has told, and how much that is. */
export function forget(other: FollowedHost): void {
	other.told = null;
	other.chars = 0;
}

export const charsOf = ({ chars, approvalChars }: FollowedHost): number => chars + approvalChars;

/** Null: it is gone. */
export function keep(other: FollowedHost, session: string, one: Told | null): void {
	other.chars += (one?.chars ?? 0) - (other.told?.get(session)?.chars ?? 0);
	if (one === null) other.told?.delete(session);
	else other.told?.set(session, one);
}
