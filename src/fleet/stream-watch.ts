// Follows a stream of the broker, a bucket among them: first what is there, then each message, in order, over reconnects
// and restarts of the broker.
//
// After a reconnect it goes on behind the last message that it has seen; where the stream is another one by then, or
// the pause was long, it reads all again and tells what is gone. A consumer that its server took with it while the
// connection stayed is noticed by the client library after a minute; where something is sure to come more often,
// `silentMs` notices it before.

import { DeliverPolicy, type JetStreamClient, type JsMsg } from "@nats-io/jetstream";
import { Listeners, reportError } from "../protocol/listeners.ts";
import { type Condition, until, wait, within } from "../pty/wait.ts";

import { WATCH_START_MS } from "./buckets.ts";
import type { Connected } from "./connected.ts";

export interface StreamWatchParts {
	readonly js: JetStreamClient;
	/** The same for what may take long; else `js`. */
	readonly patient?: JetStreamClient;
	/** Makes the stream where the broker has lost it. */
	readonly ensure: () => Promise<void>;
	readonly stream: string;
	readonly filter: string;
	/** Where it begins: by default with the last message of each subject. */
	readonly begin?: { readonly seq: number } | { readonly time: number } | "new";
	readonly connected: Connected;
	readonly onMessage: (message: JsMsg) => void;
	/** What was there when it began is read: these subjects. Not called where it went on behind what it had. */
	readonly onComplete?: (subjects: ReadonlySet<string>) => void;
	/** Reads all again after a reconnect, however short it was. */
	readonly always?: boolean;
	/** Begins anew when nothing came for this long. */
	readonly silentMs?: number;
	readonly onSilent?: () => void;
}

const START_MS = 10_000;
const RETRY_MS = { first: 100, most: 5000 } as const;
/** Before the first number. */
const NOTHING = -1;
/** Marks of removals are kept much longer (buckets.ts). */
const RESUMED_WITHIN_MS = 3_600_000;

export class StreamWatch implements AsyncDisposable {
	readonly #parts: StreamWatchParts;
	readonly #stopped = new AbortController();
	readonly #changed = new Listeners<void>("stream watch");
	readonly #undo: () => void;
	#silence: NodeJS.Timeout | undefined;
	readonly #running: Promise<void>;
	/** Of what was read last: the stream's birth, the number, and when. */
	#read: { readonly created: string; seq: number; at: number } | null = null;
	#isReady = false;
	#isFollowing = false;
	/** What runs for an earlier one ends. */
	#round = 0;

	constructor(parts: StreamWatchParts) {
		this.#parts = parts;
		this.#undo = parts.connected.onChange(() => this.again());
		this.#running = this.#run().catch((error) => reportError(error, `watching ${parts.stream}`));
	}

	/** All that was there when it began has been read. */
	get isReady(): boolean {
		return this.#isReady;
	}

	/** Settles when it is, or this is disposed. */
	ready(): Promise<void> {
		return until(
			() => this.#isReady || this.#stopped.signal.aborted,
			(listener) => this.#changed.add(listener),
		);
	}

	/** Looks whether something was missed. */
	again(): void {
		this.#round++;
		this.#changed.emit();
	}

