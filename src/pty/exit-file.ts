// How a session ended, from the file that the holder leaves: written atomically
// after the last byte, so it is complete or absent.

import { stat } from "node:fs/promises";
import { join } from "node:path";
import { listSegments } from "../journal/segments.ts";
import { CorruptState, MAX_BYTES, readState } from "../journal/state-file.ts";
import type { HolderExit } from "../protocol/frames.ts";
import { BadFrame, parseExit } from "../protocol/holder-json.ts";
import type { PtyExit } from "./pty.ts";
import { signalName } from "./signals.ts";

export function ptyExit(exit: HolderExit): PtyExit {
	return { ...exit, signal: exit.signal === null ? null : signalName(exit.signal) };
}

export const exitPath = (directory: string): string => join(directory, "exit");

/** Null while the program runs, and when the holder died before it could write. */
export async function readExit(directory: string): Promise<PtyExit | null> {
	try {
		const exit = await readState({ path: exitPath(directory), maxBytes: MAX_BYTES.exit, parse });
		return exit && ptyExit(exit);
	} catch (error) {
		if (error instanceof CorruptState) return null; // the holder writes it atomically, so this one is not the holder's
		throw error;
	}
}

function parse(text: string): HolderExit {
	try {
		const exit = parseExit(text);
		if (Number.isSafeInteger(exit.size) && exit.size >= 0 && exit.lost >= 0) return exit;
	} catch (error) {
		if (!(error instanceof BadFrame)) throw error;
		throw new CorruptState("bad-content", error.message, error);
	}
	throw new CorruptState("bad-content", "its size is not a number of bytes");
}

/** The end of a session whose holder died: how it ended is unknown, only the size of its output. */
export async function lostExit(directory: string, startedAt: number): Promise<PtyExit> {
	const last = (await listSegments(directory)).at(-1);
	if (last === undefined) return unknownExit(0, startedAt);
	const endedAt = await stat(last.path).then(({ mtimeMs }) => mtimeMs, Date.now);
	return { ...unknownExit(last.to, startedAt), endedAt };
}

export function unknownExit(size: number, startedAt: number): PtyExit {
	return {
		code: null,
		signal: null,
		core: false,
		size,
		startedAt,
		endedAt: Date.now(),
		closed: true,
		reason: "lost",
		rusage: null,
		survivors: [],
		lost: 0,
	};
}
