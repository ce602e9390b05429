// The lines of a transcript at one moment: read by number and searched. Lines are counted from 1
// over everything that was printed; the newest are in memory, the others in the text log.

import type { FileHandle } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import { segmentPath } from "../journal/segments.ts";
import { openRegular } from "../journal/state-file.ts";
import type { TextPlace, TextSegment, TextSnapshot } from "../journal/text-log.ts";
import { literalFinder, patternFinder } from "./line-finder.ts";

const LF = 0x0a;
/** Searched at once: some milliseconds. */
const PIECE_BYTES = 1 << 20;
/** Taken apart at once: each byte may be a line. More than the longest line. */
const LINES_BYTES = 64 * 1024;

/** Where the cursor was at an offset of the output. */
export interface OffsetLine {
	/** The number of its line. */
	readonly line: number;
	/** There was nothing on it yet. */
	readonly blank: boolean;
}

/** A line, or a range of lines of which only the numbers are left. */
export interface NumberedLine {
	readonly number: number;
	/** The last of the range; the same as `number` for a line. */
	readonly last: number;
	readonly text: string;
}

export interface LineRange {
	readonly from: number;
	readonly to: number;
}

export interface SearchRequest {
	/** A text, or a regular expression that a line must match. */
	readonly text?: string | undefined;
	readonly pattern?: string | undefined;
	readonly range: LineRange;
	/** Of more matches than `most`, these are returned. */
	readonly order: "newest" | "oldest";
	readonly most: number;
	readonly caller: string;
	readonly signal?: AbortSignal | undefined;
}

export interface SearchResult {
	/** Lines that match. */
	readonly count: number;
	/** The numbers of those that were asked for, ascending. */
	readonly lines: readonly number[];
}

type Place = Pick<TextPlace, "line" | "text">;

interface ViewParts {
	readonly text: TextSnapshot;
	/** The lines after those of the text. */
	readonly tail: readonly string[];
	readonly marks: ReadonlyMap<number, OffsetLine>;
	/** The output up to this offset. */
	readonly offset: number;
}

export class TranscriptView {
	readonly #parts: ViewParts;

	constructor(parts: ViewParts) {
		this.#parts = parts;
	}

	/** The number of the last line. */
	get total(): number {
		const { text, tail } = this.#parts;
		return text.line + tail.length;
	}

	/** The lines of the output between two offsets; where these are not known exactly, some more. */
	linesBetween(from: number, to: number): LineRange {
		const { marks, text, offset } = this.#parts;
		const first = marks.get(from)?.line ?? (text.index.findLast(({ raw }) => raw <= from)?.line ?? 0) + 1;
		if (to >= offset) return { from: first, to: this.total };
		const last = marks.get(to);
		if (last !== undefined) return { from: first, to: last.blank ? last.line - 1 : last.line };
		return { from: first, to: text.index.find(({ raw }) => raw >= to)?.line ?? this.total };
	}

