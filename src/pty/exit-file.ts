// How a session ended, from the file that the holder leaves: written atomically
// after the last byte, so it is there whole or not at all.

import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { listSegments } from "../journal/segments.ts";
import type { HolderExit } from "../protocol/frames.ts";
import { parseExit } from "../protocol/holder-json.ts";
import type { PtyExit } from "./pty.ts";
import { signalName } from "./signals.ts";

export function ptyExit(exit: HolderExit): PtyExit {
	return { ...exit, signal: exit.signal === null ? null : signalName(exit.signal) };
}

/** Null while the program runs, and when the holder died before it could write. */
export async function readExit(directory: string): Promise<PtyExit | null> {
	let text: string;
	try {
		text = await readFile(join(directory, "exit"), "utf8");
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
		throw error;
	}
	return ptyExit(parseExit(text));
}

/** The end of a session whose holder died: nobody knows how, only how far its output goes. */
export async function lostExit(directory: string, startedAt: number): Promise<PtyExit> {
	const last = (await listSegments(directory)).at(-1);
	return {
		code: null,
		signal: null,
		core: false,
		size: last?.to ?? 0,
		startedAt,
		endedAt: last
			? await stat(last.path)
					.then((it) => it.mtimeMs)
					.catch(Date.now)
			: Date.now(),
		closed: true,
		reason: "lost",
		rusage: null,
		survivors: [],
		lost: 0,
	};
}
