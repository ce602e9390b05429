// Finds stretches of plain line output: text that can only move the cursor to the
// next line. The middle of a long stretch scrolls out of the scrollback
// unseen, so it is enough to count its lines and rows (see Screen.feed), or to
// take its text as it is (see TranscriptRenderer).

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
			at = lastOfReturns(bytes, at);
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

/** Several carriage returns are one: a program that prints CR LF itself makes CR CR LF on a terminal that adds its own. */
function lastOfReturns(bytes: Uint8Array, from: number): number {
	let at = from;
	while (bytes[at + 1] === CR) at++;
	return at;
}

/** The bytes of printable ASCII that these begin with. */
export function plainRun(bytes: Uint8Array): number {
	let at = 0;
	while (at < bytes.length && bytes[at]! >= 0x20 && bytes[at]! < DEL) at++;
	return at;
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

/** Text of lines, and where it came from. */
export interface PlainText {
	/** The offset after the last whole line that was taken. */
	readonly end: number;
	readonly lines: number;
	/** Bytes written to the target. */
	readonly written: number;
}

export interface PlainTextOptions {
	readonly cols: number;
	/** Longer lines are left to the emulator. */
	readonly maxColumns: number;
	/** Columns that a character takes. */
	readonly widthOf: (code: number) => number;
}

/**
 * Writes the text of the first whole lines to `target`, each ended by LF, as long as they consist of text, colours (SGR),
 * tabs and erasing to the right, which mean the same on any blank row, and as long as there is room.
 */
export function plainText(
	bytes: Uint8Array,
	target: Uint8Array,
	{ cols, maxColumns, widthOf }: PlainTextOptions,
): PlainText {
	const to = bytes.length;
	let end = 0;
	let lines = 0;
	let written = 0;
	/** Written bytes of the current line, its columns, and whether it may be wrapped (only ASCII without tabs may). */
	let out = 0;
	let column = 0;
	let wraps = true;
	for (let at = 0; at < to; at++) {
		const start = at;
		let byte = bytes[at]!;
		while (byte >= 0x20 && byte < DEL && ++at < to) byte = bytes[at]!;
		const length = at - start;
		if (length > 0) {
			if (out + length + 1 > target.length || column + length > maxColumns) break;
			if (length < 32) for (let i = start; i < at; i++) target[out++] = bytes[i]!;
			else {
				target.set(bytes.subarray(start, at), out);
				out += length;
			}
			column += length;
			if (at === to) break;
		}
		if (byte === CR) {
			at = lastOfReturns(bytes, at);
			if (bytes[at + 1] !== LF || (column > cols && !wraps)) break;
			while (out > written && target[out - 1] === 0x20) out--;
			// Other blanks are rare, and left to the emulator.
			if (out > written && target[out - 1]! >= 0x80 && endsInBlank(target, out)) break;
			if (out >= target.length) break;
			target[out++] = LF;
			lines++;
			written = out;
			at++;
			end = at + 1;
			column = 0;
			wraps = true;
		} else if (byte === TAB) {
			const next = (column | 7) + 1;
			// A tab stops at the last column.
			if (next >= cols || out + 8 > target.length) break;
			while (column < next) {
				target[out++] = 0x20;
				column++;
			}
			wraps = false;
		} else if (byte === ESC) {
			const last = endOfStyle(bytes, at);
			if (last < 0 || last >= to || (bytes[last] === 0x4b && !erasesToTheRight(bytes, at, last))) break;
			at = last;
		} else if (byte >= 0x80) {
			const size = sizeOfCharacter(bytes, at);
			if (size === 0 || out + size > target.length) break;
			const width = widthOf(codeAt(bytes, at, size));
			column += width;
			if (width < 1 || column > cols) break;
			for (let i = 0; i < size; i++) target[out++] = bytes[at + i]!;
			at += size - 1;
			wraps = false;
		} else break;
	}
	return { end, lines, written };
}

const erasesToTheRight = (bytes: Uint8Array, from: number, last: number) =>
	last === from + 2 || (last === from + 3 && bytes[from + 2] === 0x30);

/** The bytes of the character that begins here; 0 if it is not valid, a control or incomplete. */
function sizeOfCharacter(bytes: Uint8Array, at: number): number {
	const lead = bytes[at]!;
	const size =
		lead >= 0xc2 && lead < 0xe0 ? 2 : lead >= 0xe1 && lead < 0xef && lead !== 0xed ? 3 : lead === 0xf0 ? 4 : 0;
	if (size === 0 || at + size > bytes.length) return 0;
	for (let i = 1; i < size; i++) if ((bytes[at + i]! & 0xc0) !== 0x80) return 0;
	if (lead === C1_LEAD && bytes[at + 1]! < 0xa0) return 0;
	return lead === 0xf0 && bytes[at + 1]! < 0x90 ? 0 : size;
}

function codeAt(bytes: Uint8Array, at: number, size: number): number {
	let code = bytes[at]! & (0xff >> (size + 1));
	for (let i = 1; i < size; i++) code = (code << 6) | (bytes[at + i]! & 0x3f);
	return code;
}

/** NBSP, and the blanks of U+1680, U+2000 to U+205F and U+3000, which `trimEnd` removes. */
function endsInBlank(bytes: Uint8Array, end: number): boolean {
	const [a, b, c] = [bytes[end - 3], bytes[end - 2], bytes[end - 1]];
	return (b === C1_LEAD && c === 0xa0) || (a === 0xe1 && b === 0x9a) || (a === 0xe2 && b! <= 0x81) || a === 0xe3;
}
