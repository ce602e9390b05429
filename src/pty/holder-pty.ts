// A terminal held by a holder. The client keeps the connection, the stream
// delivers the output, the queue types the input; this file combines them
// under one state, which decides what requests are allowed.

import {
	askFactsFrame,
	endFrame,
	type HolderEvent,
	type HolderFrame,
	resizeFrame,
	type SignalTarget,
	secretsFrame,
	shareFrame,
	signalFrame,
	type Welcome,
	watchFrame,
} from "../protocol/frames.ts";
import type { KernelFacts } from "../protocol/kernel-facts.ts";
import { Listeners } from "../protocol/listeners.ts";
import { knownSpellings, onLearnt } from "../protocol/masking.ts";
import type { OutputChunk } from "../protocol/output.ts";
import { PtyDiedError, PtyError, PtyIoError } from "./errors.ts";
import { readExit } from "./exit-file.ts";
import { type Answer, DISCONNECTED, HolderClient, SILENCE_MS } from "./holder-client.ts";
import { type Input, InputQueue } from "./input-queue.ts";
import { below, endProcesses, heldBy, leftRunning } from "./leftovers.ts";
import { maskRecords } from "./mask-records.ts";
import { OutputStream } from "./output-stream.ts";
import {
	identityOf,
	isAlive,
	type ProcessIdentity,
	type RunningProcess,
	sendSignal,
	tellsStartTimes,
} from "./process-stat.ts";
import { isRunnable } from "./process-tree.ts";
import type { Pty, PtyEnding, PtyExit, Survivor, WriteOptions } from "./pty.ts";
import { isOver, type PtyEvent, type PtyState, refusals, stateAfter } from "./pty-state.ts";
import { signalNumber } from "./signals.ts";
import { type Condition, wait } from "./wait.ts";

/** While watched and busy, the holder probes this often. */
const BUSY_MS = 25;
/** No event announces a stopped holder: while there are watchers it is pinged this often, and known to be stopped within SILENCE_MS. */
const PULSE_MS = 500;
const PULSE = { repeat: true, silenceMs: SILENCE_MS - PULSE_MS };
/** After the grace the holder kills, hangs up and counts survivors: 3 s, and the time of a request. */
const END_MS = 3000 + SILENCE_MS;

/** No event announces the end of what lives without its holder. */
const LEFT_CHECK_MS = 1000;

/** For requests that have the same effect twice. */
const REPEAT = { repeat: true };

export interface HolderPtyOptions {
	/** The session's directory. */
	readonly directory: string;
	readonly socketPath: string;
	readonly epoch: bigint;
	/** Null: an older holder, which asks for none. */
	readonly secret: Uint8Array | null;
	/** The offset from which output is wanted. */
	readonly from: number | "end";
	/** Known before the holder has answered. */
	readonly mainProcess?: ProcessIdentity;
	readonly holderProcess?: ProcessIdentity;
	readonly startedAt?: number;
}

export class HolderPty implements Pty {
	readonly #directory: string;
	readonly #client: HolderClient;
	readonly #stream: OutputStream;
	readonly #input: InputQueue;
	readonly #events = new Listeners<HolderEvent>("holder event");
	readonly #facts = new Listeners<KernelFacts>("kernel facts");
	readonly #fencings = new Listeners<void>("fenced");
	readonly #responsiveness = new Listeners<boolean>("responsive");
	readonly #disposed = new AbortController();
	#state: PtyState = "connecting";
	#program: ProcessIdentity;
	#holder: ProcessIdentity;
	/** The holder has answered: it was alive in our time. */
	#met = false;
	#startedAt: number;
	#survivors: readonly Survivor[] = [];
	#nice = 0;
	/** Older holders would take SHARE for a malformed frame. */
	#knowsShares = false;
	/** So would those before it take SECRETS. */
	#knowsMasks = false;
	readonly #stopLearning = onLearnt((spellings) => this.#tellSecrets(spellings));
	#watchers = 0;
	/** What the holder was told last. */
	#watches = false;
	#watchDue: NodeJS.Immediate | null = null;
	#pulse: NodeJS.Timeout | null = null;
	#leftCheck: NodeJS.Timeout | null = null;

