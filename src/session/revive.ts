// How a session gets (back) into memory: launched, adopted from a
// holder that outlived its daemon, or ended and read from disk.

import { bytesOf, Journal } from "../journal/journal.ts";
import { logBounds, readLog } from "../journal/segments.ts";
import { reportError } from "../protocol/listeners.ts";
import { bootId } from "../pty/boot-id.ts";
import { readExit } from "../pty/exit-file.ts";
import type { Pty } from "../pty/pty.ts";
import type { Drawing } from "./display.ts";
import { DriverLease } from "./driver-lease.ts";
import type { KeyedQueue } from "./keyed-queue.ts";
import { type Keyframe, Keyframes } from "./keyframes.ts";
import type { Learnt } from "./learnt.ts";
import { hasEnded, statusAfter } from "./lifecycle.ts";
import type { Options } from "./options.ts";
import { PendingQuestion } from "./pending-question.ts";
import { endOf, RecordedPty } from "./recorded-pty.ts";
import { SeenPositions } from "./seen-positions.ts";
import { Session } from "./session.ts";
import type { SessionSlot } from "./session-slot.ts";
import type { ShellCommands } from "./shell/commands.ts";
import { rememberedShell } from "./shell/prepare.ts";
import { resumeDeadline } from "./shell/run.ts";

/** How much output is searched for a last line. */
const TAIL_BYTES = 4096;

const LOST_AT_START = "the daemon died while it was being started";

const NOTHING_COUNTED = { offset: 0, lines: 0 } as const;

/** What every session is created with. */
export interface SessionContext {
	readonly options: Options;
	readonly drawing: Drawing;
	readonly learnt: Learnt;
	/** Earlier lines are counted for one session at a time: a log of 256 MB takes seconds. */
	readonly counting: KeyedQueue;
}

interface SessionOf extends Omit<SessionContext, "counting"> {
	readonly slot: SessionSlot;
	readonly pty: Pty;
	readonly commands: ShellCommands | null;
	/** Where the pty's output begins, and what was seen before. */
	readonly beginning?: Beginning;
}

export function sessionOf({ slot, pty, options, drawing, learnt, commands, beginning }: SessionOf): Session {
	const { record, directory } = slot;
	const { from, to, printedAt, keyframe, tail, seen, question, driving, counted } =
		beginning ?? newBeginning(directory);
	const status = hasEnded(record.state) ? record.state : statusAfter(record.state, "launched");
	const lostAtStart = record.state === "starting" && pty.exit?.reason === "lost";
	const { bytesOut, linesOut, lastLine, truncated } = record;
	return new Session({
		id: record.id,
		name: record.name,
		cwd: record.cwd,
		status,
		limits: record.limits,
		endedBecause: hasEnded(record.state) ? record.reason : lostAtStart ? LOST_AT_START : null,
		pty,
		journal: new Journal({
			directory,
			maxBytes: options.ringBytes,
			at: from,
			tail,
			earlierLines: counted.offset === from ? counted.lines : null,
			finalStats: record.terminalOpen ? null : { bytesOut, linesOut, lastLine, truncated },
		}),
		screen: {
			options: { cols: record.cols, rows: record.rows, scrollback: options.scrollback, now: () => performance.now() },
			from: keyframe?.screen ?? from,
		},
		drawing,
		learnt,
		replayedUntil: to,
		printedAt,
		seen,
		question,
		driving,
		keyframes: new Keyframes(directory, { everyBytes: options.replayBytes / 4, savedAt: from }),
		commands,
		keepsTurns: true,
		isConfined: record.sandbox !== null,
		place: record.place,
	});
}

/** Connects to the holder of a session; null when nothing listens on its socket. */
export type Connect = (from: number) => Promise<Pty | null>;

/** Resumes a session that an earlier daemon left running; one that ended meanwhile is read from disk. */
export async function adoptSession(slot: SessionSlot, context: SessionContext, connect: Connect): Promise<Session> {
	let replayedTo = 0;
	const session = await fromBeginning(slot, context, async (beginning) => {
		replayedTo = beginning.to;
		const pty = await connect(beginning.from);
		// A daemon that ended while it stopped a command may have left the shell held (shell/run.ts).
		if (beginning.commands !== null) pty?.signal("SIGCONT", "main").catch(() => {}); // it has ended since
		return pty ?? recordedPty(slot, beginning);
	});
	void resumeDeadline(session, replayedTo).catch((error: unknown) => {
		if (!session.whileAttached.aborted) reportError(error, `the timeout of a command in ${slot.record.name}`);
	});
	return session;
}

