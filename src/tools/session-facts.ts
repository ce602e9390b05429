// The facts that every call on a session answers with, gathered in one place.

import type { ProcessFacts, SessionFacts } from "../protocol/answer.ts";
import { type CleanLine, clean, joined, oneLine, safe } from "../protocol/clean.ts";
import type { Outcome } from "../session/conditions.ts";
import type { Session } from "../session/session.ts";
import type { ScreenDiff } from "../terminal/screen-diff.ts";
import { type FittedLines, fitNew, nativeBudget } from "./excerpt.ts";
import type { Caller, ToolContext } from "./tool.ts";

const MAX_BECAUSE_CHARS = 400;
const MAX_PATH_CHARS = 4096;

/** What an answer shows of the output. */
export type Shown = Pick<ScreenDiff, "kind" | "text" | "highlights" | "cursor" | "missed" | "offset">;

export interface FactsRequest {
	readonly outcome: Pick<Outcome, "returned" | "attention"> & Partial<Pick<Outcome, "matched" | "gaveUp">>;
	readonly maxTokens: number;
	/** What to show instead of what is new to the caller. */
	readonly diff?: Shown;
	/** Its text, where that is within the budget already. */
	readonly fitted?: FittedLines;
	/** How long the call was to wait. */
	readonly askedMs?: number;
	/** The line that the call typed and entered: its echo is not new to the caller. */
	readonly typed?: string | undefined;
}

/** The session that a call is about. */
export function target({ sessions, caller }: ToolContext, reference: string): Promise<Session> {
	return sessions.find(reference, { owner: ownerOf(caller) });
}

/** A call on one session: finds it, acts on it, answers with what is new. */
export async function onSession(
	context: ToolContext,
	input: {
		readonly session: string;
		readonly maxTokens: number;
		readonly timeoutMs?: number;
	},
	act: (session: Session) => Promise<Outcome & Pick<FactsRequest, "typed">>,
): Promise<SessionFacts> {
	const session = await target(context, input.session);
	const { maxTokens, timeoutMs: askedMs } = input;
	const { typed, ...outcome } = await act(session);
	return sessionFacts(session, context, { outcome, maxTokens, typed, ...(askedMs !== undefined && { askedMs }) });
}

/** What is new to the caller, whose turn it is, and everything else worth knowing. */
export async function sessionFacts(
	session: Session,
	context: ToolContext,
	request: FactsRequest,
): Promise<SessionFacts> {
	const { caller, startedAt } = context;
	const { askedMs = 0 } = request;
	// What is much to draw is drawn in pieces. From here on nothing is awaited, so that text, offset and verdict are of one moment.
	if (request.diff === undefined) await session.catchUp();
	const { ended, status, exit } = session;
	const { diff, since } =
		request.diff === undefined ? newTo(session, caller.owner, request.typed) : { diff: request.diff, since: 0 };
	const notices = [...belonging(session, context), ...noticesFor(session, caller.owner)];
	if (request.outcome.gaveUp !== undefined) notices.push(request.outcome.gaveUp);
	const offset = session.journal.end;
	session.answered(caller.owner, offset);
	const attention = request.outcome.attention ?? session.attention;
	const { unentered } = session;
	const last = session.commands?.running === null ? session.commands.last : null;
	if (attention.waitingFor === "command" && last !== null && tellCommand(session, caller.owner))
		notices.push(safe`the command ended with exit code ${last.exitCode ?? "unknown"}`);
	const [{ text, truncated, lines, leftOut }, ports, cwd] = await Promise.all([
		request.fitted ?? fitNew(session, { diff, since }, nativeBudget(request.maxTokens, session, caller)),
		session.ports(),
		session.cwd(),
	]);
	if (!ended && session.tellStanding(caller.owner, "ports", ports.join()))
		notices.push(ports.length > 0 ? listeningOn(ports) : safe`no longer listening`);
	return {
		session: session.id,
		name: oneLine(session.name),
		status,
		activity: ended ? null : attention.activity,
		waitingFor: ended ? null : attention.waitingFor,
		certainty: ended ? null : attention.certainty,
		because: oneLine(ended ? session.howItEnded : attention.because, MAX_BECAUSE_CHARS),
		returned: request.outcome.returned,
		matched: request.outcome.matched ?? null,
		...(request.outcome.returned === "timeout" && isEarly(context, askedMs) && limitedTo(context, askedMs)),
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
		missed: leftOut && { lines: leftOut.to - leftOut.from + 1, ...leftOut },
		...(lines !== null && { lines }),
		...(unentered > 0 && attention.activity === "waiting" && { unentered }),
		...(notices.length > 0 && { notices }),
		...(last === null ? {} : { lastCommand: { exitCode: last.exitCode, pipeStatus: last.pipeStatus } }),
	};
}

/** Without the echo of what the caller typed, unless nothing else has come: then it shows that the program goes on. */
function newTo(session: Session, owner: string, typed: string | undefined): { diff: Shown; since: number } {
	const { diff, since } = session.takeNew(owner, typed);
	return { diff: diff.text === "" && !session.ended ? { ...diff, text: diff.echo ?? "" } : diff, since };
}

/** Whether the end of the shell's newest command is news to the caller; it counts as told. */
export const tellCommand = (session: Session, owner: string): boolean =>
	session.tellStanding(owner, "command", String(session.commands?.last?.to ?? ""));

const listeningOn = (ports: readonly number[]): CleanLine => safe`listening on ${joined(ports, ", ")}`;

/** Whose sessions are the caller's own. */
export const ownerOf = ({ owner, sessionsOf }: Caller): string => sessionsOf ?? owner;

/** Said with every answer: what is done to it is done to another's work. */
function belonging(session: Session, { sessions, caller }: ToolContext): readonly CleanLine[] {
	const owner = sessions.ownerOf(session);
	return owner === null || owner === ownerOf(caller) ? [] : [safe`this session belongs to ${oneLine(owner)}`];
}

const isEarly = ({ startedAt, answerWithinMs }: ToolContext, askedMs: number) =>
	answerWithinMs !== undefined && performance.now() - startedAt < askedMs;

/** The wait was shorter than it was to be, because the caller's host would have given up. */
export function limitedTo({ answerWithinMs = 0 }: ToolContext, askedMs: number): Pick<SessionFacts, "limited"> {
	return { limited: { askedMs, waitedMs: Math.round(answerWithinMs) } };
}

function noticesFor(session: Session, owner: string): readonly CleanLine[] {
	const news = session.takeNotices(owner);
	if (news === null) return [];
	const { lostOutput, droppedInput, heldInput, diskStalls, stoppedCommands } = news;
	const notices: CleanLine[] = [];
	if (stoppedCommands > 0) notices.push(safe`the command before was stopped at the timeout`);
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
