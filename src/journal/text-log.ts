// The committed lines of a transcript: UTF-8 text in `text.<offset>` files, and a sparse index of
// lines. It only grows; beyond its quota the oldest segments but the first are removed.
//
// What was written since the owner last saved the log's state is cut off when it is opened again,
// so a crash leaves no line twice.

import { truncate, unlink } from "node:fs/promises";
import { listSegments, segmentPath } from "./segments.ts";
import { CorruptState, openOwn } from "./state-file.ts";

const SEGMENT_BYTES = 4 << 20;
/** The index has an entry for about so much text, more in a large log. */
const INDEX_BYTES = 64 * 1024;
const MAX_ENTRIES = 8192;

/** A place in the text: after so many lines, bytes of text, and bytes of output. */
export interface TextPlace {
	readonly line: number;
	readonly text: number;
	readonly raw: number;
}

/** A file of the log, by text offset; it begins at the start of a line. */
export interface TextSegment {
	readonly from: number;
	readonly to: number;
	/** Lines before it. */
	readonly line: number;
}

/** What has to be known to open it again. */
export interface TextLogState {
	readonly line: number;
	readonly text: number;
	/** Line, text and raw offset of each entry, one after the other. */
	readonly index: readonly number[];
}

/** The text at one moment; what is added later does not change it. */
export interface TextSnapshot {
	readonly directory: string;
	/** Lines and bytes of text. */
	readonly line: number;
	readonly text: number;
	/** Ascending; the first one is the beginning. */
	readonly index: readonly TextPlace[];
	readonly segments: readonly TextSegment[];
}

const BEGINNING: TextPlace = { line: 0, text: 0, raw: 0 };

export class TextLog {
	readonly #directory: string;
	readonly #maxBytes: number;
	#line = 0;
	#text = 0;
	/** Replaced, not changed, except at its end. */
	#index: TextPlace[] = [BEGINNING];
	#spacing = INDEX_BYTES;
	#segments: TextSegment[] = [];
	#unwritten: Uint8Array[] = [];
	#unwrittenBytes = 0;

	private constructor(directory: string, maxBytes: number) {
		this.#directory = directory;
		this.#maxBytes = maxBytes;
	}

	/** As it was saved, or empty. `maxBytes` of 0: no limit. Throws a CorruptState where files and state do not fit. */
	static async open(directory: string, state: TextLogState | null, maxBytes: number): Promise<TextLog> {
		const log = new TextLog(directory, maxBytes);
		if (state !== null) log.#restore(state);
		for (const { path, from, to } of await listSegments(directory, "text")) {
			const entry = log.#index.find(({ text }) => text === from);
			if (from >= log.#text || entry === undefined)
				await unlink(path).catch(() => {}); // gone already
			else {
				const end = Math.min(to, log.#text);
				if (end < to) await truncate(path, end - from);
				log.#segments.push({ from, to: end, line: entry.line });
			}
		}
		const last = log.#segments.at(-1);
		if ((last?.to ?? 0) !== log.#text)
			throw new CorruptState("bad-content", "the end of the transcript's text is missing");
		return log;
	}

	/** Lines so far. */
	get line(): number {
		return this.#line;
	}
	get unwrittenBytes(): number {
		return this.#unwrittenBytes;
	}
	/** On disk. */
	get keptBytes(): number {
		return this.#segments.reduce((sum, { from, to }) => sum + to - from, 0);
	}
	get state(): TextLogState {
		return {
			line: this.#line,
			text: this.#text,
			index: this.#index.flatMap(({ line, text, raw }) => [line, text, raw]),
		};
	}

	/** Lines, each ended by LF, of the output from `raw` on. Takes the array over. */
	append(text: Uint8Array, lines: number, raw: number): void {
		if (this.#text - this.#index.at(-1)!.text >= this.#spacing) this.#enter(raw);
		this.#unwritten.push(text);
		this.#unwrittenBytes += text.length;
		this.#text += text.length;
		this.#line += lines;
	}

	/** Writes what was appended; `raw` is where the output goes on. */
	async flush(raw: number): Promise<void> {
		if (this.#unwrittenBytes === 0) return;
		const bytes = Buffer.concat(this.#unwritten);
		const start = this.#text - bytes.length;
		const last = this.#segments.at(-1);
		const segment = last !== undefined && last.to - last.from < SEGMENT_BYTES ? last : null;
		const from = segment?.from ?? start;
		const file = await openOwn(segmentPath(this.#directory, "text", from));
		try {
			await file.write(bytes, 0, bytes.length, start - from);
		} finally {
			await file.close();
		}
		this.#unwritten = [];
		this.#unwrittenBytes = 0;
		// Not changed in place: snapshots share it.
		const line = segment?.line ?? this.#index.findLast(({ text }) => text <= start)!.line;
		this.#segments = [
			...(segment === null ? this.#segments : this.#segments.slice(0, -1)),
			{ from, to: this.#text, line },
		];
		// The next segment may begin here.
		if (this.#text - from >= SEGMENT_BYTES) this.#enter(raw);
		await this.#keepWithinQuota();
	}

	snapshot(): TextSnapshot {
		return {
			directory: this.#directory,
			line: this.#line,
			text: this.#text,
			index: this.#index.slice(),
			segments: this.#segments,
		};
	}

	#restore({ line, text, index }: TextLogState): void {
		this.#line = line;
		this.#text = text;
		this.#index = [];
		for (let i = 0; i + 2 < index.length; i += 3)
			this.#index.push({ line: index[i]!, text: index[i + 1]!, raw: index[i + 2]! });
		const rises = this.#index.every(({ line, text }, i) => {
			const before = this.#index[i - 1];
			return before === undefined ? line === 0 && text === 0 : line > before.line && text > before.text;
		});
		const last = this.#index.at(-1);
		if (!rises || last === undefined || last.line > line || last.text > text)
			throw new CorruptState("bad-content", "the index of the transcript is out of order");
		this.#spacing = INDEX_BYTES * 2 ** Math.max(0, Math.ceil(Math.log2(text / INDEX_BYTES / MAX_ENTRIES)));
	}

	#enter(raw: number): void {
		if (this.#index.at(-1)!.text === this.#text) return;
		this.#index.push({ line: this.#line, text: this.#text, raw });
		if (this.#index.length < MAX_ENTRIES) return;
		this.#spacing *= 2;
		const starts = new Set(this.#segments.map(({ from }) => from));
		this.#index = this.#index.filter(({ text }, i) => i % 2 === 0 || starts.has(text) || text === this.#text);
	}

	async #keepWithinQuota(): Promise<void> {
		let kept = this.keptBytes;
		while (this.#maxBytes > 0 && kept > this.#maxBytes && this.#segments.length > 2) {
			const { from, to } = this.#segments[1]!;
			await unlink(segmentPath(this.#directory, "text", from)).catch(() => {}); // gone already
			this.#segments = this.#segments.filter((segment) => segment.from !== from);
			kept -= to - from;
		}
	}
}
