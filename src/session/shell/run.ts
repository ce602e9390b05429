// One command in a persistent shell: delivers it, waits for its end, and at the
// timeout ends the command and not the shell.
//
// Marks show where a command begins and ends, attention shows when it asks for
// input; this file only combines the two.

import { unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Attention } from "../../protocol/answer.ts";
import { Fault } from "../../protocol/fault.ts";
import { reportError } from "../../protocol/listeners.ts";
import { commandLine } from "../../pty/process-tree.ts";
import { exitStatus } from "../../pty/signals.ts";
import { type Condition, wait } from "../../pty/wait.ts";
import { countInput } from "../../terminal/input-counts.ts";
import { attention, ended, handedBack, marked, type Outcome, received, stillness, timeout } from "../conditions.ts";
import type { Writer } from "../driver-lease.ts";
import type { Session } from "../session.ts";
import type { Finished, ShellCommands } from "./commands.ts";
import type { Job } from "./jobs.ts";
import { paintOver, shownOf } from "./paint.ts";
import { type Deadline, readDeadline, writeDeadline, writeFiles } from "./prepare.ts";
import { type CommandScript, shells } from "./shells.ts";
import type { StreamPipes, Streams } from "./streams.ts";

export interface RunRequest {
	readonly command: string;
	/** Change there first; it exists. */
	readonly cwd: string | null;
	readonly timeoutMs: number;
	/** At the timeout: end the command, or leave it running. Counts also when the call has returned before. */
	readonly onTimeout: "stop" | "leave";
	/** Return by then (of `performance.now()`), with the command running; it keeps the rest of its time. */
	readonly answerBy?: number | undefined;
	/**
	 * Return when it waits for input. Otherwise nobody answers it: only its end and the timeout count, the timeout also
	 * when its caller has left, and a busy shell is waited for.
	 */
	readonly waits: boolean;
	/** Keep stdout and stderr apart. */
	readonly separate: boolean;
	/** Who is answered. */
	readonly owner: string;
	/** Ends the wait, not the command. */
	readonly signal: AbortSignal;
}

export interface RunOutcome {
	/** `still`: an idle server, or stopped; it keeps running. `timeout`: its time, or that of the call, is over. */
	readonly returned: "ended" | "waiting" | "still" | "timeout";
	/** Its time is over. */
	readonly timedOut: boolean;
	/** What it waited for when its time was over. */
	readonly waitedFor: Attention["waitingFor"];
	/** The verdict of that moment. */
	readonly attention: Attention | null;
	/** Its output, by absolute offset. */
	readonly from: number;
	readonly to: number;
	/** Null while it runs, or if unknown. */
	readonly exitCode: number | null;
	readonly pipeStatus: readonly number[];
	readonly cwd: string | null;
	readonly durationMs: number;
	/** The command ended the shell, too. */
	readonly shellEnded: boolean;
	/** The shell became another program (`exec`): commands can no longer be told apart. */
	readonly shellReplaced: boolean;
	/** Its end was told twice, with different codes. */
	readonly disputed: boolean;
	/** What it left running in the background. */
	readonly jobs: readonly Job[];
	readonly streams: Streams | null;
	/** The signal that ended it at the timeout. */
	readonly stoppedBy: string | null;
	/** The command before, where its own call was answered before its end; its output is what the caller has not read of it. */
	readonly before: Finished | null;
}

// A shell with a version manager or two in its start files takes seconds.
const START_MS = 30_000;
// The first mark normally comes within a millisecond or two; this is for a machine that swaps.
const TAKEN_MS = 20_000;
// As much also where the call has less: on a busy machine a shell that does take it may need it.
const LEAST_TAKEN_MS = 2000;
// A shell that has read the file tells so within this.
const READ_MS = 250;
// Most commands have ended by then; the holder watches only the others.
const UNWATCHED_MS = 5;
const STEP_MS = 2000;
/** A session that is being ended has ended by then: the grace, and what KILL takes. */
const ENDING_MS = 5000;
/** No event tells that another's child has ended. */
const JOB_POLL_MS = 10;
// The helper copies within a millisecond.
const COPIED_MS = 25;
// A job that dies by TERM or KILL lets the next command of the line begin: each needs its own round.
const ROUNDS = 5;

/** At a timeout, when the call may have been answered. */
const OURS: Writer = { agent: null };

let runs = 0;

/** Runs a command in a shell session; refuses when one is running there. */
export async function runCommand(session: Session, request: RunRequest): Promise<RunOutcome> {
	const done = session.use();
	try {
		return await runInShell(session, shellOf(session), request);
	} finally {
		done();
	}
}

