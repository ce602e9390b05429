// One command in a shell that keeps its state: hands it over, waits for its end,
// and when time is up ends the command and not the shell.
//
// The marks say where a command begins and ends, attention says when it asks
// something; this file only puts the two in order.

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { Attention } from "../../protocol/answer.ts";
import { Fault } from "../../protocol/fault.ts";
import { commandLine, descendants, processGroups } from "../../pty/process-tree.ts";
import { describeEnd, type Session } from "../session.ts";
import type { ShellCommands } from "./commands.ts";
import { paintOver } from "./paint.ts";
import { writeFiles } from "./prepare.ts";
import { shells } from "./shells.ts";
import { readStreams, type Streams } from "./streams.ts";

export interface RunRequest {
	readonly command: string;
	/** Change there first; it exists. */
	readonly cwd: string | null;
	readonly timeoutMs: number;
	/** At the timeout: end the command, or leave it running. */
	readonly onTimeout: "stop" | "leave";
	/** Return when it waits for input; otherwise only its end and the timeout count. */
	readonly waits: boolean;
	/** Keep stdout and stderr apart. */
	readonly separate: boolean;
	/** The caller went away: ends the wait, not the command. */
	readonly signal: AbortSignal;
}

export interface Job {
	readonly pid: number;
	readonly command: string;
}

export interface RunOutcome {
	/** `still`: a server at rest, or stopped; it goes on. */
	readonly returned: "ended" | "waiting" | "still" | "timeout";
	readonly timedOut: boolean;
	/** Whose turn it was in that moment. */
	readonly attention: Attention | null;
	/** Its output, by absolute offset. */
	readonly from: number;
	readonly to: number;
	/** Null while it goes on, or where it is not known. */
	readonly exitCode: number | null;
	readonly pipeStatus: readonly number[];
	readonly cwd: string | null;
	readonly durationMs: number;
	/** The command ended the shell, too. */
	readonly shellEnded: boolean;
	/** The shell became another program (`exec`): no command can be told from another any more. */
	readonly shellReplaced: boolean;
	/** What it left running in the background. */
	readonly jobs: readonly Job[];
	readonly streams: Streams | null;
	/** The signal that ended it at the timeout. */
	readonly stoppedBy: string | null;
}

// A shell with a version manager or two in its start files takes seconds.
const START_MS = 30_000;
// From typing to the first mark it takes a millisecond or two; this is for a machine that swaps.
const TAKEN_MS = 20_000;
// Most commands are over by then; only for others the holder is asked to watch.
const UNWATCHED_MS = 5;
const STEP_MS = 2000;
const COPIED_MS = 25;
// A job that dies by TERM or KILL lets the next command of the line begin: each needs its own ladder.
const ROUNDS = 5;

let runs = 0;

