// Covers the line that delivers a command with the command itself: what a
// person who watches, or an agent that reads the screen, expects after a prompt.

import { clean } from "../../protocol/clean.ts";

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
	const [line = "", ...more] = clean(command.trim()).text.replaceAll("\t", " ").split("\n");
	const room = Math.max(0, cols - column - 1);
	// Wide characters may take twice the room; a command of them is cut earlier than need be.
	const fits = [...line].length <= room && (more.length === 0 || [...line].length < room);
	const shown = fits ? line + (more.length > 0 ? "…" : "") : `${[...line].slice(0, Math.max(0, room - 1)).join("")}…`;
	return `\x1b[${rows}A\x1b[${column + 1}G\x1b[J${shown}\r\n`;
}