async function runInShell(session: Session, commands: ShellCommands, request: RunRequest): Promise<RunOutcome> {
	const as = { agent: request.owner };
	session.driving.mayType(as);
	if (!request.waits) await untilFree(session, commands, request);
	await untilReady(session, commands, request.signal);
	refuseBusy(session, commands);
	const before = unread(session, commands.untoldEnd, request.owner);
	const startedAt = performance.now();
	const run = `${process.pid.toString(36)}x${(++runs).toString(36)}`;
	const program = commandLine(session.programPid);
	// Without a prompt on the screen there is nothing to paint after.
	const behindPrompt = commands.ready;
	commands.expect(run, request.command);
	let pipes: StreamPipes | null = null;
	let returned: RunOutcome["returned"] | null = null;
	let turnEnds = (_returned: string | null) => {};
	try {
		if (request.separate) pipes = await commands.streams.open(run);
		const until = request.onTimeout === "stop" ? Date.now() + request.timeoutMs : null;
		const deadline = startedAt + request.timeoutMs;
		const returnBy = Math.min(deadline, request.answerBy ?? deadline);
		await deliver(session, commands, {
			...request,
			as,
			run,
			stopAt: until,
			takenBy: returnBy,
			behindPrompt,
			streams: pipes?.state ?? null,
		});
		commands.untold = run;
		turnEnds = session.turns.waits(request.owner);
		const { signal, waits } = request;
		const isOver = () => commands.running?.run !== run;
		const conditions = [
			marked(commands, isOver),
			ended(session),
			...(waits ? [attention(session, { afterMs: UNWATCHED_MS, isOldNews: () => session.isDriven })] : []),
			timeout(Math.max(0, returnBy - performance.now())),
		];
		const stopLater = () => {
			if (request.onTimeout === "stop" && !isOver()) stopAt(deadline, session, commands, isOver);
		};
		const outcome = await first(conditions, signal).catch((error: unknown) => {
			stopLater(); // its caller has gone away
			throw error;
		});
		// The job ends before its shell: that end is not the command's own.
		if (outcome.returned === "marked" && session.isEnding) await first([ended(session), timeout(ENDING_MS)], signal);
		// An end that was forged in the last moment of a program is followed by the shell's own, before its prompt.
		if (outcome.returned === "marked" && session.isConfined)
			await first([attention(session), ended(session), timeout(STEP_MS)], signal);
		const timedOut = outcome.returned === "timeout" && returnBy === deadline;
		if (outcome.returned === "timeout" && !timedOut) stopLater();
		// Before it is stopped: nobody has watched what is not answered.
		if (timedOut) await session.refresh();
		const { waitingFor } = session.attention;
		// Not under the hands of a person.
		if (timedOut && session.isDriven) stopLater();
		const stops = timedOut && request.onTimeout === "stop" && !session.isDriven;
		const stoppedBy = stops ? await stop(session, commands, isOver, signal) : null;
		const over = isOver() || session.ended;
		const streams = pipes && (await readStreams(session, commands, { pipes, over, signal }));
		const durationMs = Math.round(performance.now() - startedAt);
		commands.programChecked({ isOurs: over || (await commandLine(session.programPid)) === (await program) });
		const jobs = over && !session.ended ? await commands.jobs.takeNew(session.programPid) : [];
		const finished = commands.last?.run === run ? commands.last : null;
		if (finished !== null) commands.untold = null;
		returned = over || outcome.returned === "marked" ? "ended" : outcome.returned;
		return {
			returned,
			timedOut,
			waitedFor: timedOut ? waitingFor : null,
			attention: over ? (session.ended ? null : AT_PROMPT) : outcome.attention,
			from: finished?.from ?? commands.running?.from ?? session.journal.end,
			to: finished?.to ?? session.journal.end,
			exitCode: finished === null ? exitStatus(session.exit) : finished.exitCode,
			pipeStatus: finished?.pipeStatus ?? [],
			cwd: finished?.cwd ?? null,
			durationMs,
			shellEnded: session.ended,
			shellReplaced: commands.replaced,
			disputed: finished?.disputed === true,
			jobs,
			streams,
			stoppedBy,
			before,
		};
	} finally {
		turnEnds(returned);
		commands.forget(run); // only what was never taken
		if (pipes !== null && (commands.streamsEnded || session.ended)) void pipes.remove();
		else if (pipes !== null) commands.streams.leave(pipes);
	}
}

type Happened = Outcome<"marked" | "ended" | "waiting" | "still" | "timeout">;

const first = (conditions: readonly Condition<Happened>[], signal?: AbortSignal): Promise<Happened> =>
	wait(conditions, { signal });

