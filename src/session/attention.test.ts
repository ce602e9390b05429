import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { screenFacts } from "../../test/screen-facts.ts";
import {
	type InnerTerminal,
	type KernelFacts,
	RISKS,
	type ThreadDoing,
	type ThreadFacts,
} from "../protocol/kernel-facts.ts";
import { type AttentionInput, type Debounced, type Decision, debounce, decide } from "./attention.ts";
import { rules } from "./attention-rules.ts";
import type { EscapeTimer } from "./escape-timer.ts";

// --- a vocabulary for the rows below ------------------------------------------

const SHELL = 412;
const thread = (doing: ThreadDoing, more: Partial<ThreadFacts> = {}): ThreadFacts => ({
	pid: SHELL,
	tid: more.pid ?? SHELL,
	command: "python3",
	foreground: true,
	doing,
	main: true,
	switches: 7,
	fresh: true,
	...more,
});
const reads = (more: Partial<ThreadFacts> = {}) => thread("tty-read", { call: "read", fd: 0, ...more });
const polls = (more: Partial<ThreadFacts> = {}) => thread("tty-poll", { call: "poll", fd: 0, ...more });
const inner = (threads: ThreadFacts[], more: Partial<InnerTerminal> = {}): InnerTerminal => ({
	pts: 9,
	canonical: true,
	echo: true,
	signals: true,
	vmin: 1,
	vtime: 0,
	unread: 0,
	threads,
	...more,
});

interface Scene {
	threads?: readonly ThreadFacts[];
	facts?: Partial<KernelFacts>;
	raw?: boolean;
	noEcho?: boolean;
	quietMs?: number;
	sinceInputMs?: number | null;
	line?: string;
	column?: number;
	hidden?: boolean;
	alternate?: boolean;
	endsAtCursor?: boolean;
	blank?: boolean;
	paste?: boolean;
	atPrompt?: boolean | null;
	pendingEscape?: EscapeTimer;
	stopTyped?: boolean;
	learnt?: AttentionInput["learnt"];
	prompted?: AttentionInput["prompted"];
	ticking?: AttentionInput["ticking"];
	/** Its program runs one in another place. */
	elsewhere?: boolean;
}

function inputFor(scene: Scene): AttentionInput {
	const { threads = [], line = "", quietMs = 10_000, sinceInputMs = null } = scene;
	return {
		facts: {
			at: 0,
			readable: true,
			foregroundGroup: 412,
			foregroundLives: true,
			mainForeground: true,
			canonical: scene.raw !== true,
			echo: scene.raw !== true && scene.noEcho !== true,
			signals: true,
			vmin: 1,
			vtime: 0,
			queued: 0,
			unread: 0,
			offset: 100,
			quietMs,
			sinceInputMs,
			threads,
			more: 0,
			doubts: [],
			...scene.facts,
		},
		screen: screenFacts({
			alternate: scene.alternate === true,
			cursorVisible: scene.hidden !== true,
			cursorColumn: scene.column ?? line.length,
			lastLine: line,
			endsAtCursor: scene.endsAtCursor === true,
			blank: scene.blank === true,
			bracketedPaste: scene.paste === true,
		}),
		shell: { atPrompt: scene.atPrompt ?? null, pid: SHELL },
		pendingEscape: scene.pendingEscape ?? null,
		stopTyped: scene.stopTyped ?? false,
		learnt: scene.learnt ?? null,
		prompted: scene.prompted ?? null,
		ticking: scene.ticking ?? null,
		relays: scene.elsewhere === true,
	};
}

const summary = ({ activity, waitingFor, certainty }: Decision) =>
	[activity, waitingFor, certainty].filter(Boolean).join(" ");

// --- the truth, scene by scene ------------------------------------------------

const repainted: Scene = { threads: [polls({ timeoutMs: 100 })], raw: true, alternate: true, quietMs: 20 };
const ticks = { pid: SHELL, asleepMs: 0, awakeMs: 0, at: 0, asleep: true, settled: false };

type Row = readonly [sentence: string, scene: Scene, truth: string];

