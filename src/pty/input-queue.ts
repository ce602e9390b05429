// Input to a holder: in order, atomic, exactly once.
//
// The only queue of writes. Each has an id, so that one whose answer was lost
// with a connection can be sent again. A program that does not read fills the
// holder's buffer: then the write waits for room, up to its timeout, and later
// writes wait behind it.

import { randomBytes } from "node:crypto";
import { inputFrame, MAX_INPUT_BYTES } from "../protocol/frames.ts";
import { Listeners } from "../protocol/listeners.ts";
import { PtyIoError } from "./errors.ts";
import type { Answer } from "./holder-client.ts";
import type { WriteOptions } from "./pty.ts";
import { type Condition, type WaitScope, wait } from "./wait.ts";

/** How long a program that does not read may keep a write waiting. */
const ROOM_MS = 5000;
/** Input that waits behind a write to a program that does not read. */
const MAX_QUEUED_BYTES = 8 << 20;
/** What each write takes besides. */
const WRITE_BYTES = 1024;

export type Input = Uint8Array | (() => Uint8Array);

export interface InputQueueOptions {
	/** Sends a frame, again after a lost connection; settles with the holder's answer. */
	readonly send: (encode: (request: number) => Uint8Array) => Promise<Answer>;
}

export class InputQueue {
	readonly #options: InputQueueOptions;
	/** Our own ids count from a random start, so that they differ from every other owner's. */
	readonly #nextId = randomBytes(16);
	/** Writes behind the one whose turn it is. */
	readonly #waiting = new Set<WaitScope<void>>();
	readonly #room = new Listeners<void>("input room");
	#busy = false;
	#queuedBytes = 0;
	#accepted = 0;

	constructor(options: InputQueueOptions) {
		this.#options = options;
	}

	/** Bytes of input that the holder has accepted so far. */
	get accepted(): number {
		return this.#accepted;
	}

	/** There is a connection, the first or another one: `input_room` may have been sent while there was none. */
	connected(accepted: number): void {
		this.#accepted = Math.max(this.#accepted, accepted);
		this.roomFreed();
	}

	/** The holder's buffer has room again. */
	roomFreed(): void {
		this.#room.emit();
	}

	// One function, though it has two jobs: another one would add a promise to every keystroke.
	async write(input: Input, options: WriteOptions): Promise<void> {
		const { id, priority = false, hidden = false, signal } = options;
		if (!priority && this.#busy) {
			const bytes = WRITE_BYTES + (options.queuedBytes ?? (typeof input === "function" ? 0 : input.length));
			const free = MAX_QUEUED_BYTES - this.#queuedBytes;
			if (bytes > free) throw new PtyIoError("queue_full", "too much input waits for the program to read", { free });
			await this.#untilFirst(bytes, signal);
		}
		if (!priority) this.#busy = true;
		try {
			signal?.throwIfAborted();
			const bytes = typeof input === "function" ? input() : input;
			if (bytes.length === 0) return;
			// One frame: the holder accepts or refuses the whole before it types any of it.
			if (bytes.length > MAX_INPUT_BYTES)
				throw new PtyIoError(
					"input_too_long",
					`at most ${MAX_INPUT_BYTES} bytes are typed at once, not ${bytes.length}`,
					{
						limit: MAX_INPUT_BYTES,
					},
				);
			const writeId = id === undefined ? this.#newId() : idBytes(id);
			let answer: Answer | null = null;
			for (let deadline: number | null = null; answer === null; ) {
				answer = await this.#options
					.send((request) => inputFrame({ request, bytes, priority, hidden, writeId }))
					.catch((error: unknown) => {
						deadline ??= performance.now() + ROOM_MS;
						return this.#roomAfter(error, deadline, signal);
					});
			}
			if (answer.type === "done") this.#accepted = Math.max(this.#accepted, answer.value);
		} finally {
			// A refused write does not block the next.
			const [next] = priority ? [] : this.#waiting;
			if (next !== undefined) next.settle();
			else if (!priority) this.#busy = false;
		}
	}

	/** Settles when the write before it is done; one whose caller aborts leaves the queue. */
	#untilFirst(bytes: number, signal: AbortSignal | undefined): Promise<void> {
		const start = (scope: WaitScope<void>) => {
			this.#queuedBytes += bytes;
			this.#waiting.add(scope);
			scope.own(() => {
				this.#queuedBytes -= bytes;
				this.#waiting.delete(scope);
			});
		};
		return wait([{ start }], { signal });
	}

	/** Null when it may be tried again: the buffer was full, and now there is room or the timeout has passed. Rejects when the caller aborts. */
	async #roomAfter(error: unknown, deadline: number, signal: AbortSignal | undefined): Promise<null> {
		const leftMs = deadline - performance.now();
		if (!(error instanceof PtyIoError) || error.code !== "queue_full" || leftMs <= 0) throw error;
		const room: Condition<null> = {
			start: (scope) => {
				scope.own(this.#room.add(scope.guard<void>(() => scope.settle(null))));
				scope.after(leftMs, () => scope.settle(null));
			},
		};
		return wait([room], { signal });
	}

	#newId(): Uint8Array {
		this.#nextId.writeUInt32LE((this.#nextId.readUInt32LE() + 1) >>> 0);
		return Buffer.from(this.#nextId);
	}
}

/** 32 hex digits. */
function idBytes(id: string): Uint8Array {
	if (!/^[0-9a-f]{32}$/i.test(id))
		throw new PtyIoError("bad_id", `a write id is 32 hex digits, not ${JSON.stringify(id)}`);
	return Buffer.from(id, "hex");
}
