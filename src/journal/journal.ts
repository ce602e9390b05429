// Everything that came out of one session, by absolute offset: the newest from
// memory, the rest from the holder's log, also after the exit and after the
// memory was let go.
//
// The holder has logged each byte before it told us of it, so memory is only the
// quick way to what the disk has too.

import { Ring, type RingOptions } from "./ring.ts";
import { logBounds, readLog } from "./segments.ts";

export interface Chunk {
	readonly offset: number;
	readonly bytes: Uint8Array;
}

export interface Gap {
	readonly from: number;
	readonly to: number;
}

/** What was asked for by offset: the kept bytes in order, and what is not kept. */
export interface Excerpt {
	/** What `read` was asked for, cut to what has come out. */
	readonly from: number;
	readonly to: number;
	readonly chunks: readonly Chunk[];
	readonly gaps: readonly Gap[];
}

export interface JournalStats {
	readonly bytesOut: number;
	readonly linesOut: number;
	readonly lastLine: string;
	/** Output went by that memory no longer holds; the disk may. */
	readonly truncated: boolean;
}

/** A moment of the journal, and everything after it. */
export interface Subscription {
	/** What memory holds from the offset asked for; `snapshot.offset` is higher where it no longer holds all. */
	readonly snapshot: Chunk;
	/** Below the snapshot: asked for, and only to be had by `read`. */
	readonly below: Gap | null;
	readonly unsubscribe: () => void;
}

export interface JournalOptions extends RingOptions {
	/** The session's directory. */
	readonly directory: string;
	/** What the record last said, until there is newer output. */
	readonly lastLine?: string;
}

type Listener = (happening: Chunk | Gap) => void;

export class Journal {
	readonly directory: string;
	readonly #ring: Ring;
	readonly #listeners = new Set<Listener>();
	#lastLine: string | null;

	constructor({ directory, lastLine, ...ring }: JournalOptions) {
		this.directory = directory;
		this.#lastLine = lastLine ?? null;
		this.#ring = new Ring(ring);
	}

	/** The journal of a session that is over or not yet attached: all of it on disk, none in memory. */
	static async open(options: Omit<JournalOptions, "at">): Promise<Journal> {
		const { to } = await logBounds(options.directory);
		return new Journal({ ...options, at: to });
	}

	/** The absolute offset after the last byte that came out. */
	get end(): number {
		return this.#ring.to;
	}

	get stats(): JournalStats {
		const { bytesOut, linesOut, truncated } = this.#ring;
		return { bytesOut, linesOut, lastLine: this.#lastLine ?? this.#ring.lastLine, truncated };
	}

	/** The next output. Bytes that were told before are cut off; bytes that are missing are a gap. */
	advance({ offset, bytes }: Chunk): void {
		if (offset > this.end) this.skip({ from: this.end, to: offset });
		const fresh = offset < this.end ? bytes.subarray(this.end - offset) : bytes;
		if (fresh.length === 0) return;
		const chunk = { offset: this.end, bytes: fresh };
		this.#lastLine = null;
		this.#ring.append(fresh);
		for (const listener of [...this.#listeners]) listener(chunk);
	}

	/** Output that is not kept went by. */
	skip({ from, to }: Gap): void {
		if (to <= this.end) return;
		const gap = { from: Math.max(from, this.end), to };
		this.#ring.skipTo(to);
		for (const listener of [...this.#listeners]) listener(gap);
	}

	/**
	 * What memory holds from `from` on, and every chunk and gap after that: nothing
	 * can come between the two. The listener is never called before this returns.
	 */
	snapshotAndSubscribe(from: number, listener: Listener): Subscription {
		const offset = Math.min(Math.max(from, this.#ring.from), this.end);
		// A listener that is there twice must leave twice.
		const mine: Listener = (happening) => listener(happening);
		this.#listeners.add(mine);
		return {
			snapshot: { offset, bytes: this.#ring.read(offset, this.end) },
			below: from < offset ? { from, to: offset } : null,
			unsubscribe: () => void this.#listeners.delete(mine),
		};
	}

	/** What memory holds from an offset on: at once, so that nothing can come between it and whatever listens from now on. */
	recent(from: number): Uint8Array {
		return this.#ring.read(Math.min(Math.max(from, this.#ring.from), this.end), this.end);
	}

	/** What came out between two offsets, from memory where it holds all of it, else from disk. */
	async read(from: number, to: number = this.end): Promise<Excerpt> {
		const start = Math.max(0, Math.min(from, this.end));
		const end = Math.max(start, Math.min(to, this.end));
		if (start >= this.#ring.from || start === end)
			return { from: start, to: end, chunks: chunkOf(start, this.#ring.read(start, end)), gaps: [] };
		const inMemory = Math.min(end, Math.max(start, this.#ring.from));
		// Copied before the disk is waited for: the ring moves on meanwhile.
		const newest = chunkOf(inMemory, this.#ring.read(inMemory, end));
		const chunks: Chunk[] = [];
		const gaps: Gap[] = [];
		let at = start;
		for await (const { from: offset, to: next, bytes } of readLog(this.directory, start, inMemory)) {
			if (bytes === null) gaps.push({ from: offset, to: next });
			else chunks.push({ offset, bytes });
			at = next;
		}
		if (at < inMemory) gaps.push({ from: at, to: inMemory });
		return { from: start, to: end, chunks: [...chunks, ...newest], gaps };
	}

	/** Lets memory go; reads come from disk from now on (R4.8). */
	evict(): void {
		this.#lastLine = this.stats.lastLine;
		this.#ring.evict();
	}
}

/** The bytes of an excerpt in one piece; gaps are left out. */
export function bytesOf({ chunks }: Pick<Excerpt, "chunks">): Uint8Array {
	return chunks.length === 1 ? chunks[0]!.bytes : Buffer.concat(chunks.map((chunk) => chunk.bytes));
}

const chunkOf = (offset: number, bytes: Uint8Array): Chunk[] => (bytes.length > 0 ? [{ offset, bytes }] : []);