const scenes: readonly Row[] = [
	[
		"it sleeps between two looks at the keyboard, as was learnt",
		{
			threads: [thread("timer", { timeoutMs: 300 })],
			raw: true,
			line: "ready:",
			learnt: { pid: 412, rests: ["peeks"] },
		},
		"waiting line likely",
	],
	// in another place
	[
		"the tool itself asks for a password",
		{ threads: [reads()], noEcho: true, line: "Password: ", elsewhere: true },
		"waiting secret certain",
	],
	[
		"what it relays is never certain",
		{ threads: [polls()], raw: true, line: "$ ", elsewhere: true },
		"waiting line likely",
	],
	[
		"docker reads in a thread of its own, and shows a prompt",
		{ threads: [reads({ main: false })], raw: true, line: "/ # ", elsewhere: true },
		"waiting line likely",
	],
	[
		"docker reads, whatever the program there does",
		{ threads: [reads({ main: false })], raw: true, elsewhere: true },
		"listening likely",
	],
	[
		"docker shows half a line of work",
		{ threads: [reads({ main: false })], raw: true, line: "working... ", quietMs: 1000, elsewhere: true },
		"working likely",
	],
	[
		"so does kubectl, in the thread that happens to be its main one",
		{ threads: [reads()], raw: true, elsewhere: true },
		"listening likely",
	],
	[
		"… also where it shows half a line of work",
		{ threads: [reads()], raw: true, line: "working... ", quietMs: 1000, elsewhere: true },
		"working likely",
	],
	[
		"… and where more may follow what looks like a prompt",
		{ threads: [reads()], raw: true, line: "$ ", quietMs: 20, elsewhere: true },
		"working likely",
	],
	[
		"what was typed has not come back from far away: the prompt is the one before",
		{ threads: [reads()], raw: true, line: "$ ", sinceInputMs: 300, elsewhere: true },
		"working likely",
	],
	[
		"… but it may be that nothing comes back",
		{ threads: [reads()], raw: true, line: "$ ", sinceInputMs: 1000, elsewhere: true },
		"waiting line likely",
	],
	// blocked
	["input() asks for a line", { threads: [reads()], line: "name? " }, "waiting line certain"],
	["the moment it blocks, with no quiet at all", { threads: [reads()], quietMs: 0 }, "waiting line certain"],
	["getpass asks for a secret", { threads: [reads()], noEcho: true, line: "Password: " }, "waiting secret certain"],
	["readline edits a line", { threads: [polls({ call: "pselect6" })], raw: true }, "waiting line certain"],
	[
		"a shell at its prompt takes a command",
		{ threads: [polls()], raw: true, atPrompt: true },
		"waiting command certain",
	],
	[
		"A7 a program that a shell's key binding runs is no command",
		{ threads: [thread("child-wait"), polls({ pid: 413 })], raw: true, atPrompt: true, alternate: true },
		"waiting screen certain",
	],
	[
		"A7 … nor one that watches other things, and then not without quiet",
		{ threads: [thread("child-wait"), polls({ pid: 413, others: 1 })], raw: true, atPrompt: true, quietMs: 10 },
		"working likely",
	],
	[
		"A7 … nor a secret that the shell itself asks for",
		{ threads: [reads()], noEcho: true, atPrompt: true, line: "Password: " },
		"waiting secret certain",
	],
	["A7 … in raw mode", { threads: [reads()], raw: true, atPrompt: true, line: "Password: " }, "waiting secret certain"],
	[
		"A7 … but not what was typed at its prompt",
		{ threads: [polls()], raw: true, atPrompt: true, line: "me@here:~$ echo Password:" },
		"waiting command certain",
	],
	[
		"A7 a shell asks for a key before it lists very many completions",
		{ threads: [polls()], raw: true, paste: true, atPrompt: true, line: "Display all 1548 possibilities? (y or n)" },
		"waiting key certain",
	],
	[
		"a shell at its prompt watches other things, and what its start files left behind is busy",
		{ threads: [polls({ others: 1 }), thread("running", { pid: 413 })], raw: true, atPrompt: true, quietMs: 0 },
		"waiting command likely",
	],
	[
		"a read of a program that the shell runs is no command",
		{ threads: [reads()], atPrompt: false },
		"waiting line certain",
	],
	[
		"A3 main thread reads while workers run",
		{ threads: [reads(), thread("running", { tid: 413, main: false })] },
		"waiting line likely",
	],
	[
		"A3 a pipeline whose first program reads while another sleeps",
		{ threads: [reads(), thread("timer", { pid: 413 })] },
		"waiting line likely",
	],
	[
		"cat | sort: one reads, the other waits for its pipe",
		{ threads: [reads(), thread("other", { pid: 413, call: "read" })] },
		"waiting line certain",
	],
	[
		"A3 cat | netclient: one reads, the other waits for a socket",
		{ threads: [reads(), thread("other", { pid: 413, call: "poll", others: 1 })] },
		"waiting line likely",
	],
	[
		"a shell and the child it waits for",
		{ threads: [thread("child-wait"), reads({ pid: 413 })] },
		"waiting line certain",
	],
	[
		"A3 a worker thread that is not listed ticks",
		{ threads: [reads()], facts: { wakesMs: 50 } },
		"waiting line likely",
	],
	["A2 not all threads are listed", { threads: [reads()], facts: { more: 1 } }, "waiting line likely"],
	["A1 a call that is not known", { threads: [reads()], facts: { doubts: ["call"] } }, "waiting line likely"],
	[
		"an older holder does not know what it does not know",
		{ threads: [reads()], facts: { doubts: null } },
		"waiting line likely",
	],
	[
		"A3 a read that gives up by itself (VMIN 0, VTIME 1)",
		{ threads: [reads()], raw: true, facts: { vmin: 0, vtime: 1 }, line: "⠋ ", quietMs: 100 },
		"working likely",
	],
	[
		"A3 a read that gives up after its first byte (VMIN 9, VTIME 50)",
		{ threads: [reads()], raw: true, facts: { vmin: 9, vtime: 50 }, line: "? " },
		"waiting line likely",
	],
	["VTIME is of no concern in line mode", { threads: [reads()], facts: { vmin: 0, vtime: 5 } }, "waiting line certain"],
	["A3 a timer's signal may wake the reader", { threads: [polls({ peeks: true })] }, "waiting line likely"],
	[
		"A3 its other threads may have exchanged the descriptor",
		{ threads: [reads({ workers: true })] },
		"waiting line likely",
	],
	["A3 its own pipe, of which others may have the end", { threads: [polls({ wakes: true })] }, "waiting line likely"],
	[
		"A3 a child in the background, whose end interrupts the read",
		{ threads: [reads({ elsewhere: true })] },
		"waiting line likely",
	],
	[
		"… but a shell at its prompt has jobs there",
		{ threads: [reads({ elsewhere: true })], atPrompt: true },
		"waiting command certain",
	],
	["nor with VMIN 1", { threads: [reads()], raw: true, facts: { vmin: 1, vtime: 5 } }, "waiting line certain"],
	[
		"su -c cat: a reader that left the session: the foreground may wait for another child",
		{ threads: [thread("child-wait", { elsewhere: true }), reads({ pid: 500, foreground: false })] },
		"waiting line likely",
	],
	...RISKS.map((risk): Row => [`A1 a risk (${risk})`, { threads: [reads({ risks: [risk] })] }, "waiting line likely"]),
	[
		"A1 a spinner that a signal wakes is never quiet",
		{ threads: [reads({ risks: ["woken"] })], line: "progress 7%", quietMs: 60 },
		"working likely",
	],
	[
		"A1 a shell at its prompt is woken by jobs that end, and leaves some behind",
		{ threads: [reads({ risks: ["orphans", "woken"] })], atPrompt: true },
		"waiting command certain",
	],
	[
		"A1 … but not while it runs a program for a key",
		{ threads: [thread("child-wait", { elsewhere: true }), reads({ pid: 413, risks: ["woken"] })], atPrompt: true },
		"waiting line likely",
	],
	[
		"A1 another process of the foreground reads a signalfd",
		{ threads: [reads(), thread("other", { pid: 413, call: "read", risks: ["mixed"] })] },
		"waiting line likely",
	],
	[
		"A1 another process of the foreground is stopped",
		{ threads: [reads(), thread("stopped", { pid: 413 })] },
		"waiting line likely",
	],
	[
		"… behind the back of a foreground that sleeps",
		{ threads: [thread("timer"), reads({ pid: 500, foreground: false })] },
		"working likely",
	],
	[
		"A3 … or waits for a socket",
		{ threads: [thread("other", { call: "recvfrom", others: 1 }), reads({ pid: 500, foreground: false })] },
		"working likely",
	],
	[
		"A3 … or whose other child sleeps",
		{
			threads: [
				thread("child-wait"),
				reads({ pid: 500, foreground: false }),
				thread("timer", { pid: 501, foreground: false }),
			],
		},
		"working likely",
	],
	[
		"… or waits for something else",
		{ threads: [thread("other", { call: "futex" }), reads({ pid: 500, foreground: false })] },
		"waiting line likely",
	],
	// typed ahead
	["what was typed is still queued", { threads: [reads()], facts: { queued: 3 } }, "working certain"],
	["what was typed is still unread", { threads: [reads()], facts: { unread: 3 } }, "working certain"],
	[
		"Escape was typed, and vim waits for what may follow it",
		{
			threads: [polls({ timeoutMs: 1000 })],
			raw: true,
			alternate: true,
			pendingEscape: { sleep: null },
			sinceInputMs: 300,
		},
		"working likely",
	],
	[
		"… until nothing did",
		{ threads: [polls({ timeoutMs: 4000 })], raw: true, alternate: true, sinceInputMs: 1600 },
		"waiting screen likely",
	],
	[
		"A1 … by one that was told of it once",
		{ threads: [polls({ risks: ["mixed"] })], raw: true, facts: { unread: 3 } },
		"working likely",
	],
	[
		"A1 … by one whose ring cannot be read",
		{ threads: [polls({ call: "io_uring_enter" })], raw: true, facts: { unread: 3, doubts: ["set"] } },
		"working likely",
	],
	["what was typed is unread by a poll", { threads: [polls()], raw: true, facts: { unread: 3 } }, "working certain"],
	[
		"the reader has not woken up yet",
		{ threads: [reads({ fresh: false })], facts: { unread: null } },
		"working likely",
	],
	[
		"unread input is not known, but nothing was typed",
		{ threads: [reads()], facts: { unread: null } },
		"waiting line certain",
	],
	[
		"A10 unread input is not known, and the reader ran",
		{ threads: [reads()], facts: { unread: null }, sinceInputMs: 500 },
		"waiting line likely",
	],
	[
		"told of two keys, polls until there are five (VMIN)",
		{ threads: [polls()], raw: true, facts: { unread: 2, vmin: 5 } },
		"working likely",
	],
	[
		"told of them once, by EPOLLET",
		{ threads: [polls({ call: "epoll_wait" })], facts: { unread: 2 } },
		"working likely",
	],
	[
		"woken by two keys, wants three (VMIN)",
		{ threads: [reads()], raw: true, facts: { unread: 2, flags: ["icrnl", "iexten", "lnext", "opost"] } },
		"waiting key likely",
	],
	[
		"typed at a program that never reads",
		{ threads: [thread("timer", { timeoutMs: 70_000 })], facts: { unread: 3 } },
		"working likely",
	],
	// no reader
	["sleep 70", { threads: [thread("timer", { timeoutMs: 70_000 })], quietMs: 70_000 }, "working likely"],
	["a prompt printed before a computation", { threads: [thread("running")], line: "name? " }, "working likely"],
	[
		"a prompt printed before two silent seconds",
		{ threads: [thread("timer", { timeoutMs: 2000 })], line: "name? " },
		"working likely",
	],
	[
		"A4 a sleep so short that it may look between",
		{ threads: [thread("timer", { timeoutMs: 100 })] },
		"working likely",
	],
	["A1 a sleep of which the length is not known", { threads: [thread("timer")] }, "working likely"],
	["A1 a call that may wait for the terminal", { threads: [thread("unknown")] }, "working likely"],
	[
		"A1 … of a process that left the session",
		{ threads: [thread("child-wait"), thread("unknown", { pid: 500, foreground: false })] },
		"working likely",
	],
	["A2 nobody reads, but not all are listed", { threads: [thread("running")], facts: { more: 12 } }, "working likely"],
	["A2 … not all are readable", { threads: [thread("running")], facts: { doubts: ["list"] } }, "working likely"],
	["A4 raw mode, and it runs", { threads: [thread("running")], raw: true }, "working likely"],
	[
		"A4 a full screen that sleeps between two looks at the keyboard",
		{
			threads: [thread("timer", { timeoutMs: 500, nonblocking: true, peeks: true })],
			raw: true,
			alternate: true,
			quietMs: 200,
		},
		"waiting screen likely",
	],
	[
		"A4 … just after it has repainted",
		{
			threads: [thread("timer", { timeoutMs: 500, nonblocking: true, peeks: true })],
			raw: true,
			alternate: true,
			quietMs: 50,
		},
		"working likely",
	],
	[
		"A4 a full screen whose reads would wait",
		{ threads: [thread("timer", { timeoutMs: 500 })], raw: true, alternate: true },
		"working likely",
	],
	[
		"A4 a terminal with O_NONBLOCK",
		{ threads: [thread("running", { nonblocking: true, peeks: true })] },
		"working likely",
	],
	["A4 a worker that ticks", { threads: [thread("other")], facts: { wakesMs: 50 } }, "working likely"],
	[
		"A1 waits for a process that may have been passed the terminal",
		{ threads: [thread("other", { call: "recvfrom", others: 1, local: true })] },
		"working likely",
	],
	["make waits for cc", { threads: [thread("child-wait"), thread("running", { pid: 413 })] }, "working likely"],
	[
		"less without data reads its pipe",
		{ threads: [thread("other", { call: "read", others: 1 })], raw: true },
		"working likely",
	],
	["blocked writing", { threads: [thread("tty-write", { call: "write", fd: 1 })] }, "working certain"],
	[
		"A1 blocked writing, while another process looks at the keyboard now and then",
		{ threads: [thread("tty-write", { call: "write", fd: 1 }), thread("timer", { pid: 413, nonblocking: true })] },
		"working likely",
	],
	[
		"A1 blocked writing, with reads that do not wait",
		{ threads: [thread("tty-write", { call: "write", fd: 1 })], raw: true, facts: { vmin: 0, vtime: 0 } },
		"working likely",
	],
	[
		"A8 a full screen that is repainted by a clock, and sleeps in between",
		{ ...repainted, ticking: { ...ticks, asleepMs: 900, awakeMs: 100 } },
		"waiting screen likely",
	],
	[
		"A8 … not yet for long enough",
		{ ...repainted, ticking: { ...ticks, asleepMs: 300, awakeMs: 10 } },
		"working likely",
	],
	[
		"A8 … as it did before",
		{ ...repainted, ticking: { ...ticks, settled: true, asleepMs: 300 } },
		"waiting screen likely",
	],
	[
		"A8 … but works most of the time",
		{ ...repainted, ticking: { ...ticks, asleepMs: 900, awakeMs: 600 } },
		"working likely",
	],
	["A8 … or is another process", { ...repainted, ticking: { ...ticks, pid: 413, asleepMs: 900 } }, "working likely"],
	[
		"A1 blocked writing, while another thread reads",
		{ threads: [thread("tty-write", { call: "write", fd: 1 }), reads({ tid: 413, main: false })] },
		"working likely",
	],
	[
		"A1 stopped, while another process reads",
		{ threads: [thread("stopped"), reads({ pid: 413, foreground: false })] },
		"stopped likely",
	],
	[
		"between two programs nobody has the terminal",
		{ facts: { foregroundLives: false, foregroundGroup: 0 } },
		"working likely",
	],
	["stopped", { threads: [thread("stopped")] }, "stopped certain"],
	["A1 stopped and continued by turns", { threads: [thread("stopped", { risks: ["woken"] })] }, "stopped likely"],
	["one of a pipeline stopped", { threads: [thread("stopped"), thread("running", { pid: 413 })] }, "working likely"],
	// servers
	["a server at rest", { threads: [polls({ doing: "other", listens: true })] }, "serving likely"],
	["accept()", { threads: [thread("accept", { listens: true })] }, "serving likely"],
	[
		"a server that has just printed",
		{ threads: [thread("accept", { listens: true })], quietMs: 100 },
		"working likely",
	],
	["a server with a client", { threads: [polls({ doing: "other", listens: true, others: 1 })] }, "working likely"],
	[
		"a server that computes",
		{ threads: [thread("accept", { listens: true }), thread("running", { tid: 9, main: false })] },
		"working likely",
	],
	["a server that also takes keys, without a prompt", { threads: [polls({ listens: true })] }, "serving likely"],
	["a server with a prompt", { threads: [polls({ listens: true })], raw: true, line: "> " }, "waiting line likely"],
	// loops
	[
		"node's REPL at rest",
		{ threads: [polls({ call: "epoll_pwait", timeoutMs: 8000 })], raw: true, line: "> ", quietMs: 30 },
		"waiting line likely",
	],
	[
		"… just after it printed",
		{ threads: [polls({ call: "epoll_pwait", timeoutMs: 8000 })], raw: true, line: "> ", quietMs: 5 },
		"working likely",
	],
	[
		"… just after we typed",
		{ threads: [polls({ call: "epoll_pwait", timeoutMs: 8000 })], raw: true, line: "> ", sinceInputMs: 5 },
		"working likely",
	],
	["node after rl.close()", { threads: [polls({ call: "epoll_pwait", timeoutMs: 8000 })] }, "listening likely"],
	[
		"Python 3.13's REPL ticks",
		{ threads: [polls({ timeoutMs: 100 })], raw: true, line: ">>> ", quietMs: 200 },
		"waiting line likely",
	],
	[
		"a spinner that takes keys",
		{ threads: [polls({ timeoutMs: 80 })], raw: true, line: "⠋ wait", quietMs: 70 },
		"working likely",
	],
	[
		"a tick of 200 ms needs 300 of quiet",
		{ threads: [polls({ timeoutMs: 200 })], raw: true, line: "building", quietMs: 250 },
		"working likely",
	],
	[
		"A8 … but not at the prompt of a line editor",
		{ threads: [polls({ timeoutMs: 400 })], raw: true, line: "> ", quietMs: 250 },
		"waiting line likely",
	],
	[
		"A8 a REPL whose timer prints is never quiet, but has shown its prompt",
		{ threads: [thread("running")], raw: true, line: "", quietMs: 3, prompted: { pid: 412, sinceMs: 400 } },
		"waiting line likely",
	],
	[
		"A8 … not until a moment has passed: it may be the end of something longer",
		{ threads: [thread("running")], raw: true, line: "", quietMs: 3, prompted: { pid: 412, sinceMs: 200 } },
		"working likely",
	],
	[
		"A8 … nor while another process has the terminal",
		{ threads: [thread("running", { pid: 413 })], raw: true, quietMs: 3, prompted: { pid: 412, sinceMs: 900 } },
		"working likely",
	],
	[
		"A8 … nor once it has left raw mode",
		{ threads: [thread("running")], quietMs: 3, prompted: { pid: 412, sinceMs: 900 } },
		"working likely",
	],
	[
		"A8 … nor while it has not read what was typed",
		{
			threads: [thread("running")],
			raw: true,
			facts: { unread: 3 },
			quietMs: 3,
			prompted: { pid: 412, sinceMs: 900 },
		},
		"working likely",
	],
	[
		"a quick check of the keyboard during other work",
		{ threads: [polls({ timeoutMs: 1 })], line: "loading", quietMs: 700 },
		"working likely",
	],
	["a program that only glances", { threads: [polls({ timeoutMs: 1 })], raw: true, line: "> " }, "waiting line likely"],
	[
		"top",
		{ threads: [polls({ call: "pselect6", timeoutMs: 3000 })], raw: true, alternate: true, quietMs: 200 },
		"waiting screen likely",
	],
	[
		"vim",
		{ threads: [polls({ call: "select", timeoutMs: 4000 })], raw: true, alternate: true, quietMs: 30 },
		"waiting screen likely",
	],
	[
		"ssh at a remote prompt",
		{ threads: [polls({ others: 1 })], raw: true, line: "ann@far:~$ " },
		"waiting line likely",
	],
	["ssh while the remote works", { threads: [polls({ others: 1 })], raw: true }, "listening likely"],
	[
		"ssh just after we typed",
		{ threads: [polls({ others: 1 })], raw: true, line: "ann@far:~$ ls", sinceInputMs: 40 },
		"working likely",
	],
	["a menu that hides the cursor", { threads: [polls({ others: 1 })], raw: true, hidden: true }, "waiting key likely"],
	[
		"fzf reads in a worker thread",
		{ threads: [thread("other"), reads({ tid: 413, main: false })], raw: true, line: "> " },
		"waiting line likely",
	],
	[
		"Go reads a line in a worker thread, without a prompt",
		{ threads: [thread("other"), reads({ tid: 413, main: false })] },
		"waiting line likely",
	],
	[
		"… while another thread waits for the network",
		{ threads: [thread("other", { others: 1 }), reads({ tid: 413, main: false })] },
		"listening likely",
	],
	[
		"a loop whose worker computes",
		{ threads: [polls({ timeoutMs: 8000 }), thread("running", { tid: 413, main: false })], raw: true, line: "> " },
		"working likely",
	],
	[
		"A8 a REPL whose child sleeps is at its prompt",
		{ threads: [polls({ timeoutMs: 8000 }), thread("timer", { pid: 500 })], raw: true, line: "> " },
		"waiting line likely",
	],
	[
		"… but has just printed",
		{ threads: [polls({ timeoutMs: 8000 }), thread("timer", { pid: 500 })], raw: true, line: "> ", quietMs: 100 },
		"working likely",
	],
	[
		"A8 a shell at its prompt, while what its start files left behind computes",
		{ threads: [polls({ others: 1 }), thread("running", { pid: 500 })], raw: true, line: "ann@vm ~> " },
		"waiting line likely",
	],
	[
		"a loop whose child computes, without a prompt",
		{ threads: [polls({ others: 1 }), thread("running", { pid: 500 })], raw: true, line: "installing packages" },
		"working likely",
	],
	[
		"A9 Ctrl+S was typed, and the program writes",
		{ threads: [thread("tty-write")], facts: { flags: ["ixon"] }, stopTyped: true },
		"stopped certain",
	],
	["… or by someone else", { threads: [thread("tty-write")], facts: { flags: ["ixon"] } }, "stopped likely"],
	[
		"a flood fills the terminal for a moment",
		{ threads: [thread("tty-write")], facts: { flags: ["ixon"] }, quietMs: 5 },
		"working certain",
	],
	[
		"a writer that Ctrl+S cannot have stopped",
		{ threads: [thread("tty-write")], facts: { flags: [] } },
		"working certain",
	],
	// a terminal within
	[
		"script runs cat",
		{ threads: [polls({ others: 1, inner: [inner([reads({ pid: 9 })])] })], raw: true, quietMs: 0 },
		"waiting line likely",
	],
	[
		"script runs sleep",
		{ threads: [polls({ others: 1, inner: [inner([thread("timer", { pid: 9 })])] })], raw: true, line: "$ " },
		"working likely",
	],
	[
		"sudo asks within",
		{ threads: [polls({ others: 1, inner: [inner([reads({ pid: 9 })], { echo: false })] })], raw: true },
		"waiting secret likely",
	],
	[
		"input on its way to the inner reader",
		{ threads: [polls({ others: 1, inner: [inner([reads({ pid: 9 })], { unread: 4 })] })], raw: true, line: "$ " },
		"working likely",
	],
	[
		"the inner reader has not woken up",
		{ threads: [polls({ others: 1, inner: [inner([reads({ pid: 9, fresh: false })])] })], raw: true, quietMs: 0 },
		"working likely",
	],
	[
		"an inner program that is not readable",
		{ threads: [polls({ others: 1, inner: [inner([thread("opaque", { pid: 9 })])] })], raw: true, line: "# " },
		"waiting line likely",
	],
	[
		"script in script",
		{
			threads: [
				polls({ others: 1, inner: [inner([polls({ pid: 8, others: 1, inner: [inner([reads({ pid: 9 })])] })])] }),
			],
			raw: true,
		},
		"waiting line likely",
	],
	[
		"tmux, both panes at work",
		{
			threads: [
				polls({
					foreground: false,
					others: 4,
					inner: [inner([thread("timer", { pid: 8 })]), inner([thread("timer", { pid: 9 })])],
				}),
			],
			raw: true,
			alternate: true,
		},
		"working likely",
	],
	[
		"a multiplexer took the terminal's replies for itself, and its pane waits as before",
		{
			threads: [polls({ foreground: false, others: 2, inner: [inner([reads({ pid: 8, fresh: false })])] })],
			raw: true,
			alternate: true,
			sinceInputMs: 2000,
		},
		"waiting line likely",
	],
	[
		"tmux, one pane waits and one works",
		{
			threads: [
				polls({
					foreground: false,
					others: 4,
					inner: [inner([reads({ pid: 8 })]), inner([thread("timer", { pid: 9 })])],
				}),
			],
			raw: true,
			alternate: true,
		},
		"waiting screen likely",
	],
	[
		"A11 tmux, what was typed woke the pane that works",
		{
			threads: [
				polls({
					foreground: false,
					others: 4,
					inner: [inner([reads({ pid: 8, fresh: false })]), inner([thread("timer", { pid: 9 })])],
				}),
			],
			raw: true,
			alternate: true,
		},
		"working likely",
	],
	[
		"A11 tmux, what was typed woke the pane that waits",
		{
			threads: [
				polls({
					foreground: false,
					others: 4,
					inner: [inner([reads({ pid: 8 })]), inner([thread("timer", { pid: 9, fresh: false })])],
				}),
			],
			raw: true,
			alternate: true,
			quietMs: 0,
		},
		"waiting line likely",
	],
	[
		"A11 script runs a client that passed its terminal on",
		{
			threads: [polls({ others: 1, inner: [inner([thread("other", { pid: 9, call: "poll", local: true })])] })],
			raw: true,
			alternate: true,
		},
		"waiting screen likely",
	],
	[
		"A11 ssh, the far shell shows its prompt",
		{ threads: [polls({ others: 1 })], raw: true, line: "me@far:~ ", paste: true, quietMs: 160 },
		"waiting line likely",
	],
	[
		"A11 ssh, the far program asks",
		{ threads: [polls({ others: 1 })], raw: true, line: "Name? ", quietMs: 160 },
		"waiting line likely",
	],
	[
		"A11 ssh, half a line from the far end",
		{ threads: [polls({ others: 1 })], raw: true, line: "Unpacking ", quietMs: 1900 },
		"working likely",
	],
	[
		"A11 ssh, half a line that stays",
		{ threads: [polls({ others: 1 })], raw: true, line: "half a line ", quietMs: 2100 },
		"waiting key likely",
	],
	[
		"A11 … that names its work",
		{ threads: [polls({ others: 1 })], raw: true, line: "Unpacking ", quietMs: 2100 },
		"working likely",
	],
	[
		"A11 tmux took what was typed itself, and the shell within is at its prompt",
		{
			threads: [polls({ foreground: false, others: 4, inner: [inner([reads({ pid: 8, fresh: false })])] })],
			raw: true,
			alternate: true,
			quietMs: 160,
		},
		"waiting line likely",
	],
	[
		"A11 mosh, the far shell shows its prompt",
		{ threads: [polls({ others: 1 })], raw: true, alternate: true, endsAtCursor: true, line: "$ ", quietMs: 160 },
		"waiting line likely",
	],
	[
		"A4 a still full screen that wakes up ten times a second",
		{ threads: [thread("timer", { timeoutMs: 100 })], raw: true, alternate: true, quietMs: 200 },
		"waiting screen likely",
	],
	[
		"A4 a still full screen that wakes up every second",
		{ threads: [thread("timer", { timeoutMs: 1000 })], raw: true, alternate: true, quietMs: 200 },
		"working likely",
	],
	[
		"A4 a full screen that is woken by a signal when a key comes",
		{ threads: [thread("other", { call: "futex", peeks: true })], raw: true, alternate: true, quietMs: 200 },
		"waiting screen likely",
	],
	[
		"A11 mosh, a command without output yet",
		{ threads: [polls({ others: 1 })], raw: true, alternate: true, endsAtCursor: true },
		"listening likely",
	],
	[
		"A11 mosh, a full screen at the far end",
		{ threads: [polls({ others: 1 })], raw: true, alternate: true, quietMs: 160 },
		"waiting screen likely",
	],
	[
		"A4 a full screen that is empty: its program starts, though a thread of it reads already",
		{ threads: [thread("tty-read", { main: false })], raw: true, alternate: true, blank: true, quietMs: 400 },
		"working likely",
	],
	[
		"A4 a full screen that stays empty",
		{ threads: [thread("tty-read", { main: false })], raw: true, alternate: true, blank: true, quietMs: 2100 },
		"waiting screen likely",
	],
	// opaque
	[
		"su asks for a password",
		{ threads: [thread("opaque", { command: "su" })], noEcho: true, line: "Password: ", quietMs: 60 },
		"waiting secret guess",
	],
	[
		"… too soon to say",
		{ threads: [thread("opaque")], noEcho: true, line: "Password: ", quietMs: 20 },
		"working guess",
	],
	["a set-uid program asks", { threads: [thread("opaque")], line: "Continue? [Y/n] " }, "waiting line guess"],
	["a set-uid program works", { threads: [thread("opaque")] }, "working guess"],
	["a set-uid program computes", { threads: [thread("running")], line: "Continue? [Y/n] " }, "working likely"],
	["an answer was typed", { threads: [thread("opaque")], line: "Continue? [Y/n] y", quietMs: 300 }, "working guess"],
	// blind
	["macOS: a question", { facts: { readable: false }, line: "Overwrite? (y/N) " }, "waiting line guess"],
	["macOS: a secret", { facts: { readable: false }, noEcho: true, line: "Password:" }, "waiting secret guess"],
	[
		"macOS: a shell with marks",
		{ facts: { readable: false }, raw: true, line: "$ ", atPrompt: true },
		"waiting command guess",
	],
	["macOS: a full screen", { facts: { readable: false }, raw: true, alternate: true }, "waiting screen guess"],
	["macOS: work that names itself", { facts: { readable: false }, line: "Compiling: " }, "working guess"],
	["macOS: silence after a whole line", { facts: { readable: false }, column: 0 }, "working guess"],
	["macOS: unread input", { facts: { readable: false, unread: 4 }, line: "$ " }, "working guess"],
	[
		"hidepid: no process is visible, but the group exists",
		{ line: "[sudo] password for ann: ", noEcho: true },
		"waiting secret guess",
	],
];

