// The interface of a terminal: bytes in, bytes out, one exit, after the last
// byte. HolderPty is the real one, FakePty the scripted one.

import type { HolderEvent, LimitReason, SignalTarget } from "../protocol/frames.ts";
import type { KernelFacts } from "../protocol/kernel-facts.ts";
import type { OutputChunk } from "../protocol/output.ts";
import type { Input } from "./input-queue.ts";

/** How the main program ended: the holder's `exit` file. */
export interface PtyExit {
	readonly code: number | null;
	/** A name such as SIGTERM. */
	readonly signal: string | null;
	readonly core: boolean;
	/** The absolute offset after the last byte. */
	readonly size: number;
	readonly startedAt: number;
	readonly endedAt: number;
	/** False while something of the session lives: on its terminal, away from it, or without its holder. */
	readonly closed: boolean;
	/** What lives has left the terminal, as a daemon does, and the terminal is closed. */
	readonly away?: boolean;
	/** `lost`: the holder died, so the end is unknown (`stream_lost`). */
	readonly reason: "exit" | "end" | LimitReason | "lost";
	readonly rusage: { readonly userMs: number; readonly systemMs: number; readonly maxRssKb: number } | null;
	/** What lived on at that moment. */
	readonly survivors: readonly Survivor[];
	/** Started inside the session, and no part of it: another Dialtone's holder or daemon. */
	readonly released?: readonly Survivor[] | undefined;
	/** Bytes of output that could not be logged. */
	readonly lost: number;
	/** Why the end or the last output could not be read from disk. */
	readonly problem?: string;
}

/** `born` as in ProcessIdentity; without it, a process that can be named but not told from another of its number. */
export interface Survivor {
	readonly pid: number;
	readonly command: string;
	readonly born?: string;
}

/** The part of an exit that is known as soon as the main program has ended. */
export type PtyEnding = Pick<PtyExit, "code" | "signal">;

export interface WriteOptions {
	/** Typed once, however often it is sent: 16 bytes as 32 hex digits. */
	readonly id?: string;
	/** Ahead of queued input: for Ctrl+C. */
	readonly priority?: boolean;
	/** A secret: typed at once and while nothing is echoed, or refused (`echo`). */
	readonly hidden?: boolean;
	/** About how much memory it takes while it waits for its turn, for an input that is a function. */
	readonly queuedBytes?: number;
	/** Aborted: nothing more of it is sent, neither when its turn comes nor when a program that does not read has made room. */
	readonly signal?: AbortSignal;
}

export interface Pty extends AsyncDisposable {
	/** The main program. */
	readonly pid: number;
	/** The holder: ancestor of everything in the session. */
	readonly holderPid: number;
	/** False once the holder is gone: the rest, and the end, come from disk. */
	readonly held: boolean;
	/**
	 * False while the holder does not answer: it is stopped or stuck. Requests then fail at once with `unresponsive`.
	 * Any frame from it makes it responsive again.
	 */
	readonly responsive: boolean;
	/** How long it has left a request unanswered; 0 while it answers. */
	readonly silentMs: number;
	onResponsive(listener: (responsive: boolean) => void): () => void;
	/** Settles once, after the last byte was delivered to every listener. */
	readonly exited: Promise<PtyExit>;
	readonly exit: PtyExit | null;
	/** Settled when the terminal is closed and its holder needs to do nothing more: later than `exited` where a descendant keeps it open. */
	readonly closed: Promise<PtyExit>;
	/** How the program ended, as soon as that is known: before `exit` while output is still to be delivered. */
	readonly ending: PtyEnding | null;
	onEnding(listener: (ending: PtyEnding) => void): () => void;
	/**
	 * Output in order, each byte once and gaps where bytes are not kept, from the offset requested at launch or
	 * adoption. It starts in the turn of the loop after the first listener was added or `exited` was read.
	 */
	onOutput(listener: (chunk: OutputChunk) => void): () => void;
	/**
	 * Stops receiving output: it stays in the holder's log. Up to 512 KiB may still arrive. The exit comes after the last
	 * byte, so a paused terminal whose program has ended (`ending`) must be resumed to see it.
	 */
	pause(): void;
	resume(): void;
	/** Its programs get the share of the processor of this nice value beside others that want it, where the system can do that; 0: their own. */
	giveWay(nice: number): void;
	/** Drops undelivered output below `offset`: the next chunk begins there, without a gap chunk. Only forward. */
	skipTo(offset: number): void;
	/** What else the holder reports: resized, log_lost, input_dropped, … */
	onEvent(listener: (event: HolderEvent) => void): () => void;
	/** A newer owner has taken over: from now on this terminal is read-only. */
	onFenced(listener: () => void): () => void;
	/** Facts pushed while watching and facts that were asked for, in the holder's order. */
	onFacts(listener: (facts: KernelFacts) => void): () => void;
	/** Bytes of input accepted so far. */
	readonly inputOffset: number;
	/**
	 * Atomic; settles when the holder has accepted it. A function is called when this write is next in the queue; when
	 * it throws, nothing is typed. More than 1 MiB is refused (`input_too_long`). An error with `sent` may have been typed:
	 * repeating it with the same id is safe.
	 */
	write(input: Input, options?: WriteOptions): Promise<void>;
	resize(cols: number, rows: number): Promise<void>;
	signal(signal: string, target: SignalTarget): Promise<void>;
	/** What of it still runs although its program has ended: in the background, on its terminal or not, or below a dead holder. */
	left(): readonly Survivor[];
	/**
	 * TERM to the tree, KILL after the grace; settles when all are gone, with the survivors if any. Without a grace an
	 * unresponsive holder is killed together with its tree; where there is no holder any more, what is left is ended. Rejects with `disk_stalled` when all are gone but the disk
	 * does not answer: the exit comes when it does.
	 */
	end(graceMs: number): Promise<readonly Survivor[]>;
	facts(): Promise<KernelFacts>;
	/** While there is a watcher, facts are pushed as they change. */
	watch(): () => void;
	/** Detaches from the terminal; the program keeps running. */
	[Symbol.asyncDispose](): Promise<void>;
}
