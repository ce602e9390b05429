// A terminal held by a holder: the stream that does not break.
//
// The connection may break, the holder may go; what a listener hears is the log,
// byte for byte from the offset asked for, then one exit. While the holder lives
// that comes over its socket, with credit so that it never sends more than we
// take; when it is gone, the rest comes from the files it left.

import { readLog } from "../journal/segments.ts";
import {
	askFactsFrame,
	attachFrame,
	creditFrame,
	endFrame,
	type HolderEvent,
	type HolderFrame,
	resizeFrame,
	type SignalTarget,
	signalFrame,
	type Welcome,
	watchFrame,
} from "../protocol/frames.ts";
import type { KernelFacts } from "../protocol/kernel-facts.ts";
import { deferred } from "./deferred.ts";
import { PtyDiedError, type PtyError, PtyIoError } from "./errors.ts";
import { lostExit, ptyExit, readExit } from "./exit-file.ts";
import { DISCONNECTED, type HolderConnection } from "./holder-connection.ts";
import { HolderLink } from "./holder-link.ts";
import { Listeners } from "./listeners.ts";
import type { Output, Pty, PtyExit, WriteOptions } from "./pty.ts";
import { signalNumber } from "./signals.ts";
import { Typist } from "./typist.ts";

/** What the holder may send ahead of what was taken; given anew when half is used. */
const CREDIT_BYTES = 1 << 20;
/** While watched and busy, the holder looks this often. */
const BUSY_MS = 20;

export interface Held {
	/** The session's directory. */
	readonly directory: string;
	readonly socketPath: string;
	readonly epoch: bigint;
	/** The offset from which output is wanted. */
	readonly from: number | "end";
	/** What is known before the holder says it. */
	readonly pid?: number;
	readonly holderPid?: number;
	readonly startedAt?: number;
}

export class HolderPty implements Pty {
	readonly #directory: string;
	readonly #link: HolderLink;
	readonly #typist: Typist;
	readonly #outputs = new Listeners<Output>();
	readonly #gaps = new Listeners<{ from: number; to: number }>();
	readonly #events = new Listeners<HolderEvent>();
	readonly #facts = new Listeners<KernelFacts>();
	readonly #fencings = new Listeners<void>();
	readonly #exited = deferred<PtyExit>();
	readonly #closed = deferred<PtyExit>();
	#pid: number;
	#holderPid: number;
	#startedAt: number;
	#inputOffset = 0;
	/** The next byte that nobody has been told; null until the end is known, where that was asked for. */
	#at: number | null;
	/** How far the holder may send. */
	#credit = 0;
	#flowing = false;
	#gone = false;
	#letGo = false;
	#fenced = false;
	/** How it ended, as soon as known; it becomes `exit` when the last byte has been told. */
	#ending: PtyExit | null = null;
	#exit: PtyExit | null = null;
	#survivors: PtyExit["survivors"] = [];
	#watchers = 0;

