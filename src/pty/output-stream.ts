// The output of one terminal, delivered once and in order, then its end.
//
// Across reconnects and the death of the holder, listeners get the log byte for byte
// from the requested offset. While the holder lives, output comes in frames, with
// credit-based flow control; when it is gone, the rest comes from its log files. A
// paused stream grants no credit: undelivered output stays in the log.

import { setTimeout as delay } from "node:timers/promises";
import { readLog } from "../journal/segments.ts";
import { attachFrame, creditFrame, type HolderExit } from "../protocol/frames.ts";
import { Listeners, reportError } from "../protocol/listeners.ts";
import type { Bytes, Gap, OutputChunk } from "../protocol/output.ts";
import { deferred } from "./deferred.ts";
import { lostExit, ptyExit, readExit, unknownExit } from "./exit-file.ts";
import type { RunningProcess } from "./process-stat.ts";
import type { PtyEnding, PtyExit } from "./pty.ts";
import { signalName } from "./signals.ts";
import { onAbort, until } from "./wait.ts";

/** What the holder may send ahead of what was consumed; renewed when half of it is used. */
const CREDIT_BYTES = 512 * 1024;
/** How long reading the log of a gone holder is retried, in case descriptors or memory are short. */
const READ_RETRY_MS = { first: 20, most: 1000, inAll: 15_000 };

export interface OutputStreamOptions {
	/** The session's directory. */
	readonly directory: string;
	readonly from: number | "end";
	/** Aborted when the terminal is disposed: nothing is delivered after that. */
	readonly disposed: AbortSignal;
	/** Sends to the holder, while connected. */
	readonly send: (frame: Uint8Array) => void;
	/** The last byte before the exit was delivered. Again, with `closed`, when nothing of it can follow or runs. */
	readonly onExit: (exit: PtyExit) => void;
	/** What lives of a session whose terminal is closed. */
	readonly left: (exit: PtyExit) => readonly RunningProcess[];
}

export class OutputStream {
	readonly outputs = new Listeners<OutputChunk>("output");
	readonly endings = new Listeners<PtyEnding>("ending");
	readonly #options: OutputStreamOptions;
	readonly #exited = deferred<PtyExit>();
	readonly #closed = deferred<PtyExit>();
	/** The next byte to deliver; null until the end is known, where that was asked for. */
	#at: number | null;
	/** The offset up to which the holder may send. */
	#credit = 0;
	#flowing = false;
	#paused = false;
	readonly #resumed = new Listeners<void>("resumed");
	#skips = 0;
	/** The holder does not answer. */
	#silent = false;
	/** Set when the holder is gone: when the session started, for an end that was not recorded. */
	#goneSince: { readonly startedAt: number } | null = null;
	#ending: PtyEnding | null = null;
	/** Its end in full, from the holder; it becomes `exit` when the last byte has been delivered. */
	#expected: PtyExit | null = null;
	#exit: PtyExit | null = null;

	constructor(options: OutputStreamOptions) {
		this.#options = options;
		this.#at = options.from === "end" ? null : options.from;
	}

	get exit(): PtyExit | null {
		return this.#exit;
	}

	get ending(): PtyEnding | null {
		return this.#ending;
	}

	get exited(): Promise<PtyExit> {
		return this.#exited.promise;
	}

	get closed(): Promise<PtyExit> {
		return this.#closed.promise;
	}