describe("R1.4 whose turn it is", () => {
	test.each(scenes)("%s", (_sentence, scene, truth) => {
		expect(summary(decide(inputFor(scene)))).toBe(truth);
	});

	test("every rule of the table decides some scene", () => {
		const decided = new Set(scenes.map(([, scene]) => decide(inputFor(scene)).rule));
		expect([...decided].sort()).toEqual(rules.map((rule) => rule.name).sort());
	});

	test("the evidence names program, process, call and modes", () => {
		const writes = inputFor({ threads: [thread("tty-write", { call: "write", fd: 1 })] });
		expect(decide({ ...writes, outputLimit: 1000 }).because).toMatch(/; its output is limited to 1000 bytes a second$/);
		expect(decide(inputFor({ threads: [reads()] })).because).toBe(
			"python3 (412) is blocked in read(0) on the terminal; line mode, echo on",
		);
		expect(decide(inputFor({ threads: [thread("timer", { command: "sleep", timeoutMs: 70_000 })] })).because).toBe(
			"no process reads the terminal: sleep (412) sleeps on a timer (70 s)",
		);
	});

	test("asks for a recheck when only silence is missing, and the verdict then changes", () => {
		for (const [sentence, scene] of scenes) {
			const first = inputFor(scene);
			const { recheckMs, activity } = decide(first);
			if (recheckMs === null) continue;
			const { quietMs, sinceInputMs } = first.facts;
			const later: KernelFacts = {
				...first.facts,
				quietMs: quietMs + recheckMs,
				sinceInputMs: sinceInputMs === null ? null : sinceInputMs + recheckMs,
			};
			const second = decide({ ...first, facts: later });
			expect(second.activity !== activity || second.recheckMs !== null, sentence).toBe(true);
		}
	});
});

