// Sessions that a set numbers for each caller (`bg_001`, 1000): names belong to their owner, and a number is
// never another's.

import { Fault, isFault } from "../../protocol/fault.ts";
import type { NamesInUse } from "../../session/registry.ts";
import type { Session } from "../../session/session.ts";
import { ownerOf, type ToolContext } from "../tool.ts";

/** Picks the name of a caller's next session: the first number from `first` on that none of its own has. */
export function pickNumbered(first: number, labelled: (number: number) => string) {
	return (names: NamesInUse): string => {
		for (let number = first; ; number++) if (!names.nameIsTaken(labelled(number))) return labelled(number);
	};
}

/** The caller's own session of this label. */
export async function findNumbered({ sessions, caller }: ToolContext, label: string): Promise<Session> {
	try {
		return await sessions.find(label, { owner: ownerOf(caller) });
	} catch (error) {
		if (!isFault(error, "session_not_found")) throw error;
		// Another's of the same number is reached by its id, which these callers cannot write.
		const { others: _, ...own } = error.facts;
		throw new Fault("session_not_found", own);
	}
}
