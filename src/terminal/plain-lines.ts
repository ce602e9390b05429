// Finds stretches of plain line output: text that can only move the cursor to the
// next line. The middle of a long stretch scrolls out of the scrollback
// unseen, so it is enough to count its lines and rows (see Screen.feed).

const CR = 0x0d;
const LF = 0x0a;
const TAB = 0x09;
const ESC = 0x1b;
const DEL = 0x7f;
const BRACKET = 0x5b;
/** Introduces U+0080 to U+009F, the C1 controls. */
const C1_LEAD = 0xc2;

export interface PlainLines {
	/** The offset after the last whole line. */
	readonly end: number;
	readonly lines: number;
	/** Lines longer than the screen is wide, as pairs: the offset after the line, the rows it takes beyond the first. */
	readonly wraps: readonly number[];
}

/**
 * The whole lines from `from` on (the start of a line) that consist of text, colours (SGR), erase-in-line, tabs and
 * carriage returns, as far as the number of rows they take is known exactly.
 */
export function plainLines(bytes: Uint8Array, from: number, cols: number): PlainLines {
	const wraps: number[] = [];
	let end = from;
	let lines = 0;
	// Columns of the current line, counted in bytes: exact for ASCII, an upper bound for the rest.
	let column = 0;
	let exact = true;
	const { length } = bytes;
	for (let at = from; at < length; at++) {
		// Most bytes are text: a loop of its own takes two thirds of the time.
		const start = at;
		let byte = bytes[at]!;
		while (byte >= 0x20 && byte < DEL && ++at < length) byte = bytes[at]!;
		column += at - start;
		if (at === length) break;
		if (byte === CR) {
			if (bytes[at + 1] === LF) {
				if (column > cols) {
					if (!exact) break;
					wraps.push(at + 2, Math.ceil(column / cols) - 1);
				}
				lines++;
				at++;
				end = at + 1;
				column = 0;
				exact = true;
				continue;
			}
			if (column > cols) break;
			column = 0;
			exact = false;
		} else if (byte >= 0x80) {
			if (byte === C1_LEAD && !(bytes[at + 1]! >= 0xa0)) break;
			column++;
			exact = false;
		} else if (byte === TAB) {
			column = (column | 7) + 1;
			exact = false;
		} else if (byte === ESC) {
			at = endOfStyle(bytes, at);
			if (at < 0) break;
		} else break;
	}
	return { end, lines, wraps };
}

/** The offset of the last byte of the SGR or EL sequence that begins here; -1 for anything else. */
function endOfStyle(bytes: Uint8Array, from: number): number {
	if (bytes[from + 1] !== BRACKET) return -1;
	let at = from + 2;
	// Digits, colons and semicolons.
	while (bytes[at]! >= 0x30 && bytes[at]! <= 0x3b) at++;
	return bytes[at] === 0x6d || bytes[at] === 0x4b ? at : -1;
}

/** The offset at which the last `count` whole lines before `end` begin; -1 if there are fewer. */
export function startOfLast(bytes: Uint8Array, end: number, count: number): number {
	let at = end - 1;
	for (let left = count; left > 0; left--) {
		at = bytes.lastIndexOf(LF, at - 1);
		if (at < 0) return -1;
	}
	return at + 1;
}

/** The SGR sequences in force after plain lines from `from` to `to`: those since the last reset, in order. */
export function stylesBefore(bytes: Uint8Array, from: number, to: number): Uint8Array {
	let start = to;
	for (let at = to; at > from; ) {
		at = bytes.lastIndexOf(ESC, at - 1);
		if (at < from) break;
		const end = endOfStyle(bytes, at);
		if (bytes[end] !== 0x6d) continue;
		start = at;
		// `ESC[m` and `ESC[0m` reset everything before.
		if (end === at + 2 || (end === at + 3 && bytes[at + 2] === 0x30)) break;
	}
	const styles: number[] = [];
	for (let at = start; at >= from && at < to; at = bytes.indexOf(ESC, at + 1)) {
		if (at < 0) break;
		const end = endOfStyle(bytes, at);
		if (bytes[end] === 0x6d) styles.push(...bytes.subarray(at, end + 1));
	}
	return Uint8Array.from(styles);
}
