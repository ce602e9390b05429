// Output as lines of text: everything that a person would have seen scroll by, once, in its
// final form.
//
// A line is committed when it can no longer change: it has left the screen so far that no resize
// brings it back, or the screen was cleared (what was on it scrolls away first, as in tmux).
// The rest is the tail, read from the emulator. The alternate screen contributes nothing.
// Long stretches of plain lines are not drawn: their bytes are their text. Nor is the middle of a line without an end.

import { comparable } from "../protocol/clean.ts";
import { Emulator, LIMITS, SLICE } from "./emulator.ts";
import { type Grid, rowAt } from "./grid.ts";
import { plainRun, plainText, startOfLast } from "./plain-lines.ts";
import { joinContinued, joinRows } from "./rows.ts";
import { applyTextKeyframe, type TextKeyframe, takeTextKeyframe } from "./text-keyframe.ts";

/** Longer lines are given away in pieces, so that the emulator need not hold all of them. */
const MAX_LINE_CELLS = 8192;
/**
 * Rows above the screen that are not committed yet. No terminal has more, so a resize brings none back that is further
 * above; of very wide terminals fewer are kept, because all of them are drawn in one piece.
 */
const keptAbove = (cols: number) => Math.min(LIMITS.rows.max, Math.ceil(150_000 / cols));
/** Cells that may scroll by between two commits: a byte may be a row. */
const SLICE_CELLS = 250_000;

/** A reflow to more takes too long in one piece: a wide terminal that becomes a few columns starts on a blank screen. */
const MAX_REFLOWED_ROWS = 10_000;

const LF = 0x0a;
const CR = 0x0d;
/** Less is drawn. */
const MIN_RUN = 2 * SLICE;

/** A line, or a piece of one that is longer than lines may be. */
export interface TextLine {
	readonly text: string;
	/** The next piece follows. */
	readonly continues: boolean;
}

/** Takes committed lines, in order. */
export interface LineSink {
	line(line: TextLine): void;
	/** A line that was not printed. */
	notice(words: string): void;
	/** UTF-8, each line ended by LF, none cut into pieces, all as `comparable` would have them; valid only during the call. */
	lines(text: Uint8Array, count: number): void;
}

export interface RendererOptions {
	readonly cols: number;
	readonly rows: number;
	readonly sink: LineSink;
	/** Draws everything, plain lines too: what the result is compared with. */
	readonly drawAll?: boolean;
}

/** The cursor's line, counted from the first of the tail, and whether there is nothing on it yet. */
export interface TailCursor {
	readonly line: number;
	readonly blank: boolean;
}

/** Plain lines that are not drawn yet, the newest that the emulator, which is blank, has room for. */
interface Undrawn {
	readonly bytes: Uint8Array;
	readonly text: Uint8Array;
}

export class TranscriptRenderer {
	readonly #sink: LineSink;
	readonly #drawAll: boolean;
	#emulator: Emulator;
	#undrawn: Undrawn | null = null;
	/** Text of a line without an end that is not drawn yet: all that the emulator, which is blank, would have. */
	#run: Uint8Array | null = null;
	/** Bytes to draw before plain lines are searched for again. */
	#toDraw = 0;

	constructor({ cols, rows, sink, drawAll = false }: RendererOptions) {
		this.#sink = sink;
		this.#drawAll = drawAll;
		this.#emulator = this.#create(cols, rows);
	}

	/** The renderer that `serialize` described. */
	static restore(keyframe: TextKeyframe, options: Omit<RendererOptions, "cols" | "rows">): TranscriptRenderer {
		const renderer = new TranscriptRenderer({ ...options, cols: keyframe.cols, rows: keyframe.rows });
		applyTextKeyframe(renderer.#emulator, keyframe);
		return renderer;
	}

	get cols(): number {
		return this.#emulator.cols;
	}
	get rows(): number {
		return this.#emulator.rows;
	}
	get #keptRows(): number {
		return keptAbove(this.cols);
	}

