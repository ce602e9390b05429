// How a session gets (back) into memory: launched, adopted from a
// holder that outlived its daemon, or ended and read from disk.

import { bytesOf, Journal } from "../journal/journal.ts";
import { logBounds, readLog } from "../journal/segments.ts";
import { readExit } from "../pty/exit-file.ts";
import type { Pty } from "../pty/pty.ts";
import type { Drawing } from "./display.ts";
import { type Keyframe, Keyframes } from "./keyframes.ts";
import { hasEnded } from "./lifecycle.ts";
import type { Options } from "./options.ts";
import { endOf, RecordedPty } from "./recorded-pty.ts";
import { SeenPositions } from "./seen-positions.ts";
import { Session } from "./session.ts";
import type { SessionSlot } from "./session-slot.ts";
import { rememberedShell } from "./shell/prepare.ts";

/** How much output is searched for a last line. */
const TAIL_BYTES = 4096;

/** What every session is created with. */
export interface SessionContext {
	readonly options: Options;
	readonly drawing: Drawing;
}

interface SessionOf extends SessionContext {
	readonly slot: SessionSlot;
	readonly pty: Pty;
	/** Where the pty's output begins, and what was seen before. */
	readonly beginning?: Beginning;
}

export function sessionOf({ slot, pty, options, drawing, beginning }: SessionOf): Session {
	const { record, directory, commands } = slot;
	const { from, to, keyframe, tail, seen } = beginning ?? newBeginning(directory);
	const resolved = hasEnded(record.state) ? record.state : null;
	const { bytesOut, linesOut, lastLine, truncated } = record;
	return new Session({
		id: record.id,
		name: record.name,
		cwd: record.cwd,
		resolved,
		pty,
		journal: new Journal({
			directory,
			maxBytes: options.ringBytes,
			at: from,
			tail,
			linesOut: keyframe?.lines ?? 0,
			finalStats: record.terminalOpen ? null : { bytesOut, linesOut, lastLine, truncated },
		}),
		screen: {
			options: { cols: record.cols, rows: record.rows, scrollback: options.scrollback, now: () => performance.now() },
			from: keyframe?.screen ?? from,
		},
		drawing,
		replayedUntil: to,
		seen,
		keyframes: new Keyframes(directory, { everyBytes: options.replayBytes / 4, savedAt: from }),
		commands,
	});
}

/** Connects to the holder of a session; null when nothing listens on its socket. */
export type Connect = (from: number) => Promise<Pty | null>;

/** Resumes a session that an earlier daemon left running; one that ended meanwhile is read from disk. */
export async function adoptSession(slot: SessionSlot, context: SessionContext, connect: Connect): Promise<Session> {
	return fromBeginning(slot, context, async (beginning) => {
		const pty = await connect(beginning.from);
		return pty ?? recordedPty(slot, beginning);
	});
}

/** An ended session, from disk; settles when its screen is complete. */
export async function reviveSession(slot: SessionSlot, context: SessionContext): Promise<Session> {
	return fromBeginning(slot, context, (beginning) => recordedPty(slot, beginning));
}

const recordedPty = ({ directory, record }: SessionSlot, { from }: Beginning) =>
	RecordedPty.open(directory, { from, startedAt: record.createdAt });

async function fromBeginning(
	slot: SessionSlot,
	context: SessionContext,
	connect: (beginning: Beginning) => Promise<Pty>,
): Promise<Session> {
	const beginning = await beginningOf(slot, context.options);
	const pty = await connect(beginning);
	let session: Session;
	try {
		session = sessionOf({ ...context, slot, pty, beginning });
	} catch (error) {
		await pty[Symbol.asyncDispose]();
		if (beginning.keyframe === null) throw error;
		// A saved screen that cannot be drawn: the log has everything.
		await Keyframes.setAside(slot.directory, error);
		return fromBeginning(slot, context, connect);
	}
	if (pty instanceof RecordedPty) await pty.play();
	return session;
}

interface Beginning {
	readonly from: number;
	/** Output below this was received by an earlier daemon, which replied to its queries. */
	readonly to: number;
	readonly keyframe: Keyframe | null;
	/** The newest output before `from`. */
	readonly tail: Uint8Array;
	readonly seen: SeenPositions;
}

const newBeginning = (directory: string): Beginning => ({
	from: 0,
	to: 0,
	keyframe: null,
	tail: new Uint8Array(0),
	seen: new SeenPositions(directory),
});

/** From the saved screen where there is one, else from as much of the log as a screen and its scrollback need. */
async function beginningOf(slot: SessionSlot, options: Options): Promise<Beginning> {
	const { directory } = slot;
	const { from: first, to } = await logBounds(directory, endOf(await readExit(directory)));
	const earliest = Math.max(first, to - options.replayBytes);
	const saved = await Keyframes.load(directory);
	const keyframe = saved !== null && saved.screen.offset >= earliest && saved.screen.offset <= to ? saved : null;
	const from = keyframe?.screen.offset ?? earliest;
	// A shell's marks are not in the screen: they are recovered by scanning the log, which is cheap without drawing.
	slot.commands = await rememberedShell(directory);
	if (slot.commands !== null) {
		for await (const { from: offset, bytes } of readLog(directory, earliest, from)) {
			if (bytes !== null) slot.commands.take({ offset, bytes });
		}
	}
	const chunks = [];
	for await (const { from: offset, bytes } of readLog(directory, Math.max(first, from - TAIL_BYTES), from)) {
		if (bytes === null) chunks.length = 0;
		else chunks.push({ offset, bytes });
	}
	// Lines are numbered from the beginning of the output: a screen that starts in the middle cannot compare them.
	const numbered = keyframe !== null || from === 0;
	return {
		from,
		to,
		keyframe,
		tail: bytesOf({ chunks }),
		seen: await SeenPositions.load(directory, { foreign: !numbered }),
	};
}