// --- invariants ---------------------------------------------------

const doings: readonly ThreadDoing[] = [
	"running",
	"disk",
	"stopped",
	"opaque",
	"tty-read",
	"tty-write",
	"tty-poll",
	"timer",
	"child-wait",
	"accept",
	"other",
	"unknown",
];
const anyThread = fc.record({
	doing: fc.constantFrom(...doings),
	pid: fc.integer({ min: 1, max: 4 }),
	main: fc.boolean(),
	foreground: fc.boolean(),
	fresh: fc.boolean(),
	others: fc.constantFrom(0, 0, 1, 3),
	timeoutMs: fc.constantFrom(undefined, 0, 100, 8000),
	listens: fc.boolean(),
	nonblocking: fc.boolean(),
	relays: fc.boolean(),
});
const anyScene = fc.record({
	threads: fc.array(anyThread, { maxLength: 4 }),
	raw: fc.boolean(),
	noEcho: fc.boolean(),
	alternate: fc.boolean(),
	hidden: fc.boolean(),
	quietMs: fc.constantFrom(0, 40, 200, 1000, 100_000),
	sinceInputMs: fc.constantFrom(null, 0, 100, 5000),
	line: fc.constantFrom("", "$ ", "Password: ", "Compiling:", "hello", "50%"),
	atPrompt: fc.constantFrom(null, true, false),
	doubts: fc.constantFrom<KernelFacts["doubts"]>([], [], null, ["call"], ["list", "set"]),
	more: fc.constantFrom(0, 0, 0, 3),
	vmin: fc.constantFrom(1, 1, 0, 4),
	vtime: fc.constantFrom(0, 0, 5),
	readable: fc.boolean(),
	foregroundLives: fc.boolean(),
	unread: fc.constantFrom(null, 0, 0, 5),
	queued: fc.constantFrom(0, 0, 0, 7),
	learnt: fc.option(fc.record({ pid: fc.constantFrom(412, 413, 77), rests: fc.subarray(["peeks", "loop"] as const) })),
	elsewhere: fc.boolean(),
});