	constructor({ directory, socketPath, epoch, from, pid = 0, holderPid = 0, startedAt = Date.now() }: Held) {
		this.#directory = directory;
		this.#at = from === "end" ? null : from;
		this.#pid = pid;
		this.#holderPid = holderPid;
		this.#startedAt = startedAt;
		this.#link = new HolderLink({
			socketPath,
			epoch,
			onWelcome: (welcome) => this.#welcomed(welcome),
			onFrame: (frame) => this.#hear(frame),
			onFenced: () => {
				this.#fenced = true;
				this.#fencings.tell();
			},
			onGone: () => this.#holderGone(),
		});
		this.#typist = new Typist({
			ask: (frame) => this.#link.persist((connection) => connection.done(frame)),
			accepted: (inputOffset) => {
				this.#inputOffset = Math.max(this.#inputOffset, inputOffset);
			},
		});
	}

	/** False when no holder is there: then all there will ever be is on disk. */
	async connect(): Promise<boolean> {
		const there = await this.#link.open();
		if (!there) this.#holderGone();
		return there;
	}

	get pid(): number {
		return this.#pid;
	}

	get holderPid(): number {
		return this.#holderPid;
	}

	/** Bytes of input accepted so far: where a writer that was interrupted goes on. */
	get inputOffset(): number {
		return this.#inputOffset;
	}

	get exited(): Promise<PtyExit> {
		this.#flow();
		return this.#exited.promise;
	}

	/** Settled when nobody holds the terminal any more: later than `exited` where a descendant keeps it open. */
	get closed(): Promise<PtyExit> {
		this.#flow();
		return this.#closed.promise;
	}

	get exit(): PtyExit | null {
		return this.#exit;
	}

	onOutput(listener: (output: Output) => void): () => void {
		this.#flow();
		return this.#outputs.add(listener);
	}

	onGap(listener: (gap: { from: number; to: number }) => void): () => void {
		return this.#gaps.add(listener);
	}

	/** What else the holder tells: resized, log_lost, input_dropped, … */
	onEvent(listener: (event: HolderEvent) => void): () => void {
		return this.#events.add(listener);
	}

	onFacts(listener: (facts: KernelFacts) => void): () => void {
		return this.#facts.add(listener);
	}

	/** A newer owner has taken over: from now on nothing but reading is possible. */
	onFenced(listener: () => void): () => void {
		return this.#fencings.add(listener);
	}

	async write(bytes: Uint8Array, options: WriteOptions = {}): Promise<void> {
		await this.#whileAlive(() => this.#typist.write(bytes, options));
	}

	async resize(cols: number, rows: number): Promise<void> {
		await this.#persist((connection) => connection.done((request) => resizeFrame(request, cols, rows)));
	}

	async signal(signal: string, target: SignalTarget): Promise<void> {
		const number = signalNumber(signal);
		if (number === null) throw new PtyIoError("bad_signal", `there is no signal ${signal} here`);
		// Not repeated: a signal that may have arrived is not sent twice.
		await this.#whileAlive(() =>
			this.#link.ask((connection) => connection.done((request) => signalFrame(request, number, target))),
		);
	}

	async end(graceMs: number): Promise<PtyExit["survivors"]> {
		if (this.#exit?.closed) return this.#exit.survivors;
		try {
			const count = await this.#link.ask((connection) => connection.done((request) => endFrame(request, graceMs)));
			return count === 0 ? [] : this.#survivors;
		} catch (error) {
			// The holder may go as soon as its tree is gone: then what it left says how it went.
			const exit = await readExit(this.#directory);
			if (exit !== null || error instanceof PtyDiedError) return exit?.survivors ?? [];
			throw error;
		}
	}

	async facts(): Promise<KernelFacts> {
		return await this.#persist((connection) => connection.facts(askFactsFrame));
	}

	watch(): () => void {
		if (this.#watchers++ === 0) this.#sayWatch(true);
		let watching = true;
		return () => {
			if (!watching) return;
			watching = false;
			if (--this.#watchers === 0) this.#sayWatch(false);
		};
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#letGo = true;
		this.#link.close();
	}

	#persist<T>(question: (connection: HolderConnection) => Promise<T>): Promise<T> {
		return this.#whileAlive(() => this.#link.persist(question));
	}

	/** R3.6: nothing is said to a session that ended, and what fails because it ended says so. */
	async #whileAlive<T>(act: () => Promise<T>): Promise<T> {
		if (this.#exit !== null) throw endedError(this.#exit);
		if (this.#letGo) throw new PtyIoError(DISCONNECTED, "this terminal was let go");
		if (this.#fenced) throw new PtyIoError("fenced", "a newer daemon owns this terminal");
		try {
			return await act();
		} catch (error) {
			if (!(error instanceof PtyDiedError)) throw error;
			const exit = await readExit(this.#directory);
			throw exit === null ? error : endedError(exit);
		}
	}

	#sayWatch(on: boolean): void {
		// A connection that comes later is told by #welcomed; one that breaks has nobody to watch.
		this.#link.ask((connection) => connection.done((request) => watchFrame(request, on, BUSY_MS))).catch(() => {});
	}

	#welcomed(welcome: Welcome): void {
		this.#pid = welcome.pid;
		this.#holderPid = welcome.holder;
		this.#startedAt = welcome.startedAt;
		this.#inputOffset = Math.max(this.#inputOffset, welcome.inputOffset);
		this.#at ??= welcome.size;
		if (this.#flowing) this.#attach();
		if (this.#watchers > 0) queueMicrotask(() => this.#sayWatch(true));
	}

	/** Nothing is told before somebody can hear it. */
	#flow(): void {
		if (this.#flowing) return;
		this.#flowing = true;
		if (this.#gone) setImmediate(() => void this.#finishFromDisk());
		else this.#attach();
	}

	#attach(): void {
		if (this.#at === null) return; // not welcomed yet
		this.#credit = this.#at + CREDIT_BYTES;
		this.#link.send(attachFrame(BigInt(this.#at), BigInt(this.#credit)));
	}

	#hear(frame: HolderFrame): void {
		switch (frame.type) {
			case "output":
				this.#deliver(frame);
				break;
			case "gap":
				this.#skip(frame);
				break;
			case "exit":
				this.#ending = ptyExit(frame.exit);
				this.#settle();
				break;
			case "facts":
				this.#facts.tell(frame.facts);
				break;
			case "event":
				if (frame.event.event === "input_room") this.#typist.roomed();
				if (frame.event.event === "survivors") this.#survivors = frame.event.survivors ?? [];
				this.#events.tell(frame.event);
				break;
		}
	}

	#deliver({ offset, bytes }: Output): void {
		if (this.#letGo) return;
		const at = this.#at ?? offset;
		if (offset > at) this.#skip({ from: at, to: offset });
		const fresh = offset < at ? bytes.subarray(at - offset) : bytes;
		if (fresh.length === 0) return;
		this.#at = Math.max(at, offset) + fresh.length;
		this.#replenish(this.#at);
		this.#outputs.tell({ offset: this.#at - fresh.length, bytes: fresh });
		this.#settle();
	}

	#skip({ from, to }: { from: number; to: number }): void {
		const at = this.#at ?? from;
		if (this.#letGo || to <= at) return;
		this.#at = to;
		this.#replenish(to);
		this.#gaps.tell({ from: Math.max(at, from), to });
		this.#settle();
	}

	#replenish(at: number): void {
		if (this.#credit - at > CREDIT_BYTES / 2) return;
		this.#credit = at + CREDIT_BYTES;
		this.#link.send(creditFrame(BigInt(this.#credit)));
	}

	#settle(): void {
		const ending = this.#ending;
		if (ending === null || (this.#at ?? 0) < ending.size) return;
		this.#exit = ending;
		this.#exited.resolve(ending);
		if (!ending.closed) return;
		this.#link.close();
		this.#closed.resolve(ending);
	}

	#holderGone(): void {
		this.#gone = true;
		if (this.#flowing) void this.#finishFromDisk();
	}

	/** The holder logged every byte before it told anyone: what it did not tell is there. */
	async #finishFromDisk(): Promise<void> {
		const exit = (await readExit(this.#directory).catch(() => null)) ?? this.#ending;
		const ending = exit ?? (await lostExit(this.#directory, this.#startedAt));
		this.#at ??= ending.size;
		for await (const { from, to, bytes } of readLog(this.#directory, this.#at)) {
			if (this.#letGo) return;
			if (bytes === null) this.#skip({ from, to });
			else this.#deliver({ offset: from, bytes });
		}
		this.#skip({ from: this.#at, to: ending.size });
		// Whoever kept the terminal open lost it with the holder.
		this.#ending = { ...ending, closed: true };
		this.#settle();
	}
}

function endedError(exit: PtyExit): PtyError {
	if (exit.reason === "lost") return new PtyDiedError();
	const how = exit.signal ?? `exit code ${exit.code}`;
	return new PtyIoError("ended", `the program has ended (${how})`);
}
