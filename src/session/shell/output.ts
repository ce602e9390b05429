// A command's output from its raw bytes, as a person would have seen it.

import { Screen } from "../../terminal/screen.ts";

// What moves the cursor or paints: escapes, backspace, a carriage return that is not before a line feed.
const PAINTS = /\x1b|\x08|\x0b|\x0c|\r(?!\n)/;
const MAX_SCROLLBACK = 50_000;

/** As it looked in the end: colours gone, redrawn lines once, in a terminal of this width. */
export function asSeen(bytes: Uint8Array, cols: number): string {
	const text = new TextDecoder().decode(bytes);
	const written = text.replaceAll("\r\n", "\n");
	if (!PAINTS.test(written)) return written;
	const height = Math.min(MAX_SCROLLBACK, written.split("\n").length + Math.ceil(written.length / cols));
	const screen = new Screen({ cols, rows: 50, scrollback: height });
	try {
		screen.feed(bytes);
		return screen.lines(Number.MAX_SAFE_INTEGER).join("\n");
	} finally {
		screen.dispose();
	}
}
