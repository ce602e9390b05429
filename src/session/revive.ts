// How a session comes (back) into memory: freshly launched, adopted from a
// holder that outlived its daemon, or ended and read from disk.

import { Journal } from "../journal/journal.ts";
import { logBounds } from "../journal/segments.ts";
import { adopt } from "../pty/adopt.ts";
import { HolderPty } from "../pty/holder-pty.ts";
import type { Pty } from "../pty/pty.ts";
import { Screen } from "../terminal/screen.ts";
import { hasEnded } from "./lifecycle.ts";
import type { Options } from "./options.ts";
import { RecordedPty } from "./recorded-pty.ts";
import type { Known } from "./registry.ts";
import { Session } from "./session.ts";

interface SessionOf {
	readonly known: Known;
	readonly pty: Pty;
	readonly options: Options;
	/** Where the pty's output begins. */
	readonly from?: number;
	/** Output below this was there before us: whatever it asked the terminal was answered then. */
	readonly replayedUntil: number;
}

export function sessionOf({ known, pty, options, from = 0, replayedUntil }: SessionOf): Session {
	const { record, directory } = known;
	return new Session({
		id: record.id,
		name: record.name,
		cwd: record.cwd,
		resolved: hasEnded(record.state) ? record.state : null,
		pty,
		journal: new Journal({ directory, maxBytes: options.ringBytes, at: from }),
		screen: new Screen({ cols: record.cols, rows: record.rows, scrollback: options.scrollback, offset: from }),
		replayedUntil,
		commands: known.commands,
	});
}

/** Goes on with a session that an earlier daemon left running; its screen is rebuilt from the log. */
export async function adoptSession(parts: {
	readonly known: Known;
	readonly options: Options;
	readonly socketPath: string;
	readonly epoch: bigint;
}): Promise<Session> {
	const { known, options, socketPath, epoch } = parts;
	const { from, to } = await replayBounds(known.directory, options);
	const adopted = await adopt({ directory: known.directory, socketPath, epoch, from });
	if (!(adopted instanceof HolderPty)) return reviveSession({ known, options });
	return sessionOf({ known, options, pty: adopted, from, replayedUntil: to });
}

/** An ended session, from disk; settles when its screen is complete. */
export async function reviveSession({ known, options }: { known: Known; options: Options }): Promise<Session> {
	const { from, to } = await replayBounds(known.directory, options);
	const pty = await RecordedPty.open(known.directory, { from, startedAt: known.record.createdAt });
	const session = sessionOf({ known, options, pty, from, replayedUntil: to });
	await pty.play();
	return session;
}

/** The newest part of the log is enough for the screen and its scrollback. */
async function replayBounds(directory: string, options: Options): Promise<{ from: number; to: number }> {
	const { from, to } = await logBounds(directory);
	return { from: Math.max(from, to - options.replayBytes), to };
}
