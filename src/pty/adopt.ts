// Adopts a session that another process started, after a daemon restart.
//
// Its state is derived, never remembered (DESIGN §3): a holder that lives → running, also
// when it does not answer, and whatever an `exit` file says; without one, an `exit` file →
// ended; neither → lost, with what of it still runs.

import { CorruptState, setAside } from "../journal/state-file.ts";
import { PtyError, PtyIoError } from "./errors.ts";
import { exitPath, readExit } from "./exit-file.ts";
import { HolderPty } from "./holder-pty.ts";
import { leftRunning } from "./leftovers.ts";
import { readSecret } from "./owner-secret.ts";
import { identityOf, type ProcessIdentity } from "./process-stat.ts";
import { holderOf } from "./process-tree.ts";
import type { PtyExit } from "./pty.ts";

const NOT_THE_HOLDERS = new CorruptState("bad-content", "its program runs");

export interface AdoptOptions {
	/** The session's directory. */
	readonly directory: string;
	readonly socketPath: string;
	readonly epoch: bigint;
	/** The offset from which output is wanted. */
	readonly from: number | "end";
	/** The main program and the holder as recorded: they tell a holder that cannot be found from one that is dead. */
	readonly mainProcess?: ProcessIdentity | null;
	readonly holderProcess?: ProcessIdentity | null;
}

/**
 * Settles within 2 s, also when the holder is stopped: then the terminal is unresponsive until it answers. `lost`: how it
 * ended is unknown; its output is on disk up to the last byte. (Check for an ended one with `instanceof HolderPty`: a
 * terminal has an `exit` too.)
 */
export async function adopt({
	mainProcess,
	holderProcess,
	...options
}: AdoptOptions): Promise<HolderPty | { readonly exit: PtyExit } | "lost"> {
	const { directory } = options;
	const before = await readExit(directory);
	const secret = await readSecret(directory);
	// Older records do not name the holder.
	const holder = holderProcess ?? identityOf(mainProcess ? holderOf(mainProcess.pid) : 0);
	const pty = new HolderPty({ ...options, secret, mainProcess: mainProcess ?? identityOf(0), holderProcess: holder });
	let kept = false;
	try {
		// Also with an exit file: a descendant may keep the terminal open, and the holder with it.
		if (await pty.connect()) {
			kept = true;
			// It was there before the holder said that its program runs.
			if (before !== null && pty.responsive && pty.ending === null)
				await setAside(exitPath(directory), NOT_THE_HOLDERS);
			return pty;
		}
		// The holder is gone, but not all that it held: it has to be told, and ended when somebody asks for it.
		const traces = { program: mainProcess ?? null, others: before?.survivors ?? [] };
		kept = mainProcess != null && leftRunning(traces).length > 0;
		if (kept) return pty;
	} catch (error) {
		const lockedOut = secret === null && error instanceof PtyError && error.code === "denied";
		throw lockedOut ? new PtyIoError("denied", "its `secret` is missing or damaged, so its holder refuses us") : error;
	} finally {
		if (!kept) await pty[Symbol.asyncDispose]();
	}
	// It may have ended while we connected.
	const after = await readExit(directory);
	return after === null ? "lost" : { exit: after };
}