	constructor({
		directory,
		socketPath,
		epoch,
		secret,
		from,
		mainProcess = identityOf(0),
		holderProcess = identityOf(0),
		startedAt = Date.now(),
	}: HolderPtyOptions) {
		this.#directory = directory;
		this.#program = mainProcess;
		this.#holder = holderProcess;
		this.#startedAt = startedAt;
		this.#client = new HolderClient({
			socketPath,
			epoch,
			secret,
			isOver: () => isOver(this.#state),
			onChange: (event) => this.#move(event),
			onWelcome: (welcome) => this.#welcomed(welcome),
			onFrame: (frame) => this.#take(frame),
			isStarved: () => isRunnable(this.#holder.pid),
			listenAgain: () => this.#listenAgain(),
			unresponsive: (sent) => this.#unresponsive(sent),
		});
		this.#stream = new OutputStream({
			directory,
			from,
			disposed: this.#disposed.signal,
			send: (frame) => this.#client.send(frame),
			onExit: ({ closed }) => {
				this.#move(closed ? "closed" : "exited");
				if (!closed && this.#isGone) this.#awaitLeft();
			},
			left: ({ survivors }) => this.#leftOf(survivors, { justDied: this.#met }),
		});
		this.#input = new InputQueue({
			send: (encode) => this.#send(encode, REPEAT),
		});
	}

	/** True when there is a holder, also one that does not answer; false when everything is on disk. */
	connect({ tries = Number.POSITIVE_INFINITY }: { tries?: number } = {}): Promise<boolean> {
		return this.#client.open(tries);
	}

	get pid(): number {
		return this.#program.pid;
	}
	get holderPid(): number {
		return this.#holder.pid;
	}
	get held(): boolean {
		return !this.#isGone && this.#state !== "closed";
	}
	get responsive(): boolean {
		return this.#state !== "unresponsive";
	}
	get silentMs(): number {
		return this.#client.silentMs;
	}
	get inputOffset(): number {
		return this.#input.accepted;
	}
	get exit(): PtyExit | null {
		return this.#stream.exit;
	}
	get ending(): PtyEnding | null {
		return this.#stream.ending;
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
	onEnding(listener: (ending: PtyEnding) => void): () => void {
		return this.#stream.endings.add(listener);
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
	onResponsive(listener: (responsive: boolean) => void): () => void {
		return this.#responsiveness.add(listener);
	}

	pause(): void {
		this.#stream.pause();
	}
	resume(): void {
		this.#stream.resume();
	}
	giveWay(nice: number): void {
		this.#nice = nice;
		this.#tellShare();
	}
	skipTo(offset: number): void {
		this.#stream.skipTo(offset);
	}

	write(input: Input, options: WriteOptions = {}): Promise<void> {
		return this.#explained(() =>
			this.#input.write(() => {
				this.#refuse();
				return typeof input === "function" ? input() : input;
			}, options),
		);
	}

	async resize(cols: number, rows: number): Promise<void> {
		await this.#request((request) => resizeFrame(request, cols, rows), REPEAT);
	}

	async signal(signal: string, target: SignalTarget): Promise<void> {
		const number = signalNumber(signal);
		if (number === null) throw new PtyIoError("bad_signal", `there is no signal ${signal} here`);
		// Not repeated: a signal that may have arrived is not sent twice.
		await this.#request((request) => signalFrame(request, number, target));
	}

	left(): readonly Survivor[] {
		const { exit } = this;
		if (exit === null || exit.closed) return [];
		const held = this.#isGone ? [] : heldBy(this.#holder.pid);
		// A holder leaves when its terminal is closed, and may have done so just now.
		return held.length > 0 ? held : this.#leftOf(exit.survivors);
	}

	async end(graceMs: number): Promise<readonly Survivor[]> {
		if (this.exit?.closed) return [];
		if (this.#isGone) return this.#endLeft(graceMs);
		try {
			if (this.#state !== "exited") this.#refuse();
			// Its answer may take as long as the grace; this one shows at once whether the holder reads.
			void this.#client.request(askFactsFrame).catch(() => {}); // a refusal proves it is alive, too
			const silenceMs = graceMs + END_MS;
			// Repeated where its answer was lost: a second END only shortens the grace, while without one nobody knows.
			const options = { silenceMs, repeat: true };
			const answer = await this.#client.request((request) => endFrame(request, graceMs), options);
			if (answer.type === "done" && answer.value > 0) return this.#survivors;
			if (answer.type === "done" && answer.unsaved) throw new PtyIoError("disk_stalled", "the disk does not answer");
			return [];
		} catch (error) {
			if (!(error instanceof PtyError)) throw error;
			if (error.code === "unresponsive" && graceMs === 0) return await this.#kill();
			if (error.code !== "lost" && error.code !== DISCONNECTED) throw error;
			if (this.#isGone || this.exit !== null) return this.#endLeft(graceMs);
			// The holder may leave as soon as its tree is gone: then its exit file has the survivors.
			const exit = await readExit(this.#directory);
			if (exit === null) throw error;
			return this.#leftOf(exit.survivors);
		}
	}

	async facts(): Promise<KernelFacts> {
		const answer = await this.#request(askFactsFrame, REPEAT);
		if (answer.type !== "facts") throw new PtyIoError("bad_frame", "unexpected answer from the holder");
		return answer.facts;
	}

	watch(): () => void {
		if (this.#watchers++ === 0) this.#watchLater();
		let watching = true;
		return () => {
			if (!watching) return;
			watching = false;
			if (--this.#watchers === 0) this.#watchLater();
		};
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#move("disposed");
		this.#tellWatch(); // forgets what is due
		if (this.#leftCheck !== null) clearInterval(this.#leftCheck);
		this.#disposed.abort();
		for (const listeners of [this.#events, this.#facts, this.#fencings, this.#responsiveness]) listeners.clear();
		this.#stream.outputs.clear();
		this.#stream.endings.clear();
	}

	#move(event: PtyEvent): void {
		const before = this.#state;
		const state = stateAfter(before, event);
		if (state === before) return;
		this.#state = state;
		if (state === "closed" || state === "disposed") {
			this.#client.close();
			this.#stopLearning();
		}
		if (state === "gone") this.#stream.holderGone(this.#startedAt);
		if (state === "fenced") this.#fencings.emit();
		if ((state === "unresponsive") !== (before === "unresponsive")) {
			this.#stream.silent(!this.responsive);
			this.#responsiveness.emit(this.responsive);
		}
		this.#keepPulse();
	}

	#request(encode: (request: number) => Uint8Array, options?: { readonly repeat: boolean }): Promise<Answer> {
		return this.#explained(() => this.#send(encode, options));
	}

	#send(encode: (request: number) => Uint8Array, options?: { readonly repeat: boolean }): Promise<Answer> {
		this.#refuse();
		this.#tellWatch();
		return this.#client.request(encode, options);
	}

	/** A request that failed because the program ended rejects with that reason. */
	async #explained<T>(request: () => Promise<T>): Promise<T> {
		try {
			return await request();
		} catch (error) {
			const lost = error instanceof PtyError && (error.code === "lost" || error.code === DISCONNECTED);
			if (!lost || this.#state === "disposed") throw error;
			const exit = this.exit ?? (await readExit(this.#directory));
			throw exit === null ? error : endedError(exit, error.sent);
		}
	}

	/** R3.6: nothing is sent to a session that has ended, has another owner or does not answer. */
	#refuse(): void {
		const code = refusals[this.#state];
		if (code === null) return;
		if (code === "unresponsive") throw this.#unresponsive(false);
		if (code === "lost") throw new PtyDiedError();
		if (code === "ended" && this.exit !== null) throw endedError(this.exit);
		throw new PtyIoError(code, code === "fenced" ? "a newer daemon owns this terminal" : "this terminal was disposed");
	}

	#unresponsive(sent: boolean): PtyIoError {
		const facts = { holderPid: this.#holder.pid, sinceMs: this.#client.silentMs, sent };
		return new PtyIoError("unresponsive", `the holder (process ${this.#holder.pid}) is not responding`, facts);
	}

	/** The holder is, and what it did not end is ours to end. */
	get #isGone(): boolean {
		return this.#state === "gone";
	}

	/** Gives up a holder that does not answer: kills everything below it, and then the holder. */
	async #kill(): Promise<readonly Survivor[]> {
		const holder = this.#holder;
		if (holder.pid <= 1 || !isAlive(holder)) throw this.#unresponsive(true);
		// The holder last: as long as it is there, whatever leaves its parent becomes its child and is found. Stopped, so that
		// it is not continued meanwhile and finds its tree half killed.
		sendSignal(holder, "SIGSTOP");
		const survivors = await endProcesses(() => below(holder.pid), 0);
		sendSignal(holder, "SIGKILL");
		this.#stream.resume();
		const closes: Condition<readonly Survivor[]> = {
			start: (scope) => void this.exited.then(() => scope.settle(survivors)),
		};
		// In uninterruptible sleep (a dead network mount) not even SIGKILL ends it.
		const stuck = [...survivors, { pid: holder.pid, command: "dialtone-holder" }];
		return wait([closes, { start: (scope) => scope.after(SILENCE_MS, () => scope.settle(stuck)) }]);
	}

	#leftOf(survivors: readonly Survivor[], { justDied = false } = {}): readonly RunningProcess[] {
		// Without its program on record it may be of an earlier boot, of which no pid counts.
		const others = this.#program.pid > 0 ? survivors : [];
		return leftRunning({ program: this.#program, others, justDied });
	}

	/** Ends what the session left behind. */
	async #endLeft(graceMs: number): Promise<readonly Survivor[]> {
		this.#stream.resume();
		await this.exited;
		const left = await endProcesses(() => this.#leftOf(this.exit?.survivors ?? []), graceMs);
		if (left.length === 0) this.#stream.leftEnded();
		return left;
	}

	/** Until what lives without its holder has ended. */
	#awaitLeft(): void {
		this.#leftCheck ??= setInterval(() => {
			if (this.left().length === 0) this.#stream.leftEnded();
			if (this.exit?.closed && this.#leftCheck !== null) clearInterval(this.#leftCheck);
		}, LEFT_CHECK_MS).unref();
	}

	/** H2: its socket may have been removed (a logout, a cleaner) under a holder that lives. */
	#listenAgain(): boolean {
		if (!isAlive(this.#holder)) return false;
		// It would end another process that has its pid by now. Older holders ignore it.
		if (this.#holder.born !== null || !tellsStartTimes()) sendSignal(this.#holder, "SIGUSR1");
		return true;
	}

	/** With the next request, in one write; by itself after what this turn of the loop does: an answer, another watch. */
	#watchLater(): void {
		this.#keepPulse();
		this.#watchDue ??= setImmediate(() => this.#tellWatch());
	}

	#tellWatch(): void {
		if (this.#watchDue !== null) clearImmediate(this.#watchDue);
		this.#watchDue = null;
		const on = this.#watchers > 0;
		// #welcomed tells later connections; a broken one has no watchers.
		if (on === this.#watches || refusals[this.#state] !== null) return;
		this.#watches = on;
		this.#client.request((request) => watchFrame(request, on, BUSY_MS)).catch(() => {});
	}

	/** A connection that is lost takes it back; #welcomed tells the next one. */
	#tellShare(): void {
		if (this.#knowsShares) this.#client.send(shareFrame(this.#nice));
	}

	/** Before anything that is typed after it was learnt: frames keep their order. */
	#tellSecrets(spellings: readonly string[]): void {
		if (!this.#knowsMasks || spellings.length === 0 || refusals[this.#state] !== null) return;
		// One that is lost with its connection is told on the next.
		this.#client.request((request) => secretsFrame(request, maskRecords(spellings))).catch(() => {});
	}

	#keepPulse(): void {
		const wanted = this.#watchers > 0 && this.#state === "connected";
		if (wanted === (this.#pulse !== null)) return;
		if (this.#pulse !== null) clearInterval(this.#pulse);
		const ask = () => void this.#client.request(askFactsFrame, PULSE).catch(() => {}); // a timeout is reported as an event
		this.#pulse = wanted ? setInterval(ask, PULSE_MS).unref() : null;
	}

	#welcomed(welcome: Welcome): void {
		this.#met = true;
		if (welcome.pid !== this.#program.pid) this.#program = identityOf(welcome.pid);
		if (welcome.holder !== this.#holder.pid) this.#holder = identityOf(welcome.holder);
		this.#startedAt = welcome.startedAt;
		this.#input.connected(welcome.inputOffset);
		this.#stream.connected(welcome.size);
		if (welcome.exit !== null) this.#stream.mainExited(welcome.exit);
		this.#watches = false;
		this.#tellWatch();
		this.#knowsMasks = welcome.masks;
		this.#tellSecrets(knownSpellings());
		this.#knowsShares = welcome.shares;
		if (this.#nice !== 0) this.#tellShare();
	}

	#take(frame: HolderFrame): void {
		switch (frame.type) {
			case "output":
				this.#stream.deliver(frame);
				break;
			case "gap":
				this.#stream.deliverGap(frame);
				break;
			case "exit":
				this.#stream.end(frame.exit);
				break;
			case "facts":
				this.#facts.emit(frame.facts);
				break;
			case "event":
				if (frame.event.event === "input_room") this.#input.roomFreed();
				if (frame.event.event === "survivors") this.#survivors = frame.event.survivors;
				if (frame.event.event === "main_exited") this.#stream.mainExited(frame.event);
				this.#events.emit(frame.event);
				break;
		}
	}
}

function endedError(exit: PtyExit, sent = false): PtyError {
	if (exit.reason === "lost") return new PtyDiedError({ sent });
	return new PtyIoError("ended", `the program has ended (${exit.signal ?? `exit code ${exit.code}`})`, { sent });
}
