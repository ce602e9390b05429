// Reading a text log as it was at one moment: by offset, in pieces of whole lines, and by line number.

import type { FileHandle } from "node:fs/promises";
import { segmentPath } from "./segments.ts";
import { openRegular } from "./state-file.ts";
import type { TextPlace, TextSegment, TextSnapshot } from "./text-log.ts";

const LF = 0x0a;
/** Read at once: some milliseconds of work, and a whole segment, because each read and each file takes turns of the loop. */
const PIECE_BYTES = 4 << 20;

/** Whole lines, each ended by LF. Valid until the next ones. */
export interface Lines {
	readonly offset: number;
	readonly bytes: Buffer;
}

export class TextReader {
	readonly snapshot: TextSnapshot;
	/** Where lines begin whose numbers were asked for: they are read next. */
	readonly #starts = new Map<number, number>();

	constructor(snapshot: TextSnapshot) {
		this.snapshot = snapshot;
	}

	/** The text between two offsets at which lines begin, in order; what is not kept is left out. */
	async *lines(from: number, to: number, most: number = PIECE_BYTES): AsyncGenerator<Lines> {
		const left = [...this.segmentsFrom(from)].filter((segment) => segment.from < to).reverse();
		/** One is read while the caller has the other. */
		const buffers: [Buffer?, Buffer?] = [];
		let turn = 0;
		const buffer = (bytes: number) => {
			const known = buffers[turn % 2];
			const target = known !== undefined && known.length >= bytes ? known : Buffer.allocUnsafeSlow(bytes);
			buffers[turn % 2] = target;
			return target;
		};
		const next = (): Reading | null => {
			const segment = left.pop();
			if (segment === undefined) return null;
			const [at, end] = [Math.max(from, segment.from), Math.min(to, segment.to)];
			if (segment.bytes !== null) return { segment, at, end, file: NO_FILE, read: null };
			const file = openRegular(segmentPath(this.snapshot.directory, "text", segment.from));
			const target = buffer(Math.min(most, end - at));
			return { segment, at, end, file, read: readAt(file, target, at - segment.from, end - at) };
		};
		let reading = next();
		let closing = Promise.resolve();
		try {
			while (reading !== null) {
				const { segment, at, end, file } = reading;
				if (reading.read === null) {
					// At most a piece.
					const bytes = segment.bytes!.subarray(at - segment.from, end - segment.from);
					reading = next();
					yield { offset: at, bytes };
					continue;
				}
				const length = await reading.read;
				const bytes = buffers[turn % 2]!.subarray(0, length);
				const whole = bytes.lastIndexOf(LF) + 1;
				if (whole === 0 && length > 0 && length < end - at) {
					// A line that is longer than a piece.
					buffers[turn % 2] = Buffer.allocUnsafeSlow(2 * length);
					reading = { ...reading, read: readAt(file, buffers[turn % 2]!, at - segment.from, end - at) };
					continue;
				}
				turn++;
				// Read ahead while the caller works.
				if (whole > 0 && at + whole < end) {
					const rest = { at: at + whole, left: end - at - whole };
					const target = buffer(Math.min(most, rest.left));
					reading = { ...reading, at: rest.at, read: readAt(file, target, rest.at - segment.from, rest.left) };
				} else {
					closing = closed(file);
					reading = next();
				}
				if (whole > 0) yield { offset: at, bytes: bytes.subarray(0, whole) };
				await closing;
			}
		} finally {
			await closing;
			await reading?.read?.catch(() => {}); // was read ahead, and is not used
			if (reading !== null) await closed(reading.file);
		}
	}

	*segmentsFrom(offset: number): Generator<TextSegment> {
		for (const segment of this.snapshot.segments) if (segment.to > offset) yield segment;
	}

	/** A place before a line, close to it: what is between two parts of the text is not counted. */
	placeBefore(line: number): Pick<TextPlace, "line" | "text"> {
		const { index, segments } = this.snapshot;
		const start = this.#starts.get(line);
		if (start !== undefined) return { line: line - 1, text: start };
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

	/** The numbers of the lines at ascending offsets, which are known from then on. */
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
			const last = offsets.findLast((offset) => offset < end)!;
			let { line, text: start } = known;
			const take = (upTo: number) => {
				while (offsets[numbers.length]! <= upTo) numbers.push(line + 1);
				if (numbers.at(-1) === line + 1) this.#starts.set(line + 1, start);
			};
			for await (const { bytes, offset } of this.lines(known.text, last)) {
				for (let at = 0; at < bytes.length; ) {
					// The lines before the next one that is wanted are only counted.
					const before = linesBefore(bytes, at, offsets[numbers.length]! - offset);
					line += before.lines;
					if (before.lines > 0) start = offset + before.end;
					const end = bytes.indexOf(LF, before.end);
					if (end < 0) break;
					take(offset + end);
					line++;
					start = offset + end + 1;
					at = end + 1;
				}
			}
			take(last); // on the line that the offset ends, or one that was removed meanwhile
		}
		return numbers;
	}
}

/** The lines that end before an offset, and where the next one begins. */
function linesBefore(bytes: Uint8Array, from: number, to: number): { readonly lines: number; readonly end: number } {
	let lines = 0;
	let end = from;
	for (let at = from; at < to && at < bytes.length; at++) {
		if (bytes[at] !== LF) continue;
		lines++;
		end = at + 1;
	}
	return { lines, end };
}

/** A piece that is on its way. */
interface Reading {
	readonly segment: TextSegment;
	readonly at: number;
	readonly end: number;
	/** Null where it was removed meanwhile, for the quota. */
	readonly file: Promise<FileHandle | null>;
	/** Null where it is in memory. */
	readonly read: Promise<number> | null;
}

const NO_FILE = Promise.resolve(null);

const closed = async (file: Promise<FileHandle | null>): Promise<void> => (await file.catch(() => null))?.close();

async function readAt(
	opening: Promise<FileHandle | null>,
	buffer: Buffer,
	position: number,
	most: number,
): Promise<number> {
	const file = await opening;
	return file === null ? 0 : (await file.read(buffer, 0, Math.min(buffer.length, most), position)).bytesRead;
}
