// From kernel facts to what the rules look at: which thread reads the terminal, how, and which others are busy.

import { oneLine, quoted } from "../protocol/clean.ts";
import type { Doubt, InnerTerminal, KernelFacts, Risk, ThreadFacts } from "../protocol/kernel-facts.ts";
import type { AttentionInput, ScreenFacts } from "./attention.ts";
import { untilTaken } from "./escape-timer.ts";
import { type InputKind, inputKind } from "./input-kind.ts";
import { asks, type LineShape, shapeOf } from "./last-line.ts";
import type { Rest } from "./learnt.ts";

/**
 * How the terminal is being read:
 * - `blocked`: a main thread sleeps in a read of the terminal, or polls it and nothing else, without a timeout
 * - `ticking`: it waits for nothing else, but wakes up by itself now and then
 * - `looping`: any other way: with sockets and pipes, or in a worker thread
 */
export type Reading = "blocked" | "ticking" | "looping";

export interface Reader {
	readonly thread: ThreadFacts;
	readonly reading: Reading;
}

export interface Evidence {
	readonly input: AttentionInput;
	readonly facts: KernelFacts;
	/** The threads of the foreground group. */
	readonly foreground: readonly ThreadFacts[];
	/** Best first: blocked before ticking before looping, the foreground before others. */
	readonly reader: Reader | null;
	/** A foreground thread that is on a processor or waits for a disk. */
	readonly busy: ThreadFacts | null;
	/** A foreground process, not the reader's, that sleeps on a timer. */
	readonly timer: ThreadFacts | null;
	/** Part of the foreground is not readable. */
	readonly opaque: ThreadFacts | null;
	/** Why the list may not be all there is; null: it is. Then nothing is certain. */
	readonly doubt: string | null;
	/** Another thread that has something to do or to wait for besides the reader: a timer, a socket, work. */
	readonly company: ThreadFacts | null;
	/** The reader passes input on: to terminals within, over what else it waits for, or to another place. */
	readonly relayed: boolean;
	/** The reader is the shell itself, at its prompt: not a program that it runs for a key. */
	readonly atShell: boolean;
	/** Nothing is known about the processes. */
	readonly blind: boolean;
	/** What it would want if it waits. */
	readonly kind: InputKind;
	readonly shape: LineShape;
	/** Quiet, and not just typed to: the program has had this long to react. */
	readonly restMs: number;
}

const order: Record<Reading, number> = { blocked: 0, ticking: 1, looping: 2 };

function readingOf(thread: ThreadFacts): Reading | null {
	if (thread.doing !== "tty-read" && thread.doing !== "tty-poll") return null;
	const alone = (thread.others ?? 0) === 0 && thread.listens !== true;
	if (!thread.main || !alone || (thread.inner?.length ?? 0) > 0) return "looping";
	return thread.timeoutMs === undefined ? "blocked" : "ticking";
}

export function readerAmong(threads: readonly ThreadFacts[]): Reader | null {
	const readers = threads.flatMap((thread): Reader[] => {
		const reading = readingOf(thread);
		return reading === null ? [] : [{ thread, reading }];
	});
	const rank = ({ thread, reading }: Reader) => order[reading] * 2 + (thread.foreground ? 0 : 1);
	return readers.sort((a, b) => rank(a) - rank(b))[0] ?? null;
}

/** One that wakes up by itself prints then, like any loop: its turn is when it is quiet. */
function asWoken({ thread, reading }: Reader): Reader {
	return { thread, reading: reading === "blocked" && thread.risks?.includes("woken") === true ? "ticking" : reading };
}

/** How the tool of another place reads says nothing of the program there: in Go any thread may be the one that does, its main one, too. */
const asRelay = ({ thread }: Reader): Reader => ({ thread, reading: "looping" });

/**
 * A read in raw mode that gives up by itself: with VMIN 0, or with VTIME once the first of several bytes is there. It is
 * a poll with a timeout.
 */
export function withTimeouts(
	threads: readonly ThreadFacts[],
	modes: Pick<InnerTerminal, "canonical" | "vmin" | "vtime">,
): readonly ThreadFacts[] {
	const { canonical, vmin, vtime } = modes;
	if (canonical !== false || vmin === 1 || (vmin > 1 && vtime === 0)) return threads;
	return threads.map((thread) => (thread.doing === "tty-read" ? { ...thread, timeoutMs: vtime * 100 } : thread));
}

/**
 * Goes on only when another thread of the session does: it waits for a child, or for its own process or group. What it
 * waits for can't come from elsewhere, nor from a clock.
 */
function isPassive(thread: ThreadFacts, reader: ThreadFacts | undefined): boolean {
	const { doing, others = 0, listens = false, elsewhere = false, peeks = false, risks = [], timeoutMs } = thread;
	// A reader that left the session may be that child.
	if (elsewhere && (doing !== "child-wait" || reader?.foreground !== false)) return false;
	if (others > 0 || listens || peeks || risks.length > 0 || timeoutMs !== undefined) return false;
	return doing === "child-wait" || doing === "other" || readingOf(thread) === "blocked";
}