interface Delivery extends Pick<RunRequest, "command" | "cwd"> {
	readonly as: Writer;
	readonly run: string;
	readonly stopAt: Deadline["stopAt"];
	/** Of `performance.now()`. */
	readonly takenBy: number;
	readonly behindPrompt: boolean;
	readonly streams: CommandScript["streams"];
}

/** Types the line that makes the shell take the command, and returns when it has. */
async function deliver(session: Session, commands: ShellCommands, request: Delivery): Promise<void> {
	const { command, run, stopAt } = request;
	const { kind, dir, name } = commands.identity;
	const typed = shells[kind].deliver({ ...request, command: "", paint: "" }).keys.length - 2; // but for Ctrl+U and Enter
	const { cols, cursor } = session.screen;
	const place = { cols, column: cursor.column, typed };
	const paint = request.behindPrompt ? paintOver(command, place) : "";
	if (request.behindPrompt) commands.showing(run, shownOf(command, place));
	const { file, keys } = shells[kind].deliver({ ...request, paint });
	const isTaken = () => commands.running?.run !== run || commands.running.from !== null;
	const remove = () => unlink(join(dir, run)).catch(() => {}); // may be gone with its session
	try {
		await writeDeadline(dir, { run, stopAt });
		await writeFiles(dir, { [run]: file });
		const counts = countInput(new TextEncoder().encode(`${command}\r`));
		await session.type(new TextEncoder().encode(keys), { as: request.as, counts });
		// Not for the caller to abort: the file may hold secrets and is removed when the shell has read it.
		const taken = [marked(commands, isTaken), ended(session)];
		const leftMs = Math.min(TAKEN_MS, Math.max(LEAST_TAKEN_MS, request.takenBy - performance.now()));
		let { returned } = await first([...taken, timeout(leftMs)]);
		if (returned === "timeout") {
			// So that it is not run later, by a shell that was stopped. It may have been read just now.
			await remove();
			({ returned } = await first([...taken, timeout(READ_MS)]));
		}
		// The shell was already exiting, and has run nothing.
		if (returned === "ended") refuseEnded(session);
		if (returned === "timeout")
			throw new Fault("shell_busy", {
				shell: name,
				running: "what keeps it from reading its terminal (or it is stopped)",
				session: session.name,
			});
	} finally {
		await remove();
	}
}

interface Reading {
	readonly pipes: StreamPipes;
	readonly over: boolean;
	readonly signal: AbortSignal;
}

async function readStreams(session: Session, commands: ShellCommands, reading: Reading): Promise<Streams> {
	const { pipes, over, signal } = reading;
	const copied = (isTrue: () => boolean) => first([marked(commands, isTrue), ended(session), timeout(STEP_MS)], signal);
	// While it runs there is no end to wait for. Its output may still be in a pipe.
	if (!over) await first([ended(session), stillness(session, COPIED_MS), timeout(10 * COPIED_MS)], signal);
	else {
		// A shell that was interrupted comes to its prompt without having ended its streams. Never before that: it would
		// find pipes without a reader, and block.
		await copied(() => commands.streamsEnded || commands.ready);
		if (!commands.streamsEnded && commands.ready) {
			await pipes.end();
			await copied(() => commands.streamsEnded);
		}
	}
	return pipes.read();
}

const AT_PROMPT: Attention = {
	activity: "waiting",
	waitingFor: "command",
	certainty: "certain",
	because: "the shell reported that the command has ended",
};

function shellOf({ commands, name }: Session): ShellCommands {
	if (commands === null) {
		throw new Fault("not_supported", {
			what: `\`run\` in session "${name}"`,
			instead: "It is not a shell that `run` started: use `send`, or leave `shell` out.",
		});
	}
	return commands;
}

function refuseBusy(session: Session, { running, identity }: ShellCommands): void {
	if (running === null) return;
	const text = running.command ?? (running.run === null ? "what a person typed" : "a command from before a restart");
	throw new Fault("shell_busy", { shell: identity.name, running: text.slice(0, 200), session: session.name });
}

function refuseEnded(session: Session): never {
	throw session.endFault();
}

/** Of what it printed: from where the caller has read. */
const unread = (session: Session, end: Finished | null, owner: string): Finished | null =>
	end && { ...end, from: Math.max(end.from, session.seenBy(owner)) };

