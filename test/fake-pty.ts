// A terminal without a program: the test decides what comes out and sees what goes in.

import type { HolderEvent, SignalTarget } from "../src/protocol/frames.ts";
import type { KernelFacts } from "../src/protocol/kernel-facts.ts";
import { Listeners } from "../src/protocol/listeners.ts";
import type { OutputChunk } from "../src/protocol/output.ts";
import { deferred } from "../src/pty/deferred.ts";
import { PtyIoError } from "../src/pty/errors.ts";
import type { Input } from "../src/pty/input-queue.ts";
import type { Pty, PtyEnding, PtyExit, WriteOptions } from "../src/pty/pty.ts";

export class FakePty implements Pty {
	readonly pid = 1000;
	readonly holderPid = 999;
	readonly held = true;
	/** Everything that was typed, resized, signalled or ended, in order. */
	readonly asked: string[] = [];
	readonly #outputs = new Listeners<OutputChunk>("output");
	readonly #events = new Listeners<HolderEvent>("holder event");
	readonly #facts = new Listeners<KernelFacts>("kernel facts");
	readonly #fencings = new Listeners<void>("fenced");
	readonly #endings = new Listeners<PtyEnding>("ending");
	readonly #responsiveness = new Listeners<boolean>("responsive");
	readonly #exited = deferred<PtyExit>();
	readonly #closed = deferred<PtyExit>();
	readonly #ids = new Set<string>();
	#latest: KernelFacts | null = null;
	#at: number;
	#typed = "";
	#inputOffset = 0;
	#watchers = 0;
	#exit: PtyExit | null = null;
	#responsive = true;
	#paused = false;
	/** As it was told last. */
	nice = 0;
	/** Printed while paused. */
	#held: OutputChunk[] = [];
	#ended: PtyExit | null = null;

	constructor({ from = 0 }: { from?: number } = {}) {
		this.#at = from;
	}

	get exited(): Promise<PtyExit> {
		return this.#exited.promise;
	}

	get closed(): Promise<PtyExit> {
		return this.#closed.promise;
	}

	get exit(): PtyExit | null {
		return this.#exit;
	}

	get ending(): PtyEnding | null {
		return this.#ended;
	}

	left(): readonly [] {
		return [];
	}

	get responsive(): boolean {
		return this.#responsive;
	}

	/** While it does not answer. */
	silentMs = 0;

	get paused(): boolean {
		return this.#paused;
	}

	get inputOffset(): number {
		return this.#inputOffset;
	}

	/** All that was typed, in one piece. */
	get typed(): string {
		return this.#typed;
	}

	get watched(): boolean {
		return this.#watchers > 0;
	}

	/** The program writes. */
	print(text: string | Uint8Array): void {
		const bytes = typeof text === "string" ? Buffer.from(text) : text;
		const offset = this.#at;
		this.#at += bytes.length;
		this.#deliver({ offset, bytes });
	}

	/** Output goes by that is not kept. */
	lose(bytes: number): void {
		const from = this.#at;
		this.#at += bytes;
		this.#deliver({ gap: { from, to: this.#at } });
	}

	/** The holder looks. */
	pushFacts(facts: KernelFacts): void {
		this.#latest = facts;
		if (this.watched) this.#facts.emit(facts);
	}

	happen(event: HolderEvent): void {
		this.#events.emit(event);
	}

	fence(): void {
		this.#fencings.emit();
	}

	/** The program ends. */
	finish(how: Partial<PtyExit> = {}): void {
		const ended: PtyExit = {
			code: how.signal ? null : 0,
			signal: null,
			core: false,
			size: this.#at,
			startedAt: 0,
			endedAt: Date.now(),
			closed: true,
			reason: "exit",
			rusage: null,
			survivors: [],
			lost: 0,
			...how,
		};
		this.#ended = ended;
		this.#endings.emit(ended);
		this.#settle();
	}

