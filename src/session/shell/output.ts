// A command's output from its raw bytes: exactly, and as a person would have seen it.

import { Screen } from "../../terminal/screen.ts";

const CR = 0x0d;
const LF = 0x0a;

/** The bytes that the program wrote: the terminal made CR LF of each LF. */
export function asWritten(bytes: Uint8Array): Uint8Array {
	const written = new Uint8Array(bytes.length);
	let length = 0;
	for (let at = 0; at < bytes.length; at++) {
		if (bytes[at] === CR && bytes[at + 1] === LF) continue;
		written[length++] = bytes[at]!;
	}
	return written.subarray(0, length);
}

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
