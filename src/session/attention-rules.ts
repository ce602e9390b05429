// Attention as a table: the first rule that returns a verdict decides, with its sentence of evidence.
//
// The first rules use kernel facts. The rest use silence, the screen and the shape of the last line, and are never certain.
// The numbers come from 366 labelled moments of 250 programs.
//
// What `certain` requires, of facts without a doubt (unknown calls, lists that were cut, threads that changed):
// - waiting: a main thread of the foreground sleeps in a read of this very terminal, or polls nothing else, without a
//   timeout; it has run since we last typed and left nothing unread; its process has no other thread, no timers and shares
//   nothing with others; every other process of the foreground waits for a child, itself or its own group; and it has not
//   gone on by itself lately
// - working: input is queued, or unread by one that it must wake; a foreground thread is blocked writing, and nobody reads.
//   Stopped: all of them are, and nobody reads. That no process reads the terminal is not enough: a program may look at the
//   keyboard whenever it runs

import type { WaitingFor } from "../protocol/answer.ts";
import type { InnerTerminal, ThreadFacts } from "../protocol/kernel-facts.ts";
import { untilTaken } from "./escape-timer.ts";
import {
	atEditorsPrompt,
	does,
	type Evidence,
	how,
	isLearnt,
	LONG_TICK_MS,
	loopQuietMs,
	QUIET_MS,
	type Reader,
	riskOf,
	who,
} from "./evidence.ts";
import { addressed, within } from "./inner-terminal.ts";
import { asks, isBehindPrompt } from "./last-line.ts";
import { onlyTicks } from "./ticking.ts";
import { bytes, not, notYet, quiet, seconds, unless, type Verdict, waiting } from "./verdict.ts";

interface Rule {
	readonly name: string;
	readonly verdict: (evidence: Evidence) => Verdict | null;
}

// A full screen that is still, and yet wakes up this often, does so to look at the keyboard; more often, to look for data.
const CLOCK_MS = { least: 10, most: 250 };
// One that has answered a key may have more to draw when it wakes up next.
const LEARNT_QUIET_MS = 300;
// A longer sleep is no look at the keyboard.
const LONG_SLEEP_MS = 5000;
// A loop that watches only the terminal and sleeps long has nothing else to do; this is for what it still prints.
const REST_MS = 20;
const SECRET_QUIET_MS = 50;
const SERVER_QUIET_MS = 300;
// A prompt was shown this long ago, and nothing was typed since: what is printed over it is no answer to the caller.
export const PROMPTED_MS = 300;
// The far end of a connection may pause in the middle of a line: text that does not look like a question must stand this long.
const FAR_QUIET_MS = 2000;
// What is typed there comes back from anywhere on earth within this, if anything does.
const FAR_ECHO_MS = 1000;
// A full screen is empty only while its program starts: on a busy machine for this long.
const BLANK_QUIET_MS = 2000;
// A flood that fills the terminal is read on within milliseconds, on a busy machine within this.
const STOPPED_QUIET_MS = 250;
// Without any evidence, text that does not look like a question must have been there this long.
const BLIND_QUIET_MS = 700;

/** The cursor is where input would be typed, or a full screen is drawn. */
function invites({ input: { screen }, facts }: Evidence): boolean {
	return screen.alternate || screen.cursorColumn > 0 || (!facts.canonical && !screen.cursorVisible);
}

/**
 * It has set up a line editor and shows a prompt: after some quiet that is a turn, though another process of its group is at
 * work (what a shell's start files left behind).
 */
function hasPrompt(evidence: Evidence, doer: ThreadFacts): boolean {
	const { reader } = evidence;
	if (reader === null || !reader.thread.foreground || reader.thread.pid === doer.pid) return false;
	return !evidence.facts.unread && atEditorsPrompt(evidence);
}

