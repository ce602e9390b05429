// How messages are written on the daemon's socket: one JSON object per line. Only a piece of a stream of bytes, which the
// daemon alone sends, is a frame: a byte that begins no JSON, the request's id, the offset, how many bytes, and these.
// In base64 they were a third more, and cost more to write and read than everything else.

import type { Duplex } from "node:stream";
import { guarded } from "../protocol/boundary.ts";
import { hasAtMostValues } from "../protocol/json-size.ts";
import { holdPiece } from "../pty/held-pieces.ts";
import { limits } from "../session/options.ts";
import type { MoreBytes, Request, Response } from "./wire.ts";

const FRAME = 1;
const NUMBER_BYTES = 6;
const HEADER_BYTES = 1 + 2 * NUMBER_BYTES + 4;
const LF = 10;

/** Pieces of a message below this are merged. */
const PIECE_BYTES = 64 * 1024;

const EMPTY = Buffer.alloc(0);

export interface Message {
	readonly value: unknown;
	/** On the wire. */
	readonly bytes: number;
}

/** What a reader gets next: a message, null where none is complete, or how the other end has broken the protocol. */
type Next = Message | { readonly problem: string } | null;

/** The messages in what arrives, one at a time: what is not asked for is not parsed. */
export class Messages {
	/** Whether frames may come. */
	readonly #framed: boolean;
	readonly #mostValues: number;
	/** What has arrived and was not read yet. */
	#arrived: Buffer = EMPTY;
	/** The pieces of a message whose end has not arrived. */
	#held: Buffer[] = [];
	#heldBytes = 0;

	/** `framed`: what a daemon says, which may be long lists. */
	constructor({ framed }: { readonly framed: boolean }) {
		this.#framed = framed;
		this.#mostValues = framed ? limits.answerValues : limits.frameValues;
	}

	/** How much of an incomplete message is held. */
	get heldBytes(): number {
		return this.#heldBytes;
	}

	/** All that has arrived was read. */
	get isEmpty(): boolean {
		return this.#arrived.length === 0;
	}

	/** More has arrived. */
	add(chunk: Buffer): void {
		this.#arrived = this.isEmpty ? chunk : Buffer.concat([this.#arrived, chunk]);
	}

	next(): Next {
		const first = this.#held[0]?.[0] ?? this.#arrived[0];
		if (first === undefined) return null;
		return this.#framed && first === FRAME ? this.#nextFrame() : this.#nextLine();
	}

	#nextLine(): Next {
		const end = this.#arrived.indexOf(LF);
		if (end === -1) {
			this.#holdAll();
			return this.#heldBytes > limits.frameBytes ? { problem: `a line of more than ${limits.frameBytes} bytes` } : null;
		}
		const line = this.#take(end);
		this.#arrived = this.#arrived.subarray(1); // its end
		try {
			if (line.length > limits.frameBytes || !hasAtMostValues(line, this.#mostValues))
				return { problem: "a line that is too large" };
			return { value: JSON.parse(line.toString("utf8")), bytes: line.length + 1 };
		} catch {
			return { problem: "a line that is not JSON" };
		}
	}

	#nextFrame(): Next {
		const size = this.#frameSize();
		if (size > limits.frameBytes) return { problem: `a frame of more than ${limits.frameBytes} bytes` };
		const missing = size - this.#heldBytes;
		if (size === 0 || missing > this.#arrived.length) {
			this.#holdAll();
			return null;
		}
		const frame = this.#take(missing);
		const more: MoreBytes = {
			offset: frame.readUIntBE(1 + NUMBER_BYTES, NUMBER_BYTES),
			bytes: frame.subarray(HEADER_BYTES),
		};
		return { value: { id: frame.readUIntBE(1, NUMBER_BYTES), more }, bytes: size };
	}

	/** Of the frame that comes next; 0 where that is not known yet. */
	#frameSize(): number {
		const [held] = this.#held;
		if (this.#heldBytes + this.#arrived.length < HEADER_BYTES) return 0;
		if (held === undefined || held.length < HEADER_BYTES) {
			const header = Buffer.concat([...this.#held, this.#arrived.subarray(0, HEADER_BYTES)]);
			return HEADER_BYTES + header.readUInt32BE(HEADER_BYTES - 4);
		}
		return HEADER_BYTES + held.readUInt32BE(HEADER_BYTES - 4);
	}

	/** What is held and so many bytes of what has arrived. */
	#take(bytes: number): Buffer {
		const rest = this.#arrived.subarray(0, bytes);
		this.#arrived = bytes === this.#arrived.length ? EMPTY : this.#arrived.subarray(bytes);
		const whole = this.#held.length > 0 ? Buffer.concat([...this.#held, rest]) : rest;
		this.#held = [];
		this.#heldBytes = 0;
		return whole;
	}

	#holdAll(): void {
		const piece = this.#arrived;
		this.#arrived = EMPTY;
		if (piece.length === 0) return;
		this.#heldBytes += piece.length;
		holdPiece(this.#held, piece, PIECE_BYTES);
	}
}

/** Calls back with each message of a daemon as it arrives; `onBad` with the reason when that breaks the protocol. */
export function readResponses(
	socket: Duplex,
	onMessage: (message: Message) => void,
	onBad: (problem: string) => void,
): void {
	const messages = new Messages({ framed: true });
	const read = (chunk: Buffer) => {
		messages.add(chunk);
		for (let next = messages.next(); next !== null && !socket.destroyed; next = messages.next()) {
			if ("problem" in next) return onBad(next.problem);
			onMessage(next);
		}
	};
	socket.on(
		"data",
		guarded("a message on the daemon's socket", read, ({ message }) => onBad(message)),
	);
}

/** Writes one message. Its bytes on the wire; null where the other end would not take it, and nothing was written. */
export function writeMessage(socket: Duplex, message: Request | Response, mostValues: number): number | null {
	if ("more" in message && "bytes" in message.more) return writeFrame(socket, message.id, message.more);
	const line = Buffer.from(`${JSON.stringify(message)}\n`);
	if (line.length > limits.frameBytes || !hasAtMostValues(line, mostValues)) return null;
	if (socket.writable) socket.write(line);
	return line.length;
}

function writeFrame(socket: Duplex, id: number, { offset, bytes }: MoreBytes): number | null {
	if (HEADER_BYTES + bytes.length > limits.frameBytes) return null;
	const header = Buffer.allocUnsafe(HEADER_BYTES);
	header[0] = FRAME;
	header.writeUIntBE(id, 1, NUMBER_BYTES);
	header.writeUIntBE(offset, 1 + NUMBER_BYTES, NUMBER_BYTES);
	header.writeUInt32BE(bytes.length, HEADER_BYTES - 4);
	if (socket.writable) {
		socket.cork(); // both in one go
		socket.write(header);
		socket.write(bytes);
		socket.uncork();
	}
	return HEADER_BYTES + bytes.length;
}
