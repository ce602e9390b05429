// Adopts a session that another process started, after a daemon restart.
//
// Its state is derived, never remembered (DESIGN §3): an `exit` file → ended; a
// holder that lives → running, also when it does not answer; neither → lost.

import { readExit } from "./exit-file.ts";
import { HolderPty } from "./holder-pty.ts";
import { readSecret } from "./owner-secret.ts";
import { identityOf, type ProcessIdentity } from "./process-stat.ts";
import { holderOf } from "./process-tree.ts";
import type { PtyExit } from "./pty.ts";

export interface AdoptOptions {
	/** The session's directory. */
	readonly directory: string;
	readonly socketPath: string;
	readonly epoch: bigint;
	/** The offset from which output is wanted. */
	readonly from: number | "end";
	/** The main program and the holder as recorded: they tell a holder that cannot be found from one that is dead. */
	readonly pid?: number | null;
	readonly holderProcess?: ProcessIdentity | null;
}

/**
 * Settles within 2 s, also when the holder is stopped: then the terminal is unresponsive until it answers. `lost`: how it
 * ended is unknown; its output is on disk up to the last byte. (Check for an ended one with `instanceof HolderPty`: a
 * terminal has an `exit` too.)
 */
export async function adopt({
	pid,
	holderProcess,
	...options
}: AdoptOptions): Promise<HolderPty | { readonly exit: PtyExit } | "lost"> {
	const { directory } = options;
	const before = await readExit(directory);
	if (before?.closed) return { exit: before };
	const secret = await readSecret(directory);
	// Older records do not name the holder.
	const holder = holderProcess ?? identityOf(pid ? holderOf(pid) : 0);
	const pty = new HolderPty({ ...options, secret, pid: pid ?? 0, holderProcess: holder });
	// Also with an exit file: a descendant may keep the terminal open, and the holder with it.
	if (await pty.connect()) return pty;
	await pty[Symbol.asyncDispose]();
	// It may have ended while we connected.
	const after = await readExit(directory);
	return after === null ? "lost" : { exit: after };
}
