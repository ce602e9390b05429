// Everything that came out of one session, by absolute offset: the newest from
// memory, the rest from the holder's log, also after the exit and after the
// memory was released.
//
// The holder logs each byte before it sends it, so memory is only a cache of what
// is on disk.

import type { Bytes, Gap, OutputChunk } from "../protocol/output.ts";
import { newlinesIn, Ring, type RingOptions } from "./ring.ts";
import { listSegments, readLog } from "./segments.ts";

/** A range of output by offset: the kept bytes in order, and the gaps. */
export interface Excerpt {
	/** The requested range, clamped to the output so far and to what is read at once. */
	readonly from: number;
	readonly to: number;
	readonly chunks: readonly Bytes[];
	readonly gaps: readonly Gap[];
}

// No answer needs more, and a log may have gigabytes: `to` tells where to go on.
const MAX_READ_BYTES = 1 << 20;

export interface JournalStats {
	readonly bytesOut: number;
	/** Null while earlier output is not counted yet, and where some of it is not kept. */
	readonly linesOut: number | null;
	readonly lastLine: string;
	/** Memory does not hold all output; the disk may. */
	readonly truncated: boolean;
}

export interface JournalOptions extends RingOptions {
	/** The session's directory. */
	readonly directory: string;
	/** The final counts of an ended session: rereading its output does not change them. */
	readonly finalStats?: JournalStats | null;
	/** Lines before `at`; null where they are not known. */
	readonly earlierLines?: number | null;
}

export class Journal implements Disposable {
	readonly directory: string;
	readonly #ring: Ring;
	readonly #finalStats: JournalStats | null;
	#earlierLines: number | null;
	#hasGap = false;
	#disposed = false;

	constructor({ directory, finalStats = null, earlierLines = 0, ...ring }: JournalOptions) {
		this.directory = directory;
		this.#finalStats = finalStats;
		this.#earlierLines = earlierLines;
		this.#ring = new Ring(ring);
	}

	/** The absolute offset after the last byte that came out. */
	get end(): number {
		return this.#ring.to;
	}

	/** Memory holds everything from here to the end, within its limit. */
	get memoryFrom(): number {
		return this.#ring.from;
	}
	get memoryBytes(): number {
		return this.#ring.maxBytes;
	}

	get stats(): JournalStats {
		const { bytesOut, lastLine, truncated } = this.#finalStats ?? this.#ring;
		return { bytesOut, linesOut: this.#finalStats?.linesOut ?? this.#countedLines, lastLine, truncated };
	}

	/** Lines in what was taken and passed. */
	get linesTaken(): number {
		return this.#ring.linesOut;
	}

	/** Counts the lines of earlier output, from an offset whose number is known up to where this journal begins. */
	async countEarlier(known: { readonly offset: number; readonly lines: number }, to: number): Promise<void> {
		let { offset, lines } = known;
		for await (const { to: end, bytes } of readLog(this.directory, offset, to)) {
			if (this.#disposed || bytes === null) return;
			lines += newlinesIn(bytes);
			offset = end;
		}
		if (offset === to) this.#earlierLines = lines;
	}

	/** The next output. Bytes that were already received are cut off; a jump in the offsets is a gap. */
	take(chunk: OutputChunk): void {
		if ("gap" in chunk) {
			if (chunk.gap.to > this.end) this.#skipTo(chunk.gap.to);
			return;
		}
		const { offset, bytes } = chunk;
		if (offset > this.end) this.#skipTo(offset);
		const fresh = offset < this.end ? bytes.subarray(this.end - offset) : bytes;
		if (fresh.length === 0) return;
		this.#ring.append(fresh);
	}

	/** The next output, counted and left on disk. */
	pass(bytes: Uint8Array): void {
		this.#ring.pass(bytes);
	}

	/** What memory holds from an offset on: synchronous, so that a listener added right after misses nothing. */
	recent(from: number): Uint8Array {
		return this.#ring.read(Math.min(Math.max(from, this.#ring.from), this.end), this.end);
	}

	/** The first offset from this one on of which the byte is kept: a gap may be very large. */
	async nextKept(at: number): Promise<number> {
		const { from } = this.#ring;
		if (at >= from) return at;
		const segment = (await listSegments(this.directory)).find(({ to }) => to > at);
		return Math.min(from, Math.max(at, segment?.from ?? from));
	}

	/** What came out between two offsets, from memory where it holds all of it, else from disk: a part of it where it is large. */
	async read(from: number, to: number = this.end): Promise<Excerpt> {
		const start = Math.max(0, Math.min(from, this.end));
		const end = Math.max(start, Math.min(to, this.end));
		const inMemory = Math.min(end, Math.max(start, this.#ring.from));
		// Copied before awaiting the disk: the ring changes meanwhile.
		const newest = chunkOf(inMemory, this.#ring.read(inMemory, Math.min(end, inMemory + MAX_READ_BYTES)));
		const chunks: Bytes[] = [];
		const gaps: Gap[] = [];
		let at = start;
		let room = MAX_READ_BYTES;
		const take = ({ offset, bytes }: Bytes) => {
			const taken = bytes.subarray(0, room);
			chunks.push({ offset, bytes: taken });
			room -= taken.length;
			at = offset + taken.length;
		};
		if (start < inMemory) {
			for await (const { from: offset, to: next, bytes } of readLog(this.directory, start, inMemory)) {
				if (bytes !== null) take({ offset, bytes });
				else {
					gaps.push({ from: offset, to: next });
					at = next;
				}
				if (room === 0) return { from: start, to: at, chunks, gaps };
			}
			if (at < inMemory) gaps.push({ from: at, to: inMemory });
		}
		at = inMemory;
		for (const chunk of newest) take(chunk);
		return { from: start, to: at, chunks, gaps };
	}

	/** Ends the counting. */
	[Symbol.dispose](): void {
		this.#disposed = true;
	}

	get #countedLines(): number | null {
		return this.#hasGap || this.#earlierLines === null ? null : this.#earlierLines + this.#ring.linesOut;
	}

	#skipTo(offset: number): void {
		this.#hasGap = true;
		this.#ring.skipTo(offset);
	}
}

/** The bytes of an excerpt in one piece; gaps are left out. */
export function bytesOf({ chunks }: Pick<Excerpt, "chunks">): Uint8Array {
	return chunks.length === 1 ? chunks[0]!.bytes : Buffer.concat(chunks.map((chunk) => chunk.bytes));
}

const chunkOf = (offset: number, bytes: Uint8Array): Bytes[] => (bytes.length > 0 ? [{ offset, bytes }] : []);
