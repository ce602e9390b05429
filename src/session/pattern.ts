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
const tests = limited<string, boolean>("(expression, text) => expression.test(text)");

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
		(candidate) => tests(compiled, pattern, candidate.slice(-WINDOW)),
		(candidate) => candidate.slice(lineOnly ? candidate.lastIndexOf("\n") + 1 : 0).slice(-CARRY),
	);
}

/** Refuses what is not an expression, or too long for one. */
export function compile(pattern: string, flags: string): RegExp {
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

/**
 * A function over an expression and a text whose time is limited: what takes too long is a fault of the pattern. Its names
 * are its own: each use of a global of such a context takes as long as many matches.
 */
export function limited<A, R>(source: string): (compiled: RegExp, pattern: string, argument: A) => R {
	const call = new Script("work(expression, argument)");
	const work: unknown = new Script(source).runInContext(context);
	return (compiled, pattern, argument) => {
		Object.assign(context, { work, expression: compiled, argument });
		try {
			return withinTime(call, pattern) as R;
		} finally {
			context.argument = null;
		}
	};
}

function withinTime(call: Script, pattern: string): unknown {
	for (let tries = 1; ; tries++) {
		const before = process.cpuUsage();
		try {
			return call.runInContext(context, { timeout: MATCH_LIMIT_MS });
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
