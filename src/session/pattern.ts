// Searching output for a caller's text or pattern without letting it stop the
// daemon: V8 needs 54 s for /(a+)+$/ on 29 characters, so every match has a time
// limit, and looks at a bounded text: what is new, and a little of what came before it.
// How often a caller may try is in pace.ts.

import { createContext, Script } from "node:vm";
import { Fault } from "../protocol/fault.ts";

// 32 KiB of text and 512 characters of pattern bound an honest match to well below a millisecond, and [^]{0,60}x to ten.
const WINDOW = 32 * 1024;
/** Of what was tried before, this much may be part of a match that goes over several lines. */
const CARRY = 8 * 1024;
/** New text is tried in pieces of this size. */
export const PIECE_CHARS = WINDOW - CARRY;
const MAX_PATTERN_LENGTH = 512;
const MATCH_LIMIT_MS = 50;
const MAX_TRIES = 5;

const context = createContext(Object.create(null));
const script = new Script("expression.test(text)");
const placeScript = new Script("expression.exec(text)?.index ?? -1");
// The beginnings of the lines that match, each by itself: what matches over a line end is tried again without the rest.
const linesScript = new Script(`{
	const found = [];
	for (expression.lastIndex = 0; ; ) {
		const match = expression.exec(text);
		if (match === null || match.index >= text.length) break;
		const start = match.index === 0 ? 0 : text.lastIndexOf("\\n", match.index - 1) + 1;
		const next = text.indexOf("\\n", match.index);
		const end = next < 0 ? text.length : next;
		if (match.index + match[0].length > end) {
			expression.lastIndex = 0;
			if (expression.test(text.slice(start, end))) found.push(start);
		} else found.push(start);
		if (next < 0) break;
		expression.lastIndex = next + 1;
	}
	found;
}`);
// The same where no match goes over a line end, in half the time.
const linesAloneScript = new Script(`{
	const found = [];
	for (expression.lastIndex = 0; expression.test(text); ) {
		const at = expression.lastIndex;
		const start = at === 0 ? 0 : text.lastIndexOf("\\n", at - 1) + 1;
		if (start >= text.length) break;
		found.push(start);
		const next = text.indexOf("\\n", at);
		if (next < 0) break;
		expression.lastIndex = next + 1;
	}
	found;
}`);

/** Finds a text or pattern in output that arrives in pieces. */
export class Matcher {
	readonly #matches: (text: string) => boolean;
	readonly #carry: (text: string) => string;
	#before = "";

	/** `carry` returns the end of the text that can still be part of a match with the next piece. */
	constructor(matches: (text: string) => boolean, carry: (text: string) => string) {
		this.#matches = matches;
		this.#carry = carry;
	}

	/** Whether the next piece, with what came before it, holds a match. */
	feed(text: string): boolean {
		const candidate = this.#before + text;
		this.#before = this.#carry(candidate);
		return this.#matches(candidate);
	}

	/** Whether this text holds a match, by itself. */
	test(text: string): boolean {
		return this.#matches(text);
	}
}

export function literal(text: string): Matcher {
	return new Matcher(
		(candidate) => candidate.includes(text),
		(candidate) => candidate.slice(Math.max(0, candidate.length - text.length + 1)),
	);
}

