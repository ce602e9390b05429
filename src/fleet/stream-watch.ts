// Follows a stream of the broker, a bucket among them: first what is there, then each message, in order, over reconnects
// and restarts of the broker.
//
// It asks for nothing but consumers of its filter, which every role may: what a stream is called, holds and when it was made
// would tell of other owners. So after a reconnect it begins with the last messages that it has seen, and goes on behind
// them where the broker still has one of them. Where it has none, the stream is another one, or all of them were
// replaced: a bucket is read again, and what is gone is told; of a log all that there is is new.
//
// A consumer that its server took with it while the connection stayed is noticed by the client library after a minute;
// where something is sure to come more often, `silentMs` notices it before, for all watches of the connection.

import { type ConsumerInfo, DeliverPolicy, type JetStreamClient, type JsMsg } from "@nats-io/jetstream";
import { guarded } from "../protocol/boundary.ts";
import { Listeners, reportError } from "../protocol/listeners.ts";
import { type Condition, settled, until, wait, within } from "../pty/wait.ts";

import { WATCH_START_MS } from "./buckets.ts";
import type { Connected } from "./connected.ts";

export interface StreamWatchParts {
	readonly js: JetStreamClient;
	/** The same for what may take long; else `js`. */
	readonly patient?: JetStreamClient;
	/** Makes the stream where the broker has lost it, and this user may. */
	readonly ensure: () => Promise<void>;
	readonly stream: string;
	readonly filter: string;
	/** Of a log, where it begins. Without it, it is a bucket: of each subject the last message. */
	readonly begin?: { readonly after: Seen } | "new";
	readonly connected: Connected;
	readonly onMessage: (message: JsMsg) => void;
	/** What was there when it began is read: these subjects. Not called where it went on behind what it had. */
	readonly onComplete?: (subjects: ReadonlySet<string>) => void;
	/** Reads all again after a reconnect, however short it was. */
	readonly always?: boolean;
	/** Looks again, as all watches of the connection do, when nothing came for this long. */
	readonly silentMs?: number;
	/** How long the broker may take to answer at most: of a long stream, minutes. */
	readonly mostAnswerMs?: number;
}

/** A message by its number and time: another stream has no such one. */
export type Seen = readonly [seq: number, nanos: bigint];

const START_MS = 10_000;
/**
 * For the answer to the first request for a consumer, twice as long for each after it. A cluster that has no leader yet
 * drops requests: one that was sent with all of the time that a long stream takes left a list stale for two minutes.
 */
const FIRST_ANSWER_MS = 5000;
const RETRY_MS = { first: 100, most: 5000 } as const;
/** One of these is there after a short pause, also where sessions change several times in a second. */
const REMEMBERED = 64;
/** Marks of removals are kept much longer (buckets.ts). */
const RESUMED_WITHIN_MS = 3_600_000;

export class StreamWatch implements AsyncDisposable {
	readonly #parts: StreamWatchParts;
	readonly #stopped = new AbortController();
	readonly #changed = new Listeners<void>("stream watch");
	readonly #undo: readonly (() => void)[];
	#silence: NodeJS.Timeout | undefined;
	readonly #running: Promise<void>;
	/** The last messages, as they came. */
	#seen: Seen[] = [];
	#seenAt = 0;
	/** Of a log: whatever is in a stream that has nothing of what was seen came later. */
	#allIsNew = false;
	/** The broker's time of the first consumer. */
	#begun: string | null = null;
	#isReady = false;
	#isFollowing = false;
	#isAsking = false;
	/** What runs for an earlier one ends. */
	#round = 0;

