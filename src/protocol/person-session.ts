// A session as a person sees it in a list: in one word what it does, who types, and whether it needs them.

import type { ListedSession } from "./answer.ts";
import type { CleanLine } from "./clean.ts";
import type { DriverFacts } from "./driver.ts";

/**
 * `secret`: a secret is wanted · `needs-you`: an agent has asked, or nobody answers it · `waiting`: for its agent ·
 * `unreachable`: its host is not heard of, and it may still run · `lost`: nobody knows how it ended.
 */
export const PERSON_STATES = [
	"starting",
	"working",
	"waiting",
	"secret",
	"needs-you",
	"serving",
	"stopped",
	"unresponsive",
	"unreachable",
	"ended",
	"lost",
] as const;
export type PersonState = (typeof PERSON_STATES)[number];

export const NEEDS = ["secret", "question", "unanswered"] as const;

/** What a person is needed for. */
export interface Need {
	readonly kind: (typeof NEEDS)[number];
	/** Milliseconds since 1970. */
	readonly since: number;
	/** What the agent asked; else the line on which the program asks. */
	readonly question: CleanLine | null;
	/** Why they should, where the agent said it. */
	readonly reason: CleanLine | null;
	/** What reads the terminal. */
	readonly program: CleanLine;
	readonly command: CleanLine;
	/** Where it asks for, as far as its words say so: of `ssh`, the other machine. */
	readonly host: CleanLine | null;
}

export interface PersonSession extends ListedSession {
	readonly state: PersonState;
	readonly cols: number;
	readonly rows: number;
	/** TCP ports on which its processes listen. */
	readonly ports: readonly number[];
	readonly driver: DriverFacts;
	readonly needs: Need | null;
}
