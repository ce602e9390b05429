// The facts that every call on a session answers with, gathered in one place.

import type { SessionFacts } from "../protocol/answer.ts";
import type { Outcome } from "../session/conditions.ts";
import { describeEnd, type Session } from "../session/session.ts";
import type { ScreenDiff } from "../terminal/screen-diff.ts";
import { fitNew } from "./excerpt.ts";
import type { Caller } from "./tool.ts";

export interface FactsRequest {
	readonly caller: Caller;
	readonly outcome: Outcome;
	/** `performance.now()` when the call began. */
	readonly startedAt: number;
	readonly maxTokens: number;
	/** What to tell instead of what is new to the caller. */
	readonly diff?: ScreenDiff;
	/** Where that begins, to be read again. */
	readonly since?: number;
}

/** What is new to the caller, whose turn it is, and everything else worth knowing. */
export async function sessionFacts(session: Session, request: FactsRequest): Promise<SessionFacts> {
	// Before anything is awaited, so that text, offset and verdict are of the moment in which the wait ended.
	const { diff, since } =
		request.diff === undefined
			? session.takeNew(request.caller.owner)
			: { diff: request.diff, since: request.since ?? 0 };
	const { ended, status, exit } = session;
	const offset = session.journal.end;
	const attention = request.outcome.attention ?? session.attention;
	const last = session.commands?.running === null ? session.commands.last : null;
	const [{ text, truncated }, ports, cwd] = await Promise.all([
		fitNew(session, { diff, since, maxTokens: request.maxTokens }),
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
		returned: request.outcome.returned,
		text,
		offset,
		truncated,
		exit,
		cwd,
		ports,
		driver: "agent",
		sandbox: null,
		elapsedMs: Math.round(performance.now() - request.startedAt),
		view: diff.kind,
		cursor: ended || !diff.cursor.visible ? null : { row: diff.cursor.row + 1, column: diff.cursor.column + 1 },
		highlights: diff.highlights.map(({ row, text: highlighted }) => ({ row: row + 1, text: highlighted })),
		missed: diff.missed,
		...(last === null ? {} : { lastCommand: { exitCode: last.exitCode, pipeStatus: last.pipeStatus } }),
	};
}