	/** Starts delivery, on the first listener. Output in flight arrives in a later turn of the loop. */
	flow(): void {
		if (this.#flowing) return;
		this.#flowing = true;
		if (this.#goneSince !== null) setImmediate(() => void this.#finishFromDisk());
		else this.#attach();
		if (this.#silent) this.#readAhead();
	}

	pause(): void {
		this.#paused = true;
	}

	resume(): void {
		this.#paused = false;
		if (this.#at !== null) this.#replenish(this.#at);
		this.#resumed.emit();
	}

	/** Drops undelivered output below `offset`, including output in flight. */
	skipTo(offset: number): void {
		if (this.#at !== null && offset <= this.#at) return;
		this.#at = offset;
		this.#skips++;
		if (this.#flowing) this.#attach();
		this.#settle();
	}

	/** Connected or reconnected; `size` is the output so far. */
	connected(size: number): void {
		this.#at ??= size;
		if (this.#flowing) this.#attach();
	}

	/** While the holder does not answer, what it logged is delivered from disk; what it sends later goes on behind that. */
	silent(silent: boolean): void {
		this.#silent = silent;
		if (silent && this.#flowing) this.#readAhead();
	}

	#readAhead(): void {
		if (this.#at === null) return; // from the end on, which only the holder knows
		void this.#retried(
			() => this.#deliverLog(),
			() => null, // reported; the holder has it all, and may answer again
		);
	}

	/** The last frame has arrived, or there never was one. */
	holderGone(startedAt: number): void {
		this.#goneSince = { startedAt };
		if (this.#flowing) void this.#finishFromDisk();
	}

	/** Bytes from the holder or the disk; what was delivered before is cut off. */
	deliver({ offset, bytes }: Bytes): void {
		if (this.#options.disposed.aborted) return;
		const at = this.#at ?? offset;
		if (offset > at) this.deliverGap({ from: at, to: offset });
		const fresh = offset < at ? bytes.subarray(at - offset) : bytes;
		if (fresh.length === 0) return;
		this.#at = Math.max(at, offset) + fresh.length;
		this.#replenish(this.#at);
		this.outputs.emit({ offset: this.#at - fresh.length, bytes: fresh });
		this.#settle();
	}

	/** Bytes that are not kept. */
	deliverGap({ from, to }: Gap): void {
		const at = this.#at ?? from;
		if (this.#options.disposed.aborted || to <= at) return;
		this.#at = to;
		this.#replenish(to);
		this.outputs.emit({ gap: { from: Math.max(at, from), to } });
		this.#settle();
	}

	/** The main program has ended; output may still be in flight. */
	mainExited({ code, signal }: Pick<HolderExit, "code" | "signal">): void {
		if (this.#ending !== null) return;
		this.#ending = { code, signal: signal === null ? null : signalName(signal) };
		this.endings.emit(this.#ending);
	}

	/** How it ended, from the holder: once, and once more when the last writer is gone. */
	end(exit: HolderExit): void {
		this.mainExited(exit);
		const told = ptyExit(exit);
		// Whatever leaves its parent becomes the holder's child: where it names nobody there is nobody, and all of /proc,
		// in which a fork bomb may be dying, need not be read in the way of other sessions.
		this.#expected = told.survivors.length === 0 ? told : this.#withLeft(told);
		this.#settle();
	}

	#attach(): void {
		if (this.#at === null || this.#goneSince !== null) return;
		this.#credit = this.#paused ? this.#at : this.#at + CREDIT_BYTES;
		this.#options.send(attachFrame(BigInt(this.#at), BigInt(this.#credit)));
	}

	#replenish(at: number): void {
		if (this.#paused || this.#credit - at > CREDIT_BYTES / 2) return;
		this.#credit = at + CREDIT_BYTES;
		this.#options.send(creditFrame(BigInt(this.#credit)));
	}

	#settle(): void {
		const exit = this.#expected;
		if (exit === null || (this.#at ?? 0) < exit.size || this.#options.disposed.aborted) return;
		this.#exit = exit;
		this.#options.onExit(exit);
		this.#exited.resolve(exit);
		if (exit.closed) this.#closed.resolve(exit);
	}

	/** The holder logged every byte before it sent it: what was not delivered is on disk. */
	async #finishFromDisk(): Promise<void> {
		const { directory } = this.#options;
		const startedAt = this.#goneSince?.startedAt ?? 0;
		const exit = await this.#retried(
			async () => (await readExit(directory)) ?? this.#expected ?? (await lostExit(directory, startedAt)),
			(problem) => ({ ...unknownExit(this.#at ?? 0, startedAt), problem: `its end could not be read: ${problem}` }),
		);
		if (this.#ending === null) {
			this.#ending = exit;
			this.endings.emit(exit);
		}
		this.#at ??= exit.size;
		const problem = await this.#retried(
			() => this.#deliverLog(),
			(why) => `its last output could not be read: ${why}`,
		);
		this.deliverGap({ from: this.#at, to: exit.size });
		// Without the holder nothing more comes from the terminal. What ignored the hang-up may live all the same.
		const away = exit.closed && exit.reason !== "lost";
		this.#expected = { ...this.#withLeft({ ...exit, closed: true }, away), ...(problem !== null && { problem }) };
		this.#settle();
	}

	/** Its end, which is not complete while something that left the terminal, or lost its holder, lives. */
	#withLeft(exit: PtyExit, away = true): PtyExit {
		const left = exit.closed ? this.#options.left(exit) : [];
		if (left.length === 0) return exit;
		const survivors = left.map(({ pid, command, born }) => ({ pid, command, born }));
		return { ...exit, closed: false, away, survivors };
	}

	/** What lived without a holder has ended. */
	leftEnded(): void {
		if (this.#exit === null || this.#exit.closed) return;
		this.#expected = { ...this.#exit, closed: true, away: false, survivors: [] };
		this.#settle();
	}

	async #deliverLog(): Promise<null> {
		for (let whole = false; !whole; ) {
			const { disposed } = this.#options;
			await until(
				() => !this.#paused || disposed.aborted,
				onAbort(disposed),
				(listener) => this.#resumed.add(listener),
			);
			if (disposed.aborted) return null;
			const skips = this.#skips;
			whole = true;
			for await (const { from, to, bytes } of readLog(this.#options.directory, this.#at ?? 0)) {
				if (bytes === null) this.deliverGap({ from, to });
				else this.deliver({ offset: from, bytes });
				whole = !this.#paused && this.#skips === skips;
				if (!whole || disposed.aborted) break;
			}
		}
		return null;
	}

	/** Retries with back-off; then reports the error and returns the fallback. */
	async #retried<T>(read: () => Promise<T>, otherwise: (problem: string) => T): Promise<T> {
		const { first, most, inAll } = READ_RETRY_MS;
		const { disposed } = this.#options;
		for (let [wait, waited] = [first, 0]; ; wait = Math.min(wait * 2, most)) {
			try {
				return await read();
			} catch (error) {
				if (waited >= inAll || disposed.aborted) {
					if (!disposed.aborted) reportError(error, "reading a session whose holder is gone");
					return otherwise((error as Error).message);
				}
				waited += wait;
				await delay(wait, undefined, { signal: disposed }).catch(() => {}); // disposed meanwhile
			}
		}
	}
}