test("certain means certain, whatever the facts", () => {
	fc.assert(
		fc.property(anyScene, ({ threads, raw, ...scene }) => {
			const { doubts, more, vmin, vtime, readable, foregroundLives, unread, queued } = scene;
			const facts = { doubts, more, vmin, vtime, readable, foregroundLives, unread, queued };
			const all = threads.map(({ doing, relays, timeoutMs, ...rest }) =>
				thread(doing, {
					...rest,
					...(timeoutMs === undefined ? {} : { timeoutMs }),
					...(relays ? { inner: [inner([reads({ pid: 77 })])] } : {}),
				}),
			);
			const decision = decide(inputFor({ ...scene, raw, threads: all, facts }));
			expect(decision.activity === "waiting").toBe(decision.waitingFor !== null);
			// What was learnt makes nothing certain, and ends only what was likely: work, or too short a silence.
			const unlearnt = decide(inputFor({ ...scene, raw, threads: all, facts, learnt: null }));
			if (decision.certainty === "certain" || unlearnt.certainty === "certain") {
				const { activity, certainty, because, rule } = unlearnt;
				expect(decision).toMatchObject({ activity, certainty, because, rule });
			}
			expect(decision.because).toMatch(/^[^\n]+$/);
			if (decision.recheckMs !== null) expect(decision.recheckMs).toBeGreaterThan(0);
			const doubted = doubts === null || doubts.length > 0 || more > 0;
			if (decision.certainty === "certain" && queued === 0 && !unread) {
				expect(doubted).toBe(false);
				expect(all.some((one) => one.foreground && one.doing === "unknown")).toBe(false);
			}
			if (decision.activity !== "waiting") return;
			if (scene.elsewhere && raw) expect(decision.certainty).not.toBe("certain");
			expect(queued).toBe(0);
			if (decision.certainty === "certain") {
				expect(unread ?? 0).toBe(0);
				const reader = all.find(
					(one) =>
						(one.doing === "tty-read" || one.doing === "tty-poll") &&
						one.main &&
						one.fresh &&
						!one.others &&
						one.timeoutMs === undefined &&
						!one.listens &&
						!one.inner,
				);
				expect(reader).toBeDefined();
				if (raw && reader?.doing === "tty-read") expect(vmin === 0 || (vmin > 1 && vtime > 0)).toBe(false);
				const passive = ["tty-read", "tty-poll", "child-wait", "other", "stopped"];
				const foreground = all.filter((one) => one.foreground);
				expect(foreground.map(({ doing }) => doing).filter((doing) => !passive.includes(doing))).toEqual([]);
			}
			if (decision.certainty === "likely" && !/looks? at the keyboard$/.test(decision.rule))
				expect(all.some((one) => one.doing === "tty-read" || one.doing === "tty-poll")).toBe(true);
		}),
		{ numRuns: 3000 },
	);
});

