// Takes up a session that somebody else started: after a restart of the daemon.
//
// Its state is derived, never remembered (DESIGN §3): an `exit` file → ended; a
// socket that answers → running; neither → lost.

import { readExit } from "./exit-file.ts";
import { HolderPty } from "./holder-pty.ts";
import type { PtyExit } from "./pty.ts";

export interface AdoptOptions {
	/** The session's directory. */
	readonly directory: string;
	readonly socketPath: string;
	readonly epoch: bigint;
	/** The offset from which output is wanted. */
	readonly from: number | "end";
}

/**
 * `lost`: nobody knows how it ended; its output is on disk up to the last byte.
 * (Tell the first from the second by `instanceof HolderPty`: a terminal has an `exit` too.)
 */
export async function adopt(options: AdoptOptions): Promise<HolderPty | { readonly exit: PtyExit } | "lost"> {
	const before = await readExit(options.directory);
	if (before?.closed) return { exit: before };
	const pty = new HolderPty(options);
	// Also with an exit file: a descendant may keep the terminal open, and the holder with it.
	if (await pty.connect()) return pty;
	await pty[Symbol.asyncDispose]();
	// It may have ended while we knocked.
	const after = await readExit(options.directory);
	return after === null ? "lost" : { exit: after };
}
