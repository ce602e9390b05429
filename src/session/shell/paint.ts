// Covers the line that delivers a command with the command itself: what a
// person who watches, or an agent that reads the screen, expects after a prompt.

import { clean } from "../../protocol/clean.ts";
import { masked } from "../../protocol/masking.ts";

/** Characters that are looked at for each one shown: most of a command may be invisible. */
const LOOKED_AT = 16;

interface Place {
	readonly cols: number;
	/** Where the prompt ends, from 0. */
	readonly column: number;
	/** The cells of the typed line. */
	readonly typed: number;
}

/** Goes back up over what was typed, to the end of the prompt, and writes the command's first line there. */
export function paintOver(command: string, { cols, column, typed }: Place): string {
	const rows = 1 + Math.floor((column + typed) / cols);
	return `\x1b[${rows}A\x1b[${column + 1}G\x1b[J${shownOf(command, { cols, column })}\r\n`;
}

/** What of the command is written there: its first line, as far as that fits. */
export function shownOf(command: string, { cols, column }: Pick<Place, "cols" | "column">): string {
	const room = Math.max(0, cols - column - 1);
	// Masked before it is cut: a cut must not show the beginning of a secret.
	const text = masked(command).trim();
	const head = text.slice(0, LOOKED_AT * (room + 1));
	const [line = "", ...more] = clean(head).text.replaceAll("\t", " ").split("\n");
	const isWhole = more.length === 0 && head.length === text.length;
	const characters = [...line];
	// Wide characters may take twice the room; a command of them is cut earlier than need be.
	if (characters.length < room || (isWhole && characters.length === room)) return line + (isWhole ? "" : "…");
	return `${characters.slice(0, Math.max(0, room - 1)).join("")}…`;
}