/** Why it may be more than its turn that keeps a blocked reader waiting; null: nothing. */
function notOnlyItsTurn(evidence: Evidence): string | null {
	const { doubt, company, facts, reader, atShell } = evidence;
	if (doubt !== null) return doubt;
	if (company !== null) return `${who(company)} ${does(company)}`;
	if (facts.wakesMs !== undefined) return "a worker thread wakes up by itself";
	if (reader?.thread.peeks === true) return "a signal may wake it";
	if (reader?.thread.elsewhere === true && !atShell) return "it has a child in the background";
	if (reader?.thread.wakes === true) return "its own process may wake it";
	if (reader?.thread.workers === true) return "its other threads may have changed what it waits for";
	if (facts.unread === null && facts.sinceInputMs !== null) return "how much input is unread is not known";
	if (reader?.thread.foreground === false) return "the reader is not in the foreground";
	return riskOf(evidence);
}

/** A shell at its prompt takes a command, unless it asks something in between. */
function wanted({ atShell, facts, kind, shape, input }: Evidence): WaitingFor {
	const asksSecret = kind.kind === "secret" && (facts.canonical || !isBehindPrompt(input.screen.lastLine));
	const asksKey = kind.kind === "key" && shape === "completions";
	return atShell && !asksSecret && !asksKey ? "command" : kind.kind;
}

/** Input that is there wakes it. */
function mustWake({ facts, doubt }: Evidence, { doing, call, foreground, workers, risks = [] }: ThreadFacts): boolean {
	if (doubt !== null || !foreground || workers === true || risks.length > 0) return false;
	// It may want more before it is told (VMIN), or have been told already (EPOLLET).
	return (facts.canonical || facts.vmin <= 1) && (doing === "tty-read" || call?.startsWith("epoll") === false);
}

const readsAnyhow = (reader: Reader | null) => (reader === null ? null : `${who(reader.thread)} reads the terminal`);

const isClock = ({ timeoutMs = 0 }: ThreadFacts) => timeoutMs >= CLOCK_MS.least && timeoutMs <= CLOCK_MS.most;

/**
 * Waits for input only, prompt or not: a worker thread that sleeps in a read while no thread waits for other I/O
 * (Go, Java), or a poll that ticks. Not an epoll: libuv leaves a paused stdin in it.
 */
function wantsInput({ foreground, input }: Evidence, { thread, reading }: Reader): boolean {
	// Or that of a relay (docker), which takes input whatever the program behind it does.
	if (input.relays === true) return false;
	if (thread.doing === "tty-read")
		return foreground.every((other) => (other.others ?? 0) === 0 && other.listens !== true);
	return reading === "ticking" && thread.call?.startsWith("epoll") !== true;
}