const DOUBTS: Record<Doubt, string> = {
	call: "a system call is not known",
	set: "not all that a thread waits for is known",
	sleep: "a thread sleeps within its call for something else",
	list: "not all processes and threads are known",
	changed: "processes changed meanwhile",
};

const RISKS: Record<Risk, string> = {
	mixed: "it waits for more than the terminal",
	timers: "it has timers",
	shares: "other processes may have changed what it waits for",
	orphans: "it may have started a process that is still there",
	woken: "it has woken up by itself",
	connected: "it has a pipe to a process in the background",
};
/** A shell at its prompt may have jobs, and be woken by their end: it is its turn all the same. */
const EXCUSED_AT_SHELL: readonly Risk[] = ["orphans", "woken", "connected"];

/** Why the reader may go on although nobody types; null: no reason is known. */
export function riskOf({ atShell, reader }: Evidence): string | null {
	const risk = reader?.thread.risks?.find((one) => !atShell || !EXCUSED_AT_SHELL.includes(one));
	return risk === undefined ? null : RISKS[risk];
}

function doubtAbout({ doubts, more, threads }: KernelFacts): string | null {
	if (doubts === null) return "its holder is an older version";
	const [first] = doubts;
	if (first !== undefined) return DOUBTS[first];
	if (more > 0) return DOUBTS.list;
	const unseen = threads.find(({ foreground, doing }) => foreground && (doing === "opaque" || doing === "unknown"));
	return unseen === undefined ? null : `${who(unseen)} ${does(unseen)}`;
}

/** It passes input on: to terminals within, or over what else it waits for. */
function relays({ main, others = 0, inner = [], outside }: ThreadFacts): boolean {
	return main && (others > 0 || inner.length > 0 || outside === true);
}

/** A full screen of a relay's own, in which a program prints lines. Not of one that shows more than its terminal within. */
function withoutRelay(screen: ScreenFacts, reader: Reader | null, relayed: boolean): ScreenFacts {
	if (reader === null || !screen.alternate || !screen.endsAtCursor || !relayed) return screen;
	if (reader.thread.foreground && (reader.thread.inner?.length ?? 0) > 0) return screen;
	return { ...screen, alternate: false, applicationKeys: false, footerBelow: 0 };
}

export function isBusy(thread: ThreadFacts): boolean {
	return thread.doing === "running" || thread.doing === "disk";
}

export function evidenceOf(input: AttentionInput): Evidence {
	const facts = { ...input.facts, threads: withTimeouts(input.facts.threads, input.facts) };
	const foreground = facts.threads.filter((thread) => thread.foreground);
	const first = readerAmong(facts.threads);
	const atShell = input.shell.atPrompt === true && first !== null && first.thread.pid === input.shell.pid;
	// In line mode it is the tool itself that asks: for a password, or whether to trust a host.
	const toElsewhere = input.relays === true && !facts.canonical;
	const reader = first === null || atShell ? first : toElsewhere ? asRelay(first) : asWoken(first);
	const relayed = reader !== null && (relays(reader.thread) || toElsewhere);
	// A reader that left the session depends on others that did.
	const concerned = reader === null || reader.thread.foreground ? foreground : facts.threads;
	return {
		input,
		facts,
		foreground,
		reader,
		busy: foreground.find(isBusy) ?? null,
		timer:
			foreground.find((thread) => thread.doing === "timer" && thread.main && thread.pid !== reader?.thread.pid) ?? null,
		opaque: foreground.find((thread) => thread.doing === "opaque") ?? null,
		doubt: doubtAbout(facts),
		company: concerned.find((thread) => thread !== reader?.thread && !isPassive(thread, reader?.thread)) ?? null,
		relayed,
		atShell,
		blind: !facts.readable || (foreground.length === 0 && facts.foregroundLives),
		kind: inputKind(facts, withoutRelay(input.screen, reader, relayed), { midLine: input.midLine ?? false }),
		shape: shapeOf(input.screen.lastLine),
		restMs: Math.min(facts.quietMs, facts.sinceInputMs ?? Number.POSITIVE_INFINITY),
	};
}

// A loop that has read a key draws and sleeps again; what it does on the side may interrupt that, so it must be quiet this long.
const LOOP_REST_MS = 25;
// Without a look at the program, quiet is all there is.
const UNSEEN_REST_MS = 50;

/** Whether the program has taken all that was typed: see `Decision`. No verdict on whose turn it is. */
export function takenInMs({ input, facts, reader, busy, opaque, blind, restMs }: Evidence): number | null {
	const { pendingEscape = null } = input;
	if (facts.queued > 0 || facts.unread || busy !== null) return null;
	if (reader === null) return opaque !== null || blind ? Math.max(0, UNSEEN_REST_MS - restMs) : null;
	if (!reader.thread.fresh) return null;
	if (pendingEscape !== null) return untilTaken(pendingEscape, facts.at);
	return reader.reading === "blocked" ? 0 : Math.max(0, LOOP_REST_MS - restMs);
}