	/** The first lines of a range that have so many bytes together, but at least one. */
	async first(range: LineRange, maxBytes: number): Promise<NumberedLine[]> {
		const { text, tail } = this.#parts;
		const lines: NumberedLine[] = [];
		const { from, to } = this.#clamped(range);
		let room = maxBytes;
		const add = (line: NumberedLine): boolean => {
			if (lines.length > 0 && line.text.length > room) return false;
			lines.push(line);
			room -= line.text.length + 1;
			return line.last < to && room > 0;
		};
		if (from <= text.line) {
			for await (const block of this.#stored({ from, to: Math.min(to, text.line) }))
				for (const line of linesOf(block)) if (!add(line)) return lines;
		}
		for (let number = Math.max(from, text.line + 1); number <= to; number++) {
			if (!add({ number, last: number, text: tail[number - text.line - 1]! })) break;
		}
		return lines;
	}

	/** The last lines of a range that have so many bytes together, but at least one. */
	async last(range: LineRange, maxBytes: number): Promise<NumberedLine[]> {
		const { text, tail } = this.#parts;
		const { from, to } = this.#clamped(range);
		const newestFirst: NumberedLine[] = [];
		let room = maxBytes;
		const add = (line: NumberedLine): boolean => {
			if (newestFirst.length > 0 && line.text.length > room) return false;
			newestFirst.push(line);
			room -= line.text.length + 1;
			return line.number > from && room > 0;
		};
		let more = from <= to;
		for (let number = to; more && number > text.line && number >= from; number--)
			more = add({ number, last: number, text: tail[number - text.line - 1]! });
		// In steps backwards, of which each ends where the one after it began.
		for (let end = Math.min(to, text.line); more && end >= from; ) {
			const start = await this.#lineBefore(end, Math.max(room, 1), from);
			const blocks: Block[] = [];
			for await (const block of this.#stored({ from: start, to: end }))
				blocks.push({ ...block, bytes: block.bytes && Buffer.from(block.bytes) });
			for (const line of blocks.reverse().flatMap((block) => [...linesBackwards(block, room)])) {
				more = add(line);
				if (!more) break;
			}
			end = start - 1;
		}
		return newestFirst.reverse();
	}

	/** How many bytes of text a range has, about. */
	sizeOf(range: LineRange): number {
		const { text, tail } = this.#parts;
		const { from, to } = this.#clamped(range);
		const at = (line: number) => {
			const i = text.index.findLastIndex((place) => place.line <= line);
			const [a, b] = [text.index[i]!, text.index[i + 1] ?? text];
			return b.line === a.line ? a.text : a.text + ((b.text - a.text) * (line - a.line)) / (b.line - a.line);
		};
		const stored = at(Math.min(to, text.line)) - at(Math.min(from - 1, text.line));
		const kept = tail.slice(Math.max(0, from - text.line - 1), Math.max(0, to - text.line));
		return Math.round(stored) + kept.reduce((sum, line) => sum + line.length + 1, 0);
	}

	/** The parts of a range of which only the numbers are left. */
	notKept(range: LineRange): NumberedLine[] {
		const { from, to } = this.#clamped(range);
		const { segments, line } = this.#parts.text;
		const lost: NumberedLine[] = [];
		let number = from;
		for (const segment of [...segments, { line, lines: 0 }]) {
			const last = Math.min(segment.line, to);
			if (number <= last) lost.push(notKept({ from: number, to: last }));
			number = Math.max(number, segment.line + segment.lines + 1);
		}
		return lost;
	}

	/** The lines of a range that hold a text or match a pattern. */
	async search({ text, pattern, range, order, most, caller, signal }: SearchRequest): Promise<SearchResult> {
		const { from, to } = this.#clamped(range);
		const hits = new Hits(order, most);
		const stored = this.#parts.text;
		const finds = pattern === undefined ? literalFinder(text ?? "") : patternFinder(pattern, { caller, signal });
		if (from <= stored.line) {
			const [start, end] = [await this.#offsetOf(from), await this.#offsetOf(Math.min(to, stored.line) + 1)];
			for await (const { bytes, offset } of pieces(stored, start, end)) {
				signal?.throwIfAborted();
				await finds(bytes, (at) => hits.add(offset + at));
				await setImmediate();
			}
		}
		const tail = this.#parts.tail.slice(Math.max(0, from - stored.line - 1), Math.max(0, to - stored.line));
		const bytes = Buffer.from(tail.map((line) => `${line}\n`).join(""));
		// Beyond the stored text: offsets tell which line it is.
		const first = Math.max(from, stored.line + 1);
		await finds(bytes, (at) => hits.add(TAIL + at));
		const inText = await lineNumbers(
			stored,
			hits.offsets.filter((offset) => offset < TAIL),
		);
		const inTail = hits.offsets.filter((offset) => offset >= TAIL);
		return {
			count: hits.count,
			lines: [...inText, ...inTail.map((offset) => first + newlinesBefore(bytes, offset - TAIL))],
		};
	}

	#clamped({ from, to }: LineRange): LineRange {
		return { from: Math.max(1, from), to: Math.min(to, this.total) };
	}

	/** Stored lines, in order. A block is valid until the next one. */
	async *#stored({ from, to }: LineRange): AsyncGenerator<Block> {
		const { text } = this.#parts;
		const start = this.#placeBefore(from);
		let number = start.line + 1;
		for (const segment of segmentsFrom(text, start.text)) {
			if (segment.line + 1 > number) {
				const lost = { from: Math.max(number, from), to: Math.min(segment.line, to) };
				if (lost.to >= lost.from) yield { ...lost, bytes: null };
				number = segment.line + 1;
			}
			if (number > to) return;
			const begin = Math.max(segment.from, start.text);
			for await (const { bytes } of pieces(text, begin, segment.to, LINES_BYTES)) {
				const skipped = Math.max(0, from - number);
				const start = afterLines(bytes, skipped);
				number += start.lines;
				const wanted = afterLines(bytes.subarray(start.at), to - number + 1);
				const block = bytes.subarray(start.at, start.at + wanted.at);
				if (wanted.lines > 0) yield { from: number, to: number + wanted.lines - 1, bytes: block };
				number += wanted.lines;
				if (number > to) return;
				await setImmediate();
			}
		}
		if (number <= to) yield { from: Math.max(number, from), to, bytes: null };
	}

	/** A line from which on there are about so many bytes up to `line`, but not before `from`. */
	async #lineBefore(line: number, bytes: number, from: number): Promise<number> {
		const offset = (await this.#offsetOf(line + 1)) - bytes;
		const place = this.#parts.text.index.findLast(({ text }) => text <= offset);
		return Math.min(line, Math.max(from, (place?.line ?? 0) + 1));
	}

	/** A place before a line, close to it: what is between two parts of the text is not counted. */
	#placeBefore(line: number): Place {
		const { index, segments } = this.#parts.text;
		const place = index.findLast((place) => place.line < line)!;
		const segment = segments.findLast((segment) => segment.line < line);
		return segment !== undefined && segment.line > place.line ? { line: segment.line, text: segment.from } : place;
	}

