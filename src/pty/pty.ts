// What the rest of the project knows of a terminal: bytes in, bytes out, one
// exit, after the last byte. HolderPty is the real one, FakePty the scripted one.

import type { HolderEvent, SignalTarget } from "../protocol/frames.ts";
import type { KernelFacts } from "../protocol/kernel-facts.ts";
import type { OutputChunk } from "../protocol/output.ts";

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
	/** False while a descendant still holds the terminal open. */
	readonly closed: boolean;
	/** `lost`: the holder died, so the end is not known (`stream_lost`). */
	readonly reason: "exit" | "end" | "wall_clock" | "lost";
	readonly rusage: { readonly userMs: number; readonly systemMs: number; readonly maxRssKb: number } | null;
	readonly survivors: readonly { readonly pid: number; readonly command: string }[];
	/** Bytes of output that could not be logged. */
	readonly lost: number;
}

export interface WriteOptions {
	/** Typed once, however often it is sent: 16 bytes as 32 hex digits. */
	readonly id?: string;
	/** In front of what is queued: for Ctrl+C. */
	readonly priority?: boolean;
	/** The input offset this belongs at: what was accepted already is not typed again. Left out: next. */
	readonly at?: number;
	/** How long a program that does not read is waited for before `queue_full`; 5000 by default. */
	readonly roomMs?: number;
	readonly signal?: AbortSignal;
}

export interface Pty extends AsyncDisposable {
	/** The main program. */
	readonly pid: number;
	/** The holder: ancestor of everything in the session. */
	readonly holderPid: number;
	/** Settled once, after the last byte was given to every listener. Late askers get it too. */
	readonly exited: Promise<PtyExit>;
	readonly exit: PtyExit | null;
	/** Settled when nobody holds the terminal any more: later than `exited` where a descendant keeps it open. */
	readonly closed: Promise<PtyExit>;
	/**
	 * Output in order, each byte once and gaps where bytes are not kept, from the offset that was asked for at launch or adoption. They begin to
	 * flow in the turn after somebody first listens or asks for `exited`.
	 */
	onOutput(listener: (chunk: OutputChunk) => void): () => void;
	/** What else the holder tells: resized, log_lost, input_dropped, … */
	onEvent(listener: (event: HolderEvent) => void): () => void;
	/** A newer owner has taken over: from now on nothing but reading is possible. */
	onFenced(listener: () => void): () => void;
	/** Facts pushed while watching and facts that were asked for, in the order in which the holder saw them. */
	onFacts(listener: (facts: KernelFacts) => void): () => void;
	/** Bytes of input accepted so far: where a writer that was interrupted goes on. */
	readonly inputOffset: number;
	/** Typed whole or refused; settles when the holder has accepted it. More than 256 KiB go in pieces. */
	write(bytes: Uint8Array, options?: WriteOptions): Promise<void>;
	/** While paused, output stays in the holder's log; what is on its way still comes. */
	pause(): void;
	resume(): void;
	/** Output below this offset is not wanted any more: it goes on from there. */
	skipTo(offset: number): void;
	resize(cols: number, rows: number): Promise<void>;
	signal(signal: string, target: SignalTarget): Promise<void>;
	/** TERM to the tree, KILL after the grace; settles when all are gone, with those that are not. */
	end(graceMs: number): Promise<readonly { pid: number; command: string }[]>;
	facts(): Promise<KernelFacts>;
	/** While any watcher is there, facts are pushed as they change. */
	watch(): () => void;
	/** Lets go of the terminal; the program goes on. */
	[Symbol.asyncDispose](): Promise<void>;
}