	/** Renders a piece of these bytes and returns its length; 0: with `more` to come it is worth waiting for. */
	feed(bytes: Uint8Array, { more = false }: { readonly more?: boolean } = {}): number {
		if (!this.#drawAll && this.#toDraw <= 0) {
			const taken = this.#takeRun(bytes) || this.#takePlain(bytes);
			if (taken > 0) return taken;
			// The end of a line is not here yet.
			if (more && this.#undrawn !== null && bytes.length < MAX_LINE_CELLS) return 0;
		}
		const piece = bytes.subarray(0, this.#pieceLength(bytes));
		this.#drawUndrawn();
		this.#emulator.open();
		this.#emulator.write(piece);
		this.#commitAbove();
		this.#toDraw -= piece.length;
		return piece.length;
	}

	resize(cols: number, rows: number): void {
		this.#drawUndrawn();
		const emulator = this.#emulator;
		// A narrower terminal has more rows of the same lines: none may be lost before it is committed.
		const most = emulator.normal.lines.length * Math.ceil(emulator.cols / Math.max(LIMITS.cols.min, cols));
		if (most > MAX_REFLOWED_ROWS) {
			this.seal();
			this.#emulator.resize(cols, rows);
		} else {
			emulator.scrollback = roomAbove(cols) + most;
			emulator.resize(cols, rows);
			this.#commitAbove();
		}
		this.#emulator.scrollback = roomAbove(cols);
	}

	/** Output is missing here: that counts as one line, which says so. */
	gap(notice: string): void {
		this.seal();
		this.#sink.notice(notice);
	}

	/** Commits everything; what follows is drawn on a blank screen. */
	seal(): void {
		this.#drawUndrawn();
		const { cols, rows, alternate } = this.#emulator;
		this.#commitAll();
		this.#emulator.dispose();
		this.#emulator = this.#create(cols, rows);
		if (alternate) this.#emulator.write(new TextEncoder().encode("\x1b[?1049h"));
	}

	/** The lines that are not committed, up to the last one that has text or has left the screen. Commits what was left undrawn, if it is much. */
	tail(): TextLine[] {
		this.#drawUndrawn();
		return this.#linesTo(seenRows(this.#emulator.normal)).map((rows) => this.#lineOf(rows));
	}

	cursor(): TailCursor {
		this.#drawUndrawn();
		const { normal } = this.#emulator;
		const pieces = this.#linesTo(normal.ybase + normal.y + 1);
		const { start, end } = pieces.at(-1)!;
		const isBegin = ({ start }: Line) => start > 0 && normal.lines.get(start)?.isWrapped !== true;
		return {
			line: pieces.filter(isBegin).length,
			blank: (start === 0 || isBegin({ start, end })) && joinRows(normal, start, end) === "",
		};
	}

	/** Null where it cannot be described, in the middle of a sequence or a character for one: ask again later. */
	serialize(): TextKeyframe | null {
		this.#drawUndrawn();
		return takeTextKeyframe(this.#emulator);
	}

	dispose(): void {
		this.#emulator.dispose();
	}

	#create(cols: number, rows: number): Emulator {
		const emulator = new Emulator({ cols, rows, scrollback: roomAbove(cols), keepsRegionRows: true });
		emulator.beforeErase = (how) => {
			if (emulator.alternate) return;
			const { x, y, ybase } = emulator.normal;
			if (how === 2 || (how === 0 && x === 0 && y === 0)) {
				emulator.scrollAway(usedRows(emulator.normal) - ybase);
				this.#commitAbove();
			} else if (how === 3) this.#emitLast(ybase); // and forgotten by the emulator
		};
		emulator.beforeReset = () => this.#commitAll();
		return emulator;
	}

	/** As much as is drawn at once: to the end of a line where plain ones may follow. */
	#pieceLength(bytes: Uint8Array): number {
		const most = Math.min(bytes.length, SLICE, Math.ceil(SLICE_CELLS / this.cols));
		if (this.#drawAll || this.#toDraw > 0 || this.#emulator.normal.x === 0) return most;
		return bytes.subarray(0, most).indexOf(LF) + 1 || most;
	}

	#drawUndrawn(): void {
		const bytes = this.#run ?? this.#undrawn?.bytes;
		if (bytes === undefined) return;
		this.#run = null;
		this.#undrawn = null;
		const step = Math.min(SLICE, Math.ceil(SLICE_CELLS / this.cols));
		for (let at = 0; at < bytes.length; at += step) {
			this.#emulator.write(bytes.subarray(at, at + step));
			this.#commitAbove();
		}
	}

	/** Takes printable ASCII in the middle of a line that fills everything the emulator has; returns its length, 0 if there is little. */
	#takeRun(bytes: Uint8Array): number {
		if (this.#undrawn !== null || bytes.length < MIN_RUN) return 0;
		const length = plainRun(bytes);
		if (length < MIN_RUN) return 0;
		const before = this.#run ?? this.#beginRun();
		if (before === null) return 0;
		const text = joined(before, bytes.subarray(0, length));
		const { cols, rows } = this;
		// What drawing would have committed.
		const pieceRows = rowsOfLine(cols);
		const pieces = Math.floor((Math.ceil(text.length / cols) - rows - this.#keptRows) / pieceRows);
		const committed = Math.max(0, pieces) * pieceRows * cols;
		const decoder = new TextDecoder();
		for (let at = 0; at < committed; at += pieceRows * cols)
			this.#sink.line({ text: decoder.decode(text.subarray(at, at + pieceRows * cols)), continues: true });
		this.#run = text.slice(committed);
		return length;
	}

	/** The text that the emulator has, which becomes blank; null if that is not one row after another of a single line. */
	#beginRun(): Uint8Array | null {
		const emulator = this.#emulator;
		const { normal, cols, rows } = emulator;
		const { lines, ybase, x, y } = normal;
		if (!emulator.scrollsPlainText || y !== rows - 1 || ybase < this.#keptRows) return null;
		for (let row = 0; row <= ybase + y; row++) if (!lines.get(row)?.isWrapped) return null;
		const text = joinContinued(normal, 0, ybase + y) + lines.get(ybase + y)!.translateToString(false, 0, x);
		if (text.length !== (ybase + y) * cols + x || !/^[ -~]*$/.test(text) || !emulator.drawsPlainText) {
			this.#toDraw = 4 * SLICE;
			return null;
		}
		emulator.write(Uint8Array.of(CR));
		emulator.trimToCursor();
		return new TextEncoder().encode(text);
	}

	/** Takes plain lines without drawing them; returns their length, 0 if there are too few. */
	#takePlain(bytes: Uint8Array): number {
		const emulator = this.#emulator;
		const { cols, rows } = emulator;
		// As many as fill the screen and what is kept above it: nothing drawn before them is left.
		const kept = this.#keptRows + rows;
		if (this.#undrawn === null) {
			if (!emulator.atPlainLineStart) {
				if (emulator.normal.x === 0 || emulator.alternate) this.#toDraw = SLICE;
				return 0;
			}
			if (bytes.length < kept * 4 || !emulator.drawsPlainText || !emulator.blankFromCursor) {
				this.#toDraw = SLICE;
				return 0;
			}
		}
		const { end, lines, written } = plainText(bytes, textBuffer, {
			cols,
			maxColumns: rowsOfLine(cols) * cols,
			// What is compared in another form is drawn: it takes columns together with what is before it, or none.
			widthOf: (code) => (isComparable(code) ? emulator.widthOf(code) : 0),
		});
		if (this.#undrawn === null ? lines <= kept : lines === 0) {
			// Searching costs little only if what was found is not searched again.
			if (this.#undrawn === null) this.#toDraw = end + SLICE;
			return 0;
		}
		if (this.#undrawn === null) {
			this.#emit(this.#linesTo(emulator.normal.ybase + emulator.normal.y));
			emulator.trimToCursor();
		}
		const all = {
			bytes: joined(this.#undrawn?.bytes, bytes.subarray(0, end)),
			text: joined(this.#undrawn?.text, textBuffer.subarray(0, written)),
		};
		const newest = Math.max(0, startOfLast(all.text, all.text.length, kept));
		const before = this.#undrawn === null ? 0 : kept;
		if (newest > 0) this.#sink.lines(all.text.subarray(0, newest), before + lines - kept);
		this.#undrawn = {
			bytes: all.bytes.subarray(Math.max(0, startOfLast(all.bytes, all.bytes.length, kept))),
			text: all.text.subarray(newest),
		};
		return end;
	}

	/** Commits what no resize can bring back to the screen. */
	#commitAbove(): void {
		this.#commitTo(this.#emulator.normal.ybase - this.#keptRows);
	}

	/** Commits the whole lines in the first rows of the scrollback. */
	#commitTo(rows: number): void {
		if (rows <= 0) return;
		const { normal, cols } = this.#emulator;
		const lines = this.#linesTo(rows);
		const last = lines.at(-1);
		// Of the last one more rows may follow.
		if (last && normal.lines.get(rows)?.isWrapped && last.end - last.start < rowsOfLine(cols)) lines.pop();
		this.#emit(lines);
		this.#emulator.trim(lines.at(-1)?.end ?? 0);
	}

	#commitAll(): void {
		this.#emitLast(seenRows(this.#emulator.normal));
	}

	/** What follows begins a line. */
	#emitLast(row: number): void {
		const lines = this.#linesTo(row).map((rows) => this.#lineOf(rows));
		const last = lines.pop();
		for (const line of lines) this.#sink.line(line);
		if (last !== undefined) this.#sink.line({ text: last.text.trimEnd(), continues: false });
	}

