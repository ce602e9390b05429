// A regular expression for lines: many lines are matched at once, and each as if it were alone.

import { runInThisContext } from "node:vm";
import { compile, limited } from "./pattern.ts";

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
	compile(pattern, "m"); // as it was given, for the words of a refusal
	const telling = pattern.replace(ANYTHING_FIRST, "").replace(ANYTHING_LAST, "");
	const compiled = new RegExp(toLineEnd(withinLine(telling)), "gm");
	const isLinear = LINEAR.test(telling);
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
	const compiled = compile(pattern, "gm");
	return (line, from) => placeOf(compiled, pattern, { line, from });
}

// What may be anything tells nothing about a line, and would be tried at each of its characters.
const ANYTHING_FIRST = /^\^?\.\*\??(?![*+?{])/;
const ANYTHING_LAST = /(?<=^|[^\\])\.\*\??\$?$/;

// Without parentheses, and nothing repeated but a character, so and so often: each place of a text is tried in bounded time,
// and a limit would cost more than the match.
const LINEAR = /^(?:[^\\[(){}*+?]|\\[dDwWsSbB\p{P}\p{S}]|\[(?:\\[\s\S]|[^\]\\])*\]|\{\d\})*$/u;

/** The same and all that follows on the line. */
export const toLineEnd = (pattern: string): string => `(?:${pattern})[^\\n]*`;

const ATOM = /\\(?:x[\da-f]{2}|u[\da-f]{4}|c[a-z]|\d+|k<[^>]*>|[\s\S])|\[(?:\\[\s\S]|[^\]\\])*\]|[\s\S]/gi;
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

/**
 * Texts of which every match holds one, as far as the pattern tells at a glance; several such choices where the pattern
 * has several texts one after the other. Empty where it tells none.
 */
export function requiredTexts(pattern: string): readonly (readonly string[])[] {
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