// Neither a control character, a negated class nor an escape that may stand for a line end: matches stay within a line.
const WITHIN_A_LINE = /^(?:[^\p{Cc}\\[]|\[(?!\^)|\\[dwSbB\p{P}\p{S}])*$/u;

/** A regular expression; a catastrophic one is a fault, reported within 100 ms. */
export function expression(pattern: string): Matcher {
	const compiled = compile(pattern, "m");
	const lineOnly = WITHIN_A_LINE.test(pattern);
	return new Matcher(
		(candidate) => runWithLimit(script, compiled, pattern, candidate.slice(-WINDOW)) === true,
		(candidate) => candidate.slice(lineOnly ? candidate.lastIndexOf("\n") + 1 : 0).slice(-CARRY),
	);
}

/** Finds the lines that match a regular expression: where each begins in a text of whole lines. What it may cost is for 32 KiB. */
export function lineMatcher(pattern: string): (text: string) => readonly number[] {
	const compiled = compile(pattern, "gm");
	const work = WITHIN_A_LINE.test(pattern) ? linesAloneScript : linesScript;
	return (text) => runWithLimit(work, compiled, pattern, text) as readonly number[];
}

/** Finds the first match that begins at a place of a text or after it; -1 where there is none. */
export function firstMatch(pattern: string): (text: string, from: number) => number {
	const compiled = compile(pattern, "gm");
	return (text, from) => {
		compiled.lastIndex = from;
		return runWithLimit(placeScript, compiled, pattern, text) as number;
	};
}

/** What makes the atom before it repeat, and whether that may be no time at all. */
const QUANTIFIER = /^(?:([*?])|\+|\{(\d+)(?:,\d*)?\})\??/;
/** Escapes that stand for one character of a class, or for a place. */
const CLASS_ESCAPE = /^[dDwWsSbBnrtfv]/;
const LITERAL_ESCAPE = /^[\p{P}\p{S}]/u;

/** The longest text that every match holds, as far as the pattern tells at a glance; null where it tells none. */
export function requiredText(pattern: string): string | null {
	let best = "";
	let run = "";
	const end = () => {
		if (run.length > best.length) best = run;
		run = "";
	};
	for (let at = 0; at < pattern.length; ) {
		const char = pattern[at]!;
		const atom = atomAt(pattern, at);
		if (atom === null || char === "|" || char === ")") return null;
		at += atom.length;
		const quantifier = QUANTIFIER.exec(pattern.slice(at));
		if (quantifier === null) {
			if (atom.literal === null) end();
			else run += atom.literal;
			continue;
		}
		at += quantifier[0].length;
		const optional = quantifier[1] !== undefined || Number(quantifier[2] ?? 1) === 0;
		if (atom.literal !== null && !optional) run += atom.literal;
		end();
	}
	end();
	return best.length >= 2 ? best : null;
}

/** What begins here: its length, and the character that it stands for if it is a certain one; null where that is not clear. */
function atomAt(pattern: string, at: number): { readonly length: number; readonly literal: string | null } | null {
	const char = pattern[at]!;
	const next = pattern.slice(at + 1, at + 2);
	if (char === "\\") {
		if (CLASS_ESCAPE.test(next)) return { length: 2, literal: null };
		return LITERAL_ESCAPE.test(next) ? { length: 2, literal: next } : null;
	}
	if (char === "[" || char === "(") {
		const length = lengthOfGroup(pattern, at);
		return length === null ? null : { length, literal: null };
	}
	const plain = !/[\p{Cc}\p{Cs}.^$*+?{}\]|]/u.test(char);
	return { length: 1, literal: plain ? char : null };
}

/** Of a class, or of parentheses with everything in them. */
function lengthOfGroup(pattern: string, from: number): number | null {
	let depth = 0;
	let inClass = false;
	for (let at = from; at < pattern.length; at++) {
		const char = pattern[at];
		if (char === "\\") at++;
		else if (inClass) inClass = char !== "]";
		else if (char === "[") inClass = true;
		else if (char === "(") depth++;
		else if (char === ")") depth--;
		if (depth === 0 && !inClass) return at + 1 - from;
	}
	return null;
}

function compile(pattern: string, flags: string): RegExp {
	if (pattern.length > MAX_PATTERN_LENGTH) {
		throw new Fault("bad_pattern", {
			pattern: `${pattern.slice(0, 40)}…`,
			problem: `it is longer than ${MAX_PATTERN_LENGTH} characters`,
		});
	}
	try {
		return new RegExp(pattern, flags);
	} catch (cause) {
		throw new Fault("bad_pattern", { pattern, problem: (cause as Error).message }, { cause });
	}
}

function runWithLimit(work: Script, compiled: RegExp, pattern: string, text: string): unknown {
	Object.assign(context, { expression: compiled, text });
	for (let tries = 1; ; tries++) {
		const before = process.cpuUsage();
		try {
			return work.runInContext(context, { timeout: MATCH_LIMIT_MS });
		} catch (cause) {
			// The limit is wall-clock time: on a busy machine a normal match may only have been preempted.
			const { user, system } = process.cpuUsage(before);
			const waited = (user + system) / 1000 < MATCH_LIMIT_MS / 2;
			// Once more in any case: a collection of garbage takes processor time, too.
			if (tries === 1 || (waited && tries < MAX_TRIES)) continue;
			throw new Fault("bad_pattern", { pattern, problem: `it took longer than ${MATCH_LIMIT_MS} ms` }, { cause });
		}
	}
}

/** Shorter lines of several are not worth looking for: what they would hide may be output. */
const MIN_ECHO_CHARS = 4;

/** Removes the first occurrence of each line that was typed: an echo, even a partial one, is not output. */
export class EchoFilter {
	readonly #lines: readonly LineEchoFilter[];

	constructor(typed: string) {
		const lines = typed.trim().split(/[\r\n]+/);
		const looked = lines.length === 1 ? lines : lines.filter((line) => line.trim().length >= MIN_ECHO_CHARS);
		this.#lines = looked.map((line) => new LineEchoFilter(line));
	}

	/** The next piece without the echo, after what an earlier piece held back. */
	feed(text: string): string {
		return this.#lines.reduce((rest, line) => line.feed(rest), text);
	}

	/** A whole text without the echo. */
	without(text: string): string {
		return this.#lines.reduce((rest, line) => line.without(rest), text);
	}
}

class LineEchoFilter {
	readonly #typed: string;
	/** Knuth-Morris-Pratt: the length of the longest border of each prefix. */
	readonly #borders: Uint32Array;
	/** How much of the echo the text so far ends in; that much is held back. */
	#held = 0;
	#found: boolean;

	constructor(typed: string, borders = bordersOf(typed.trim())) {
		this.#typed = typed.trim();
		this.#found = this.#typed === "";
		this.#borders = borders;
	}

	/** The next piece without the echo, after what an earlier piece held back. */
	feed(text: string): string {
		if (this.#found) return text;
		const typed = this.#typed;
		const before = this.#held;
		let held = before;
		for (let at = 0; at < text.length; at++) {
			const char = text.charCodeAt(at);
			while (held > 0 && typed.charCodeAt(held) !== char) held = this.#borders[held - 1]!;
			if (typed.charCodeAt(held) === char) held++;
			if (held < typed.length) continue;
			this.#found = true;
			return upTo(before + at + 1 - held) + text.slice(at + 1);
		}
		this.#held = held;
		return upTo(before + text.length - held);

		// What was held back is a prefix of `typed`, so it need not be kept.
		function upTo(length: number): string {
			return length <= before ? typed.slice(0, length) : typed.slice(0, before) + text.slice(0, length - before);
		}
	}

	/** A whole text without the echo. */
	without(text: string): string {
		return new LineEchoFilter(this.#typed, this.#borders).feed(text);
	}
}

function bordersOf(word: string): Uint32Array {
	const borders = new Uint32Array(word.length);
	for (let at = 1, border = 0; at < word.length; at++) {
		while (border > 0 && word.charCodeAt(border) !== word.charCodeAt(at)) border = borders[border - 1]!;
		if (word.charCodeAt(border) === word.charCodeAt(at)) border++;
		borders[at] = border;
	}
	return borders;
}