describe("what was learnt of a process", () => {
	const sleeps = { threads: [thread("timer", { timeoutMs: 300 })], raw: true, line: "ready:" };
	const learnt = { pid: 412, rests: ["peeks"] } as const;

	test.each<[string, Scene, string]>([
		["nothing is learnt", sleeps, "working"],
		["another process", { ...sleeps, learnt: { ...learnt, pid: 7 } }, "working"],
		["another way to rest", { ...sleeps, learnt: { ...learnt, rests: ["loop"] } }, "working"],
		["it has not taken the input", { ...sleeps, learnt, facts: { unread: 1 } }, "working"],
		["how much is unread is not known", { ...sleeps, learnt, facts: { unread: null } }, "working"],
		["it has just printed", { ...sleeps, learnt, quietMs: 200 }, "working"],
		[
			"it does not come alone",
			{ ...sleeps, learnt, threads: [...sleeps.threads, thread("other", { pid: 9 })] },
			"working",
		],
		[
			"it sleeps long: nobody takes input",
			{ ...sleeps, learnt, threads: [thread("timer", { timeoutMs: 9000 })] },
			"working",
		],
		["line mode", { ...sleeps, learnt, raw: false }, "working"],
	])("%s", (_, scene, activity) => {
		expect(decide(inputFor(scene)).activity).toBe(activity);
	});

	test("a loop that ticks is told after a short silence", () => {
		const loop = { threads: [polls({ timeoutMs: 5 })], raw: true, line: "hello", alternate: true, quietMs: 200 };
		expect(decide(inputFor(loop)).activity).toBe("working");
		const known = decide(inputFor({ ...loop, learnt: { pid: 412, rests: ["loop"] } }));
		expect(known).toMatchObject({ activity: "waiting", certainty: "likely" });
	});
});

