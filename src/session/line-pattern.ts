// A regular expression for lines: many lines are matched at once, and each as if it were alone.

import { runInThisContext } from "node:vm";
import { limited } from "./pattern.ts";
import { ATOM, parsePattern } from "./pattern-dialect.ts";

interface LinesToMatch {
	readonly texts: readonly string[];
	readonly ends: Uint32Array;
}

// Writes where the lines end that match. The expression goes on to the end of the line, so that each is found once.
const ENDS_OF_LINES = `(expression, { texts, ends }) => {
	let count = 0;
	let before = 0;
	for (const text of texts) {
		for (expression.lastIndex = 0; expression.test(text); ) {
			const end = expression.lastIndex;
			ends[count++] = before + end;
			if (end >= text.length) break;
			expression.lastIndex = end + 1;
		}
		before += text.length + 1;
	}
	return count;
}`;
const endsOfLines = limited<LinesToMatch, number>(ENDS_OF_LINES);
const endsOfLinesAtOnce = runInThisContext(ENDS_OF_LINES) as (expression: RegExp, lines: LinesToMatch) => number;
// What ran out of time is tried again, from the same place.
const placeOf = limited<{ readonly line: string; readonly from: number }, number>(`(expression, { line, from }) => {
	expression.lastIndex = from;
	return expression.exec(line)?.index ?? -1;
}`);

/** The ends of the lines that match, in texts of lines with LF between them, and between the texts; valid until the next call. */
export type LineMatcher = (texts: readonly string[]) => Uint32Array;

/** What it may cost is for 32 KiB. */
export function lineMatcher(pattern: string): LineMatcher {
	const { source, flags } = parsePattern(pattern);
	const telling = source.replace(ANYTHING_FIRST, "").replace(ANYTHING_LAST, "");
	const isLinear = LINEAR.test(telling);
	const searched = isLinear ? textFirst(telling) : telling;
	const compiled = new RegExp(toLineEnd(withinLine(searched)), `gm${caseFlag(flags)}`);
	let ends = new Uint32Array(0);
	return (texts) => {
		const most = texts.reduce((sum, text) => sum + text.length + 1, 0);
		if (ends.length < most) ends = new Uint32Array(most);
		const lines = { texts, ends };
		return ends.subarray(0, isLinear ? endsOfLinesAtOnce(compiled, lines) : endsOfLines(compiled, pattern, lines));
	};
}

/** Finds the first match that begins at a place of a line or after it; -1 where there is none. */
export function firstMatch(pattern: string): (line: string, from: number) => number {
	const { source, flags } = parsePattern(pattern);
	const compiled = new RegExp(source, `gm${caseFlag(flags)}`);
	return (line, from) => placeOf(compiled, pattern, { line, from });
}

/** A line has no end in it: what `s` allows is not there. */
const caseFlag = (flags: string) => (flags.includes("i") ? "i" : "");

