// Sessions that a set numbers for each caller (`bg_001`, 1000). A name belongs to one running session of
// all callers', so that of a second caller gets a suffix, which its own caller never sees; nobody reaches
// another caller's by its number.

import { Fault } from "../../protocol/fault.ts";
import { nameFor } from "../../session/identity.ts";
import { hasEnded } from "../../session/lifecycle.ts";
import type { Session } from "../../session/session.ts";
import type { ListedSession } from "../../session/sessions.ts";
import type { NamesInUse } from "../../session/start-spec.ts";
import type { ToolContext } from "../tool.ts";

type Callers = Pick<ToolContext, "sessions" | "caller">;

/** What the caller knows a session as. */
export const labelOf = (name: string): string => name.replace(/-\d+$/, "");

/** Picks the name of a caller's next session: the first number from `first` on that none of its own has. */
export function pickNumbered({ sessions, caller }: Callers, first: number, labelled: (number: number) => string) {
	return (names: NamesInUse): string => {
		const taken = new Set(own({ sessions, caller }).map(({ record }) => labelOf(record.name)));
		for (let number = first; ; number++) {
			const label = labelled(number);
			if (!taken.has(label)) return nameFor(label, (name) => names.nameIsTaken(name));
		}
	};
}

/** The caller's own session of this label, the newest. */
export async function findNumbered(context: Callers, label: string): Promise<Session> {
	const { sessions, caller } = context;
	const mine = own(context).filter(({ record }) => labelOf(record.name) === label);
	if (mine[0] !== undefined) return sessions.find(mine[0].record.id);
	// One that ended long ago is not listed any more.
	const old = await sessions.find(label).catch(() => null);
	if (old !== null && (await sessions.recordOf(old)).owner === caller.owner) return old;
	const running = own(context).filter(({ record }) => !hasEnded(record.state));
	const labels = running.map(({ record }) => labelOf(record.name));
	throw new Fault("session_not_found", { id: label, open: labels.filter((one) => kindOf(one) === kindOf(label)) });
}

const kindOf = (label: string): string => label.replace(/\d+$/, "");

const own = ({ sessions, caller }: Callers): readonly ListedSession[] =>
	sessions.list().filter(({ record }) => record.owner === caller.owner);