	/** The holder stops answering, or answers again. */
	answer(responsive: boolean): void {
		this.#responsive = responsive;
		this.#responsiveness.emit(responsive);
	}

	pause(): void {
		this.#paused = true;
	}

	resume(): void {
		this.#paused = false;
		for (const chunk of this.#held.splice(0)) this.#outputs.emit(chunk);
		this.#settle();
	}

	giveWay(nice: number): void {
		this.nice = nice;
	}

	skipTo(offset: number): void {
		this.#held = this.#held.flatMap((chunk): OutputChunk[] => {
			if ("gap" in chunk) return chunk.gap.to <= offset ? [] : [{ gap: { ...chunk.gap, from: offset } }];
			const cut = Math.max(0, offset - chunk.offset);
			return cut >= chunk.bytes.length ? [] : [{ offset: chunk.offset + cut, bytes: chunk.bytes.subarray(cut) }];
		});
	}

	onOutput(listener: (chunk: OutputChunk) => void): () => void {
		return this.#outputs.add(listener);
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

	onEnding(listener: (ending: PtyEnding) => void): () => void {
		return this.#endings.add(listener);
	}

	onResponsive(listener: (responsive: boolean) => void): () => void {
		return this.#responsiveness.add(listener);
	}

	async write(input: Input, { id }: WriteOptions = {}): Promise<void> {
		this.#refuse();
		const bytes = typeof input === "function" ? input() : input;
		if (id !== undefined && this.#ids.has(id)) return;
		if (id !== undefined) this.#ids.add(id);
		const text = Buffer.from(bytes).toString();
		this.#typed += text;
		this.#inputOffset += bytes.length;
		this.asked.push(`write ${JSON.stringify(text)}`);
	}

	async resize(cols: number, rows: number): Promise<void> {
		this.#refuse();
		this.asked.push(`resize ${cols}x${rows}`);
		this.#events.emit({ event: "resized", cols, rows, at: null });
	}

	async signal(signal: string, target: SignalTarget): Promise<void> {
		this.#refuse();
		this.asked.push(`signal ${signal} ${target}`);
	}

	async end(graceMs: number): Promise<PtyExit["survivors"]> {
		this.asked.push(`end ${graceMs}`);
		if (this.#exit === null) this.finish({ code: null, signal: "SIGTERM", reason: "end" });
		return this.#exit?.survivors ?? [];
	}

	async facts(): Promise<KernelFacts> {
		this.#refuse();
		if (this.#latest === null) throw new PtyIoError("system", "this fake was not told what to see");
		// Nothing has changed since, except that it has been quiet for longer.
		const { at, quietMs, sinceInputMs } = this.#latest;
		const ageMs = Date.now() - at;
		const aged: KernelFacts = {
			...this.#latest,
			at: at + ageMs,
			quietMs: quietMs + ageMs,
			sinceInputMs: sinceInputMs === null ? null : sinceInputMs + ageMs,
		};
		this.#facts.emit(aged);
		return aged;
	}

	watch(): () => void {
		this.#watchers++;
		let watching = true;
		return () => {
			if (watching) this.#watchers--;
			watching = false;
		};
	}

	async [Symbol.asyncDispose](): Promise<void> {
		const all = [this.#outputs, this.#events, this.#facts, this.#fencings, this.#endings, this.#responsiveness];
		for (const listeners of all) listeners.clear();
	}

	#deliver(chunk: OutputChunk): void {
		if (this.#paused) this.#held.push(chunk);
		else this.#outputs.emit(chunk);
	}

	#settle(): void {
		const exit = this.#ended;
		if (exit === null || this.#paused) return;
		this.#exit = exit;
		this.#exited.resolve(exit);
		if (exit.closed) this.#closed.resolve(exit);
	}

	#refuse(): void {
		if (this.#exit !== null) throw new PtyIoError("ended", "the program has ended");
		if (!this.#responsive) throw new PtyIoError("unresponsive", "the holder does not answer", { holderPid: 999 });
	}
}