/** The prompt is shown. A shell that has just started may be slow, or ask for input itself. */
async function untilReady(session: Session, commands: ShellCommands, signal: AbortSignal): Promise<void> {
	if (commands.ready) return;
	refuseBusy(session, commands);
	const isReady = () => commands.ready || commands.running !== null;
	const { returned } = await first(
		[marked(commands, isReady), ended(session), attention(session, { afterMs: UNWATCHED_MS }), timeout(START_MS)],
		signal,
	);
	// A command that redirected the prompt (`exec 2>file`) leaves no mark; kernel facts still show it.
	if (returned === "marked" || session.attention.waitingFor === "command") return;
	if (returned === "ended") refuseEnded(session);
	throw new Fault("shell_busy", {
		shell: commands.identity.name,
		running: `its own start files (${session.attention.because})`,
		session: session.name,
	});
}

/** What runs there has ended, or does not within the time of this request. */
async function untilFree(session: Session, commands: ShellCommands, { timeoutMs, signal }: RunRequest): Promise<void> {
	const isFree = () => commands.running === null;
	if (!isFree()) await first([marked(commands, isFree), ended(session), timeout(timeoutMs)], signal);
}

/** The call has returned and its command goes on: it is stopped when its time is over, unless the session is let go before. */
function stopAt(deadline: number, session: Session, commands: ShellCommands, isOver: () => boolean): void {
	const { whileAttached } = session;
	const done = session.use();
	const stopping = async () => {
		const leftMs = Math.max(0, deadline - performance.now());
		const { returned } = await first([marked(commands, isOver), ended(session), timeout(leftMs)], whileAttached);
		if (returned !== "timeout") return;
		// Not under the hands of a person.
		const isFree = [marked(commands, isOver), ended(session), handedBack(session)];
		if (session.isDriven) await wait<unknown>(isFree, { signal: whileAttached });
		if (isOver() || session.ended) return;
		// Before it ends: a caller that waits for it is told with its answer.
		session.commandStopping(isOver);
		await stop(session, commands, isOver, whileAttached);
	};
	stopping()
		.catch((error: unknown) => {
			if (!whileAttached.aborted && !session.ended) reportError(error, "stopping a command at its timeout");
		})
		.finally(done);
}

/** In a session that another daemon has left: its command is stopped when its time is over, which it may be already. */
export async function resumeDeadline(session: Session, replayedTo: number): Promise<void> {
	const { commands, whileAttached } = session;
	const deadline = commands === null ? null : await readDeadline(commands.identity.dir);
	if (commands === null || deadline?.stopAt == null) return;
	// Which command runs is known by its marks, once they are here.
	await wait<unknown>([received(session, replayedTo), ended(session)], { signal: whileAttached });
	const isOver = () => commands.running?.run !== deadline.run;
	if (!session.ended && !isOver()) stopAt(performance.now() + deadline.stopAt - Date.now(), session, commands, isOver);
}

interface Stopping {
	readonly step: "SIGINT" | "SIGTERM" | "SIGKILL";
	readonly isOver: () => boolean;
	readonly signal: AbortSignal;
}

/**
 * Signals the job in the foreground. A job that handles INT ends as if nothing had happened, and the shell would run the rest of
 * the line: it is held until the job is gone, and finds an interrupt of its own when it goes on.
 */
async function stopJob(session: Session, commands: ShellCommands, { step, isOver, signal }: Stopping): Promise<void> {
	await session.signalMain("SIGSTOP");
	try {
		if (step === "SIGINT") await session.signal(step, OURS);
		else await session.signalForeground(step);
		const deadline = performance.now() + STEP_MS;
		while (!session.ended && performance.now() < deadline && (await session.hasForegroundJob()))
			await first([ended(session), timeout(JOB_POLL_MS)], signal);
		if (!session.ended && !(await session.hasForegroundJob())) await session.signalMain("SIGINT");
	} finally {
		if (!session.ended) await session.signalMain("SIGCONT");
	}
	await first([marked(commands, isOver), ended(session), timeout(STEP_MS)], signal);
}

/** INT, TERM, KILL to the job in the foreground; the shell itself is ended only when it is what ignores them. */
async function stop(
	session: Session,
	commands: ShellCommands,
	isOver: () => boolean,
	signal: AbortSignal,
): Promise<string> {
	let last = "SIGINT";
	for (let round = 0; round < ROUNDS; round++) {
		for (const step of ["SIGINT", "SIGTERM", "SIGKILL"] as const) {
			if (isOver() || session.ended) return last;
			last = step;
			const isJob = !(await session.mainIsForeground());
			if (isJob) await stopJob(session, commands, { step, isOver, signal });
			else if (step === "SIGINT") await session.signal(step, OURS);
			else if (step === "SIGKILL") {
				await session.close(0);
				return last;
			} else continue;
			if (!isJob) await first([marked(commands, isOver), ended(session), timeout(STEP_MS)], signal);
		}
	}
	await session.close(0);
	return last;
}
