// How a line is written in the text log: its text, and behind a separator the form in which a search compares it, where
// that is another one.
//
//   text LF                   almost every line
//   text US = comparable LF   it is compared in another form (see `comparable`)
//   words US ! words LF       what is told in the place of output (see own-words.ts)
//
// Drawn text has no control characters, so that one byte tells whether there is anything of the kind.

import { comparable } from "../protocol/clean.ts";
import { ownWords } from "./own-words.ts";

export const LF = 0x0a;
/** Unit separator. */
export const SEPARATOR = 0x1f;

/** The bytes of a line, LF included. */
export function storedLine(text: string): Buffer {
	const compared = comparable(text);
	return Buffer.from(compared === text ? `${text}\n` : `${text}\x1f=${compared}\n`);
}

/** The bytes of a line that no program has printed, LF included. */
export const storedNotice = (words: string): Buffer => Buffer.from(`${words}\x1f!${words}\n`);

/** The text of the line that these bytes are, without LF. */
export function textOf(line: Buffer): string {
	const end = line.indexOf(SEPARATOR);
	const text = line.toString("utf8", 0, end < 0 ? line.length : end);
	return line[end + 1] === 0x21 && end >= 0 ? ownWords(text) : text;
}

/** What a search compares of it. */
export function comparedPart(line: Buffer): Buffer {
	const end = line.indexOf(SEPARATOR);
	return end < 0 ? line : line.subarray(end + 2);
}