	#emit(lines: readonly Line[]): void {
		for (const rows of lines) this.#sink.line(this.#lineOf(rows));
	}

	#lineOf({ start, end }: Line): TextLine {
		const { normal } = this.#emulator;
		const continues = rowAt(normal, end)?.isWrapped === true;
		// Blanks at the end of a piece are in the middle of its line.
		return { text: continues ? joinContinued(normal, start, end) : joinRows(normal, start, end), continues };
	}

	#linesTo(row: number): Line[] {
		return linesTo(this.#emulator.normal, row, rowsOfLine(this.cols));
	}
}

/** The rows of a line, of which the last one is excluded. */
interface Line {
	readonly start: number;
	readonly end: number;
}

function linesTo(grid: Grid, row: number, mostRows: number): Line[] {
	const lines: Line[] = [];
	let start = 0;
	for (let end = 1; end <= row; end++) {
		if (end < row && grid.lines.get(end)?.isWrapped && end - start < mostRows) continue;
		lines.push({ start, end });
		start = end;
	}
	return lines;
}

/** What is kept, a slice of line ends, a cleared screen, and a line that is not complete. */
function roomAbove(wantedCols: number): number {
	const cols = Math.min(LIMITS.cols.max, Math.max(LIMITS.cols.min, wantedCols));
	return keptAbove(cols) + Math.ceil(SLICE_CELLS / cols) + LIMITS.rows.max + rowsOfLine(cols);
}