// What may be anything tells nothing about a line, and would be tried at each of its characters.
const ANYTHING_FIRST = /^\^?\.\*\??(?![*+?{])/;
const ANYTHING_LAST = /(?<=^|[^\\])\.\*\??\$?$/;

// Without parentheses, and nothing repeated but a character, so and so often: each place of a text is tried in bounded time,
// and a limit would cost more than the match.
const LINEAR = /^(?:[^\\[(){}*+?]|\\[dDwWsSbB\p{P}\p{S}]|\[(?:\\[\s\S]|[^\]\\])*\]|\{\d\})*$/u;

/**
 * The same, looking for its longest text first and then back at what comes before it: V8 skips quickly to a text, and tries
 * a class at every place.
 */
function textFirst(linear: string): string {
	let best = { from: 0, to: 0, chars: 0 };
	let run = { from: 0, chars: 0 };
	for (let at = 0; at < linear.length; ) {
		const atom = atomAt(linear, at);
		if (atom === null || linear[at] === "|") return linear;
		at += atom.length;
		const repeated = QUANTIFIER.exec(linear.slice(at))?.[0].length ?? 0;
		at += repeated;
		run = atom.literal === null || repeated > 0 ? { from: at, chars: 0 } : { ...run, chars: run.chars + 1 };
		if (run.chars > best.chars) best = { ...run, to: at };
	}
	if (best.from === 0 || best.chars < MIN_CHARS) return linear;
	const text = linear.slice(best.from, best.to);
	return `${text}(?<=${linear.slice(0, best.to)})${linear.slice(best.to)}`;
}

/** The same and all that follows on the line. */
export const toLineEnd = (pattern: string): string => `(?:${pattern})[^\\n]*`;

/** What may be a line end: classes, escapes that are no places or references, and itself. */
const MAY_BREAK = /^(?:\[|\\(?![bBk]|[1-9])|[\n])/;
const SHORTER: Readonly<Record<string, string>> = { "\\s": "[^\\S\\n]", "\\D": "[^\\d\\n]", "\\W": "[^\\w\\n]" };

/** A pattern that matches in many lines what this one matches in each: nothing in it matches a line end. */
export function withinLine(pattern: string): string {
	return pattern.replace(ATOM, (atom) => {
		if (!MAY_BREAK.test(atom) || !new RegExp(atom).test("\n")) return atom;
		if (SHORTER[atom] !== undefined) return SHORTER[atom];
		// Before a dash it would begin a range.
		return /^\[\^(?!-)/.test(atom) ? `[^\\n${atom.slice(2)}` : `(?:(?!\\n)${atom})`;
	});
}

/** What makes the atom before it repeat, and whether that may be no time at all. */
const QUANTIFIER = /^(?:([*?])|\+|\{(\d+)(?:,\d*)?\})\??/;
/** Escapes that stand for one character of a class, or for a place. */
const CLASS_ESCAPE = /^[dDwWsSbBnrtfv]/;
const LITERAL_ESCAPE = /^[\p{P}\p{S}]/u;
/** A class of one character, which is how some write a dot. */
const CLASS_OF_ONE = /^\[([^\\\]^\p{Cc}\p{Cs}])\]$/u;
const MIN_CHARS = 2;
const MAX_ALTERNATIVES = 8;

/** Small letters and capitals are the same to it. */
export const ignoresCase = (pattern: string): boolean => parsePattern(pattern).flags.includes("i");

/**
 * Texts of which every match holds one, as far as the pattern tells at a glance; several such choices where the pattern
 * has several texts one after the other. Empty where it tells none. Of a pattern that ignores case they are ASCII.
 */
export function requiredTexts(given: string): readonly (readonly string[])[] {
	const { source: pattern, flags } = parsePattern(given);
	const anyCase = flags.includes("i");
	// Without the flag `u` no other letter is the same as one of ASCII.
	const literalOf = (literal: string | null) => (anyCase && literal !== null && literal > "~" ? null : literal);
	const alternatives: string[][] = [[]];
	let run = "";
	const end = () => {
		if (run.length >= MIN_CHARS) alternatives.at(-1)!.push(run);
		run = "";
	};
	for (let at = 0; at < pattern.length; ) {
		if (pattern[at] === "|") {
			end();
			alternatives.push([]);
			at++;
			continue;
		}
		const atom = atomAt(pattern, at);
		if (atom === null || pattern[at] === ")") return [];
		at += atom.length;
		const quantifier = QUANTIFIER.exec(pattern.slice(at));
		if (quantifier === null) {
			const literal = literalOf(atom.literal);
			if (literal === null) end();
			else run += literal;
			continue;
		}
		at += quantifier[0].length;
		const optional = quantifier[1] !== undefined || Number(quantifier[2] ?? 1) === 0;
		if (!optional) run += literalOf(atom.literal) ?? "";
		end();
	}
	end();
	if (alternatives.length === 1) return alternatives[0]!.map((text) => [text]);
	if (alternatives.length > MAX_ALTERNATIVES || alternatives.some((texts) => texts.length === 0)) return [];
	return [alternatives.map((texts) => texts.reduce((a, b) => (b.length > a.length ? b : a)))];
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
		if (length === null) return null;
		return { length, literal: CLASS_OF_ONE.exec(pattern.slice(at, at + length))?.[1] ?? null };
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
