// The facts that every call on a session answers with, gathered in one place.

import type { SessionFacts } from "../protocol/answer.ts";
import { describeEnd, type Session } from "../session/session.ts";
import type { Outcome } from "../session/wait.ts";
import type { Look } from "../terminal/look.ts";
import { tell } from "./excerpt.ts";
import type { Caller } from "./tool.ts";

export interface Conclusion {
	readonly caller: Caller;
	readonly outcome: Outcome;
	/** `performance.now()` when the call began. */
	readonly startedAt: number;
	readonly maxTokens: number;
	/** What to tell instead of what is new to the caller. */
	readonly look?: Look;
	/** Where that begins, to be read again. */
	readonly since?: number;
}

/** What is new to the caller, whose turn it is, and everything else worth knowing. */
export async function conclude(session: Session, conclusion: Conclusion): Promise<SessionFacts> {
	// Before anything is awaited, so that text, offset and verdict are of the moment in which the wait ended.
	const { look, since } =
		conclusion.look === undefined
			? session.look(conclusion.caller.owner)
			: { look: conclusion.look, since: conclusion.since ?? 0 };
	const { ended, status, exit } = session;
	const offset = session.journal.end;
	const attention = conclusion.outcome.attention ?? session.attention;
	const last = session.commands?.running === null ? session.commands.last : null;
	const [{ text, truncated }, ports, cwd] = await Promise.all([
		tell(session, { look, since, maxTokens: conclusion.maxTokens }),
		session.ports(),
		session.cwd(),
	]);
	return {
		session: session.id,
		name: session.name,
		status,
		activity: ended ? null : attention.activity,
		waitingFor: ended ? null : attention.waitingFor,
		certainty: ended ? null : attention.certainty,
		because: ended ? describeEnd(status, exit) : attention.because,
		returned: conclusion.outcome.returned,
		text,
		offset,
		truncated,
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
		...(last === null ? {} : { lastCommand: { exitCode: last.exitCode, pipeStatus: last.pipeStatus } }),
	};
}
