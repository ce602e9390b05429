// What the holder saw of the session's processes: evidence, no verdict.
//
// The holder gathers it (holder/attention-linux.c), session/attention.ts decides.

/** What one thread is doing, as far as it concerns this terminal. */
export type ThreadDoing =
	| "running"
	| "disk"
	| "stopped"
	| "opaque"
	| "tty-read"
	| "tty-write"
	| "tty-poll"
	| "timer"
	| "child-wait"
	| "accept"
	| "other";

export interface ThreadFacts {
	readonly pid: number;
	readonly tid: number;
	readonly command: string;
	/** In the foreground process group of the terminal. */
	readonly foreground: boolean;
	readonly doing: ThreadDoing;
	/** The system call, by name where known: read, poll, epoll_wait, … */
	readonly call: string | null;
	/** The thread is its process's main or only one. */
	readonly main: boolean;
	/** Times it was scheduled: the epoch of what it is doing. */
	readonly switches: number;
	/** It has been scheduled since our last write, or did not read then. */
	readonly fresh: boolean;
	/** For tty-poll: other descriptors that the outside world could make ready. */
	readonly others?: number;
	/** For tty-poll and timer: ms, or null without one. */
	readonly timeoutMs?: number | null;
	/** A listening socket is among what it waits for. */
	readonly listens?: boolean;
	/** It holds the master of an inner terminal, whose threads are in `inner`. */
	readonly inner?: readonly ThreadFacts[];
}

export interface KernelFacts {
	/** Milliseconds since the epoch when the look was made. */
	readonly at: number;
	/** False where the kernel could not be read at all (macOS, gVisor). */
	readonly readable: boolean;
	readonly foregroundGroup: number;
	/** The main program's process group is the foreground one. */
	readonly mainForeground: boolean;
	readonly canonical: boolean;
	readonly echo: boolean;
	readonly signals: boolean;
	/** Bytes accepted but not yet written to the terminal. */
	readonly queued: number;
	/** Bytes written but not yet read by the program; null where not known. */
	readonly unread: number | null;
	/** All output up to here was drained and logged before the look: what the program wrote before it blocked is below it. */
	readonly offset: number;
	/** Milliseconds since the last output byte, and since our last write (null: none yet). */
	readonly quietMs: number;
	readonly sinceInputMs: number | null;
	readonly threads: readonly ThreadFacts[];
	/** More threads than are listed. */
	readonly more: number;
}
