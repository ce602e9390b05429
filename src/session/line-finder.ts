// Finds the lines of a text that hold another text, or match a regular expression.
//
// Many lines are matched at once: V8's compiled expressions go through a gigabyte in a second where there is little to be
// found. Where each match must hold a text that few lines have, only these are matched. What a pattern may cost is bounded
// by pattern.ts for each window, and by pace.ts for all of them.

import { isAscii } from "node:buffer";
import { Fault } from "../protocol/fault.ts";
import { firstMatch, type LineMatcher, lineMatcher, requiredTexts, toLineEnd, withinLine } from "./line-pattern.ts";
import { type Pace, paceOf } from "./pace.ts";

const LF = 0x0a;
/** Of a string: larger ones are not collected as cheaply. */
const TEXT_BYTES = 32 * 1024;

export interface LineFinder {
	/** Calls back with an offset in each line that is found in whole lines, in order; some at a time, valid during the call. */
	find(lines: Buffer, found: (offsets: Uint32Array) => void): Promise<void>;
	/** Whether a match begins in the second part of a line. */
	begins(parts: readonly [Buffer, Buffer, Buffer]): Promise<boolean>;
}

export function literalFinder(text: string): LineFinder {
	const wanted = Buffer.from(text);
	const ends = textScanner([text]);
	return {
		async find(lines, found) {
			ends(lines, (some) => {
				found(some);
				return true;
			});
		},
		async begins(parts) {
			const [before, part] = parts;
			const at = Buffer.concat(parts).indexOf(wanted, before.length);
			return at >= 0 && at < before.length + part.length;
		},
	};
}

/** Calls back with the ends of the lines that hold one of these texts, some at a time, until it returns false. */
type TextScanner = (lines: Buffer, found: (ends: Uint32Array) => boolean) => void;

function textScanner(texts: readonly string[]): TextScanner {
	// Bytes as characters: UTF-8 is found as it is, and nothing has to be decoded. This takes linear time.
	const escaped = texts.map((text) =>
		Buffer.from(text)
			.toString("latin1")
			.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&"),
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

export function patternFinder(
	pattern: string,
	{ caller, signal }: { readonly caller: string; readonly signal?: AbortSignal | undefined },
): LineFinder {
	const pace = paceOf(caller);
	const matches = new WindowMatcher(lineMatcher(pattern), pace, signal);
	const matchFrom = firstMatch(pattern);
	const candidates = new Candidates(requiredTexts(pattern));
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
		async begins(parts) {
			signal?.throwIfAborted();
			const [before, part, after] = parts.map((bytes) => bytes.toString()) as [string, string, string];
			const at = pace.run(() => matchFrom(before + part + after, before.length));
			await pace.rest(signal);
			return at >= 0 && at < before.length + part.length;
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

	constructor(choices: readonly (readonly string[])[]) {
		this.#choices = choices.map(textScanner);
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

class WindowMatcher {
	readonly #matcher: LineMatcher;
	readonly #pace: Pace;
	readonly #signal: AbortSignal | undefined;
	#window: number = WINDOW.minBytes;

	constructor(matcher: LineMatcher, pace: Pace, signal: AbortSignal | undefined) {
		this.#matcher = matcher;
		this.#pace = pace;
		this.#signal = signal;
	}

	async find(lines: Buffer, found: (offsets: Uint32Array) => void): Promise<void> {
		for (let from = 0; from < lines.length; ) {
			this.#signal?.throwIfAborted();
			const end = endOfLines(lines, from, this.#window);
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
