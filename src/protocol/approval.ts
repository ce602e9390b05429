// A call that waits for a person: what they are shown, and what they decide. The same over the
// daemon's socket and to the page.

import type { Clean, CleanLine } from "./clean.ts";

export interface Approval {
	readonly id: string;
	/** Milliseconds since 1970. */
	readonly at: number;
	readonly owner: CleanLine;
	/** The name of the token that the caller showed. */
	readonly token: CleanLine | null;
	/** The conversation. */
	readonly parent: CleanLine | null;
	readonly tool: CleanLine;
	readonly effect: "starts" | "types" | "ends";
	/** Exactly what would be run, typed or done; invisible characters are escaped. */
	readonly what: Clean;
	/** In which session; null where it would start one. */
	readonly session: string | null;
	readonly name: CleanLine | null;
	readonly cwd: CleanLine | null;
	readonly sandbox: CleanLine;
	/** Why the policy asks. */
	readonly because: CleanLine | null;
}

export interface Decision {
	readonly approve: boolean;
	/** How the agent is told of the person. */
	readonly who: string;
	readonly note?: string | undefined;
}