/** An ended session, from disk; settles when its screen is complete. */
export async function reviveSession(slot: SessionSlot, context: SessionContext): Promise<Session> {
	return fromBeginning(slot, context, (beginning) => recordedPty(slot, beginning));
}

const recordedPty = ({ directory, record }: SessionSlot, { from }: Beginning) =>
	RecordedPty.open(directory, { from, startedAt: record.createdAt, thisBoot: record.bootId === bootId() });

async function fromBeginning(
	slot: SessionSlot,
	context: SessionContext,
	connect: (beginning: Beginning) => Promise<Pty>,
): Promise<Session> {
	const beginning = await beginningOf(slot, context.options);
	const pty = await connect(beginning);
	let session: Session;
	try {
		session = sessionOf({ ...context, slot, pty, beginning, commands: beginning.commands });
	} catch (error) {
		await pty[Symbol.asyncDispose]();
		if (beginning.keyframe === null) throw error;
		// A saved screen that cannot be drawn: the log has everything.
		await Keyframes.setAside(slot.directory, error);
		return fromBeginning(slot, context, connect);
	}
	if (session.journal.stats.linesOut === null) {
		const done = session.use();
		void context.counting
			.run("lines", () => session.journal.countEarlier(beginning.counted, beginning.from))
			.then(() => slot.counted(session))
			.catch((error) => reportError(error, `counting the lines of ${slot.record.name}`))
			.finally(done);
	}
	if (pty instanceof RecordedPty) {
		await session.passOverOld();
		await pty.play();
	} else if (!pty.held) await pty.exited; // its holder died and left something running
	return session;
}

interface Beginning {
	readonly from: number;
	/** Output below this was received by an earlier daemon, which replied to its queries. */
	readonly to: number;
	/** When the last of that was printed. */
	readonly printedAt: number | null;
	readonly keyframe: Keyframe | null;
	/** The newest offset up to which lines have been counted; at or below `from`. */
	readonly counted: { readonly offset: number; readonly lines: number };
	/** The newest output before `from`. */
	readonly tail: Uint8Array;
	readonly seen: SeenPositions;
	readonly question: PendingQuestion;
	readonly driving: DriverLease;
	/** Null for a program that is not a shell of ours. */
	readonly commands: ShellCommands | null;
}

const newBeginning = (directory: string): Omit<Beginning, "commands"> => ({
	from: 0,
	to: 0,
	printedAt: null,
	keyframe: null,
	counted: NOTHING_COUNTED,
	tail: new Uint8Array(0),
	seen: new SeenPositions(directory),
	question: new PendingQuestion(directory),
	driving: new DriverLease(directory),
});

/** From the saved screen where there is one, else from as much of the log as a screen and its scrollback need. */
async function beginningOf({ directory }: SessionSlot, options: Options): Promise<Beginning> {
	const { from: first, to, writtenAt: printedAt } = await logBounds(directory, endOf(await readExit(directory)));
	const earliest = Math.max(first, to - options.replayBytes);
	const saved = await Keyframes.load(directory);
	const keyframe = saved !== null && saved.screen.offset >= earliest && saved.screen.offset <= to ? saved : null;
	const from = keyframe?.screen.offset ?? earliest;
	// A shell's marks are not in the screen: they are recovered by scanning the log, which is cheap without drawing.
	const commands = await rememberedShell(directory);
	if (commands !== null) {
		for await (const { from: offset, bytes } of readLog(directory, earliest, from)) {
			if (bytes !== null) commands.take({ offset, bytes });
		}
	}
	const chunks = [];
	for await (const { from: offset, bytes } of readLog(directory, Math.max(first, from - TAIL_BYTES), from)) {
		if (bytes === null) chunks.length = 0;
		else chunks.push({ offset, bytes });
	}
	// Lines are numbered from the beginning of the output: a screen that starts in the middle cannot compare them.
	const numbered = keyframe !== null || from === 0;
	const lines = saved !== null && saved.screen.offset <= from ? saved.lines : null;
	return {
		from,
		to,
		printedAt,
		keyframe,
		counted: saved === null || lines === null ? NOTHING_COUNTED : { offset: saved.screen.offset, lines },
		tail: bytesOf({ chunks }),
		seen: await SeenPositions.load(directory, { foreign: !numbered }),
		question: await PendingQuestion.load(directory),
		driving: await DriverLease.load(directory),
		commands,
	};
}
