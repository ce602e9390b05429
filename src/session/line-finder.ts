// Finds the lines of a text that hold another text, or match a regular expression.
//
// Many lines are matched at once: V8's compiled expressions go through a gigabyte in a second where there is little to be
// found. Where each match must hold a text that few lines have, only these are matched. What a pattern may cost is bounded
// by pattern.ts for each window, and by pace.ts for all of them.

import { isAscii } from "node:buffer";
import { Fault } from "../protocol/fault.ts";
import {
	firstMatch,
	ignoresCase,
	type LineMatcher,
	lineMatcher,
	requiredTexts,
	toLineEnd,
	withinLine,
} from "./line-pattern.ts";
import { type Pace, paceOf } from "./pace.ts";

const LF = 0x0a;
/** Of a string: larger ones are not collected as cheaply. */
const TEXT_BYTES = 32 * 1024;

export interface LineFinder {
	/** Calls back with an offset in each line that is found in whole lines, in order; some at a time, valid during the call. */
	find(lines: Buffer, found: (offsets: Uint32Array) => void): Promise<void>;
}

export function literalFinder(text: string): LineFinder {
	const ends = textScanner([text]);
	return {
		async find(lines, found) {
			ends(lines, (some) => {
				found(some);
				return true;
			});
		},
	};
}

/** Calls back with the ends of the lines that hold one of these texts, some at a time, until it returns false. */
type TextScanner = (lines: Buffer, found: (ends: Uint32Array) => boolean) => void;

/** Lines with a text in them are dense where there is one for so many bytes: then an expression finds them faster. */
const DENSE_BYTES = 256;

function textScanner(texts: readonly string[], anyCase = false): TextScanner {
	const [text = ""] = texts;
	const scan = expressionScanner(texts, anyCase);
	if (texts.length > 1 || anyCase || text === "" || text.includes("\n")) return scan;
	const wanted = Buffer.from(text);
	let dense = false;
	return (lines, found) => {
		if (dense) return scan(lines, found);
		const ends: number[] = [];
		for (let at = lines.indexOf(wanted); at >= 0; ) {
			const end = lines.indexOf(LF, at);
			ends.push(end < 0 ? lines.length : end);
			at = end < 0 ? -1 : lines.indexOf(wanted, end + 1);
		}
		dense = ends.length > lines.length / DENSE_BYTES;
		if (ends.length > 0) found(Uint32Array.from(ends));
	};
}

function expressionScanner(texts: readonly string[], anyCase: boolean): TextScanner {
	// Bytes as characters: UTF-8 is found as it is, and nothing has to be decoded. This takes linear time.
	const escaped = texts.map((text) =>
		Buffer.from(text)
			.toString("latin1")
			.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&")
			// Not by a flag, for which bytes of other letters would have a case, too.
			.replaceAll(/[a-z]/gi, (letter) => (anyCase ? `[${letter.toLowerCase()}${letter.toUpperCase()}]` : letter)),
	);
	const expression = new RegExp(toLineEnd(withinLine(escaped.join("|"))), "g");
	// Each byte may be a line, in a line that is longer than a text there is one.
	const ends = new Uint32Array(TEXT_BYTES + 1);
	return (lines, found) => {
		for (let from = 0; from < lines.length; ) {
			const to = endOfLines(lines, from, TEXT_BYTES);
			const bytes = lines.toString("latin1", from, to - 1);
			let count = 0;
			for (expression.lastIndex = 0; expression.test(bytes); ) {
				const end = expression.lastIndex;
				ends[count++] = from + end;
				if (end >= bytes.length) break;
				expression.lastIndex = end + 1;
			}
			if (count > 0 && !found(ends.subarray(0, count))) return;
			from = to;
		}
	};
}

/** Whose share of the loop a search takes. */
export interface Searcher {
	readonly caller: string;
	readonly signal?: AbortSignal | undefined;
}

export function patternFinder(pattern: string, { caller, signal }: Searcher): LineFinder {
	const pace = paceOf(caller);
	const matches = new WindowMatcher(pattern, pace, signal);
	const candidates = new Candidates(pattern);
	return {
		async find(lines, found) {
			const few = candidates.in(lines);
			if (few === null) return matches.find(lines, found);
			let line = 0;
			await matches.find(few.bytes, (offsets) => {
				found(
					offsets.map((at) => {
						while (few.ends[line]! <= at) line++;
						return few.starts[line]!;
					}),
				);
			});
		},
	};
}

/** Lines of which each holds a text that a match must hold; where each began, and where it ends among these. */
interface FewLines {
	readonly bytes: Buffer;
	readonly starts: readonly number[];
	readonly ends: readonly number[];
}

/** Texts in more than one line of so many are not worth looking for: to match all lines takes less than to take these out. */
const COMMON = 50;

class Candidates {
	/** Of each choice of texts every match holds one. Those that were common are not tried again. */
	#choices: readonly TextScanner[];

	constructor(pattern: string) {
		const anyCase = ignoresCase(pattern);
		this.#choices = requiredTexts(pattern).map((texts) => textScanner(texts, anyCase));
	}

	/** The lines that may match; null where these are not few. */
	in(lines: Buffer): FewLines | null {
		for (const ends of this.#choices) {
			const few = linesAt(lines, ends);
			if (few !== null) return few;
			this.#choices = this.#choices.filter((one) => one !== ends);
		}
		return null;
	}
}

