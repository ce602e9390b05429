// Searching a transcript: which of its numbered lines hold a text or match a pattern, in the form in which they are
// compared (see stored-line.ts).

import { setImmediate } from "node:timers/promises";
import type { TextReader } from "../journal/text-reader.ts";
import { comparable } from "../protocol/clean.ts";
import { type LineFinder, literalFinder, patternFinder } from "./line-finder.ts";
import { comparedPart, LF, SEPARATOR } from "./stored-line.ts";

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
	for await (const lines of reader.lines(start, end)) {
		signal?.throwIfAborted();
		if (lines.bytes.includes(SEPARATOR)) hits.add(await findMarked(finder, lines.bytes), lines.offset);
		else await finder.find(lines.bytes, (offsets) => hits.add(offsets, lines.offset));
		await setImmediate();
	}
	return { count: hits.count, lines: await reader.numbersOf(hits.offsets) };
}

/** A stretch of what is compared: where it was, and whether it is there byte by byte. */
interface Stretch {
	readonly to: number;
	readonly from: number;
	readonly same: boolean;
}

/** Finds lines among some that are compared in another form: where they are, ascending. */
async function findMarked(finder: LineFinder, bytes: Buffer): Promise<number[]> {
	const compared: Buffer[] = [];
	const stretches: Stretch[] = [];
	let length = 0;
	const add = (part: Buffer, from: number, same: boolean) => {
		compared.push(part);
		stretches.push({ to: length, from, same });
		length += part.length;
	};
	for (let at = 0; at < bytes.length; ) {
		const marked = bytes.indexOf(SEPARATOR, at);
		const start = marked < 0 ? bytes.length : Math.max(at, bytes.lastIndexOf(LF, marked) + 1);
		if (start > at) add(bytes.subarray(at, start), at, true);
		if (start === bytes.length) break;
		at = bytes.indexOf(LF, start) + 1;
		add(comparedPart(bytes.subarray(start, at)), start, false);
	}
	const found: number[] = [];
	let stretch = 0;
	await finder.find(Buffer.concat(compared, length), (offsets) => {
		for (const at of offsets) {
			while (stretch + 1 < stretches.length && stretches[stretch + 1]!.to <= at) stretch++;
			const { to, from, same } = stretches[stretch]!;
			found.push(same ? from + at - to : from);
		}
	});
	return found;
}

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

	/** More of them, in order; their offsets count from another one. */
	add(offsets: ArrayLike<number>, from: number): void {
		const { length } = offsets;
		this.count += length;
		const [first, last] =
			this.#order === "oldest"
				? [0, Math.min(length, this.#most - this.#offsets.length)]
				: [Math.max(0, length - this.#most), length];
		for (let i = first; i < last; i++) this.#offsets.push(from + offsets[i]!);
		if (this.#offsets.length > 2 * this.#most + 1000) this.#offsets = this.#offsets.slice(-this.#most);
	}
}