	/** Where a line begins in the text; of one that is not kept, where those after it begin. */
	async #offsetOf(line: number): Promise<number> {
		const { text } = this.#parts;
		const segment = text.segments.findLast((segment) => segment.line < line);
		if (segment === undefined) return 0;
		if (line > segment.line + segment.lines) return segment.to;
		const place = this.#placeBefore(line);
		let left = line - 1 - place.line;
		if (left === 0) return place.text;
		for await (const { bytes, offset } of pieces(text, place.text, segment.to)) {
			for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1))
				if (--left === 0) return offset + at + 1;
		}
		return segment.to;
	}
}

/** Beyond every offset, and an integer with every offset added. */
const TAIL = 2 ** 52;

/** Whole lines, each ended by LF; null where they are not kept any more. */
interface Block extends LineRange {
	readonly bytes: Buffer | null;
}

function* linesOf({ from, to, bytes }: Block): Generator<NumberedLine> {
	if (bytes === null) return yield notKept({ from, to });
	for (let at = 0, number = from; number <= to; number++) {
		const end = bytes.indexOf(LF, at);
		yield { number, last: number, text: bytes.toString("utf8", at, end) };
		at = end + 1;
	}
}

/** From the last one on, as many as have about so many bytes. */
function* linesBackwards({ from, to, bytes }: Block, room: number): Generator<NumberedLine> {
	if (bytes === null) return yield notKept({ from, to });
	for (let end = bytes.length - 1, number = to, left = room; number >= from && left >= 0; number--) {
		const start = end === 0 ? 0 : bytes.lastIndexOf(LF, end - 1) + 1;
		yield { number, last: number, text: bytes.toString("utf8", start, end) };
		left -= end - start + 1;
		end = start - 1;
	}
}

/** Where it goes on after so many lines, or after all. */
function afterLines(bytes: Buffer, most: number): { readonly at: number; readonly lines: number } {
	let [at, lines] = [0, 0];
	for (; at < bytes.length && lines < most; at++) if (bytes[at] === LF) lines++;
	return { at, lines };
}

