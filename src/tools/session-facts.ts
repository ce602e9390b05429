// The facts that every call on a session answers with, gathered in one place.

import type { ProcessFacts, SessionFacts } from "../protocol/answer.ts";
import { type CleanLine, clean, oneLine, safe } from "../protocol/clean.ts";
import type { Outcome } from "../session/conditions.ts";
import type { Session } from "../session/session.ts";
import { describeEnd } from "../session/terminal-faults.ts";
import type { ScreenDiff } from "../terminal/screen-diff.ts";
import { fitNew } from "./excerpt.ts";
import type { ToolContext } from "./tool.ts";

const MAX_BECAUSE_CHARS = 400;
const MAX_PATH_CHARS = 4096;

/** What an answer shows of the output. */
export type Shown = Pick<ScreenDiff, "kind" | "text" | "highlights" | "cursor" | "missed" | "offset">;

export interface FactsRequest {
	readonly outcome: Outcome;
	readonly maxTokens: number;
	/** What to show instead of what is new to the caller. */
	readonly diff?: Shown;
	/** Where that begins, to be read again. */
	readonly since?: number;
}

/** The session that a call is about. */
export function target({ sessions }: ToolContext, reference: string): Promise<Session> {
	return sessions.find(reference);
}

/** A call on one session: finds it, acts on it, answers with what is new. */
export async function onSession(
	context: ToolContext,
	input: { readonly session: string; readonly maxTokens: number },
	act: (session: Session) => Promise<Outcome>,
): Promise<SessionFacts> {
	const session = await target(context, input.session);
	return sessionFacts(session, context, { outcome: await act(session), maxTokens: input.maxTokens });
}

/** What is new to the caller, whose turn it is, and everything else worth knowing. */
export async function sessionFacts(
	session: Session,
	{ caller, startedAt }: ToolContext,
	request: FactsRequest,
): Promise<SessionFacts> {
	// Before anything is awaited, so that text, offset and verdict are of the moment in which the wait ended.
	const { diff, since } =
		request.diff === undefined ? session.takeNew(caller.owner) : { diff: request.diff, since: request.since ?? 0 };
	const { ended, status, exit } = session;
	const notices = noticesFor(session, caller.owner);
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
		name: oneLine(session.name),
		status,
		activity: ended ? null : attention.activity,
		waitingFor: ended ? null : attention.waitingFor,
		certainty: ended ? null : attention.certainty,
		because: oneLine(ended ? describeEnd(status, exit) : attention.because, MAX_BECAUSE_CHARS),
		returned: request.outcome.returned,
		text: clean(text).text,
		offset,
		truncated,
		exit,
		cwd: oneLine(cwd, MAX_PATH_CHARS),
		ports,
		driver: "agent",
		sandbox: null,
		elapsedMs: Math.round(performance.now() - startedAt),
		view: diff.kind,
		cursor: ended || !diff.cursor.visible ? null : { row: diff.cursor.row + 1, column: diff.cursor.column + 1 },
		highlights: diff.highlights.map(({ row, text: highlighted }) => ({ row: row + 1, text: oneLine(highlighted) })),
		missed: diff.missed,
		...(notices.length > 0 && { notices }),
		...(last === null ? {} : { lastCommand: { exitCode: last.exitCode, pipeStatus: last.pipeStatus } }),
	};
}

function noticesFor(session: Session, owner: string): readonly CleanLine[] {
	const { lostOutput = 0, droppedInput = 0, heldInput = 0, diskStalls = 0 } = session.takeNotices(owner) ?? {};
	const notices: CleanLine[] = [];
	if (lostOutput > 0) notices.push(safe`${lostOutput} bytes of output could not be written to disk and are lost`);
	if (diskStalls > 0)
		notices.push(safe`the disk that keeps this session's output stopped answering: output is shown once it is written`);
	if (droppedInput > 0) notices.push(safe`the interrupt dropped ${droppedInput} bytes of input that were not read yet`);
	if (heldInput > 0)
		notices.push(
			safe`${heldInput} bytes of input wait: the program reads whole lines now, and one of yours is longer than the kernel keeps; \`signal\` INT drops them`,
		);
	return notices;
}

export function processFacts({ pid, command }: { readonly pid: number; readonly command: string }): ProcessFacts {
	return { pid, command: oneLine(command) };
}
