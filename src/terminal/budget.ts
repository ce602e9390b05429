// Text within a number of tokens: the head and the tail stay, the cut is visible.
//
// Terminal text has at most about 2.3 characters to a token, not the 4 of prose, and often fewer: what
// a text costs depends on its kinds of characters. A better count may be plugged in. Cuts are made
// between lines where lines are short enough.

import { counted } from "../protocol/clean.ts";

export const CHARS_PER_TOKEN = 2.3;

const each = (tokens: number) => (part: string) => Math.max(1, part.length * tokens);

/**
 * What a part of a text costs, by its kind; the first that fits holds. Measured with o200k on output of programs: 0.9 to 1.3 of
 * the real count, more for languages that it knows well. Look-aheads are bounded, so that the time is linear.
 */
const COSTS: readonly (readonly [kind: string, tokens: (part: string) => number])[] = [
	// Base64 and the like.
	[String.raw`(?=\w{0,40}[a-z])(?=\w{0,40}[A-Z])(?=\w{0,40}\d)[A-Za-z\d]{8,}`, each(1 / 1.4)],
	[String.raw`\d{1,3}| (?=\d)|[\r\n]+|[^\S\r\n]{2,}|\t`, () => 1],
	["[A-Z]?[a-z]{1,16}(?![a-z])", each(1 / 5.5)],
	["[A-Z]{1,12}(?![A-Z])", each(1 / 2.6)],
	// Too long for a word.
	["[A-Za-z]+", each(1 / 1.8)],
	[String.raw`[!-/:-@[-\x60{-~]+`, (part) => Math.max(1, part.replace(/(.)\1+/g, "$1").length * 0.67)],
	[String.raw`[\u3040-\u30ff\u3400-\u9fff]+`, each(0.9)],
	[String.raw`[\uac00-\ud7af]+`, each(0.6)],
	// Greek, Cyrillic, Hebrew, Arabic, the scripts of India, Thai.
	[String.raw`[\u0370-\u0e7f]+`, each(1 / 2.5)],
	// Accents, quotes, arrows, boxes, full width.
	[String.raw`[\u00a0-\u036f\u2010-\u22ff\u2500-\u25ff\u3000-\u303f\uff00-\uffef]`, () => 1],
	// Of the word that follows it.
	[" ", () => 0],
	// Emoji, Braille: their bytes.
	["[^]", () => 3],
];
const MOST_TOKENS_PER_CHAR = 3;
const KINDS = new RegExp(COSTS.map(([kind]) => `(${kind})`).join("|"), "gu");

/** About how many tokens a text has; rather too many than too few. */
export function estimateTokens(text: string): number {
	let tokens = 0;
	for (const [part, ...kinds] of text.matchAll(KINDS))
		tokens += COSTS[kinds.findIndex((kind) => kind !== undefined)]![1](part);
	return Math.ceil(Math.max(tokens, text.length / CHARS_PER_TOKEN));
}

export interface Budget {
	/** A better count than characters. Called a few times per text, so it may be slow. */
	readonly count?: (text: string) => number;
	/** What is written in place of what was left out, such as `7 lines, 90 characters`. */
	readonly mark?: (what: string) => string;
	/** The share of the head; the end of output usually matters more. */
	readonly headShare?: number;
}

export interface Fitted {
	readonly text: string;
	readonly truncated: boolean;
	readonly leftOut: { readonly lines: number; readonly chars: number } | null;
}

export function fit(
	text: string,
	maxTokens: number,
	{ count = estimateTokens, mark = (what) => `[… ${what} left out …]`, headShare = 0.3 }: Budget = {},
): Fitted {
	const total = text.length * MOST_TOKENS_PER_CHAR <= maxTokens ? 0 : count(text);
	if (total <= maxTokens) return { text, truncated: false, leftOut: null };
	// The text's own density, so that a plugged-in count decides how many characters fit.
	let chars = Math.max(0, Math.floor((text.length / total) * maxTokens));
	for (;;) {
		const fitted = cut(text, chars, headShare, mark);
		if (chars === 0 || count(fitted.text) <= maxTokens) return fitted;
		chars = Math.floor(chars * 0.9) - 16;
		if (chars < 0) chars = 0;
	}
}

function cut(text: string, chars: number, headShare: number, mark: (what: string) => string): Fitted {
	const head = endOfHead(text, Math.floor(chars * headShare));
	const tail = Math.max(head, startOfTail(text, text.length - (chars - Math.floor(chars * headShare))));
	const gone = text.slice(head, tail);
	const leftOut = { lines: gone.split("\n").length - (gone.endsWith("\n") ? 1 : 0), chars: gone.length };
	const before = text.slice(0, head);
	const breakBefore = before === "" || before.endsWith("\n") ? "" : "\n";
	return {
		text: `${before}${breakBefore}${mark(`${counted(leftOut.lines, "line")}, ${counted(leftOut.chars, "character")}`)}\n${text.slice(tail)}`,
		truncated: true,
		leftOut,
	};
}

/** After the last whole line that fits, unless that would waste more than half; never inside a character. */
function endOfHead(text: string, limit: number): number {
	const line = text.lastIndexOf("\n", limit - 1) + 1;
	return line > limit / 2 ? line : wholeCharacter(text, limit);
}

function startOfTail(text: string, limit: number): number {
	const line = text.indexOf("\n", limit - 1) + 1;
	return line > 0 && line - limit < (text.length - limit) / 2 ? line : wholeCharacter(text, limit);
}

const wholeCharacter = (text: string, at: number) => {
	const code = text.charCodeAt(at);
	return code >= 0xdc00 && code <= 0xdfff ? at + 1 : at;
};
