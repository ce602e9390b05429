// The lines of a transcript at one moment: read by number and searched. Lines are counted from 1
// over everything that was printed; the newest are in memory, the others in the text log.

import { setImmediate } from "node:timers/promises";
import type { TextSnapshot } from "../journal/text-log.ts";
import { TextReader } from "../journal/text-reader.ts";
import { ownWords } from "./own-words.ts";
import { LF, SEPARATOR, storedLine, textOf } from "./stored-line.ts";
import { type SearchRequest, type SearchResult, searchTranscript } from "./transcript-search.ts";

/** Taken apart at once: each byte may be a line. */
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

interface ViewParts {
	readonly text: TextSnapshot;
	/** The lines after those of the text. */
	readonly tail: readonly string[];
	readonly marks: ReadonlyMap<number, OffsetLine>;
	/** The output up to this offset. */
	readonly offset: number;
}

export class TranscriptView {
	readonly #parts: Omit<ViewParts, "tail">;
	readonly #reader: TextReader;

	constructor({ tail, text, ...parts }: ViewParts) {
		this.#parts = { ...parts, text: withTail(text, tail) };
		this.#reader = new TextReader(this.#parts.text);
	}

	/** The number of the last line. */
	get total(): number {
		return this.#parts.text.line;
	}

	/** The lines of the output between two offsets; where these are not known exactly, some more. */
	linesBetween(from: number, to: number): LineRange {
		const { marks, text, offset } = this.#parts;
		const near = text.index.findLast(({ raw }) => raw <= from)?.raw ?? 0;
		const first = marks.get(from)?.line ?? (text.index.find(({ raw }) => raw === near)?.line ?? 0) + 1;
		if (to >= offset) return { from: first, to: this.total };
		const last = marks.get(to);
		if (last !== undefined) return { from: first, to: last.blank ? last.line - 1 : last.line };
		return { from: first, to: text.index.find(({ raw }) => raw >= to)?.line ?? this.total };
	}

	/** The line that the cursor was on at an offset; where that is not known, the last one. */
	lineAt(offset: number): number {
		return this.#parts.marks.get(offset)?.line ?? this.total;
	}

	/** The first lines of a range that have so many bytes together, but at least one. */
	async first(range: LineRange, maxBytes: number): Promise<NumberedLine[]> {
		const lines: NumberedLine[] = [];
		const { from, to } = this.#clamped(range);
		let room = maxBytes;
		for await (const block of this.#stored({ from, to })) {
			for (const line of linesOf(block)) {
				if (lines.length > 0 && line.text.length > room) return lines;
				lines.push(line);
				room -= line.text.length + 1;
				if (room <= 0) return lines;
			}
		}
		return lines;
	}