	#listen(): void {
		const { silentMs, onSilent } = this.#parts;
		if (silentMs === undefined || this.#stopped.signal.aborted) return;
		if (this.#silence !== undefined) this.#silence.refresh();
		else
			this.#silence = setTimeout(() => {
				// One that still begins would never come to its end.
				if (this.#isFollowing) {
					this.again();
					onSilent?.();
				}
				this.#silence?.refresh();
			}, silentMs).unref();
	}

	async #run(): Promise<void> {
		this.#listen();
		const { signal } = this.#stopped;
		for (let failures = 0; !signal.aborted; ) {
			const round = this.#round;
			const isOver = () => signal.aborted || this.#round !== round;
			if (this.#parts.connected.awaySince !== null) {
				await this.#until(isOver);
				continue;
			}
			try {
				await this.#follow(isOver, () => {
					failures = 0;
				});
			} catch (error) {
				await this.#parts.ensure().catch(() => {}); // told by the next try
				if (failures++ === 10) reportError(error, `watching ${this.#parts.stream}`);
				await this.#after(Math.min(RETRY_MS.first * 2 ** Math.min(failures, 10), RETRY_MS.most), isOver);
			}
		}
	}

	/** Reads and follows until the connection changes or the consumer ends. */
	async #follow(isOver: () => boolean, onRead: () => void): Promise<void> {
		const { js, patient = js, stream, filter } = this.#parts;
		const manager = await within(START_MS, "a JetStream manager", js.jetstreamManager(false));
		const info = await within(START_MS, "the state of a stream", manager.streams.info(stream));
		const resumes = this.#resumes(info.created, info.state.last_seq);
		const { last_seq } = info.state;
		if (!resumes)
			this.#read = { created: info.created, seq: this.#parts.begin === "new" ? last_seq : NOTHING, at: Date.now() };
		const consumer = await within(
			WATCH_START_MS,
			"a consumer",
			patient.consumers.getPushConsumer(stream, {
				...(this.#read!.seq !== NOTHING ? { opt_start_seq: this.#read!.seq + 1 } : beginning(this.#parts.begin)),
				filter_subjects: filter,
			}),
		);
		const pending = (await within(WATCH_START_MS, "a consumer's state", consumer.info(true))).num_pending;
		let subjects: Set<string> | null = resumes ? null : new Set();
		let isRead = false;
		const complete = () => {
			isRead = true;
			onRead();
			if (subjects !== null) this.#parts.onComplete?.(subjects);
			subjects = null;
			this.#isReady = true;
			this.#changed.emit();
		};
		let left = pending;
		const messages = await within(
			START_MS,
			"a consumer's start",
			consumer.consume({
				callback: (message) => {
					if (isOver()) return;
					this.#listen();
					this.#read = { created: info.created, seq: message.seq, at: Date.now() };
					subjects?.add(message.subject);
					this.#parts.onMessage(message);
					// Some may have expired before they were sent.
					left = message.info.pending === 0 ? 0 : left - 1;
					if (left === 0 && !isRead) complete();
				},
			}),
		);
		let ended = false;
		const onClosed = () => {
			ended = true;
			this.#changed.emit();
		};
		const closed = messages.closed().then(onClosed, onClosed);
		if (pending === 0) complete();
		this.#isFollowing = true;
		await this.#until(() => ended || isOver());
		this.#isFollowing = false;
		messages.stop();
		if (this.#parts.connected.awaySince === null) void consumer.delete().catch(() => false); // it ends by itself, later
		await closed;
		if (!isOver()) throw new Error("the consumer ended");
	}

	#resumes(created: string, lastSeq: number): boolean {
		const read = this.#read;
		if (this.#parts.always || read === null || read.seq === NOTHING || !this.#isReady) return false;
		return read.created === created && read.seq <= lastSeq && Date.now() - read.at < RESUMED_WITHIN_MS;
	}

	#until(holds: () => boolean): Promise<void> {
		return until(holds, (listener) => this.#changed.add(listener));
	}

	#after(ms: number, isOver: () => boolean): Promise<void> {
		const later: Condition<void> = {
			start: ({ own, settle, after }) => {
				if (isOver()) return settle();
				own(this.#changed.add(() => isOver() && settle()));
				after(ms, settle);
			},
		};
		return wait([later]);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#undo();
		clearTimeout(this.#silence);
		this.#stopped.abort();
		this.#changed.emit();
		await this.#running;
		this.#changed.clear();
	}
}

function beginning(begin: StreamWatchParts["begin"]) {
	if (begin === undefined || begin === "new") return { deliver_policy: DeliverPolicy.LastPerSubject };
	return "seq" in begin ? { opt_start_seq: begin.seq } : { opt_start_time: new Date(begin.time).toISOString() };
}