describe("settling", () => {
	const waits = inputFor({ threads: [polls({ timeoutMs: 100 })], raw: true, line: ">>> " });
	const wakes = inputFor({ threads: [thread("running")], raw: true, line: ">>> " });
	const at = (before: Debounced | null, then: AttentionInput, now: number, more: Partial<KernelFacts> = {}) =>
		debounce(before, decide(then), { ...then.facts, at: now, ...more });

	test("one probe that hits a tick does not end the turn", () => {
		const first = at(null, waits, 1000);
		const second = at(first, wakes, 1025);
		expect(second.decision.activity).toBe("waiting");
		expect(second.decision.recheckMs).toBeGreaterThan(0);
		expect(at(second, waits, 1050).doubtedAt).toBeNull();
	});

	test("what was certain is not while it is seen to run", () => {
		const first = at(null, inputFor({ threads: [reads()], line: "name? " }), 1000);
		expect(first.decision.certainty).toBe("certain");
		expect(at(first, wakes, 1025).decision).toMatchObject({ activity: "waiting", certainty: "likely" });
	});

	test("work that lasts does", () => {
		const doubted = at(at(null, waits, 1000), wakes, 1025);
		expect(at(doubted, wakes, 1100).decision.activity).toBe("working");
	});

	test("typing or output ends it at once", () => {
		const first = at(null, waits, 1000);
		expect(at(first, wakes, 1025, { sinceInputMs: 5 }).decision.activity).toBe("working");
		expect(at(first, wakes, 1025, { offset: 101 }).decision.activity).toBe("working");
	});

	test("a stopped job is debounced when the shell behind it has not taken the terminal back; a stopped main program at once", () => {
		const stops = inputFor({ threads: [thread("stopped")], facts: { mainForeground: false } });
		const first = at(null, stops, 1000);
		expect(first.decision.activity).toBe("working");
		expect(first.decision.recheckMs).toBe(250);
		expect(at(at(first, stops, 1100), stops, 1250).decision.activity).toBe("stopped");
		expect(at(null, inputFor({ threads: [thread("stopped")] }), 1000).decision.activity).toBe("stopped");
	});

	test("that it became your turn is debounced at once", () => {
		const first = at(null, wakes, 1000);
		expect(at(first, waits, 1001).decision.activity).toBe("waiting");
	});
});