	/** The last lines of a range that have so many bytes together, but at least one. */
	async last(range: LineRange, maxBytes: number): Promise<NumberedLine[]> {
		const { from, to } = this.#clamped(range);
		const newestFirst: NumberedLine[] = [];
		let room = maxBytes;
		// In steps backwards, of which each ends where the one after it began.
		for (let end = to; end >= from; ) {
			const start = await this.#lineBefore(end, Math.max(room, 1), from);
			const blocks: Block[] = [];
			for await (const block of this.#stored({ from: start, to: end }))
				blocks.push({ ...block, bytes: block.bytes && Buffer.from(block.bytes) });
			for (const block of blocks.reverse())
				for (const line of linesBackwards(block)) {
					if (newestFirst.length > 0 && line.text.length > room) return newestFirst.reverse();
					newestFirst.push(line);
					room -= line.text.length + 1;
					if (room <= 0) return newestFirst.reverse();
				}
			end = start - 1;
		}
		return newestFirst.reverse();
	}

	/** How many bytes of text a range has, about. */
	sizeOf(range: LineRange): number {
		const { text } = this.#parts;
		const { from, to } = this.#clamped(range);
		const places = [...text.index, ...text.segments.map(({ line, from }) => ({ line, text: from })), text];
		places.sort((a, b) => a.line - b.line);
		const at = (line: number) => {
			const i = places.findLastIndex((place) => place.line <= line);
			const [a, b] = [places[i]!, places[i + 1] ?? text];
			return b.line === a.line ? a.text : a.text + ((b.text - a.text) * (line - a.line)) / (b.line - a.line);
		};
		return Math.round(at(to) - at(from - 1));
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
	search(request: SearchRequest): Promise<SearchResult> {
		return searchTranscript(this.#reader, { ...request, range: this.#clamped(request.range) });
	}

	#clamped({ from, to }: LineRange): LineRange {
		return { from: Math.max(1, from), to: Math.min(to, this.total) };
	}

	/** Stored lines, in order. A block is valid until the next one. */
	async *#stored({ from, to }: LineRange): AsyncGenerator<Block> {
		if (from > to) return;
		const start = this.#reader.placeBefore(from);
		let number = start.line + 1;
		for (const segment of this.#reader.segmentsFrom(start.text)) {
			if (segment.line + 1 > number) {
				const lost = { from: Math.max(number, from), to: Math.min(segment.line, to) };
				if (lost.to >= lost.from) yield { ...lost, bytes: null };
				number = segment.line + 1;
			}
			if (number > to) return;
			const begin = Math.max(segment.from, start.text);
			for await (const { bytes } of this.#reader.lines(begin, segment.to, LINES_BYTES)) {
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
		const offset = (await this.#reader.offsetOf(line + 1)) - bytes;
		const place = this.#parts.text.index.findLast(({ text }) => text <= offset);
		return Math.min(line, Math.max(from, (place?.line ?? 0) + 1));
	}
}

/** Whole lines, each ended by LF; null where they are not kept any more. */
interface Block extends LineRange {
	readonly bytes: Buffer | null;
}

function* linesOf({ from, to, bytes }: Block): Generator<NumberedLine> {
	if (bytes === null) return yield notKept({ from, to });
	const textAt = textIn(bytes);
	for (let at = 0, number = from; number <= to; number++) {
		const end = bytes.indexOf(LF, at);
		yield { number, last: number, text: textAt(at, end) };
		at = end + 1;
	}
}

/** From the last one on. */
function* linesBackwards({ from, to, bytes }: Block): Generator<NumberedLine> {
	if (bytes === null) return yield notKept({ from, to });
	const textAt = textIn(bytes);
	for (let end = bytes.length - 1, number = to; number >= from; number--) {
		const start = end === 0 ? 0 : bytes.lastIndexOf(LF, end - 1) + 1;
		yield { number, last: number, text: textAt(start, end) };
		end = start - 1;
	}
}

/** Most blocks have nothing but text. */
const textIn = (bytes: Buffer): ((start: number, end: number) => string) =>
	bytes.includes(SEPARATOR)
		? (start, end) => textOf(bytes.subarray(start, end))
		: (start, end) => bytes.toString("utf8", start, end);

/** Where it goes on after so many lines, or after all. */
function afterLines(bytes: Buffer, most: number): { readonly at: number; readonly lines: number } {
	let [at, lines] = [0, 0];
	for (; at < bytes.length && lines < most; at++) if (bytes[at] === LF) lines++;
	return { at, lines };
}

/** What is still on the screen follows what is committed. */
function withTail(text: TextSnapshot, tail: readonly string[]): TextSnapshot {
	if (tail.length === 0) return text;
	const bytes = Buffer.concat(tail.map(storedLine));
	const segment = { from: text.text, to: text.text + bytes.length, line: text.line, lines: tail.length, bytes };
	return { ...text, line: text.line + tail.length, text: segment.to, segments: [...text.segments, segment] };
}

const notKept = ({ from, to }: LineRange): NumberedLine => ({
	number: from,
	last: to,
	text: ownWords(`${from === to ? `line ${from} is` : `lines ${from}–${to} are`} no longer kept`),
});
