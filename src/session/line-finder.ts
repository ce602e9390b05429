// Finds the lines of a text that hold another text, or match a regular expression.
//
// Most lines are passed over without being decoded: by a text that each match must hold, where the pattern tells
// one. What a pattern may cost is bounded by pattern.ts for each window, and by pace.ts for all of them.

import { isAscii } from "node:buffer";
import { Fault } from "../protocol/fault.ts";
import { type Pace, paceOf } from "./pace.ts";
import { firstMatch, lineMatcher, requiredText } from "./pattern.ts";

const LF = 0x0a;

export interface LineFinder {
	/** Calls back once for each line that is found in whole lines, in order, with an offset in it. */
	find(lines: Buffer, found: (at: number) => void): Promise<void>;
	/** Whether a match begins in the second part of a line. */
	begins(parts: readonly [Buffer, Buffer, Buffer]): Promise<boolean>;
}

export function literalFinder(text: string): LineFinder {
	const wanted = Buffer.from(text);
	const find: LineFinder["find"] = async (lines, found) => {
		for (let hit = lines.indexOf(wanted); hit >= 0; ) {
			found(hit);
			// Lines are short: a call of `indexOf` takes longer than looking for their end here.
			let end = hit;
			while (end < lines.length && lines[end] !== LF) end++;
			hit = end < lines.length ? lines.indexOf(wanted, end + 1) : -1;
		}
	};
	return {
		find,
		async begins(parts) {
			const [before, part] = parts;
			const at = Buffer.concat(parts).indexOf(wanted, before.length);
			return at >= 0 && at < before.length + part.length;
		},
	};
}

/** The lines that hold a text: where each begins and ends, its LF included. */
function* linesWith(lines: Buffer, text: Buffer): Generator<readonly [number, number]> {
	for (let hit = lines.indexOf(text); hit >= 0; ) {
		const end = lines.indexOf(LF, hit) + 1 || lines.length;
		yield [lines.lastIndexOf(LF, hit) + 1, end];
		hit = end < lines.length ? lines.indexOf(text, end) : -1;
	}
}

/** A text in more than one line of so many is not worth looking for: taking these lines out costs more than the others. */
const COMMON = 4;

/** Bytes that one match looks at: as many as take about so long, so that others have their turn in between. */
const WINDOW = { minBytes: 32 * 1024, maxBytes: 1 << 20, growBelowMs: 1, shrinkAboveMs: 4 } as const;

export function patternFinder(
	pattern: string,
	{ caller, signal }: { readonly caller: string; readonly signal?: AbortSignal | undefined },
): LineFinder {
	const pace = paceOf(caller);
	const matches = new WindowMatcher(lineMatcher(pattern), pace, signal);
	const matchFrom = firstMatch(pattern);
	const begins: LineFinder["begins"] = async (parts) => {
		signal?.throwIfAborted();
		const [before, part, after] = parts.map((bytes) => bytes.toString()) as [string, string, string];
		const at = pace.run(() => matchFrom(before + part + after, before.length));
		await pace.rest(signal);
		return at >= 0 && at < before.length + part.length;
	};
	const required = requiredText(pattern);
	if (required === null) return { find: (lines, found) => matches.find(lines, found), begins };
	const wanted = Buffer.from(required);
	let isRare = true;
	const find: LineFinder["find"] = async (lines, found) => {
		if (!isRare) return matches.find(lines, found);
		const candidates: Buffer[] = [];
		const starts: number[] = [];
		const ends: number[] = [];
		let length = 0;
		for (const [start, end] of linesWith(lines, wanted)) {
			candidates.push(lines.subarray(start, end));
			starts.push(start);
			length += end - start;
			ends.push(length);
			isRare = length <= lines.length / COMMON;
			if (!isRare) return matches.find(lines, found);
		}
		let line = 0;
		await matches.find(candidates.length === 1 ? candidates[0]! : Buffer.concat(candidates, length), (at) => {
			while (ends[line]! <= at) line++;
			found(starts[line]!);
		});
	};
	return { find, begins };
}

class WindowMatcher {
	readonly #matcher: (text: string) => readonly number[];
	readonly #pace: Pace;
	readonly #signal: AbortSignal | undefined;
	#window: number = WINDOW.minBytes;

	constructor(matcher: (text: string) => readonly number[], pace: Pace, signal: AbortSignal | undefined) {
		this.#matcher = matcher;
		this.#pace = pace;
		this.#signal = signal;
	}

	async find(lines: Buffer, found: (at: number) => void): Promise<void> {
		for (let from = 0; from < lines.length; ) {
			this.#signal?.throwIfAborted();
			const end = endOfLines(lines, from, this.#window);
			const startedAt = performance.now();
			const matched = this.#tryWindow(lines.subarray(from, end), (at) => found(from + at));
			const tookMs = performance.now() - startedAt;
			if (matched) from = end;
			if (!matched) this.#window = WINDOW.minBytes;
			else if (tookMs > WINDOW.shrinkAboveMs) this.#window = Math.max(WINDOW.minBytes, this.#window / 2);
			else if (tookMs < WINDOW.growBelowMs) this.#window = Math.min(WINDOW.maxBytes, this.#window * 2);
			await this.#pace.rest(this.#signal);
		}
	}

	/** False where it was too much at once: what a pattern may cost is for the smallest window. */
	#tryWindow(bytes: Buffer, found: (at: number) => void): boolean {
		const ascii = isAscii(bytes);
		const text = bytes.toString(ascii ? "latin1" : "utf8");
		let matches: readonly number[];
		try {
			matches = this.#pace.run(() => this.#matcher(text));
		} catch (error) {
			if (error instanceof Fault && this.#window > WINDOW.minBytes) return false;
			throw error;
		}
		let [chars, at] = [0, 0];
		for (const match of matches) {
			at += ascii ? match - chars : Buffer.byteLength(text.slice(chars, match));
			chars = match;
			found(at);
		}
		return true;
	}
}

/** After the last line that fits into a window, or after the first one. */
function endOfLines(lines: Buffer, from: number, window: number): number {
	if (from + window >= lines.length) return lines.length;
	const end = lines.lastIndexOf(LF, from + window) + 1;
	return end > from ? end : lines.indexOf(LF, from) + 1 || lines.length;
}