/** Runs a command in a shell session; refuses when one is running there. */
export async function runCommand(session: Session, request: RunRequest): Promise<RunOutcome> {
	const commands = shellOf(session);
	await untilReady(session, commands, request.signal);
	refuseBusy(session, commands);
	const startedAt = performance.now();
	const run = `${process.pid.toString(36)}x${(++runs).toString(36)}`;
	const { kind, dir, aid } = commands.identity;
	const script = { ...request, run, aid, paint: "" };
	const typed = shells[kind].deliver({ ...script, command: "" }).keys.length - 2; // but for Ctrl+U and Enter
	const { cols, cursor } = session.screen;
	// Without a prompt on the screen there is nothing to write behind.
	const paint = commands.ready ? paintOver(request.command, { cols, column: cursor.column, typed }) : "";
	const delivery = shells[kind].deliver({ ...script, paint });
	const program = commandLine(session.pid);
	commands.expect(run, request.command);
	try {
		await writeFiles(dir, delivery.files);
		await session.type(new TextEncoder().encode(delivery.keys));
	} catch (error) {
		commands.forget(run);
		throw error;
	}
	const isTaken = () => commands.running?.run !== run || commands.running.from !== null;
	const isOver = () => commands.running?.run !== run;
	const { signal, waits } = request;
	const taken = await first(session, isTaken, { waits: false, timeoutMs: TAKEN_MS, signal });
	// It was on its way out already, and has run nothing.
	if (taken.returned === "ended" && !isTaken()) return refuseEnded(session);
	if (taken.returned === "timeout") {
		commands.forget(run);
		throw new Fault("internal", { problem: `shell "${commands.identity.name}" did not take the command` });
	}
	const timeoutMs = Math.max(0, request.timeoutMs - (performance.now() - startedAt));
	const happened = await first(session, isOver, { waits, timeoutMs, signal });
	const timedOut = happened.returned === "timeout";
	const stoppedBy = timedOut && request.onTimeout === "stop" ? await stop(session, isOver, signal) : null;
	const over = isOver() || session.ended;
	const streams = request.separate ? await readStreams(dir, { run, aid }, streamsCopied) : null;
	async function streamsCopied() {
		if (over) await first(session, () => commands.streamsEnded, { waits: false, timeoutMs: STEP_MS, signal });
		// While it goes on there is no end to wait for. What it said is on its way through a pipe.
		else {
			await session.wait({ until: { only: true }, timeoutMs: COPIED_MS, signal });
			await session.wait({ until: { only: true, stillMs: COPIED_MS }, timeoutMs: 10 * COPIED_MS, signal });
		}
	}
	const durationMs = Math.round(performance.now() - startedAt);
	if (over) void sweep(dir, delivery.files, run);
	commands.replaced = !over && (await commandLine(session.pid)) !== (await program);
	const finished = commands.last?.run === run ? commands.last : null;
	return {
		returned: over || happened.returned === "over" ? "ended" : happened.returned,
		timedOut,
		attention: over ? (session.ended ? null : AT_PROMPT) : happened.attention,
		from: finished?.from ?? commands.running?.from ?? session.journal.end,
		to: finished?.to ?? session.journal.end,
		exitCode: finished === null ? (session.exit?.code ?? null) : finished.exitCode,
		pipeStatus: finished?.pipeStatus ?? [],
		cwd: finished?.cwd ?? null,
		durationMs,
		shellEnded: session.ended,
		shellReplaced: commands.replaced,
		jobs: over ? await newJobs(session, commands) : [],
		streams,
		stoppedBy,
	};
}

