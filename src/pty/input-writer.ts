// Input on its way to a holder: in order, whole or not at all, exactly once.
//
// Each write has an id, so that one whose answer was lost with a connection can
// be said again. A program that does not read fills the holder's queue: then the
// write waits for room, within its limit, and those behind it wait their turn.

import { createHash, randomBytes } from "node:crypto";
import { inputFrame } from "../protocol/frames.ts";
import { PtyIoError } from "./errors.ts";
import type { WriteOptions } from "./pty.ts";

/** A quarter of the holder's queue: "half is free" must be room enough for the next piece. */
const PIECE_BYTES = 256 * 1024;
const DEFAULT_ROOM_MS = 5000;
/** `input_room` is told once and could be missed by a reconnection: look again this often while stuck. */
const LOOK_AGAIN_MS = 250;

export interface InputWriterOptions {
	/** Says a frame and waits for DONE, on whatever connection there is. */
	readonly ask: (frame: (request: number) => Uint8Array) => Promise<number>;
	/** The input offset after an accepted write. */
	readonly accepted: (inputOffset: number) => void;
}

export class InputWriter {
	readonly #options: InputWriterOptions;
	#turn: Promise<void> = Promise.resolve();
	/** Ids of our own making count on from a random place, so that no other owner's can be the same. */
	readonly #nextId = randomBytes(16);
	#room = new AbortController();

	constructor(options: InputWriterOptions) {
		this.#options = options;
	}

	/** The queue has room again. */
	roomFreed(): void {
		this.#room.abort();
		this.#room = new AbortController();
	}

	write(bytes: Uint8Array, options: WriteOptions): Promise<void> {
		if (bytes.length === 0) return Promise.resolve();
		const deadline = Date.now() + (options.roomMs ?? DEFAULT_ROOM_MS);
		if (options.priority) return this.#type(bytes, options, deadline);
		const mine = this.#turn.then(() => this.#type(bytes, options, deadline));
		// One refused write does not hold up the next.
		this.#turn = mine.catch(() => {});
		return mine;
	}

	async #type(bytes: Uint8Array, { id, at, priority = false, signal }: WriteOptions, deadline: number): Promise<void> {
		const writeId = id === undefined ? this.#newId() : idBytes(id);
		for (let from = 0; from < bytes.length; from += PIECE_BYTES) {
			const piece = {
				bytes: bytes.subarray(from, from + PIECE_BYTES),
				writeId: from === 0 ? writeId : pieceId(writeId, from),
				priority,
				...(at !== undefined && { inputOffset: BigInt(at + from) }),
			};
			await this.#typePiece((request) => inputFrame({ request, ...piece }), deadline, signal);
		}
	}

	#newId(): Uint8Array {
		this.#nextId.writeUInt32LE((this.#nextId.readUInt32LE() + 1) >>> 0);
		return Buffer.from(this.#nextId);
	}

	async #typePiece(
		frame: (request: number) => Uint8Array,
		deadline: number,
		signal: AbortSignal | undefined,
	): Promise<void> {
		for (;;) {
			signal?.throwIfAborted();
			const room = this.#room.signal;
			try {
				this.#options.accepted(await this.#options.ask(frame));
				return;
			} catch (error) {
				const left = deadline - Date.now();
				if (!(error instanceof PtyIoError) || error.code !== "queue_full" || left <= 0) throw error;
				await oneOf(Math.min(left, LOOK_AGAIN_MS), signal ? [room, signal] : [room]);
			}
		}
	}
}

/** 32 hex digits. */
function idBytes(id: string): Uint8Array {
	if (!/^[0-9a-f]{32}$/i.test(id))
		throw new PtyIoError("bad_id", `a write id is 32 hex digits, not ${JSON.stringify(id)}`);
	return Buffer.from(id, "hex");
}

/** Each piece of one write is recognised on its own when all of it is said again. */
const pieceId = (writeId: Uint8Array, from: number) =>
	createHash("sha256").update(writeId).update(String(from)).digest().subarray(0, 16);

/** Waits for the first of the signals, or the time. */
function oneOf(ms: number, signals: readonly AbortSignal[]): Promise<void> {
	return new Promise((resolve) => {
		const any = AbortSignal.any([...signals]);
		const timer = setTimeout(resolve, ms);
		if (any.aborted) resolve();
		any.addEventListener("abort", () => {
			clearTimeout(timer);
			resolve();
		});
	});
}
