// The facts that every call on a session answers with, gathered in one place.

import { noticesIn, type ProcessFacts, type SessionFacts } from "../protocol/answer.ts";
import { type CleanLine, clean, counted, joined, oneLine, safe } from "../protocol/clean.ts";
import { Fault } from "../protocol/fault.ts";
import type { Vocabulary } from "../protocol/vocabulary.ts";
import type { Match, Outcome } from "../session/conditions.ts";
import { describeReport } from "../session/person-report.ts";
import type { Session } from "../session/session.ts";
import type { LineRange } from "../session/transcript-view.ts";
import type { ScreenDiff } from "../terminal/screen-diff.ts";
import { type FittedLines, fitNew, nativeBudget, withinTokens } from "./excerpt.ts";
import { dueAt, isLimited, ownerOf, type ToolContext } from "./tool.ts";

const MAX_BECAUSE_CHARS = 400;
const MAX_PATH_CHARS = 4096;

/** What an answer shows of the output. */
export type Shown = Pick<ScreenDiff, "kind" | "text" | "highlights" | "cursor" | "missed" | "offset"> &
	Partial<Pick<ScreenDiff, "erased">>;

export interface FactsRequest {
	readonly outcome: Pick<Outcome, "returned" | "attention"> & Partial<Pick<Outcome, "matched" | "match" | "gaveUp">>;
	readonly maxTokens: number | undefined;
	/** What to show instead of what is new to the caller. */
	readonly diff?: Shown;
	/** Its text, where that is within the budget already. */
	readonly fitted?: FittedLines;
	/** The port that the call waited for. */
	readonly port?: number | undefined;
	/** How long the call was to wait. */
	readonly askedMs?: number;
	/** When the answer is due, if not soon after that, of `performance.now()`. */
	readonly by?: number;
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
		readonly maxTokens?: number | undefined;
		readonly timeoutMs?: number;
		readonly until?: { readonly port?: number | undefined } | undefined;
	},
	act: (session: Session) => Promise<Outcome & Pick<FactsRequest, "typed">>,
): Promise<SessionFacts> {
	const session = await target(context, input.session);
	const { maxTokens, timeoutMs: askedMs } = input;
	const { typed, ...outcome } = await act(session);
	const { port } = input.until ?? {};
	return sessionFacts(session, context, { outcome, maxTokens, typed, port, ...(askedMs !== undefined && { askedMs }) });
}

/** Of Ctrl+Z: 128 + SIGTSTP. */
const STOPPED_BY_KEY = 148;