const notKept = ({ from, to }: LineRange): NumberedLine => ({
	number: from,
	last: to,
	text: `[… ${from === to ? `line ${from} is` : `lines ${from}–${to} are`} no longer kept …]`,
});

/** The first or the last few, and how many there are. */
class Hits {
	readonly #order: "newest" | "oldest";
	readonly #most: number;
	#offsets: number[] = [];
	count = 0;

	constructor(order: "newest" | "oldest", most: number) {
		this.#order = order;
		this.#most = most;
	}

	get offsets(): readonly number[] {
		return this.#offsets.slice(-this.#most);
	}

	add(offset: number): void {
		this.count++;
		if (this.#order === "oldest" && this.#offsets.length >= this.#most) return;
		this.#offsets.push(offset);
		if (this.#offsets.length > 2 * this.#most + 1000) this.#offsets = this.#offsets.slice(-this.#most);
	}
}

function* segmentsFrom({ segments }: TextSnapshot, offset: number): Generator<TextSegment> {
	for (const segment of segments) if (segment.to > offset) yield segment;
}

/** The text between two offsets in pieces of whole lines; what is not kept is left out. A piece is valid until the next one. */
async function* pieces(
	snapshot: TextSnapshot,
	from: number,
	to: number,
	most: number = PIECE_BYTES,
): AsyncGenerator<{ readonly offset: number; readonly bytes: Buffer }> {
	const size = Math.min(most, Math.max(0, to - from));
	const buffers = [Buffer.allocUnsafeSlow(size), Buffer.allocUnsafeSlow(size)] as const;
	for (const segment of segmentsFrom(snapshot, from)) {
		if (segment.from >= to) return;
		const end = Math.min(to, segment.to);
		let at = Math.max(from, segment.from);
		if (segment.bytes !== null) {
			// At most a piece.
			yield { offset: at, bytes: segment.bytes.subarray(at - segment.from, end - segment.from) };
			continue;
		}
		const file = await openRegular(segmentPath(snapshot.directory, "text", segment.from));
		if (file === null) continue; // removed meanwhile, for the quota
		let turn = 0;
		let next = readAt(file, buffers[0], at - segment.from, end - at);
		try {
			while (at < end) {
				const buffer = buffers[turn % 2]!;
				const length = await next;
				const whole = buffer.lastIndexOf(LF, length - 1) + 1;
				// Lines are much shorter than a piece.
				if (length === 0 || whole === 0) break;
				const offset = at;
				at += whole;
				turn++;
				// Read ahead while the caller works.
				if (at < end) next = readAt(file, buffers[turn % 2]!, at - segment.from, end - at);
				yield { offset, bytes: buffer.subarray(0, whole) };
			}
		} finally {
			await next.catch(() => {}); // was read ahead, and is not used
			await file.close();
		}
	}
}

async function readAt(file: FileHandle, buffer: Buffer, position: number, most: number): Promise<number> {
	const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, most), position);
	return bytesRead;
}

/** The numbers of the lines at ascending offsets. */
async function lineNumbers(snapshot: TextSnapshot, offsets: readonly number[]): Promise<number[]> {
	const numbers: number[] = [];
	let known = { text: 0, line: 0 };
	for (const offset of offsets) {
		const place = snapshot.index.findLast(({ text }) => text <= offset)!;
		if (place.text > known.text) known = place;
		const segment = snapshot.segments.findLast(({ from }) => from <= offset);
		if (segment !== undefined && segment.from > known.text) known = { text: segment.from, line: segment.line };
		let { line } = known;
		for await (const { bytes } of pieces(snapshot, known.text, offset)) line += newlinesBefore(bytes, bytes.length);
		known = { text: offset, line };
		numbers.push(line + 1);
	}
	return numbers;
}

function newlinesBefore(bytes: Buffer, end: number): number {
	let count = 0;
	for (let at = bytes.indexOf(LF); at >= 0 && at < end; at = bytes.indexOf(LF, at + 1)) count++;
	return count;
}