	constructor(parts: StreamWatchParts) {
		this.#parts = parts;
		const { begin } = parts;
		if (typeof begin === "object") this.#remember(begin.after);
		this.#undo = [
			parts.connected.onChange(() => this.#again()),
			// One that still reads all would begin again; one that was not answered may have asked a broker that answered nobody.
			parts.connected.onDoubt(() => (this.#isReady || this.#isAsking) && this.#again()),
		];
		this.#running = this.#run().catch((error) => reportError(error, `watching ${parts.stream}`));
	}

	/** All that was there when it began has been read. */
	get isReady(): boolean {
		return this.#isReady;
	}

	/** Settles when it has been, or this is disposed. */
	ready(): Promise<void> {
		return until(
			() => this.#isReady || this.#stopped.signal.aborted,
			(listener) => this.#changed.add(listener),
		);
	}

	/** Looks whether something was missed. */
	#again(): void {
		this.#round++;
		this.#changed.emit();
	}

	#listen(): void {
		const { silentMs, connected } = this.#parts;
		if (silentMs === undefined || this.#stopped.signal.aborted) return;
		if (this.#silence !== undefined) this.#silence.refresh();
		else
			this.#silence = setTimeout(() => {
				// One that still begins would never come to its end.
				if (this.#isFollowing) {
					this.#again();
					connected.doubt();
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
				const { mostAnswerMs = WATCH_START_MS, silentMs, connected } = this.#parts;
				await this.#follow(isOver, Math.min(FIRST_ANSWER_MS * 2 ** failures, mostAnswerMs), () => {
					const isBack = failures > 0 && silentMs !== undefined;
					failures = 0;
					if (isBack) connected.doubt(); // others have waited longer and longer, too
				});
				failures = 0;
			} catch (error) {
				await this.#parts.ensure().catch(() => {}); // told by the next try
				// A user who may not make it waits for one who may; until then there is nothing.
				if (failures > 0 && isNotThere(error)) {
					this.#allIsNew ||= this.#begun === null;
					this.#readAll();
				}
				if (failures++ === 10) reportError(error, `watching ${this.#parts.stream}`);
				await this.#after(Math.min(RETRY_MS.first * 2 ** Math.min(failures, 10), RETRY_MS.most), isOver);
			}
		}
	}

	/** Reads and follows until the connection changes or the consumer ends. */
	async #follow(isOver: () => boolean, answerMs: number, onRead: () => void): Promise<void> {
		const { js, patient = js, stream, filter, begin, onComplete } = this.#parts;
		const resumes = this.#resumes();
		const asked = patient.consumers.getPushConsumer(stream, { ...this.#start(resumes), filter_subjects: filter });
		this.#isAsking = true;
		const consumer = await within(answerMs, "a consumer", wait([settled(asked), this.#over(isOver)])).finally(() => {
			this.#isAsking = false;
		});
		if (consumer === null) return;
		const { name, num_pending, created }: ConsumerInfo = await consumer.info(true); // what was answered
		this.#begun ??= created;
		const before = new Map(resumes ? this.#seen : []);
		const last = this.#seen.at(-1)?.[0] ?? 0;
		let isSame = !resumes;
		if (!resumes) this.#seen = [];
		let subjects: Set<string> | null = resumes || begin !== undefined ? null : new Set();
		let isRead = false;
		const complete = () => {
			if (!isSame) return this.#forget();
			isRead = true;
			onRead();
			if (subjects !== null) onComplete?.(subjects);
			subjects = null;
			this.#readAll();
		};
		let left = num_pending;
		const take = (message: JsMsg) => {
			const { seq, timestampNanos } = message;
			if (resumes && seq <= last) {
				if (before.get(seq) !== timestampNanos) return this.#forget();
				isSame = true;
				return;
			}
			if (!isSame) return this.#forget();
			this.#remember([seq, timestampNanos]);
			subjects?.add(message.subject);
			this.#parts.onMessage(message);
		};
		const messages = await within(
			START_MS,
			"a consumer's start",
			consumer.consume({
				callback: guarded("a message of a stream", (message) => {
					if (isOver()) return;
					this.#listen();
					// One that the library has made in the place of ours: maybe of another stream.
					if (message.info.consumer !== name) return this.#again();
					take(message);
					if (isOver()) return;
					// Some may have expired before they were sent.
					left = message.info.pending === 0 ? 0 : left - 1;
					if (left === 0 && !isRead) complete();
				}),
			}),
		);
		let ended = false;
		const onClosed = () => {
			ended = true;
			this.#changed.emit();
		};
		const closed = messages.closed().then(onClosed, onClosed);
		if (num_pending === 0) complete();
		this.#isFollowing = true;
		await this.#until(() => ended || isOver());
		this.#isFollowing = false;
		messages.stop();
		if (this.#parts.connected.awaySince === null) void consumer.delete().catch(() => false); // it ends by itself, later
		await closed;
		if (!isOver()) throw new Error("the consumer ended");
	}

	#resumes(): boolean {
		const { always, begin } = this.#parts;
		if (always || this.#seen.length === 0) return false;
		return begin !== undefined || (this.#isReady && Date.now() - this.#seenAt < RESUMED_WITHIN_MS);
	}

	#start(resumes: boolean) {
		const { begin } = this.#parts;
		if (resumes) return { opt_start_seq: this.#seen[0]![0] };
		if (begin === undefined) return { deliver_policy: DeliverPolicy.LastPerSubject };
		if (this.#allIsNew) return { deliver_policy: DeliverPolicy.All };
		return this.#begun === null ? { deliver_policy: DeliverPolicy.New } : { opt_start_time: this.#begun };
	}

	#remember(seen: Seen): void {
		this.#allIsNew = true;
		this.#seenAt = Date.now();
		this.#seen.push(seen);
		if (this.#seen.length > 2 * REMEMBERED) this.#seen = this.#seen.slice(-REMEMBERED);
	}

	/** It is another stream, or nothing of what was seen is left in it. */
	#forget(): void {
		this.#seen = [];
		this.#again();
	}

	#readAll(): void {
		this.#isReady = true;
		this.#changed.emit();
	}

	#over(isOver: () => boolean): Condition<null> {
		return {
			start: ({ own, settle }) => {
				if (isOver()) return settle(null);
				own(this.#changed.add(() => isOver() && settle(null)));
			},
		};
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
		for (const undo of this.#undo) undo();
		clearTimeout(this.#silence);
		this.#stopped.abort();
		this.#changed.emit();
		await this.#running;
		this.#changed.clear();
	}
}

const isNotThere = (error: unknown): boolean => /stream not found/.test(String(error));
