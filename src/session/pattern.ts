// Searching output for a caller's text or pattern without letting it stop the
// daemon: V8 needs 54 s for /(a+)+$/ on 29 characters, so every match has a time
// limit, and looks at a bounded text: what is new, and a little of what came before it.
// How often a caller may try is in pace.ts.

import { createContext, Script } from "node:vm";
import { comparable } from "../protocol/clean.ts";
import { Fault } from "../protocol/fault.ts";
import { parsePattern } from "./pattern-dialect.ts";

// 32 KiB of text and 512 characters of pattern bound an honest match to well below a millisecond, and [^]{0,60}x to ten.
const WINDOW = 32 * 1024;
/** Of what was tried before, this much may be part of a match that goes over several lines. */
const CARRY = 8 * 1024;
/** New text is tried in pieces of this size. */
export const PIECE_CHARS = WINDOW - CARRY;
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

/** What a composed letter may be in output, and what is not drawn between: as much is kept of what came before. */
const CHARS_OF_LETTER = 4;

/** A text however its letters are composed, as a search finds it. */
export function literal(text: string): Matcher {
	const wanted = comparable(text);
	const most = text.length * CHARS_OF_LETTER;
	return new Matcher(
		(candidate) => candidate.includes(text) || (wanted !== "" && comparable(candidate).includes(wanted)),
		(candidate) => candidate.slice(-most),
	);
}

// Neither a control character, a negated class nor an escape that may stand for a line end: matches stay within a line.
const WITHIN_A_LINE = /^(?:[^\p{Cc}\\[]|\[(?!\^)|\\[dwSbB\p{P}\p{S}])*$/u;

/** A regular expression; a catastrophic one is a fault, reported within 100 ms. */
export function expression(pattern: string): Matcher {
	const { source, flags } = parsePattern(pattern.normalize("NFC"));
	const compiled = new RegExp(source, `m${flags}`);
	const lineOnly = WITHIN_A_LINE.test(source) && !flags.includes("s");
	return new Matcher(
		(candidate) => tests(compiled, pattern, candidate.slice(-WINDOW).normalize("NFC")),
		(candidate) => candidate.slice(lineOnly ? candidate.lastIndexOf("\n") + 1 : 0).slice(-CARRY),
	);
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
	for (let [tries, timeout] = [1, MATCH_LIMIT_MS]; ; tries++) {
		const before = process.cpuUsage();
		try {
			return call.runInContext(context, { timeout });
		} catch (cause) {
			// The limit is wall-clock time: on a busy machine a normal match may only have been preempted.
			const { user, system } = process.cpuUsage(before);
			const waited = (user + system) / 1000 < MATCH_LIMIT_MS / 2;
			// Once more in any case: a collection of garbage takes processor time, too.
			if (waited) timeout *= 2;
			if (tries === 1 || (waited && tries < MAX_TRIES)) continue;
			throw new Fault("bad_pattern", { pattern, problem: `it took longer than ${MATCH_LIMIT_MS} ms` }, { cause });
		}
	}
}
