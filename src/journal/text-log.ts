// The committed lines of a transcript: UTF-8 text in `text.<offset>` files, and a sparse index of
// lines. It only grows; beyond its quota the oldest segments but the first are removed.
//
// What its saved state does not name is not part of it, so a crash leaves no line twice. What cannot be
// written (a full disk, say) stays in memory up to a bound, and is tried again with what comes next.

import { lstat, truncate, unlink } from "node:fs/promises";
import { listSegments, segmentPath } from "./segments.ts";
import { CorruptState, openOwn } from "./state-file.ts";

const LF = 0x0a;
const SEGMENT_BYTES = 4 << 20;
/** The index has an entry for about so much text, more in a large log. */
const INDEX_BYTES = 64 * 1024;
const MAX_ENTRIES = 8192;
/** Of what cannot be written the newest is kept: more than any answer shows, for every session of a full disk. */
const MAX_UNWRITTEN_BYTES = 1 << 20;

/** A place in the text: after so many lines, bytes of text, and bytes of output. */
export interface TextPlace {
	readonly line: number;
	readonly text: number;
	/** Of several places in one piece of output, that of the first. */
	readonly raw: number;
}

/** A part of the text, by offset; it begins at the start of a line. What is between two parts is not kept. */
export interface TextSegment {
	readonly from: number;
	readonly to: number;
	/** Lines before it, and in it. */
	readonly line: number;
	readonly lines: number;
	/** Null where they are in a file. */
	readonly bytes: Buffer | null;
}

/** What has to be known to open it again. */
export interface TextLogState {
	readonly line: number;
	readonly text: number;
	/** Line, text and raw offset of each entry, one after the other. */
	readonly index: readonly number[];
	/** From, to, line and lines of each file, one after the other. */
	readonly segments: readonly number[];
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

/** Whole lines that are not written yet, and where they begin. */
interface Unwritten extends TextPlace {
	readonly bytes: Uint8Array;
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
	/** In files. Replaced, not changed: snapshots share it. */
	#segments: readonly TextSegment[] = [];
	#unwritten: Unwritten[] = [];
	#unwrittenBytes = 0;
	/** Emptied for the quota, but still named by the saved state. */
	#emptied: string[] = [];

	private constructor(directory: string, maxBytes: number) {
		this.#directory = directory;
		this.#maxBytes = maxBytes;
	}

