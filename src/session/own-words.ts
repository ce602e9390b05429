// Words of ours among a program's output: a cut, or lines that are not kept. A program can print what looks like them, so
// each begins with a mark that none can know: it is drawn for this process and never leaves it. In the facts of an answer
// it becomes `…`; in the fence that a model reads, the number of the fence (`[754… lines 3–9 of 20 left out: … …]`).

import { randomBytes } from "node:crypto";

// Letters alone: the number of a fence is chosen so that it does not occur in the text.
const OURS = randomBytes(9)
	.toString("hex")
	.replaceAll(/\d/g, (digit) => "ghijklmnop".charAt(Number(digit)));

export const ownWords = (words: string): string => `[${OURS} ${words} …]`;

export const hasOwnWords = (text: string): boolean => text.includes(OURS);

/** With a number that the program could not know, or none. */
export const readable = (text: string, number = ""): string => text.replaceAll(OURS, `${number}…`);