/** What is new to the caller, whose turn it is, and everything else worth knowing. */
export async function sessionFacts(
	session: Session,
	context: ToolContext,
	request: FactsRequest,
): Promise<SessionFacts> {
	const { caller, startedAt } = context;
	const { askedMs = 0, by = dueAt(context, askedMs) } = request;
	// What is much to draw is drawn in pieces. From here on nothing is awaited, so that text, offset and verdict are of one moment.
	if (request.diff === undefined) await session.catchUp(by);
	const { ended, status, exit } = session;
	const { diff, since } =
		request.diff === undefined ? newTo(session, caller.owner, request.typed) : { diff: request.diff, since: 0 };
	const owner = otherOwner(session, context);
	const attention = request.outcome.attention ?? session.attention;
	// The verdict may be older than the end of the command: an answer that says "working" does not tell it.
	const tellsEnds = ended || attention.waitingFor === "command" || session.commands?.running !== null;
	const notices = [...noticesFor(session, caller.owner, tellsEnds)];
	if (request.outcome.gaveUp !== undefined) notices.push(request.outcome.gaveUp);
	if (request.outcome.returned === "timeout" && session.awaitsPerson())
		notices.push(safe`nobody has entered anything since the person was asked`);
	const { driver } = session.driving;
	if (driver.kind === "person")
		notices.push(safe`a person (${oneLine(driver.who)}) drives it; \`wait\` returns when it is handed back`);
	const people = peopleFor(session, caller.owner);
	const left = session.left();
	const offset = session.journal.end;
	session.answered(caller.owner, offset);
	if (caller.sessionsOf === undefined) session.called(); // not for one that only looks on
	const { unentered } = session;
	const last = session.commands?.running === null ? session.commands.last : null;
	if (attention.waitingFor === "command" && last !== null && tellCommand(session, caller.owner))
		notices.push(
			last.exitCode === STOPPED_BY_KEY
				? safe`the command was stopped (exit code ${last.exitCode}): \`fg\` continues it`
				: safe`the command ended with exit code ${last.exitCode ?? "unknown"}`,
		);
	const [{ text, truncated, lines, leftOut, passedOver }, ports, cwd] = await Promise.all([
		request.fitted ??
			withinTokens(
				{ ...nativeBudget(request.maxTokens, session, context), by },
				(budget) => fitNew(session, { diff, since }, budget),
				(fitted) => fitted,
			),
		session.ports(),
		session.cwd(),
	]);
	const { match } = request.outcome;
	const matchedLine =
		match && leftOut && lines
			? await lineOfMatch(session, { match, lines, leftOut, typed: request.typed, by }, context)
			: null;
	if (session.isConfined && session.tellStanding(caller.owner, "sandbox", "enforced"))
		notices.push(safe`sandbox: enforced`);
	if (session.place !== null && session.tellStanding(caller.owner, "place", session.place.in))
		notices.push(safe`runs in ${oneLine(session.place.in)}`);
	const isNews = !ended && session.tellStanding(caller.owner, "ports", ports.join());
	// "matched" says it where this is what was waited for.
	if (isNews && !(request.outcome.matched && ports.join() === String(request.port)))
		notices.push(ports.length > 0 ? listeningOn(ports) : safe`no longer listening`);
	const facts: SessionFacts = {
		session: session.id,
		name: oneLine(session.name),
		...(owner !== null && { owner }),
		status,
		activity: ended ? null : attention.activity,
		waitingFor: ended ? null : attention.waitingFor,
		certainty: ended ? null : attention.certainty,
		because: oneLine(ended ? session.howItEnded : attention.because, MAX_BECAUSE_CHARS),
		returned: request.outcome.returned,
		matched: request.outcome.matched ?? null,
		...(match?.several && { matchedBy: match.by }),
		...(matchedLine !== null && { matchedLine }),
		...(request.outcome.returned === "timeout" && isLimited(context, askedMs) && limitedTo(context, askedMs)),
		text: clean(text).text,
		offset,
		truncated,
		exit,
		...(session.place !== null && { in: oneLine(session.place.in) }),
		cwd: oneLine(cwd, MAX_PATH_CHARS),
		ports,
		driver: session.isDriven ? "human" : "agent",
		sandbox: session.isConfined ? "enforced" : "none",
		elapsedMs: Math.round(performance.now() - startedAt),
		view: diff.kind,
		cursor: ended || !diff.cursor.visible ? null : { row: diff.cursor.row + 1, column: diff.cursor.column + 1 },
		highlights: diff.highlights.map(({ row, text: highlighted }) => ({ row: row + 1, text: oneLine(highlighted) })),
		missed: leftOut && { lines: leftOut.to - leftOut.from + 1, ...leftOut },
		...(passedOver && { passedOver }),
		...(lines !== null && { lines }),
		...(left.length > 0 && { left: left.map(processFacts) }),
		...(unentered > 0 && attention.activity === "waiting" && { unentered }),
		...(people.length > 0 && { people }),
		...(notices.length > 0 && { notices }),
		...(last === null ? {} : { lastCommand: { exitCode: last.exitCode, pipeStatus: last.pipeStatus } }),
	};
	return withOwnerNotice(facts, session, context);
}

interface SoughtMatch {
	readonly match: Match;
	/** The lines that the answer is about, and those of them that it does not show. */
	readonly lines: LineRange;
	readonly leftOut: LineRange;
	/** What the call typed: its echo is no match. */
	readonly typed: string | undefined;
	readonly by: number;
}

/** The line that a wait has found, if the answer does not show it; null where that is not known. */
async function lineOfMatch(
	session: Session,
	{ match: { by: kind, text, pattern }, lines, leftOut, typed = "", by }: SoughtMatch,
	{ caller, signal }: ToolContext,
): Promise<number | null> {
	if (kind !== "text" && kind !== "pattern") return null;
	try {
		const view = await session.transcript.viewBy(by, { signal });
		if (view === null) return null;
		const sought = { text, pattern, caller: caller.owner, signal, order: "oldest", most: 2 } as const;
		// Where the answer shows a match, that is the one.
		const shown = [
			{ from: lines.from, to: leftOut.from - 1 },
			{ from: leftOut.to + 1, to: lines.to },
		];
		const isEcho = async (line: number) =>
			typed !== "" && (await view.first({ from: line, to: line }, 1))[0]!.text.endsWith(typed);
		for (const range of shown)
			for (const line of (await view.search({ ...sought, range })).lines) if (!(await isEcho(line))) return null;
		return (await view.search({ ...sought, range: leftOut })).lines[0] ?? null;
	} catch (error) {
		// A pattern that is slow on many lines: the answer says that it matched.
		if (error instanceof Fault && error.code === "bad_pattern") return null;
		throw error;
	}
}

