// The facts that every call on a session answers with, gathered in one place.

import type { Returned, SessionFacts } from "../protocol/answer.ts";
import { describeEnd, type Session } from "../session/session.ts";
import { fit } from "../terminal/budget.ts";
import type { Look } from "../terminal/look.ts";
import type { Caller } from "./tool.ts";

export interface Conclusion {
	readonly caller: Caller;
	readonly returned: Returned;
	/** `performance.now()` when the call began. */
	readonly startedAt: number;
	readonly maxTokens: number;
	/** What to tell instead of what is new to the caller. */
	readonly look?: Look;
}

/** What is new to the caller, whose turn it is, and everything else worth knowing. */
export async function conclude(session: Session, conclusion: Conclusion): Promise<SessionFacts> {
	const [ports, cwd] = await Promise.all([session.ports(), session.cwd()]);
	// After the last await, so that text, offset and attention are of one moment.
	const look = conclusion.look ?? session.look(conclusion.caller.owner);
	const { text, truncated } = fit(look.text, conclusion.maxTokens);
	const { ended, attention, status, exit } = session;
	return {
		session: session.id,
		name: session.name,
		status,
		activity: ended ? null : attention.activity,
		waitingFor: ended ? null : attention.waitingFor,
		certainty: ended ? null : attention.certainty,
		because: ended ? describeEnd(status, exit) : attention.because,
		returned: conclusion.returned,
		text,
		offset: session.journal.end,
		truncated: truncated || look.missed !== null,
		exit,
		cwd,
		ports,
		driver: "agent",
		sandbox: null,
		elapsedMs: Math.round(performance.now() - conclusion.startedAt),
		view: look.kind,
		cursor: ended || !look.cursor.visible ? null : { row: look.cursor.row + 1, column: look.cursor.column + 1 },
		highlights: look.highlights.map(({ row, text: highlighted }) => ({ row: row + 1, text: highlighted })),
		missed: look.missed,
	};
}