function linesAt(lines: Buffer, scan: TextScanner): FewLines | null {
	const parts: Buffer[] = [];
	const starts: number[] = [];
	const ends: number[] = [];
	let length = 0;
	scan(lines, (some) => {
		for (const end of some) {
			const start = end === 0 ? 0 : lines.lastIndexOf(LF, end - 1) + 1;
			parts.push(lines.subarray(start, end + 1));
			starts.push(start);
			length += end + 1 - start;
			ends.push(length);
		}
		return length <= lines.length / COMMON;
	});
	if (length > lines.length / COMMON) return null;
	return { bytes: parts.length === 1 ? parts[0]! : Buffer.concat(parts, length), starts, ends };
}

/** Bytes that one match looks at: as many as take about so long, so that others have their turn in between. */
const WINDOW = { minBytes: 32 * 1024, maxBytes: 1 << 20, growBelowMs: 4, shrinkAboveMs: 12 } as const;

/**
 * A longer line is matched in parts, each with what is around it: what a pattern may cost is for 32 KiB. A match that is
 * longer than a part may go unseen.
 */
const LONG_LINE_BYTES = 64 * 1024;
const PART_CHARS = 8 * 1024;

/** Where a match begins in the part of a long line from this place on; -1 where none does. */
function placeInPart(matchIn: (line: string, from: number) => number, line: string, from: number): number {
	const start = Math.max(0, from - PART_CHARS);
	const at = start + matchIn(line.slice(start, from + 2 * PART_CHARS), from - start);
	return at >= from && at < from + PART_CHARS ? at : -1;
}

/** Where the first match of a pattern begins in a line, however long it is; -1 where that is not known. */
export const matchPlace = (pattern: string, line: string, { caller, signal }: Searcher): Promise<number> =>
	placeInLong(firstMatch(pattern), line, { pace: paceOf(caller), signal });

async function placeInLong(
	matchIn: (line: string, from: number) => number,
	line: string,
	{ pace, signal }: { readonly pace: Pace; readonly signal: AbortSignal | undefined },
): Promise<number> {
	for (let from = 0; from < line.length; from += PART_CHARS) {
		signal?.throwIfAborted();
		const at = pace.run(() => placeInPart(matchIn, line, from));
		if (at >= 0) return at;
		await pace.rest(signal);
	}
	return -1;
}

class WindowMatcher {
	readonly #matcher: LineMatcher;
	readonly #matchIn: (line: string, from: number) => number;
	readonly #pace: Pace;
	readonly #signal: AbortSignal | undefined;
	#window: number = WINDOW.minBytes;

	constructor(pattern: string, pace: Pace, signal: AbortSignal | undefined) {
		this.#matcher = lineMatcher(pattern);
		this.#matchIn = firstMatch(pattern);
		this.#pace = pace;
		this.#signal = signal;
	}

	async find(lines: Buffer, found: (offsets: Uint32Array) => void): Promise<void> {
		for (let from = 0; from < lines.length; ) {
			this.#signal?.throwIfAborted();
			const end = endOfLines(lines, from, this.#window);
			if (end - from > LONG_LINE_BYTES && lines.indexOf(LF, from) + 1 === end) {
				const line = lines.toString("utf8", from, end - 1);
				const { pace, signal } = { pace: this.#pace, signal: this.#signal };
				if ((await placeInLong(this.#matchIn, line, { pace, signal })) >= 0) found(Uint32Array.of(from));
				from = end;
				continue;
			}
			const startedAt = performance.now();
			const matched = this.#tryWindow(lines.subarray(from, end), (offsets) => {
				for (let i = 0; i < offsets.length; i++) offsets[i]! += from;
				found(offsets);
			});
			const tookMs = performance.now() - startedAt;
			if (matched) from = end;
			if (!matched) this.#window = WINDOW.minBytes;
			else if (tookMs > WINDOW.shrinkAboveMs) this.#window = Math.max(WINDOW.minBytes, this.#window / 2);
			else if (tookMs < WINDOW.growBelowMs) this.#window = Math.min(WINDOW.maxBytes, this.#window * 2);
			await this.#pace.rest(this.#signal);
		}
	}

	/** False where it was too much at once: what a pattern may cost is for the smallest window. */
	#tryWindow(bytes: Buffer, found: (offsets: Uint32Array) => void): boolean {
		const ascii = isAscii(bytes);
		const texts: string[] = [];
		for (let from = 0; from < bytes.length; ) {
			const to = endOfLines(bytes, from, TEXT_BYTES);
			texts.push(bytes.toString(ascii ? "latin1" : "utf8", from, to - 1));
			from = to;
		}
		let ends: Uint32Array;
		try {
			ends = this.#pace.run(() => this.#matcher(texts));
		} catch (error) {
			if (error instanceof Fault && this.#window > WINDOW.minBytes) return false;
			throw error;
		}
		if (ends.length > 0) found(ascii ? ends : inBytes(texts, ends));
		return true;
	}
}

/** Offsets in texts with LF between them, as offsets in their UTF-8. */
function inBytes(texts: readonly string[], offsets: Uint32Array): Uint32Array {
	const text = texts.join("\n");
	let [chars, at] = [0, 0];
	return offsets.map((offset) => {
		at += Buffer.byteLength(text.slice(chars, offset));
		chars = offset;
		return at;
	});
}

/** After the last line that fits into a window, or after the first one. */
function endOfLines(lines: Buffer, from: number, window: number): number {
	if (from + window >= lines.length) return lines.length;
	const end = lines.lastIndexOf(LF, from + window) + 1;
	return end > from ? end : lines.indexOf(LF, from) + 1 || lines.length;
}