const AT_PROMPT: Attention = {
	activity: "waiting",
	waitingFor: "command",
	certainty: "certain",
	because: "the shell told that the command has ended",
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

function refuseEnded({ name, status, exit }: Session): never {
	throw new Fault("session_ended", { id: name, how: describeEnd(status, exit) });
}

/** The prompt is there. A shell that has just been started may take its time, or ask something itself. */
async function untilReady(session: Session, commands: ShellCommands, signal: AbortSignal): Promise<void> {
	if (commands.ready) return;
	refuseBusy(session, commands);
	const isReady = () => commands.ready || commands.running !== null;
	const { returned } = await first(session, isReady, { waits: true, timeoutMs: START_MS, signal });
	// A command that sent the prompt elsewhere (`exec 2>file`) leaves no mark of it; the kernel knows all the same.
	if (returned === "over" || session.attention.waitingFor === "command") return;
	if (returned === "ended") refuseEnded(session);
	throw new Fault("shell_busy", {
		shell: commands.identity.name,
		running: `its own start files (${session.attention.because})`,
		session: session.name,
	});
}

interface Wait {
	readonly waits: boolean;
	readonly timeoutMs: number;
	readonly signal: AbortSignal;
}

interface Happened {
	readonly returned: "over" | "ended" | "waiting" | "still" | "timeout";
	readonly attention: Attention | null;
}

const OVER: Happened = { returned: "over", attention: null };

/** The first of: a mark that makes it true (`over`), the end of the shell, the program's waiting, the time. */
async function first(session: Session, isTrue: () => boolean, { waits, timeoutMs, signal }: Wait): Promise<Happened> {
	const quick = await mark(session, isTrue, {
		timeoutMs: waits ? Math.min(timeoutMs, UNWATCHED_MS) : timeoutMs,
		signal,
	});
	if (quick.returned !== "timeout" || !waits || timeoutMs <= UNWATCHED_MS) return quick;
	const marked = new AbortController();
	const undo = session.commands?.onMark(() => {
		if (isTrue()) marked.abort();
	});
	try {
		const { returned, attention } = await session.wait({
			until: {},
			timeoutMs: timeoutMs - UNWATCHED_MS,
			signal: AbortSignal.any([signal, marked.signal]),
		});
		if (isTrue()) return OVER;
		return { returned: returned === "matched" || returned === "now" ? "still" : returned, attention };
	} catch (error) {
		if (marked.signal.aborted) return OVER;
		throw error;
	} finally {
		undo?.();
	}
}

/** The same without looking at the program: nobody asks the kernel for what a mark will tell. */
function mark(session: Session, isTrue: () => boolean, { timeoutMs, signal }: Omit<Wait, "waits">): Promise<Happened> {
	return new Promise((resolve, reject) => {
		const undo: (() => void)[] = [];
		const settle = (act: () => void) => {
			for (const each of undo) each();
			act();
		};
		const look = () => {
			if (isTrue()) settle(() => resolve(OVER));
			else if (session.ended) settle(() => resolve({ returned: "ended", attention: null }));
		};
		const abort = () => settle(() => reject(signal.reason));
		const timer = globalThis.setTimeout(
			() => settle(() => resolve({ returned: "timeout", attention: null })),
			timeoutMs,
		);
		signal.addEventListener("abort", abort, { once: true });
		undo.push(
			() => clearTimeout(timer),
			() => signal.removeEventListener("abort", abort),
			session.onEnded(look),
			session.commands?.onMark(look) ?? (() => {}),
		);
		if (signal.aborted) abort();
		else look();
	});
}

/** Up the ladder, to the job in the foreground; the shell itself is ended only when it is the one that does not listen. */
async function stop(session: Session, isOver: () => boolean, signal: AbortSignal): Promise<string> {
	let last = "SIGINT";
	for (let round = 0; round < ROUNDS; round++) {
		for (const step of ["SIGINT", "SIGTERM", "SIGKILL"] as const) {
			if (isOver() || session.ended) return last;
			last = step;
			if (step === "SIGINT") await session.signal(step);
			else if (!(await session.mainIsForeground())) await session.signalForeground(step);
			else if (step === "SIGKILL") {
				await session.close(0);
				return last;
			} else continue;
			const { returned } = await first(session, isOver, { waits: false, timeoutMs: STEP_MS, signal });
			if (returned === "over" || returned === "ended") return last;
		}
	}
	await session.close(0);
	return last;
}

const knownJobs = new WeakMap<ShellCommands, ReadonlySet<number>>();

/** What lives in groups of its own behind the shell; what the prompt itself starts is in the shell's group or in front. */
async function newJobs(session: Session, commands: ShellCommands): Promise<Job[]> {
	if (session.ended) return [];
	const pids = await descendants(session.pid);
	const before = knownJobs.get(commands);
	knownJobs.set(commands, new Set(pids));
	const fresh = pids.filter((pid) => !before?.has(pid));
	return (await Promise.all(fresh.map((pid) => jobOf(pid, session.pid)))).flat();
}

async function jobOf(pid: number, shellPid: number): Promise<Job[]> {
	// Right after the fork a job is still a copy of the shell, even in its group; one in parentheses stays a copy.
	for (let tries = 0; ; tries++) {
		const [command, own, groups] = await Promise.all([commandLine(pid), commandLine(shellPid), processGroups(pid)]);
		if (groups === null) return [];
		// In the middle of its exec it has no command line at all.
		if ((command !== null && command !== own) || tries === 10) {
			const isJob = command !== null && groups.own !== shellPid && groups.own !== groups.foreground;
			return isJob ? [{ pid, command }] : [];
		}
		await setTimeout(2);
	}
}

// The shell may still be looking whether its streams have been copied.
const SWEEP_MS = 1000;

/** What was delivery over is nobody's business any more. */
async function sweep(dir: string, files: Readonly<Record<string, string>>, run: string): Promise<void> {
	const remove = (names: readonly string[]) =>
		Promise.all(names.map((name) => rm(join(dir, name), { force: true }).catch(() => {}))); // it may have gone with its session
	await remove([...Object.keys(files), ...[1, 2].flatMap((n) => [`${run}.${n}`, `${run}.out${n}`])]);
	await setTimeout(SWEEP_MS, undefined, { ref: false });
	await remove([`${run}.done1`, `${run}.done2`]);
}