/** Without the echo of what the caller typed, unless nothing else has come: then it shows that the program goes on. */
function newTo(session: Session, owner: string, typed: string | undefined): { diff: Shown; since: number } {
	const { diff, since } = session.takeNew(owner, typed);
	return { diff: diff.text === "" && !session.ended ? { ...diff, text: diff.echo ?? "" } : diff, since };
}

/** Whether the end of the shell's newest command, or of this one, is news to the caller; it counts as told. */
export const tellCommand = (session: Session, owner: string, ended = session.commands?.last): boolean =>
	session.tellStanding(owner, "command", String(ended?.to ?? ""));

const listeningOn = (ports: readonly number[]): CleanLine => safe`listening on ${joined(ports, ", ")}`;

/** Whose it is, where it is not the caller's own. */
function otherOwner(session: Session, { sessions, caller }: ToolContext): CleanLine | null {
	const owner = sessions.ownerOf(session);
	return owner === null || owner === ownerOf(caller) ? null : oneLine(owner);
}

/** Said with every answer, in every set: what is done to it is done to another's work. */
export function withOwnerNotice<F extends object>(
	facts: F,
	session: Session,
	context: ToolContext,
	noun: Vocabulary["noun"] = "session",
): F {
	const owner = otherOwner(session, context);
	const told = withPeople(facts, session, context);
	return owner === null ? told : { ...told, notices: [safe`this ${noun} belongs to ${owner}`, ...noticesIn(told)] };
}

/** The same for what people did, in sets whose answers have no place for it but the notices. */
export function withPeople<F extends object>(facts: F, session: Session, { caller }: ToolContext): F {
	const people = peopleFor(session, caller.owner);
	return people.length === 0 ? facts : { ...facts, notices: [...people, ...noticesIn(facts)] };
}

/** What people did since this caller was last told; it counts as told. */
const peopleFor = (session: Session, owner: string): readonly CleanLine[] =>
	session.driving.takeReports(owner).map(describeReport);

/** The wait was shorter than it was to be, because the caller's host would have given up. */
export function limitedTo({ answerWithinMs = 0 }: ToolContext, askedMs: number): Pick<SessionFacts, "limited"> {
	return { limited: { askedMs, waitedMs: Math.round(answerWithinMs) } };
}

function noticesFor(session: Session, owner: string, tellsEnds: boolean): readonly CleanLine[] {
	const news = session.takeNotices(owner, { tellsEnds });
	if (news === null) return [];
	const { lostOutput, droppedInput, heldInput, refused, diskStalls, stoppedCommands } = news;
	const notices: CleanLine[] = [];
	if (stoppedCommands > 0) notices.push(safe`the previous command timed out and was stopped`);
	if (lostOutput > 0) notices.push(safe`${counted(lostOutput, "byte")} of output could not be written to disk: lost`);
	if (diskStalls > 0)
		notices.push(safe`the disk that keeps this session's output stopped answering: output is shown once it is written`);
	if (droppedInput > 0)
		notices.push(safe`the interrupt dropped ${counted(droppedInput, "byte")} of input not read yet`);
	if (heldInput > 0)
		notices.push(
			safe`${heldInput} bytes of input are held back: the program reads whole lines now, and one of yours is longer than the kernel keeps; \`signal\` INT drops them`,
		);
	if (refused !== null)
		notices.push(
			safe`only the first ${refused.typed} bytes that were sent have been typed: the next line has ${refused.line} bytes, and the program now reads lines of at most ${refused.limit}; that line and what follows it (${refused.bytes} bytes) were not typed: write them to a file instead`,
		);
	return notices;
}

export function processFacts({ pid, command }: { readonly pid: number; readonly command: string }): ProcessFacts {
	return { pid, command: oneLine(command) };
}