/** Whether the program is at rest: see `Decision`. A relay's server draws after its client has slept again. */
export function restsInMs({ facts, reader, busy }: Evidence): number | null {
	if (busy !== null) return null;
	return reader?.reading === "blocked" ? 0 : Math.max(0, UNSEEN_REST_MS - facts.quietMs);
}

// Spinners redraw every 80 to 120 ms: a shorter silence is no evidence.
export const QUIET_MS = 150;
export const LONG_TICK_MS = 500;
// A poll this short is a quick check of the keyboard during other work (irb at its start), unless it repeats forever.
const PEEK_MS = 10;
const PEEK_QUIET_MS = 1000;

/** The program edits the line itself and shows a prompt. */
export const atEditorsPrompt = ({ facts, kind, shape }: Evidence) =>
	!facts.canonical && kind.kind === "line" && asks(shape);

/** The process that shows such a prompt and reads the terminal itself. */
export function prompter(evidence: Evidence): number | null {
	const { reader, facts } = evidence;
	if (reader === null || !reader.thread.foreground || !reader.thread.fresh || facts.unread !== 0) return null;
	return atEditorsPrompt(evidence) && !evidence.relayed ? reader.thread.pid : null;
}

/** How long a loop must have been quiet, as far as nothing is learnt of it. */
function unlearntQuietMs(evidence: Evidence, { timeoutMs: tickMs = Number.POSITIVE_INFINITY }: ThreadFacts): number {
	if (tickMs < PEEK_MS) return PEEK_QUIET_MS;
	// One that redraws on every tick is quiet for at most a tick; a long tick is not a spinner.
	// But nothing spins behind the prompt of a line editor: its ticks are a program's own timers.
	return tickMs < LONG_TICK_MS && !atEditorsPrompt(evidence) ? Math.max(QUIET_MS, 1.5 * tickMs) : QUIET_MS;
}

/** How long a loop must have been quiet. */
export function loopQuietMs(evidence: Evidence, thread: ThreadFacts): number {
	return isLearnt(evidence, "loop") ? QUIET_MS : unlearntQuietMs(evidence, thread);
}

/** A process that may be at rest, and how. */
export interface AtRest {
	readonly rest: Rest;
	readonly pid: number;
	readonly command: string;
}

/** The only process of the foreground that does not wait for a child, where its rest has to be learnt. */
export function atRest(evidence: Evidence): AtRest | null {
	const { facts, foreground, reader, busy, opaque, blind, input } = evidence;
	// How a relay rests says nothing of the program behind it.
	if (input.relays === true) return null;
	if (facts.canonical || facts.echo || busy !== null || opaque !== null || blind) return null;
	const awake = foreground.filter((thread) => thread.doing !== "child-wait");
	const first = awake.find((thread) => thread.main);
	if (first === undefined || awake.some((thread) => thread.pid !== first.pid)) return null;
	const { pid, command } = first;
	if (reader === null) return { rest: "peeks", pid, command };
	const isSlow = reader.reading === "ticking" && unlearntQuietMs(evidence, reader.thread) > QUIET_MS;
	return isSlow && reader.thread.pid === pid ? { rest: "loop", pid, command } : null;
}

/** It rests in a way that was learnt. */
export function isLearnt(evidence: Evidence, rest: Rest): boolean {
	const { learnt } = evidence.input;
	const now = learnt ? atRest(evidence) : null;
	return now !== null && now.rest === rest && now.pid === learnt?.pid && learnt.rests.includes(rest);
}

// The kernel keeps 15 bytes of a name, which the process may have set itself.
const MAX_NAME_CHARS = 32;

export function who(thread: ThreadFacts): string {
	return `${quoted(oneLine(thread.command, MAX_NAME_CHARS))} (${thread.pid})`;
}

const sleep = (ms: number) => (ms >= 1000 ? `${Math.round(ms / 100) / 10} s` : `${ms} ms`);

/** read(0), poll with a timeout of 100 ms, … */
export function how(thread: ThreadFacts): string {
	const { call = "a system call", fd, timeoutMs } = thread;
	const where = fd === undefined ? call : `${call}(${fd})`;
	return timeoutMs === undefined ? where : `${where} for at most ${sleep(timeoutMs)}`;
}

/** What a thread that does not read the terminal does, as a predicate. */
export function does(thread: ThreadFacts): string {
	switch (thread.doing) {
		case "running":
			return "is running";
		case "disk":
			return "waits for the disk";
		case "stopped":
			return "is stopped";
		case "opaque":
			return "sleeps (not readable)";
		case "tty-write":
			return "is blocked writing to the terminal";
		case "timer":
			return thread.timeoutMs === undefined ? "sleeps on a timer" : `sleeps on a timer (${sleep(thread.timeoutMs)})`;
		case "child-wait":
			return "waits for a child";
		case "accept":
			return "waits for connections";
		case "tty-read":
		case "tty-poll":
			return `waits in ${how(thread)}`;
		case "other":
			return thread.call === undefined ? "sleeps" : `sleeps in ${thread.call}`;
		case "unknown":
			return `sleeps in ${thread.call ?? "a system call that is not known"}`;
	}
}
