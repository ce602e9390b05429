// The newest output of one session in memory, by absolute offset, and how much
// is no longer held. Grows to its limit only as output arrives, because most
// sessions print little.

import { lastPlainLine } from "./plain-line.ts";

const LEAST_BYTES = 4096;
/** Enough for any last line worth showing, small enough to decode on every list. */
const LAST_LINE_BYTES = 4096;

export interface RingOptions {
	/** R4.1: 1 MB by default. */
	readonly maxBytes?: number;
	/** The absolute offset of the first byte that will be appended. */
	readonly at?: number;
	/** The newest bytes before that. */
	readonly tail?: Uint8Array;
}

export class Ring {
	readonly #maxBytes: number;
	#buffer: Uint8Array = new Uint8Array(0);
	#from: number;
	#to: number;
	#linesOut = 0;
	#hasGap = false;
	/** Of the output up to here: a list of many sessions decodes only what is new. */
	#lastLine: { readonly to: number; readonly text: string } | null = null;

	constructor({ maxBytes = 1 << 20, at = 0, tail = new Uint8Array(0) }: RingOptions = {}) {
		this.#maxBytes = Math.max(1, maxBytes);
		this.#from = at - tail.length;
		this.#to = at - tail.length;
		this.append(tail);
		this.#linesOut = 0;
	}

	get maxBytes(): number {
		return this.#maxBytes;
	}

	/** The absolute offset of the oldest byte held. */
	get from(): number {
		return this.#from;
	}

	/** The absolute offset after the newest byte. */
	get to(): number {
		return this.#to;
	}

	/** Everything the program wrote, held or not. */
	get bytesOut(): number {
		return this.#to;
	}

	/** In what was appended and passed. */
	get linesOut(): number {
		return this.#linesOut;
	}

	/** More came out than can be held; the same before and after a restart. */
	get truncated(): boolean {
		return this.#to > this.#maxBytes || this.#hasGap;
	}

	/** The last line with anything on it, as harmless text. */
	get lastLine(): string {
		if (this.#lastLine?.to !== this.#to) {
			const text = lastPlainLine(this.read(Math.max(this.#from, this.#to - LAST_LINE_BYTES), this.#to));
			this.#lastLine = { to: this.#to, text };
		}
		return this.#lastLine.text;
	}

	append(bytes: Uint8Array): void {
		this.#linesOut += newlinesIn(bytes);
		const kept = bytes.length > this.#maxBytes ? bytes.subarray(bytes.length - this.#maxBytes) : bytes;
		this.#makeRoom(kept.length);
		this.#to += bytes.length;
		this.#from = Math.max(this.#from, this.#to - this.#buffer.length);
		this.#put(this.#to - kept.length, kept);
	}

	/** Bytes that are only counted: they are on disk. The ring must be contiguous, so it restarts after them. */
	pass(bytes: Uint8Array): void {
		this.#linesOut += newlinesIn(bytes);
		this.#restartAt(this.#to + bytes.length);
	}

	/** Bytes that are not available. The ring must be contiguous, so it restarts after them. */
	skipTo(offset: number): void {
		this.#hasGap = true;
		this.#restartAt(offset);
	}

	/** A copy of what is held between two absolute offsets. */
	read(from: number, to: number): Uint8Array {
		const start = Math.max(from, this.#from);
		const end = Math.min(to, this.#to);
		if (start >= end) return new Uint8Array(0);
		const size = this.#buffer.length;
		const out = new Uint8Array(end - start);
		const first = Math.min(out.length, size - (start % size));
		out.set(this.#buffer.subarray(start % size, (start % size) + first));
		out.set(this.#buffer.subarray(0, out.length - first), first);
		return out;
	}

	#restartAt(offset: number): void {
		this.#from = offset;
		this.#to = offset;
	}

	#makeRoom(extra: number): void {
		const wanted = this.#to - this.#from + extra;
		if (wanted <= this.#buffer.length || this.#buffer.length === this.#maxBytes) return;
		const held = this.read(this.#from, this.#to);
		let size = Math.max(LEAST_BYTES, this.#buffer.length);
		while (size < wanted) size *= 2;
		this.#buffer = new Uint8Array(Math.min(size, this.#maxBytes));
		this.#put(this.#to - held.length, held);
	}

	#put(offset: number, bytes: Uint8Array): void {
		if (bytes.length === 0) return;
		const at = offset % this.#buffer.length;
		const first = bytes.subarray(0, this.#buffer.length - at);
		this.#buffer.set(first, at);
		this.#buffer.set(bytes.subarray(first.length), 0);
	}
}

export function newlinesIn(bytes: Uint8Array): number {
	let count = 0;
	for (let at = bytes.indexOf(0x0a); at >= 0; at = bytes.indexOf(0x0a, at + 1)) count++;
	return count;
}
