// Searching a transcript: which of its numbered lines hold a text or match a pattern, in the form in which they are
// compared (see stored-line.ts). Of a line that was cut into pieces, the one is found in which a match begins.

import { setImmediate } from "node:timers/promises";
import type { Lines, TextReader } from "../journal/text-reader.ts";
import { comparable } from "../protocol/clean.ts";
import { type LineFinder, literalFinder, patternFinder } from "./line-finder.ts";
import { comparedPart, goesOn, LF, SEPARATOR } from "./stored-line.ts";

export interface SearchRequest {
	/** A text, or a regular expression that a line must match. */
	readonly text?: string | undefined;
	readonly pattern?: string | undefined;
	readonly range: { readonly from: number; readonly to: number };
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

export async function searchTranscript(reader: TextReader, request: SearchRequest): Promise<SearchResult> {
	const { text = "", pattern, range, order, most, caller, signal } = request;
	const finder =
		pattern === undefined ? literalFinder(comparable(text)) : patternFinder(comparable(pattern), { caller, signal });
	const hits = new Hits(order, most);
	const [start, end] = [await reader.offsetOf(range.from), await reader.offsetOf(range.to + 1)];
	let before = start === 0 ? null : await continuedBefore(reader, start);
	for await (const lines of reader.lines(start, end)) {
		signal?.throwIfAborted();
		if (before === null && !lines.bytes.includes(SEPARATOR)) {
			await finder.find(lines.bytes, (at) => hits.add(lines.offset + at));
		} else {
			const found = await findMarked(finder, reader, lines, before);
			for (const at of found) hits.add(lines.offset + at);
			const last = lastLine(lines.bytes);
			before = goesOn(last) ? Buffer.from(last) : null;
		}
		await setImmediate();
	}
	return { count: hits.count, lines: await reader.numbersOf(hits.offsets) };
}

const continuedBefore = async (reader: TextReader, offset: number): Promise<Buffer | null> => {
	const line = await reader.lineBefore(offset);
	return line !== null && goesOn(line) ? line : null;
};

const lastLine = (bytes: Buffer) => bytes.subarray(bytes.lastIndexOf(LF, bytes.length - 2) + 1, bytes.length - 1);

/** A stretch of what is compared: where it was, and whether it is there byte by byte. */
interface Stretch {
	readonly to: number;
	readonly from: number;
	readonly same: boolean;
}

/** Finds lines among some that are pieces or are compared in another form: where they are, ascending. */
async function findMarked(
	finder: LineFinder,
	reader: TextReader,
	{ bytes, offset }: Lines,
	before: Buffer | null,
): Promise<number[]> {
	const compared: Buffer[] = [];
	const stretches: Stretch[] = [];
	let length = 0;
	const add = (part: Buffer, from: number, same: boolean) => {
		compared.push(part);
		stretches.push({ to: length, from, same });
		length += part.length;
	};
	const found: number[] = [];
	/** The piece before, if the line goes on. */
	let piece = before;
	for (let at = 0; at < bytes.length; ) {
		const marked = piece === null ? bytes.indexOf(SEPARATOR, at) : at;
		const start = marked < 0 ? bytes.length : Math.max(at, bytes.lastIndexOf(LF, marked) + 1);
		if (start > at) add(bytes.subarray(at, start), at, true);
		if (start === bytes.length) break;
		const end = bytes.indexOf(LF, start);
		const line = bytes.subarray(start, end);
		at = end + 1;
		if (piece === null && !goesOn(line)) {
			add(Buffer.concat([comparedPart(line), NEWLINE]), start, false);
			continue;
		}
		const next = !goesOn(line)
			? null
			: at < bytes.length
				? bytes.subarray(at, bytes.indexOf(LF, at))
				: await reader.lineAt(offset + at);
		const parts = [piece, line, next].map((part) => (part === null ? NOTHING : comparedPart(part)));
		if (await finder.begins(parts as [Buffer, Buffer, Buffer])) found.push(start);
		piece = goesOn(line) ? line : null;
	}
	let stretch = 0;
	await finder.find(Buffer.concat(compared, length), (at) => {
		while (stretch + 1 < stretches.length && stretches[stretch + 1]!.to <= at) stretch++;
		const { to, from, same } = stretches[stretch]!;
		found.push(same ? from + at - to : from);
	});
	return found.sort((a, b) => a - b);
}

const NOTHING = Buffer.alloc(0);
const NEWLINE = Buffer.from("\n");

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
