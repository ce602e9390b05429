// A command's output from its raw bytes, as a person would have seen it.

import { counted } from "../../protocol/clean.ts";
import { Screen } from "../../terminal/screen.ts";
import type { ScreenDiff } from "../../terminal/screen-diff.ts";
import { ownWords } from "../own-words.ts";

// Sequences that change neither the text nor the cursor's place: colours, cursor shape, keypad and the like, titles and
// marks, the ASCII character set.
const CSI = String.raw`\[(?:[0-9;:]*m|[0-9]? q|>[0-9;]*m|\?(?:1|12|25|100[0-6]|1015|2004|2026)[hl])`;
const OSC = String.raw`\][^\x07\x18\x1a\x1b]*(?:\x07|(?=\x1b))`;
const UNSEEN = new RegExp(String.raw`\x1b(?:${CSI}|${OSC}|[=>\\]|[()*+]B)|[\x00-\x07\x0f-\x1a\x1c-\x1f\x7f]`, "g");
// Erasing what is blank anyway: grep and gcc do that after each colour. After a CR there is something to erase.
const ERASES = /\r?(?:\x1b\[0?K)+/g;
// The lookbehind keeps a long row of CRs linear.
const LINE_END = /(?<!\r)\r+\n/g;
// What is left and moves the cursor or changes what is drawn.
const PAINTS = /[\x08\x0b\x0c\r\x0e\x1b\x80-\x9f]/;

const ROWS = 50;
// 24 MB. Half a megabyte of line ends on a wide terminal would be gigabytes.
const MAX_CELLS = 2_000_000;

/** The final text, and whether there was more that was erased. */
export type Seen = Pick<ScreenDiff, "text" | "erased">;

/** Without colours, redrawn lines once, in a terminal of this width. */
export function seenOf(bytes: Uint8Array, cols: number): Seen {
	const text = new TextDecoder().decode(bytes);
	const seen = withoutUnseen(text);
	if (!PAINTS.test(seen)) return { text: seen, erased: null };
	const from = paintedFrom(text);
	const rest = drawn(text.slice(from), cols);
	return { ...rest, text: withoutUnseen(text.slice(0, from)) + rest.text };
}

/** What was written to a pipe, with the line ends of a terminal: there a line feed alone only moves down. */
export const asOnTerminal = (bytes: Uint8Array): Uint8Array =>
	new TextEncoder().encode(new TextDecoder().decode(bytes).replaceAll(/(?<!\r)\n/g, "\r\n"));

const withoutUnseen = (text: string): string =>
	text
		.replace(UNSEEN, "")
		.replace(ERASES, (erases) => (erases.startsWith("\r") ? erases : ""))
		.replace(LINE_END, "\n");

/** Where drawing has to begin: no cursor moves further up than the rows of a screen. */
function paintedFrom(text: string): number {
	const lines = text.split("\n");
	const first = lines.findIndex((line) => PAINTS.test(withoutUnseen(`${line}\n`)));
	return lines.slice(0, Math.max(0, first - ROWS)).reduce((length, line) => length + line.length + 1, 0);
}

function drawn(text: string, cols: number): Seen {
	const { from, lines, rows } = newest(text, cols);
	const screen = new Screen({ cols, rows: ROWS, scrollback: rows });
	try {
		screen.feed(new TextEncoder().encode(text.slice(from)));
		const { erased } = screen.diffSince(null, { highlights: false });
		const mark = lines > 0 ? [ownWords(`${counted(lines, "line")} left out`)] : [];
		return { text: [...mark, ...screen.lines(Number.MAX_SAFE_INTEGER)].join("\n"), erased };
	} finally {
		screen.dispose();
	}
}

/** As much of the end of a text as can be drawn: where it begins, how many lines are before it, the rows it needs. */
function newest(text: string, cols: number): { from: number; lines: number; rows: number } {
	const most = Math.floor(MAX_CELLS / cols);
	let rows = 0;
	let end = text.length;
	for (;;) {
		const start = text.lastIndexOf("\n", end - 1) + 1;
		const more = 1 + Math.ceil((end - start) / cols);
		if (rows + more > most) break;
		rows += more;
		if (start === 0) return { from: 0, lines: 0, rows };
		end = start - 1;
	}
	// A single line that is too long is drawn in part.
	const from = rows > 0 ? end + 1 : text.length - most * cols;
	return { from, lines: Math.max(1, text.slice(0, from).split("\n").length - 1), rows: most };
}
