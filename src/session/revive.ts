// How a session comes (back) into memory: freshly launched, adopted from a
// holder that outlived its daemon, or ended and read from disk.

import { Journal } from "../journal/journal.ts";
import { logBounds } from "../journal/segments.ts";
import { adopt } from "../pty/adopt.ts";
import { HolderPty } from "../pty/holder-pty.ts";
import type { Pty } from "../pty/pty.ts";
import { type Keyframe, Keyframes } from "./keyframes.ts";
import { hasEnded } from "./lifecycle.ts";
import type { Options } from "./options.ts";
import { RecordedPty } from "./recorded-pty.ts";
import type { SessionSlot } from "./registry.ts";
import { type Drawing, Session } from "./session.ts";

interface SessionOf {
	readonly slot: SessionSlot;
	readonly pty: Pty;
	readonly options: Options;
	readonly drawing: Drawing;
	/** Where the pty's output begins, and what was seen before. */
	readonly beginning?: Beginning;
}

export function sessionOf({ slot, pty, options, drawing, beginning = NEW }: SessionOf): Session {
	const { record, directory, commands } = slot;
	const { from, to, keyframe } = beginning;
	return new Session({
		id: record.id,
		name: record.name,
		cwd: record.cwd,
		resolved: hasEnded(record.state) ? record.state : null,
		pty,
		journal: new Journal({ directory, maxBytes: options.ringBytes, at: from, linesOut: keyframe?.lines ?? 0 }),
		screen: {
			options: {
				cols: record.cols,
				rows: record.rows,
				scrollback: options.scrollback,
				now: () => performance.now(),
			},
			from: keyframe?.screen ?? from,
		},
		drawing,
		replayedUntil: to,
		seen: keyframe?.seen ?? [],
		keyframes: new Keyframes(directory, { everyBytes: options.replayBytes / 4, savedAt: from }),
		commands,
	});
}

/** Goes on with a session that an earlier daemon left running. */
export async function adoptSession(parts: {
	readonly slot: SessionSlot;
	readonly options: Options;
	readonly drawing: Drawing;
	readonly socketPath: string;
	readonly epoch: bigint;
}): Promise<Session> {
	const { slot, options, drawing, socketPath, epoch } = parts;
	const beginning = await beginningOf(slot, options);
	const { directory, record } = slot;
	const adopted = await adopt({ directory, socketPath, epoch, from: beginning.from, pid: record.pid });
	if (!(adopted instanceof HolderPty)) return reviveSession({ slot, options, drawing });
	return sessionOf({ slot, options, drawing, pty: adopted, beginning });
}

/** An ended session, from disk; settles when its screen is complete. */
export async function reviveSession({
	slot,
	options,
	drawing,
}: {
	slot: SessionSlot;
	options: Options;
	drawing: Drawing;
}): Promise<Session> {
	const beginning = await beginningOf(slot, options);
	const pty = await RecordedPty.open(slot.directory, { from: beginning.from, startedAt: slot.record.createdAt });
	const session = sessionOf({ slot, options, drawing, pty, beginning });
	await pty.play();
	return session;
}

interface Beginning {
	readonly from: number;
	/** Output below this was there before us: whatever it asked the terminal was answered then. */
	readonly to: number;
	readonly keyframe: Keyframe | null;
}

const NEW: Beginning = { from: 0, to: 0, keyframe: null };

/** From the saved screen where there is one, else from as much of the log as a screen and its scrollback need. */
async function beginningOf({ directory, commands }: SessionSlot, options: Options): Promise<Beginning> {
	const { from, to } = await logBounds(directory);
	const earliest = Math.max(from, to - options.replayBytes);
	// A shell's marks are not in the screen: they are found again only by reading the log.
	const keyframe = commands === null ? await Keyframes.load(directory) : null;
	const usable = keyframe !== null && keyframe.screen.offset >= earliest && keyframe.screen.offset <= to;
	return usable ? { from: keyframe.screen.offset, to, keyframe } : { from: earliest, to, keyframe: null };
}