	/** As it was saved, or empty. `maxBytes` of 0: no limit. Throws a CorruptState where files and state do not fit. */
	static async open(directory: string, state: TextLogState | null, maxBytes: number): Promise<TextLog> {
		const log = new TextLog(directory, maxBytes);
		if (state !== null) await log.#restore(state);
		const known = new Set(log.#segments.map(({ from }) => from));
		for (const { path, from } of await listSegments(directory, "text"))
			if (!known.has(from)) await unlink(path).catch(() => {}); // gone already, or overwritten later
		return log;
	}

	/** The number of a line that was complete at an offset of the output, near it where the index has an entry. */
	lineBefore(raw: number): number {
		return this.#index.findLast((place) => place.raw <= raw)?.line ?? 0;
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
	/** Null while something is not written. */
	get state(): TextLogState | null {
		if (this.#unwrittenBytes > 0) return null;
		return {
			line: this.#line,
			text: this.#text,
			index: this.#index.flatMap(({ line, text, raw }) => [line, text, raw]),
			segments: this.#segments.flatMap(({ from, to, line, lines }) => [from, to, line, lines]),
		};
	}

	/** Lines, each ended by LF, of the output from `raw` on. Takes the array over. */
	append(bytes: Uint8Array, lines: number, raw: number): void {
		for (let at = 0; at < bytes.length; ) {
			const end = bytes.indexOf(LF, Math.min(at + INDEX_BYTES, bytes.length - 1)) + 1;
			const part = bytes.subarray(at, end);
			this.#append(part, part.length === bytes.length ? lines : linesIn(part), raw);
			at = end;
		}
	}

	#append(bytes: Uint8Array, lines: number, raw: number): void {
		const place = { line: this.#line, text: this.#text, raw };
		if (this.#text - this.#index.at(-1)!.text >= this.#spacing) this.#enter(place);
		this.#unwritten.push({ ...place, bytes });
		this.#unwrittenBytes += bytes.length;
		this.#text += bytes.length;
		this.#line += lines;
	}

	/** Writes what was appended; where that is not possible now, the newest of it stays in memory. */
	async flush(): Promise<void> {
		const [first] = this.#unwritten;
		if (first === undefined) return;
		const last = this.#segments.at(-1);
		const goesOn = last !== undefined && last.to === first.text && last.to - last.from < SEGMENT_BYTES;
		const { from, line } = goesOn ? last : { from: first.text, line: first.line };
		const bytes = Buffer.concat(this.#unwritten.map((part) => part.bytes));
		if (!(await written(segmentPath(this.#directory, "text", from), bytes, first.text - from))) {
			this.#keepNewestUnwritten();
			return;
		}
		this.#unwritten = [];
		this.#unwrittenBytes = 0;
		const segment = { from, to: this.#text, line, lines: this.#line - line, bytes: null };
		this.#segments = [...(goesOn ? this.#segments.slice(0, -1) : this.#segments), segment];
		await this.#keepWithinQuota();
	}

	/** The state is on disk: nothing needs the files that it does not name. */
	async saved(): Promise<void> {
		for (const path of this.#emptied.splice(0)) await unlink(path).catch(() => {}); // gone already
	}

	snapshot(): TextSnapshot {
		const [first] = this.#unwritten;
		const inMemory =
			first === undefined
				? []
				: [
						{
							from: first.text,
							to: this.#text,
							line: first.line,
							lines: this.#line - first.line,
							bytes: Buffer.concat(this.#unwritten.map(({ bytes }) => bytes)),
						},
					];
		return {
			directory: this.#directory,
			line: this.#line,
			text: this.#text,
			index: this.#index.slice(),
			segments: [...this.#segments, ...inMemory],
		};
	}

	async #restore({ line, text, index, segments }: TextLogState): Promise<void> {
		this.#line = line;
		this.#text = text;
		this.#index = inGroups(index, 3).map(([line, text, raw]) => ({ line: line!, text: text!, raw: raw! }));
		const named = inGroups(segments, 4).map(([from, to, line, lines]) => {
			return { from: from!, to: to!, line: line!, lines: lines!, bytes: null };
		});
		const last = { index: this.#index.at(-1), segment: named.at(-1) };
		const fits =
			this.#index.every((place, i) => isAfter(place, this.#index[i - 1])) &&
			named.every((segment, i) => isBehind(segment, named[i - 1])) &&
			(last.index?.line ?? line + 1) <= line &&
			(last.index?.text ?? text + 1) <= text &&
			(last.segment?.to ?? 0) === text &&
			(last.segment ? last.segment.line + last.segment.lines : 0) === line;
		if (!fits) throw new CorruptState("bad-content", "the index of the transcript is out of order");
		this.#spacing = INDEX_BYTES * 2 ** Math.max(0, Math.ceil(Math.log2(text / INDEX_BYTES / MAX_ENTRIES)));
		const kept: TextSegment[] = [];
		for (const segment of named) {
			const size = await sizeOf(segmentPath(this.#directory, "text", segment.from));
			// Empty: for the quota. That never takes the first one or the newest.
			if (size === 0 && segment !== named[0] && segment !== last.segment) continue;
			if (size < segment.to - segment.from)
				throw new CorruptState("bad-content", "a part of the transcript's text is missing");
			kept.push(segment);
		}
		this.#segments = kept;
	}

	#enter(place: TextPlace): void {
		this.#index.push(place);
		if (this.#index.length < MAX_ENTRIES) return;
		this.#spacing *= 2;
		this.#index = this.#index.filter((_, i) => i % 2 === 0);
	}

	#keepNewestUnwritten(): void {
		const first = this.#unwritten.findIndex(({ text }) => this.#text - text <= MAX_UNWRITTEN_BYTES);
		this.#unwritten = first < 0 ? [] : this.#unwritten.slice(first);
		this.#unwrittenBytes = this.#text - (this.#unwritten[0]?.text ?? this.#text);
	}

	async #keepWithinQuota(): Promise<void> {
		let kept = this.keptBytes;
		while (this.#maxBytes > 0 && kept > this.#maxBytes && this.#segments.length > 2) {
			const { from, to } = this.#segments[1]!;
			const path = segmentPath(this.#directory, "text", from);
			// Empty until the state no longer names it: one that is missing is an accident.
			await truncate(path, 0).catch(() => {}); // gone already
			this.#emptied.push(path);
			this.#segments = this.#segments.filter((segment) => segment.from !== from);
			kept -= to - from;
		}
	}
}

function linesIn(bytes: Uint8Array): number {
	let count = 0;
	for (let at = 0; at < bytes.length; at++) if (bytes[at] === LF) count++;
	return count;
}

function inGroups(numbers: readonly number[], size: number): readonly number[][] {
	const groups: number[][] = [];
	for (let i = 0; i + size <= numbers.length; i += size) groups.push(numbers.slice(i, i + size));
	return groups;
}

const isAfter = ({ line, text }: TextPlace, before: TextPlace | undefined): boolean =>
	before === undefined ? line === 0 && text === 0 : line > before.line && text > before.text;

const isBehind = ({ from, to, line, lines }: TextSegment, before: TextSegment | undefined): boolean =>
	to > from && lines > 0 && from >= (before?.to ?? 0) && line >= (before ? before.line + before.lines : 0);

/** -1 where there is no such file. */
async function sizeOf(path: string): Promise<number> {
	return lstat(path).then(
		(stats) => (stats.isFile() ? stats.size : -1),
		() => -1,
	);
}

/** Whether all of it was written: not on a full disk, in a directory that was removed or is not ours to write in. */
async function written(path: string, bytes: Uint8Array, position: number): Promise<boolean> {
	try {
		const file = await openOwn(path);
		try {
			for (let at = 0; at < bytes.length; ) {
				const { bytesWritten } = await file.write(bytes, at, bytes.length - at, position + at);
				if (bytesWritten === 0) return false;
				at += bytesWritten;
			}
		} finally {
			await file.close();
		}
		return true;
	} catch {
		return false;
	}
}
