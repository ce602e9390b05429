// What the holder saw of the session's processes: evidence, no verdict.
//
// The holder gathers it (holder/attention-linux.c), session/attention.ts decides.

/**
 * Of the terminal's settings those that are on and tell who edits a line: CR becomes NL (icrnl), the terminal's own editing
 * keys (iexten, and lnext: Ctrl+V), output processing (opost); and whether Ctrl+S stops output (ixon).
 */
export const TERMINAL_FLAGS = ["icrnl", "iexten", "lnext", "opost", "ixon"] as const;
export type TerminalFlag = (typeof TERMINAL_FLAGS)[number];

/** What one thread is doing, as far as it concerns this terminal. */
export type ThreadDoing =
	| "running"
	| "disk"
	| "stopped"
	/** Asleep, but where is not readable (set-uid, another user, Yama). */
	| "opaque"
	| "tty-read"
	| "tty-write"
	/** Waits for several things, the terminal's input among them. */
	| "tty-poll"
	| "timer"
	| "child-wait"
	| "accept"
	/** Asleep in a call that never reads a terminal. */
	| "other"
	/** Asleep in a call that may wait for the terminal, as far as is known. */
	| "unknown";

/**
 * Why the list is not all there is:
 * - call: a system call that is not known
 * - set: what a thread waits for was not readable, or not all of it
 * - sleep: a thread is in a read or poll of the terminal, but sleeps for something else
 * - list: not all processes, threads or descriptors were readable or fit
 * - changed: a process ran while it was read
 */
export const DOUBTS = ["call", "set", "sleep", "list", "changed"] as const;
export type Doubt = (typeof DOUBTS)[number];

/**
 * Why a sleeping thread may go on although nobody types:
 * - mixed: it waits for more than the terminal's input
 * - timers: its process has timers
 * - shares: another process shares its memory or descriptors, or may have done so
 * - orphans: a process that it may have started has left it
 * - woken: the foreground went on lately although nothing was done to it
 */
export const RISKS = ["mixed", "timers", "shares", "orphans", "woken", "connected"] as const;
export type Risk = (typeof RISKS)[number];

/** Absent members are false, null or zero: the list is sent often. */
export interface ThreadFacts {
	readonly pid: number;
	readonly tid: number;
	readonly command: string;
	/** In the foreground process group. Otherwise it is listed because it reads the terminal anyway. */
	readonly foreground: boolean;
	readonly doing: ThreadDoing;
	/** The system call, by name where known: read, poll, epoll_wait, … */
	readonly call?: string;
	/** The descriptor through which it reads or writes the terminal. */
	readonly fd?: number;
	/** The thread is its process's main or only one. */
	readonly main: boolean;
	/** Times it was scheduled: the epoch of what it is doing. */
	readonly switches: number;
	/** It has run since our last write, or nothing of that write is left to read: its state is newer than that write. */
	readonly fresh: boolean;
	/** For polls: other descriptors that the outside world could make ready. */
	readonly others?: number;
	/** For polls and timers. */
	readonly timeoutMs?: number;
	/** A listening socket is among what it waits for. */
	readonly listens?: boolean;
	/** It waits for a child that is not in the foreground, or for a signal though it has no child there; or it reads, and has such a child. */
	readonly elsewhere?: boolean;
	/** It waits for a local socket whose other end may be outside the session, where the terminal may have been passed. */
	readonly local?: boolean;
	/** Its process has the terminal open such that reads do not wait. Told when nobody in the foreground reads. */
	readonly nonblocking?: boolean;
	/** It may take input without waiting for it: so, or on a timer's or the terminal's signal (then told always), or through io_uring. */
	readonly peeks?: boolean;
	/** Something by which its own process wakes it (a pipe, an event counter) is among what it waits for. */
	readonly wakes?: boolean;
	/** Its process has other threads, which share its memory and descriptors: what it waits for may have become another. */
	readonly workers?: boolean;
	readonly risks?: readonly Risk[];
	/** Not a descendant of the session: a server such as tmux that was passed the terminal. */
	readonly outside?: boolean;
	/** Terminals whose other end it holds: it relays (script, sudo, expect, tmux). */
	readonly inner?: readonly InnerTerminal[];
}

export interface InnerTerminal {
	/** N of /dev/pts/N. */
	readonly pts: number;
	/** Null where they could not be read. */
	readonly canonical: boolean | null;
	readonly echo: boolean | null;
	readonly signals: boolean | null;
	/** How many bytes a read in raw mode waits for, and for how many tenths of a second. */
	readonly vmin: number;
	readonly vtime: number;
	readonly unread: number | null;
	readonly flags?: readonly TerminalFlag[];
	/** Its foreground processes. */
	readonly threads: readonly ThreadFacts[];
}

export interface KernelFacts {
	/** When the probe was made, in milliseconds since the epoch. */
	readonly at: number;
	/** False where the kernel could not be read at all (macOS, gVisor), or not in time. */
	readonly readable: boolean;
	/** A file system or another process holds up the look at the processes: only the terminal's own facts are here. */
	readonly late?: boolean;
	/** 0 when no process group has the terminal. */
	readonly foregroundGroup: number;
	/** It has members, even if none is visible (hidepid). */
	readonly foregroundLives: boolean;
	/** The main program's process group is the foreground one. */
	readonly mainForeground: boolean;
	readonly canonical: boolean;
	readonly echo: boolean;
	readonly signals: boolean;
	/** How many bytes a read in raw mode waits for, and for how many tenths of a second. */
	readonly vmin: number;
	readonly vtime: number;
	/** How many bytes of input had been accepted: whether this is from before or after a write. Absent in older holders' facts. */
	readonly inputOffset?: number;
	/** Bytes accepted but not yet written to the terminal. */
	readonly queued: number;
	/** Bytes written but not yet read by the program (whole lines only, in line mode); null if unknown. */
	readonly unread: number | null;
	/** Absent where the holder does not report them. */
	readonly flags?: readonly TerminalFlag[];
	/** All output up to here was drained and logged: what a blocked program wrote before it blocked is below it. */
	readonly offset: number;
	/** Milliseconds since the last output byte, and since our last write (null: none yet). */
	readonly quietMs: number;
	readonly sinceInputMs: number | null;
	/** Sleeping worker threads are left out, readers never. */
	readonly threads: readonly ThreadFacts[];
	/** More threads than are listed. */
	readonly more: number;
	/** Empty: the list is complete and all of it was true at once. Null: an older holder, which does not know. */
	readonly doubts: readonly Doubt[] | null;
	/** The first worker thread that was left out wakes up by itself after this long. */
	readonly wakesMs?: number;
}
