// Reading a text log as it was at one moment: by offset, in pieces of whole lines, and by line number.

import type { FileHandle } from "node:fs/promises";
import { segmentPath } from "./segments.ts";
import { openRegular } from "./state-file.ts";
import type { TextPlace, TextSegment, TextSnapshot } from "./text-log.ts";

const LF = 0x0a;
/** Read at once: some milliseconds of work. */
const PIECE_BYTES = 1 << 20;
/** More than almost any line. */
export const LINE_BYTES = 256 * 1024;

/** Whole lines, each ended by LF. Valid until the next ones. */
export interface Lines {
	readonly offset: number;
	readonly bytes: Buffer;
}

export class TextReader {
	readonly snapshot: TextSnapshot;

	constructor(snapshot: TextSnapshot) {
		this.snapshot = snapshot;
	}

	/** The text between two offsets at which lines begin, in order; what is not kept is left out. */
	async *lines(from: number, to: number, most: number = PIECE_BYTES): AsyncGenerator<Lines> {
		const size = Math.min(most, Math.max(0, to - from));
		const buffers: [Buffer, Buffer] = [Buffer.allocUnsafeSlow(size), Buffer.allocUnsafeSlow(size)];
		for (const segment of this.segmentsFrom(from)) {
			if (segment.from >= to) return;
			const end = Math.min(to, segment.to);
			const at = Math.max(from, segment.from);
			// At most a piece.
			if (segment.bytes !== null)
				yield { offset: at, bytes: segment.bytes.subarray(at - segment.from, end - segment.from) };
			else yield* this.#inFile(segment, { at, end }, buffers);
		}
	}

	*segmentsFrom(offset: number): Generator<TextSegment> {
		for (const segment of this.snapshot.segments) if (segment.to > offset) yield segment;
	}

	async *#inFile(
		segment: TextSegment,
		{ at: begin, end }: { readonly at: number; readonly end: number },
		buffers: [Buffer, Buffer],
	): AsyncGenerator<Lines> {
		const file = await openRegular(segmentPath(this.snapshot.directory, "text", segment.from));
		if (file === null) return; // removed meanwhile, for the quota
		let at = begin;
		let turn = 0;
		let next = readAt(file, buffers[0], at - segment.from, end - at);
		try {
			while (at < end) {
				const buffer = buffers[turn % 2]!;
				const length = await next;
				const whole = buffer.lastIndexOf(LF, length - 1) + 1;
				if (length === 0) break;
				if (whole === 0 && length < end - at) {
					// A line that is longer than a piece: thousands of marks on its letters.
					buffers[turn % 2] = Buffer.allocUnsafeSlow(2 * buffer.length);
					next = readAt(file, buffers[turn % 2]!, at - segment.from, end - at);
					continue;
				}
				if (whole === 0) break;
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

	/** The line that begins at an offset, without LF; null where there is none. */
	async lineAt(offset: number): Promise<Buffer | null> {
		const end = Math.min(offset + LINE_BYTES, this.snapshot.text);
		for await (const lines of this.lines(offset, end, LINE_BYTES)) {
			if (lines.offset !== offset) return null;
			return Buffer.from(lines.bytes.subarray(0, lines.bytes.indexOf(LF)));
		}
		return null;
	}

	/** The line that ends before an offset, without LF; null where there is none. */
	async lineBefore(offset: number): Promise<Buffer | null> {
		const place = this.snapshot.index.findLast(({ text }) => text < offset);
		const segment = this.snapshot.segments.findLast(({ from }) => from < offset);
		if (place === undefined || segment === undefined) return null;
		let last: Buffer | null = null;
		for await (const { bytes, offset: at } of this.lines(Math.max(place.text, segment.from), offset, LINE_BYTES)) {
			if (at + bytes.length < offset) continue;
			last = Buffer.from(bytes.subarray(bytes.lastIndexOf(LF, bytes.length - 2) + 1, bytes.length - 1));
		}
		return last;
	}

	/** A place before a line, close to it: what is between two parts of the text is not counted. */
	placeBefore(line: number): Pick<TextPlace, "line" | "text"> {
		const { index, segments } = this.snapshot;
		const place = index.findLast((place) => place.line < line)!;
		const segment = segments.findLast((segment) => segment.line < line);
		return segment !== undefined && segment.line > place.line ? { line: segment.line, text: segment.from } : place;
	}

	/** Where a line begins in the text; of one that is not kept, where those after it begin. */
	async offsetOf(line: number): Promise<number> {
		const segment = this.snapshot.segments.findLast((segment) => segment.line < line);
		if (segment === undefined) return 0;
		if (line > segment.line + segment.lines) return segment.to;
		const place = this.placeBefore(line);
		let left = line - 1 - place.line;
		if (left === 0) return place.text;
		for await (const { bytes, offset } of this.lines(place.text, segment.to)) {
			for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1))
				if (--left === 0) return offset + at + 1;
		}
		return segment.to;
	}

	/** The numbers of the lines at ascending offsets. */
	async numbersOf(offsets: readonly number[]): Promise<number[]> {
		const { index, segments } = this.snapshot;
		const numbers: number[] = [];
		while (numbers.length < offsets.length) {
			const first = offsets[numbers.length]!;
			const place = index.findLastIndex(({ text }) => text <= first);
			const segment = segments.findLast(({ from }) => from <= first)!;
			const near = index[place]!;
			const known = segment.from > near.text ? { text: segment.from, line: segment.line } : near;
			// Those up to the next known place, in one pass.
			const end = Math.min(index[place + 1]?.text ?? Number.POSITIVE_INFINITY, segment.to);
			const group = offsets.slice(numbers.length).filter((offset) => offset < end);
			let { line } = known;
			let done = 0;
			for await (const { bytes, offset } of this.lines(known.text, end)) {
				let at = 0;
				for (; done < group.length && group[done]! < offset + bytes.length; done++) {
					line += newlines(bytes, at, group[done]! - offset);
					at = group[done]! - offset;
					numbers.push(line + 1);
				}
				if (done === group.length) break;
				line += newlines(bytes, at, bytes.length);
			}
			// Removed meanwhile, for the quota.
			for (; done < group.length; done++) numbers.push(line + 1);
		}
		return numbers;
	}
}

async function readAt(file: FileHandle, buffer: Buffer, position: number, most: number): Promise<number> {
	const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, most), position);
	return bytesRead;
}

function newlines(bytes: Buffer, from: number, to: number): number {
	let count = 0;
	for (let at = from; at < to; at++) if (bytes[at] === LF) count++;
	return count;
}
