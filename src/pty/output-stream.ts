// What came out of one terminal, told once and in order, then its end.
//
// Whatever happens to connections and to the holder, listeners hear the log byte
// for byte from the offset asked for. While the holder lives that comes in frames,
// with credit so that it never sends more than was taken; when it is gone, the
// rest comes from the files it left.

import { readLog } from "../journal/segments.ts";
import { attachFrame, creditFrame } from "../protocol/frames.ts";
import { Listeners } from "../protocol/listeners.ts";
import type { Bytes, Gap, OutputChunk } from "../protocol/output.ts";
import { deferred } from "./deferred.ts";
import { lostExit, readExit } from "./exit-file.ts";
import type { PtyExit } from "./pty.ts";

/** What the holder may send ahead of what was taken; given anew when half is used. */
const CREDIT_BYTES = 1 << 20;

export interface OutputStreamOptions {
	/** The session's directory. */
	readonly directory: string;
	readonly from: number | "end";
	/** To the holder, while there is a connection. */
	readonly send: (frame: Uint8Array) => void;
	/** The last byte was told and nobody can write another. */
	readonly onClosed: () => void;
}

export class OutputStream {
	readonly outputs = new Listeners<OutputChunk>("output");
	readonly #options: OutputStreamOptions;
	readonly #exited = deferred<PtyExit>();
	readonly #closed = deferred<PtyExit>();
	/** The next byte that nobody has been told; null until the end is known, where that was asked for. */
	#at: number | null;
	/** How far the holder may send. */
	#credit = 0;
	#flowing = false;
	/** Set when the holder is gone: when the session started, for an end that nobody recorded. */
	#goneSince: { readonly startedAt: number } | null = null;
	#letGo = false;
	#paused = false;
	/** How it ended, as soon as known; it becomes `exit` when the last byte has been told. */
	#ending: PtyExit | null = null;
	#exit: PtyExit | null = null;

	constructor(options: OutputStreamOptions) {
		this.#options = options;
		this.#at = options.from === "end" ? null : options.from;
	}

	get exit(): PtyExit | null {
		return this.#exit;
	}

	get exited(): Promise<PtyExit> {
		return this.#exited.promise;
	}

	get closed(): Promise<PtyExit> {
		return this.#closed.promise;
	}

	/** Somebody listens: nothing is told before. What is on its way is told in a later turn. */
	flow(): void {
		if (this.#flowing) return;
		this.#flowing = true;
		if (this.#goneSince !== null) setImmediate(() => void this.#finishFromDisk());
		else this.#attach();
	}

	/** There is a connection, the first or another one; `size` is how much came out so far. */
	connected(size: number): void {
		this.#at ??= size;
		if (this.#flowing) this.#attach();
	}

	/** The last frame was heard, or there never was one. */
	holderGone(startedAt: number): void {
		this.#goneSince = { startedAt };
		if (this.#flowing) void this.#finishFromDisk();
	}

	letGo(): void {
		this.#letGo = true;
	}

	/** Bytes from the holder or the disk; those told before are cut off. */
	deliver({ offset, bytes }: Bytes): void {
		if (this.#letGo) return;
		const at = this.#at ?? offset;
		if (offset > at) this.skip({ from: at, to: offset });
		const fresh = offset < at ? bytes.subarray(at - offset) : bytes;
		if (fresh.length === 0) return;
		this.#at = Math.max(at, offset) + fresh.length;
		this.#replenish(this.#at);
		this.outputs.emit({ offset: this.#at - fresh.length, bytes: fresh });
		this.#settle();
	}

	/** Bytes that are not to be had. */
	skip({ from, to }: Gap): void {
		const at = this.#at ?? from;
		if (this.#letGo || to <= at) return;
		this.#at = to;
		this.#replenish(to);
		this.outputs.emit({ gap: { from: Math.max(at, from), to } });
		this.#settle();
	}

	/** The holder says how it ended: once, and once more when the last writer is gone. */
	end(exit: PtyExit): void {
		this.#ending = exit;
		this.#settle();
	}

	#attach(): void {
		if (this.#at === null) return; // not connected yet
		this.#credit = this.#at + (this.#paused ? 0 : CREDIT_BYTES);
		this.#options.send(attachFrame(BigInt(this.#at), BigInt(this.#credit)));
	}

	pause(): void {
		this.#paused = true;
	}

	resume(): void {
		if (!this.#paused) return;
		this.#paused = false;
		this.#replenish(this.#at ?? 0);
	}

	skipTo(offset: number): void {
		if ((this.#at ?? 0) >= offset) return;
		this.#at = offset;
		if (this.#flowing && this.#goneSince === null) this.#attach();
	}

	#replenish(at: number): void {
		if (this.#paused || this.#credit - at > CREDIT_BYTES / 2) return;
		this.#credit = at + CREDIT_BYTES;
		this.#options.send(creditFrame(BigInt(this.#credit)));
	}

	#settle(): void {
		const ending = this.#ending;
		if (ending === null || (this.#at ?? 0) < ending.size) return;
		this.#exit = ending;
		this.#exited.resolve(ending);
		if (!ending.closed) return;
		this.#closed.resolve(ending);
		this.#options.onClosed();
	}

	/** The holder logged every byte before it told anyone: what it did not tell is there. */
	async #finishFromDisk(): Promise<void> {
		const { directory } = this.#options;
		// An exit file that cannot be read is none: the holder wrote it whole or not at all.
		const exit = (await readExit(directory).catch(() => null)) ?? this.#ending;
		const ending = exit ?? (await lostExit(directory, this.#goneSince?.startedAt ?? 0));
		this.#at ??= ending.size;
		for await (const { from, to, bytes } of readLog(directory, this.#at)) {
			if (this.#letGo) return;
			if (bytes === null) this.skip({ from, to });
			else this.deliver({ offset: from, bytes });
		}
		this.skip({ from: this.#at, to: ending.size });
		// Whoever kept the terminal open lost it with the holder.
		this.end({ ...ending, closed: true });
	}
}