const rowsOfLine = (cols: number) => Math.max(1, Math.floor(MAX_LINE_CELLS / cols));

/** The row after the last one with text. */
function usedRows({ lines }: Grid): number {
	let row = lines.length;
	while (row > 0 && lines.get(row - 1)?.getTrimmedLength() === 0) row--;
	return row;
}

/** The same, but not before the screen: whether blank rows above it are committed already must not matter. */
const seenRows = (grid: Grid) => Math.max(usedRows(grid), grid.ybase);

/** Of each code point below U+20000: 0 unknown, 1 the same in every comparison, 2 not, or together with what is before it. */
const comparisons = new Uint8Array(0x20000);

function isComparable(code: number): boolean {
	let known = comparisons[code] ?? 0;
	if (known === 0) {
		const char = String.fromCodePoint(code);
		// Marks and the later letters of a Hangul syllable are composed with what is before them.
		known = comparable(char) === char && !/[\p{M}\u1160-\u11ff\ud7b0-\ud7ff]/u.test(char) ? 1 : 2;
		if (code < comparisons.length) comparisons[code] = known;
	}
	return known === 1;
}

/** Rendering is synchronous, so that one buffer serves all. */
const textBuffer = new Uint8Array(512 * 1024);

function joined(a: Uint8Array | undefined, b: Uint8Array): Uint8Array {
	const all = new Uint8Array((a?.length ?? 0) + b.length);
	if (a !== undefined) all.set(a);
	all.set(b, a?.length ?? 0);
	return all;
}