export const rules: readonly Rule[] = [
	{
		name: "input is queued",
		verdict: ({ facts }) =>
			facts.queued > 0
				? not("working", "certain", `${bytes(facts.queued)} of input have not reached the terminal yet`)
				: null,
	},
	{
		name: "stopped",
		verdict: ({ foreground, doubt, reader }) => {
			const [first] = foreground;
			if (first === undefined || !foreground.every((thread) => thread.doing === "stopped")) return null;
			const throttled = foreground.some(({ risks }) => risks?.includes("woken")) ? "it may be continued soon" : null;
			return unless(
				doubt ?? readsAnyhow(reader) ?? throttled,
				not("stopped", "certain", `${who(first)} is stopped (SIGCONT resumes it)`),
			);
		},
	},
	{
		name: "input is unread",
		verdict: (evidence) => {
			const { facts, reader } = evidence;
			if (reader === null || !facts.unread) return null;
			// Woken by it and asleep again, so it wants more than it got (VMIN). Left to the later rules.
			if (reader.thread.doing === "tty-read" && reader.thread.fresh && !facts.canonical) return null;
			const { thread } = reader;
			const certainty = mustWake(evidence, thread) ? "certain" : "likely";
			return not("working", certainty, `${who(thread)} has not read ${bytes(facts.unread)} of input yet`);
		},
	},
	{
		name: "an old read",
		verdict: ({ reader }) =>
			reader !== null && !reader.thread.fresh
				? not("working", "likely", `${who(reader.thread)} has not woken up for the input yet`)
				: null,
	},
	{
		name: "blocked reading",
		verdict: (evidence) => {
			const { reader, facts, company, kind } = evidence;
			if (reader?.reading !== "blocked" || facts.unread) return null;
			const { thread } = reader;
			const because = `${who(thread)} is blocked in ${how(thread)} on the terminal; ${kind.because}`;
			// A process outside the session may read while the foreground does something else.
			if (!thread.foreground && company !== null)
				return not("working", "likely", `${who(company)} ${does(company)}, while ${because}`);
			const what = wanted(evidence);
			const shown = what === "command" ? "; the shell shows its prompt" : "";
			return unless(notOnlyItsTurn(evidence), waiting(what, "certain", `${because}${shown}`));
		},
	},
	{
		name: "blocked writing",
		verdict: ({ foreground, facts, input, doubt: unknown, reader }) => {
			const writer = foreground.find((thread) => thread.doing === "tty-write");
			if (writer === undefined) return null;
			// Between two writes it, or another, may look at the keyboard without waiting.
			const looks =
				foreground.some(({ nonblocking }) => nonblocking === true) || (!facts.canonical && facts.vmin === 0);
			const doubt = unknown ?? readsAnyhow(reader) ?? (looks ? "it may look at the keyboard" : null);
			const limit = input.outputLimit == null ? "" : `; its output is limited to ${input.outputLimit} bytes a second`;
			const working = unless(doubt, not("working", "certain", `${who(writer)} ${does(writer)}${limit}`));
			// The holder takes all output at once. If none comes, Ctrl+S has stopped it: nothing else keeps a writer asleep.
			if (facts.flags?.includes("ixon") !== true) return working;
			const leftMs = STOPPED_QUIET_MS - facts.quietMs;
			if (leftMs > 0) return { ...working, recheckMs: Math.ceil(leftMs) };
			const because = `output is stopped (Ctrl+S); Ctrl+Q resumes it: ${who(writer)} ${does(writer)}`;
			return unless(doubt, not("stopped", input.stopTyped === true ? "certain" : "likely", because));
		},
	},
	{
		name: "half a key",
		verdict: ({ input: { pendingEscape, facts }, reader }) => {
			if (reader === null || pendingEscape === undefined || pendingEscape === null) return null;
			const because = `${who(reader.thread)} may still take Escape as the start of a key sequence`;
			return { ...not("working", "likely", because), recheckMs: untilTaken(pendingEscape, facts.at) };
		},
	},
	{
		name: "a terminal within",
		verdict: (evidence) => {
			const { reader, facts, restMs } = evidence;
			if (reader === null || facts.unread) return null;
			const inner = addressed(reader.thread.inner ?? []);
			if (inner.length === 0) return null;
			const { screen } = evidence.input;
			const relay = { relayed: !reader.thread.foreground, rested: restMs >= QUIET_MS };
			const verdicts = inner.map((terminal) => within(terminal, screen, relay));
			const [first] = verdicts;
			// Several panes that do not agree, and none or more than one of them has run since we typed.
			if (first === undefined || first === null || verdicts.some((other) => other?.activity !== first.activity))
				return null;
			// A relay that is about to wake up has something to paint.
			if ((reader.thread.timeoutMs ?? LONG_TICK_MS) < LONG_TICK_MS && restMs < QUIET_MS) {
				return notYet(evidence, QUIET_MS, `${who(reader.thread)} was active ${seconds(restMs)} ago`);
			}
			return {
				...first,
				because: `${who(reader.thread)} relays to pts/${(inner[0] as InnerTerminal).pts}, where ${first.because}`,
			};
		},
	},
	{
		name: "serving",
		verdict: (evidence) => {
			const { foreground, busy, timer, reader } = evidence;
			const server = foreground.find((thread) => thread.listens === true && (thread.others ?? 0) === 0);
			if (server === undefined || busy !== null || timer !== null || (reader !== null && invites(evidence)))
				return null;
			if (evidence.restMs < SERVER_QUIET_MS)
				return notYet(evidence, SERVER_QUIET_MS, `${who(server)} listens for connections`);
			return not("serving", "likely", `${who(server)} listens for connections and has no clients${quiet(evidence)}`);
		},
	},
	{
		// It sleeps, repaints, and looks at the keyboard without waiting for it.
		name: "a screen that looks at the keyboard",
		verdict: (evidence) => {
			const { reader, foreground, opaque, busy, timer, facts, input, kind, shape } = evidence;
			if (reader !== null || opaque !== null || busy !== null) return null;
			if (facts.canonical || facts.unread || !input.screen.alternate) return null;
			if (shape === "empty" && input.screen.endsAtCursor) return null; // nothing is drawn yet
			// By a clock, or on a signal (SIGIO).
			const woken = foreground.find(({ main, peeks, local }) => main && peeks === true && local !== true);
			const looks = timer ?? woken;
			if (looks === undefined) return null;
			if (!foreground.every(({ pid, doing }) => pid === looks.pid || doing === "child-wait")) return null;
			if (timer !== null && timer.nonblocking !== true && !isClock(timer)) return null;
			const because = `${who(looks)} ${does(looks)} and may look at the keyboard when it wakes up`;
			if (evidence.restMs < QUIET_MS) return notYet(evidence, QUIET_MS, because);
			return waiting(kind.kind, "likely", `${because}${quiet(evidence)}; ${kind.because}`);
		},
	},
	{
		name: "a learnt look at the keyboard",
		verdict: (evidence) => {
			const { timer, facts, kind } = evidence;
			if (timer === null || facts.unread !== 0 || !isLearnt(evidence, "peeks")) return null;
			if ((timer.timeoutMs ?? 0) > LONG_SLEEP_MS) return null;
			const because = `${who(timer)} ${does(timer)}, but has taken input like this before`;
			if (evidence.restMs < LEARNT_QUIET_MS) return notYet(evidence, LEARNT_QUIET_MS, because);
			return waiting(kind.kind, "likely", `${because}${quiet(evidence)}; ${kind.because}`);
		},
	},
	{
		// A REPL whose timers print is never quiet.
		name: "a prompt that is printed over",
		verdict: ({ input: { prompted }, foreground, facts }) => {
			if (!prompted || prompted.sinceMs < PROMPTED_MS || facts.canonical || facts.unread !== 0) return null;
			const shower = foreground.find(({ pid, main }) => main && pid === prompted.pid);
			if (shower === undefined || !foreground.every(({ pid, doing }) => pid === shower.pid || doing === "child-wait"))
				return null;
			return waiting("line", "likely", `${who(shower)} showed its prompt ${seconds(prompted.sinceMs)} ago, and prints`);
		},
	},
	{
		name: "nobody reads",
		verdict: ({ reader, opaque, blind, foreground, busy, timer, facts }) => {
			if (reader !== null || opaque !== null || blind) return null;
			const doer = busy ?? timer ?? foreground.at(-1);
			const unread = facts.unread ? `; ${bytes(facts.unread)} of input unread` : "";
			if (doer === undefined) return not("working", "likely", `no process has the terminal${unread}`);
			return not("working", "likely", `no process reads the terminal: ${who(doer)} ${does(doer)}${unread}`);
		},
	},

	// From here on never certain.
	{
		// fish polls other things too, and processes left in its group by its start files may be busy.
		name: "at the shell's prompt",
		verdict: (evidence) => {
			const { reader, facts, atShell } = evidence;
			if (!atShell || reader === null || facts.unread) return null;
			const because = `${who(reader.thread)} shows its prompt and waits for the terminal in ${how(reader.thread)}`;
			return waiting(wanted(evidence), "likely", because);
		},
	},
	{
		name: "someone is busy",
		verdict: (evidence) => {
			const { busy, timer, reader } = evidence;
			const doer = busy ?? timer;
			if (doer === null) return null;
			const prompts = hasPrompt(evidence, doer);
			if (prompts && evidence.restMs >= SERVER_QUIET_MS) return null;
			const what = `${who(doer)} ${does(doer)}`;
			const because = reader === null ? what : `${what}, though ${who(reader.thread)} would take input`;
			return prompts ? notYet(evidence, SERVER_QUIET_MS, because) : not("working", "likely", because);
		},
	},
	{
		// A person would wait for it to draw. It may have a thread that reads from the start (fzf).
		name: "nothing is drawn yet",
		verdict: (evidence) => {
			const { reader, input } = evidence;
			if (reader === null || !input.screen.blank || evidence.restMs >= BLANK_QUIET_MS) return null;
			return notYet(evidence, BLANK_QUIET_MS, `${who(reader.thread)} has drawn nothing on its full screen yet`);
		},
	},
	{
		name: "a loop at rest",
		verdict: (evidence) => {
			const { reader, foreground, facts } = evidence;
			if (reader?.reading !== "ticking" || facts.unread || !invites(evidence)) return null;
			const { thread } = reader;
			const lone = foreground.every((other) => other.pid === thread.pid && (other.others ?? 0) === 0);
			if (!lone || (thread.timeoutMs ?? 0) < LONG_TICK_MS) return null;
			if (evidence.restMs < REST_MS) return notYet(evidence, REST_MS, `${who(thread)} has just been active`);
			return likely(evidence, thread);
		},
	},
	{
		// It would be quiet for no longer than a tick.
		name: "a screen that is repainted by a clock",
		verdict: (evidence) => {
			const { reader, foreground, facts, input, kind } = evidence;
			if (reader?.reading !== "ticking" || facts.unread !== 0 || kind.kind !== "screen") return null;
			const { thread } = reader;
			if (!foreground.every((other) => other.pid === thread.pid && (other.others ?? 0) === 0)) return null;
			const settled = input.ticking?.pid === thread.pid && onlyTicks(input.ticking);
			return settled ? likely(evidence, thread) : null;
		},
	},
	{
		name: "too soon",
		verdict: (evidence) => {
			const { reader } = evidence;
			if (reader === null) return null;
			const neededMs = loopQuietMs(evidence, reader.thread);
			if (evidence.restMs >= neededMs) return null;
			return notYet(evidence, neededMs, `${who(reader.thread)} was active ${seconds(evidence.restMs)} ago`);
		},
	},
	{
		// The prompt on the screen may be the one before.
		name: "a relay that has shown nothing since it was typed to",
		verdict: (evidence) => {
			const { reader, facts, input } = evidence;
			if (reader === null || facts.canonical || input.relays !== true) return null;
			if (facts.sinceInputMs === null || facts.quietMs < facts.sinceInputMs || evidence.restMs >= FAR_ECHO_MS)
				return null;
			return notYet(evidence, FAR_ECHO_MS, `${who(reader.thread)} has relayed nothing since input was sent`);
		},
	},
	{
		// What it shows comes from elsewhere, and the screen is all that tells of the program there.
		name: "a relay that shows no prompt",
		verdict: (evidence) => {
			const { reader, facts, shape, input, relayed } = evidence;
			const { screen } = input;
			if (reader === null || facts.canonical || !relayed) return null;
			const drawn = screen.alternate && !screen.endsAtCursor;
			// Three dots may be Python's prompt, which takes pastes, or progress.
			const prompts = screen.bracketedPaste || (asks(shape) && screen.lastLine !== "...");
			if (drawn || !screen.cursorVisible || prompts || input.midLine === true) return null;
			if (screen.cursorColumn === 0) return screen.alternate ? listening(reader.thread) : null;
			// It may also be a prompt whose word ends like that.
			const works = shape === "progress" && !/[:\])>.]\s*$/.test(screen.lastLine);
			if (works) return not("working", "likely", `${who(reader.thread)} relays text that looks like progress`);
			if (evidence.restMs >= FAR_QUIET_MS) return null;
			return notYet(evidence, FAR_QUIET_MS, `${who(reader.thread)} relays text that does not look like a question`);
		},
	},
	{
		name: "a loop that invites",
		verdict: (evidence) => {
			const { reader } = evidence;
			if (reader === null) return null;
			return invites(evidence) || wantsInput(evidence, reader) ? likely(evidence, reader.thread) : null;
		},
	},
	{
		name: "listening",
		verdict: ({ reader }) => (reader === null ? null : listening(reader.thread)),
	},

	// From here on the kernel is not readable.
	{
		name: "a secret, unseen",
		verdict: (evidence) => {
			const { facts } = evidence;
			if (!facts.canonical || facts.echo || facts.unread) return null;
			if (evidence.restMs < SECRET_QUIET_MS) return guessLater(evidence, SECRET_QUIET_MS);
			return waiting("secret", "guess", `line mode without echo${quiet(evidence)}; ${unseen(evidence)}`);
		},
	},
	{
		name: "a question, unseen",
		verdict: (evidence) => {
			const { facts, shape, input, kind } = evidence;
			if (!asks(shape) || facts.unread || input.screen.cursorColumn === 0) return null;
			if (evidence.restMs < QUIET_MS) return guessLater(evidence, QUIET_MS);
			return waiting(
				input.shell.atPrompt === true ? "command" : kind.kind,
				"guess",
				`the last line looks like a ${shape}${quiet(evidence)}; ${unseen(evidence)}`,
			);
		},
	},
	{
		name: "a screen, unseen",
		verdict: (evidence) => {
			const { facts, shape, kind } = evidence;
			if (facts.canonical || facts.unread || shape === "progress" || !invites(evidence)) return null;
			if (evidence.restMs < SERVER_QUIET_MS) return guessLater(evidence, SERVER_QUIET_MS);
			return waiting(kind.kind, "guess", `${kind.because}${quiet(evidence)}; ${unseen(evidence)}`);
		},
	},
	{
		name: "text without an end, unseen",
		verdict: (evidence) => {
			const { facts, shape, input, kind } = evidence;
			if (facts.unread || shape === "progress" || shape === "empty" || input.screen.cursorColumn === 0) return null;
			if (evidence.restMs < BLIND_QUIET_MS) return guessLater(evidence, BLIND_QUIET_MS);
			return waiting(kind.kind, "guess", `the cursor is after text${quiet(evidence)}; ${unseen(evidence)}`);
		},
	},
	{
		name: "unseen",
		verdict: (evidence) => not("working", "guess", `nothing asks for input; ${unseen(evidence)}`),
	},
];

function likely(evidence: Evidence, thread: ThreadFacts): Verdict {
	const because = `${who(thread)} waits for the terminal${watches(thread)} in ${how(thread)}${quiet(evidence)}; ${evidence.kind.because}`;
	return waiting(wanted(evidence), "likely", because);
}

const listening = (thread: ThreadFacts): Verdict =>
	not("listening", "likely", `${who(thread)} would take input (${how(thread)}), but shows no prompt`);

function watches({ others = 0, main, listens }: ThreadFacts): string {
	if (listens === true) return " and for connections";
	if (others > 0) return ` and ${others === 1 ? "one other thing" : `${others} other things`}`;
	return main ? "" : " in a thread of its own";
}

const guessLater = (evidence: Evidence, neededMs: number): Verdict => ({
	...notYet(evidence, neededMs, `active ${seconds(evidence.restMs)} ago; ${unseen(evidence)}`),
	certainty: "guess",
});

function unseen({ opaque, facts }: Evidence): string {
	if (facts.late) return "its processes could not be inspected in time";
	return opaque === null ? "the kernel does not show what the program does" : `not allowed to inspect ${who(opaque)}`;
}
