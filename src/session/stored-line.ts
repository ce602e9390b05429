// How a line is written in the text log: its text, and behind separators what a search has to know about it.
//
//   text LF                          almost every line
//   text US = comparable LF          it is compared in another form (see `comparable`)
//   text US + LF                     a piece of a longer line; the next piece follows
//   text US + US = comparable LF     both
//
// Drawn text has no control characters, so that one byte tells whether there is anything of the kind.

import { comparable } from "../protocol/clean.ts";
import type { TextLine } from "../terminal/transcript-renderer.ts";

export const LF = 0x0a;
/** Unit separator. */
export const SEPARATOR = 0x1f;
const US = "\x1f";

/** The bytes of a line, LF included. */
export function storedLine({ text, continues }: TextLine): Buffer {
	const compared = comparable(text);
	return Buffer.from(`${text}${continues ? `${US}+` : ""}${compared === text ? "" : `${US}=${compared}`}\n`);
}

/** The text of the line that these bytes are, without LF. */
export function textOf(line: Buffer): string {
	const end = line.indexOf(SEPARATOR);
	return line.toString("utf8", 0, end < 0 ? line.length : end);
}

/** What a search compares of it. */
export function comparedPart(line: Buffer): Buffer {
	const end = line.indexOf(SEPARATOR);
	if (end < 0) return line;
	const form = line.lastIndexOf(SEPARATOR);
	return line[form + 1] === 0x3d ? line.subarray(form + 2) : line.subarray(0, end);
}

/** Whether the next line is the next piece of it; LF may be there or not. */
export function goesOn(line: Buffer): boolean {
	const end = line.indexOf(SEPARATOR);
	return end >= 0 && line[end + 1] === 0x2b;
}
