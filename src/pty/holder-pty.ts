// A terminal held by a holder: what is asked of it, and what it tells.
//
// The holder keeps the connection, the stream keeps the output, the input keeps the
// input; here they are put together, and whatever is asked of a terminal that is
// over or in other hands is refused.

import {
	askFactsFrame,
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
import { Listeners } from "../protocol/listeners.ts";
import type { OutputChunk } from "../protocol/output.ts";
import { PtyDiedError, type PtyError, PtyIoError } from "./errors.ts";
import { ptyExit, readExit } from "./exit-file.ts";
import { HolderClient } from "./holder-client.ts";
import { DISCONNECTED, type HolderSocket } from "./holder-socket.ts";
import { InputWriter } from "./input-writer.ts";
import { OutputStream } from "./output-stream.ts";
import type { Pty, PtyExit, WriteOptions } from "./pty.ts";
import { signalNumber } from "./signals.ts";

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
	readonly #holder: HolderClient;
	readonly #stream: OutputStream;
	readonly #input: InputWriter;
	readonly #events = new Listeners<HolderEvent>("holder event");
	readonly #facts = new Listeners<KernelFacts>("kernel facts");
	readonly #fencings = new Listeners<void>("fenced");
	#pid: number;
	#holderPid: number;
	#startedAt: number;
	#inputOffset = 0;
	#survivors: PtyExit["survivors"] = [];
	#watchers = 0;
	#fenced = false;
	#letGo = false;

	constructor({ directory, socketPath, epoch, from, pid = 0, holderPid = 0, startedAt = Date.now() }: Held) {
		this.#directory = directory;
		this.#pid = pid;
		this.#holderPid = holderPid;
		this.#startedAt = startedAt;
		this.#holder = new HolderClient({
			socketPath,
			epoch,
			onWelcome: (welcome) => this.#welcomed(welcome),
			onFrame: (frame) => this.#hear(frame),
			onFenced: () => {
				this.#fenced = true;
				this.#fencings.emit();
			},
			onGone: () => this.#stream.holderGone(this.#startedAt),
		});
		this.#stream = new OutputStream({
			directory,
			from,
			send: (frame) => this.#holder.send(frame),
			onClosed: () => this.#holder.close(),
		});
		this.#input = new InputWriter({
			ask: (frame) => this.#holder.persist((connection) => connection.done(frame)),
			accepted: (inputOffset) => {
				this.#inputOffset = Math.max(this.#inputOffset, inputOffset);
			},
		});
	}

	/** False when no holder is there: then all there will ever be is on disk. */
	async connect(): Promise<boolean> {
		const there = await this.#holder.open();
		if (!there) this.#stream.holderGone(this.#startedAt);
		return there;
	}

	get pid(): number {
		return this.#pid;
	}

	get holderPid(): number {
		return this.#holderPid;
	}

	get inputOffset(): number {
		return this.#inputOffset;
	}

	get exit(): PtyExit | null {
		return this.#stream.exit;
	}

	get exited(): Promise<PtyExit> {
		this.#stream.flow();
		return this.#stream.exited;
	}

	get closed(): Promise<PtyExit> {
		this.#stream.flow();
		return this.#stream.closed;
	}

	onOutput(listener: (chunk: OutputChunk) => void): () => void {
		this.#stream.flow();
		return this.#stream.outputs.add(listener);
	}

	onEvent(listener: (event: HolderEvent) => void): () => void {
		return this.#events.add(listener);
	}

	onFacts(listener: (facts: KernelFacts) => void): () => void {
		return this.#facts.add(listener);
	}

	onFenced(listener: () => void): () => void {
		return this.#fencings.add(listener);
	}

	async write(bytes: Uint8Array, options: WriteOptions = {}): Promise<void> {
		await this.#whileAlive(() => this.#input.write(bytes, options));
	}

	async resize(cols: number, rows: number): Promise<void> {
		await this.#persist((connection) => connection.done((request) => resizeFrame(request, cols, rows)));
	}

	async signal(signal: string, target: SignalTarget): Promise<void> {
		const number = signalNumber(signal);
		if (number === null) throw new PtyIoError("bad_signal", `there is no signal ${signal} here`);
		// Not repeated: a signal that may have arrived is not sent twice.
		await this.#whileAlive(() =>
			this.#holder.ask((connection) => connection.done((request) => signalFrame(request, number, target))),
		);
	}

	async end(graceMs: number): Promise<PtyExit["survivors"]> {
		if (this.exit?.closed) return this.exit.survivors;
		try {
			const count = await this.#holder.ask((connection) => connection.done((request) => endFrame(request, graceMs)));
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
		this.#stream.letGo();
		this.#holder.close();
		for (const listeners of [this.#stream.outputs, this.#events, this.#facts, this.#fencings]) listeners.clear();
	}

	#persist<T>(question: (connection: HolderSocket) => Promise<T>): Promise<T> {
		return this.#whileAlive(() => this.#holder.persist(question));
	}

	/** R3.6: nothing is said to a session that ended, and what fails because it ended says so. */
	async #whileAlive<T>(act: () => Promise<T>): Promise<T> {
		if (this.exit !== null) throw endedError(this.exit);
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
		this.#holder.ask((connection) => connection.done((request) => watchFrame(request, on, BUSY_MS))).catch(() => {});
	}

	#welcomed(welcome: Welcome): void {
		this.#pid = welcome.pid;
		this.#holderPid = welcome.holder;
		this.#startedAt = welcome.startedAt;
		this.#inputOffset = Math.max(this.#inputOffset, welcome.inputOffset);
		this.#stream.connected(welcome.size);
		if (this.#watchers > 0) queueMicrotask(() => this.#sayWatch(true));
	}

	#hear(frame: HolderFrame): void {
		switch (frame.type) {
			case "output":
				this.#stream.deliver(frame);
				break;
			case "gap":
				this.#stream.skip(frame);
				break;
			case "exit":
				this.#stream.end(ptyExit(frame.exit));
				break;
			case "facts":
				this.#facts.emit(frame.facts);
				break;
			case "event":
				if (frame.event.event === "input_room") this.#input.roomFreed();
				if (frame.event.event === "survivors") this.#survivors = frame.event.survivors ?? [];
				this.#events.emit(frame.event);
				break;
		}
	}
}

function endedError(exit: PtyExit): PtyError {
	if (exit.reason === "lost") return new PtyDiedError();
	const how = exit.signal ?? `exit code ${exit.code}`;
	return new PtyIoError("ended", `the program has ended (${how})`);
}
