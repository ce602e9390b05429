// The emulator and its quirks: with xterm-core.ts the only file that knows @xterm/headless.
//
// It reaches below the public API on purpose (a synchronous parse, the count of
// trimmed rows, handlers whose payload is bounded), so the version is pinned and
// emulator.test.ts fails when an upgrade moves what is used here. Everything above
// this file sees rows, a cursor and numbers that only increase.

import { Unicode11Addon } from "@xterm/addon-unicode11/lib/addon-unicode11.mjs";
import { Terminal } from "@xterm/headless/lib-headless/xterm-headless.mjs";
import { knownSpellings } from "../protocol/masking.ts";
import type { Cell, Grid, Row } from "./grid.ts";
import { maskCells } from "./mask-cells.ts";
import { keepRegionRows } from "./region-rows.ts";
import { drawUnwrapped } from "./unwrapped.ts";
import { Utf8Decoder } from "./utf8.ts";
import { ORDERS, PRICE, WorkBudget } from "./work-budget.ts";
import type { Core, CoreGrid, Params, Parser, PayloadHandler, SequenceId } from "./xterm-core.ts";

export const LIMITS = {
	/** A wide character needs two columns. */
	cols: { min: 2, max: 1000 },
	rows: { min: 1, max: 500 },
	/** No legitimate title, directory or link is longer. */
	payloadChars: 4096,
	/** Combining marks on one cell: real scripts need fewer than ten, an attack needs them all. */
	clusterChars: 32,
} as const;

/** Bytes per parse call. */
export const SLICE = 8192;

const BLANK = 0x20;

/** Parsing is synchronous, so that one buffer serves all. */
const parseBuffer = new Uint32Array(SLICE + 3);

export interface EmulatorOptions {
	readonly cols: number;
	readonly rows: number;
	readonly scrollback: number;
	/** What scrolls away in a region below the first row goes to the scrollback, too. */
	readonly keepsRegionRows?: boolean;
}

/** State of one process: see `Emulator.unserialized`. */
export interface Unserialized {
	readonly charset: object | undefined;
	readonly glevel: number;
	readonly charsets: readonly (object | undefined)[];
	readonly joining: number;
	readonly grids: readonly {
		readonly tabs: Readonly<Record<number, true | undefined>>;
		readonly savedCharset: object | undefined;
		readonly savedPen: { readonly fg: number; readonly bg: number };
	}[];
}

const clamp = (value: number, { min, max }: { min: number; max: number }) =>
	Math.min(max, Math.max(min, Math.floor(Number.isFinite(value) ? value : min)));

/** Built-in emulator behaviour that we replace: bounded, or disabled. */
const OWN_OSC = [0, 1, 2, 4, 8, 10, 11, 12, 104, 110, 111, 112];

export class Emulator {
	readonly #term: Terminal;
	readonly #core: Core;
	readonly #utf8 = new Utf8Decoder();
	readonly #budget = new WorkBudget();
	#relayout = false;
	#trimming: { dispose(): void } | null = null;

	/** Rows, and whole logical lines, trimmed from the scrollback. */
	droppedRows = 0;
	droppedLines = 0;
	/** A row below the first of the normal screen was addressed since this was last set to false: it is drawn, not printed. */
	addressed = false;
	/** Errors of the emulator that were recovered. */
	recoveries = 0;
	/** Called before the display is erased, with the way (0 below, 1 above, 2 all, 3 the scrollback). */
	beforeErase: (how: number) => void = () => {};
	/** Called before a full reset (ESC c, or a recovery). */
	beforeReset: () => void = () => {};
	/** Called after it. */
	afterReset: () => void = () => {};

	constructor({ cols, rows, scrollback, keepsRegionRows = false }: EmulatorOptions) {
		this.#term = new Terminal({
			cols: clamp(cols, LIMITS.cols),
			rows: clamp(rows, LIMITS.rows),
			scrollback,
			allowProposedApi: true,
			logLevel: "off",
		});
		this.#term.loadAddon(new Unicode11Addon());
		this.#term.unicode.activeVersion = "11";
		this.#core = (this.#term as unknown as { _core: Core })._core;
		this.#core._inputHandler._utf8Decoder = this.#utf8;
		this.#core._inputHandler._parseBuffer = parseBuffer;
		boundClusters(this.#core.buffers.normal.lines.get(0)!);
		const parser = this.#parser;
		for (const id of OWN_OSC) parser.clearOscHandler(id);
		parser.clearCsiHandler({ final: "t" });
		drawUnwrapped(this.#core);
		if (keepsRegionRows) keepRegionRows(this.#core);
		for (const { id, most, price } of ORDERS)
			parser.registerCsiHandler(id, ({ params }) => {
				const { cols, rows } = this;
				const times = Math.min(Math.max(1, params[0]!), most(cols, rows));
				if (params[0]! > times) params[0] = times;
				return !this.#budget.spend(price(times, cols, rows));
			});
		for (const prefix of ["", "?"])
			parser.registerCsiHandler({ ...(prefix && { prefix }), final: "J" }, ({ params }) => {
				if (!this.#budget.spend(PRICE.erase(this.cols, this.rows))) return true;
				this.beforeErase(params[0]!);
				return params[0] === 1 && this.#eraseWholeRowsAbove(prefix === "?");
			});
		for (const final of ["H", "f", "d"])
			parser.registerCsiHandler({ final }, ({ params }) => {
				if (params[0]! > 1 && !this.alternate) this.addressed = true;
				return false;
			});
		// Leaving the alternate screen is always allowed, so that no session gets stuck on it.
		parser.registerCsiHandler({ prefix: "?", final: "h" }, ({ params, length }) => {
			const enters = params.subarray(0, length).some((mode) => mode === 47 || mode === 1047 || mode === 1049);
			return enters && !this.#budget.spend(PRICE.alternateScreen(this.cols, this.rows));
		});
		parser.registerEscHandler(
			{ intermediates: "#", final: "8" },
			() => !this.#budget.spend(PRICE.alignment(this.cols, this.rows)),
		);
		parser.registerEscHandler({ final: "M" }, () => {
			const { y, scrollTop } = this.active;
			return y === scrollTop && !this.#budget.spend(PRICE.scrollDown(this.cols, this.rows));
		});
		parser.registerEscHandler({ final: "c" }, () => {
			if (this.#budget.spend(PRICE.reset(this.cols, this.rows))) this.#reset();
			return true;
		});
		this.#adopt();
	}

	get #parser(): Parser {
		return this.#core._inputHandler._parser;
	}

	get cols(): number {
		return this.#term.cols;
	}
	get rows(): number {
		return this.#term.rows;
	}
	get active(): Grid {
		return this.#core.buffers.active;
	}
	get normal(): Grid {
		return this.#core.buffers.normal;
	}
	get grids(): { readonly normal: Grid; readonly alternate: Grid } {
		const { normal, alt } = this.#core.buffers;
		return { normal, alternate: alt };
	}
	/** Neither an escape sequence nor a character is half read. */
	get settled(): boolean {
		return this.#parser.currentState === 0 && this.#utf8.settled;
	}
	get alternate(): boolean {
		return this.#core.buffers.active !== this.#core.buffers.normal;
	}
	/** What a combining mark that comes next is joined to, as upstream counts it. */
	get joining(): number {
		return this.#parser.precedingJoinState;
	}
	set joining(state: number) {
		this.#parser.precedingJoinState = state;
	}
	/** The terminal's modes, by the emulator's names. */
	get state(): Pick<Core, "coreService" | "coreMouseService"> {
		return this.#core;
	}
	get pen(): { fg: number; bg: number } {
		return this.#core._inputHandler._curAttrData;
	}
	/** For the serializer, which is an addon of the same family. */
	get terminal(): Terminal {
		return this.#term;
	}
	newCell(): Cell {
		return this.#term.buffer.active.getNullCell() as unknown as Cell;
	}

	/** Replies that the emulator generates itself. */
	onData(listener: (data: string) => void): void {
		this.#term.onData(listener);
	}
	onBufferChange(listener: () => void): void {
		this.#term.buffer.onBufferChange(listener);
	}
	/** Our handler runs first; returning true keeps the sequence from the emulator. */
	onCsi(id: SequenceId, handler: (params: Params) => boolean): void {
		this.#parser.registerCsiHandler(id, handler);
	}
	onOsc(id: number, handler: (payload: string) => void): void {
		this.#parser.registerOscHandler(id, bounded(handler));
	}
	/** A device control string whose payload is ignored. */
	onDcs(id: SequenceId, handler: () => void): void {
		this.#parser.registerDcsHandler(id, {
			hook() {},
			put() {},
			unhook(complete: boolean) {
				if (complete) handler();
				return true;
			},
		});
	}

	/** Starts a feed and its minimum budget; skipped bytes earn budget too. */
	open(unwritten = 0): void {
		this.#budget.open();
		this.#budget.earn(unwritten);
	}

	/** Never throws: input that makes the emulator throw is skipped and counted. */
	write(bytes: Uint8Array): void {
		this.#budget.earn(bytes.length);
		try {
			for (let at = 0; at < bytes.length; at += SLICE) this.#draw(bytes.subarray(at, at + SLICE));
		} catch {
			// An upstream bug, triggered by hostile bytes or an odd resize. The rest of the
			// slice is lost to the screen (never to the log); the next one starts clean.
			this.recoveries++;
			this.#parser.reset();
			this.#recover();
		}
	}

	#draw(slice: Uint8Array): void {
		const top = this.droppedRows + this.normal.ybase;
		this.#core._inputHandler.parse(slice);
		if (knownSpellings().length > 0)
			maskCells(this.active, this.alternate ? 0 : top - this.droppedRows, this.newCell());
	}

	resize(cols: number, rows: number): void {
		const [newCols, newRows] = [clamp(cols, LIMITS.cols), clamp(rows, LIMITS.rows)];
		if (newCols === this.cols && newRows === this.rows) return;
		// The cursor's line is the fixed point of a reflow: it keeps its number, and so
		// do all others.
		const cursorLine = this.lineOfRow(this.normal.ybase + this.normal.y);
		this.#relayout = true;
		try {
			if (newCols !== this.cols) this.#fillBlanks();
			this.#term.resize(newCols, newRows);
			this.#tidy();
		} catch {
			this.recoveries++;
		}
		this.#relayout = false;
		this.#recover();
		const { ybase, y } = this.normal;
		this.droppedLines = Math.max(this.droppedLines, cursorLine - (this.lineOfRow(ybase + y) - this.droppedLines));
	}

	/** Rows that are kept above the screen. */
	set scrollback(rows: number) {
		const { normal, alt } = this.#core.buffers;
		// Upstream takes it for a resize: margins are reset, and the cursor comes back from after the last column.
		const before = [normal, alt].map((grid) => {
			const { x, savedX, scrollTop, scrollBottom } = grid;
			return () => Object.assign(grid, { x, savedX, scrollTop, scrollBottom });
		});
		this.#relayout = true;
		this.#term.options.scrollback = rows;
		this.#relayout = false;
		for (const restore of before) restore();
	}

	/** The number of the logical line that a row of the normal buffer belongs to. */
	lineOfRow(row: number): number {
		const { lines } = this.normal;
		let line = this.droppedLines;
		for (let i = Math.min(row, lines.length - 1); i > 0; i--) if (!lines.get(i)?.isWrapped) line++;
		return line;
	}

	/** After this many new rows, nothing drawn before them is kept. */
	get keptRows(): number {
		return this.normal.lines.maxLength + this.rows;
	}

	/** The cursor is where a line begins, and plain lines would scroll everything above them away. */
	get atPlainLineStart(): boolean {
		return this.normal.x === 0 && this.scrollsPlainText;
	}

	/** Plain text wraps, and scrolls everything above it away. */
	get scrollsPlainText(): boolean {
		const { scrollTop, scrollBottom } = this.normal;
		const { decPrivateModes, modes } = this.#core.coreService;
		return (
			!this.alternate &&
			this.settled &&
			scrollTop === 0 &&
			scrollBottom === this.rows - 1 &&
			decPrivateModes.wraparound &&
			!modes.insertMode
		);
	}

	/** Text below the cursor's row, or on it, is what plain lines would be drawn over. */
	get blankFromCursor(): boolean {
		const { lines, ybase, y } = this.normal;
		if (lines.get(ybase + y)?.isWrapped) return false;
		for (let row = y; row < this.rows; row++) if (lines.get(ybase + row)?.getTrimmedLength() !== 0) return false;
		return true;
	}

	/** Bytes of text mean themselves, and tab stops are every eight columns. */
	get drawsPlainText(): boolean {
		if (this.#core._inputHandler._charsetService.charset !== undefined) return false;
		const { tabs } = this.#core.buffers.normal;
		for (let column = 0; column < this.cols; column++) if ((tabs[column] === true) !== (column % 8 === 0)) return false;
		return true;
	}

	/** What a keyframe does not have of what decides how output is drawn: character sets are known by reference. */
	get unserialized(): Unserialized {
		const { charset, glevel, _charsets } = this.#core._inputHandler._charsetService;
		const { normal, alt } = this.#core.buffers;
		const gridOf = ({ tabs, savedCharset, savedCurAttrData: { fg, bg } }: CoreGrid) => ({
			tabs: { ...tabs },
			savedCharset,
			savedPen: { fg, bg },
		});
		return { charset, glevel, charsets: [..._charsets], joining: this.joining, grids: [gridOf(normal), gridOf(alt)] };
	}
	set unserialized({ charset, glevel, charsets, joining, grids }: Unserialized) {
		Object.assign(this.#core._inputHandler._charsetService, { charset, glevel, _charsets: [...charsets] });
		const { normal, alt } = this.#core.buffers;
		for (const [index, grid] of [normal, alt].entries()) {
			const { tabs, savedCharset, savedPen } = grids[index]!;
			grid.tabs = { ...tabs };
			grid.savedCharset = savedCharset;
			Object.assign(grid.savedCurAttrData, savedPen);
		}
		this.joining = joining;
	}

	/** Columns that a character takes. */
	widthOf(code: number): number {
		return this.#core.unicodeService.wcwidth(code);
	}

	/** Moves the first rows of the normal screen to the scrollback; blank ones follow from below. */
	scrollAway(rows: number): void {
		const { normal } = this.#core.buffers;
		const { scrollTop, scrollBottom } = normal;
		Object.assign(normal, { scrollTop: 0, scrollBottom: this.rows - 1 });
		const blank = this.newCell();
		for (let i = 0; i < rows; i++) this.#core.scroll(blank);
		Object.assign(normal, { scrollTop, scrollBottom });
	}

	/** A row of the normal screen continues the one above it. */
	continueRow(y: number): void {
		const row = this.normal.lines.get(this.normal.ybase + y);
		if (row) Object.assign(row, { isWrapped: true });
	}

	/** Forgets the oldest rows of the scrollback. */
	trim(rows: number): void {
		const { normal } = this.#core.buffers;
		normal.lines.trimStart(rows);
		normal.ybase -= rows;
		// Saved by the number of its row.
		normal.savedY = Math.max(0, normal.savedY - rows);
		normal.ydisp = normal.ybase;
	}

	/** Forgets everything above the cursor's row, which becomes the first of the screen. */
	trimToCursor(): void {
		const { normal } = this.#core.buffers;
		this.scrollAway(normal.y);
		normal.y = 0;
		this.trim(normal.ybase);
	}

	/** Lines that would have scrolled away anyway were not drawn. */
	countAsDropped(lines: number, rows: number): void {
		this.droppedLines += lines;
		this.droppedRows += rows;
	}

	/** For a restored screen: the cursor's line gets its old number. */
	renumber(cursorLine: number, droppedRows: number): void {
		const { ybase, y } = this.normal;
		this.droppedLines = Math.max(0, cursorLine - (this.lineOfRow(ybase + y) - this.droppedLines));
		this.droppedRows = droppedRows;
	}

	dispose(): void {
		this.#term.dispose();
	}

	/** New buffers, at the start and after every reset, need our hooks again. */
	#adopt(): void {
		const { normal, alt } = this.#core.buffers;
		// Upstream frees memory after a resize on a timer, and complains on the console when that is late.
		for (const grid of [normal, alt]) grid._memoryCleanupQueue = { enqueue() {}, clear() {} };
		this.#trimming?.dispose();
		const { lines } = normal;
		this.#trimming = lines.onTrim((amount) => {
			if (this.#relayout) return;
			this.droppedRows += amount;
			// The rows just dropped still lie before index 0; each that starts a line ends the one before it.
			for (let i = 1 - amount; i <= 0; i++) if (!lines.get(i)?.isWrapped) this.droppedLines++;
		});
	}

	/**
	 * With the cursor in the last column ED 1 erases whole rows. Upstream ends the wrap of the wrong row then, one in the
	 * scrollback, or throws where there is none.
	 */
	#eraseWholeRowsAbove(respectProtection: boolean): boolean {
		const { x, y, ybase, lines } = this.active;
		if (x + 1 < this.cols) return false;
		for (let row = 0; row <= y; row++) this.#core._inputHandler._resetBufferLine(row, respectProtection);
		const below = lines.get(ybase + y + 1);
		if (below) Object.assign(below, { isWrapped: false });
		return true;
	}

	/** Cells that a tab or the cursor passed over become blanks: a reflow drops the others where a row ends in them. */
	#fillBlanks(): void {
		const { lines } = this.normal;
		const cell = this.newCell();
		for (let i = 0; i < lines.length; i++) {
			const row = lines.get(i)!;
			for (let column = row.getTrimmedLength() - 1; column >= 0; column--) {
				// The second half of a wide character has no width.
				if (row.hasContent(column) || row.getWidth(column) === 0) continue;
				row.loadCell(column, cell).content |= BLANK;
				row.setCell(column, cell);
			}
		}
	}

	/**
	 * What upstream leaves to a timer, or leaves out: the alternate screen keeps columns that are gone, and while it is not in
	 * use the room for rows that are gone, which would be a scrollback.
	 */
	#tidy(): void {
		const { normal, alt } = this.#core.buffers;
		if (alt.lines.length === 0) alt.lines.maxLength = this.rows;
		const blank = this.newCell();
		for (let i = 0; i < alt.lines.length; i++) alt.lines.get(i)?.resize(this.cols, blank);
		for (let i = 0; i < normal.lines.length; i++) normal.lines.get(i)?.cleanupMemory();
	}

	#reset(): void {
		// Numbers continue after a reset, so that no old position can be mistaken for a new one.
		this.beforeReset();
		const { lines } = this.normal;
		this.droppedLines = this.lineOfRow(lines.length - 1) + 1;
		this.droppedRows += lines.length;
		this.#term.reset();
		this.#core.coreService.isCursorHidden = false;
		this.#adopt();
		this.afterReset();
	}

	/** An error or a resize may leave missing rows or a cursor out of bounds, which would corrupt later drawing. */
	#recover(): void {
		const { normal, alt } = this.#core.buffers;
		if (sound(normal, this) && (!this.alternate || sound(alt, this))) return;
		this.recoveries++;
		this.#reset();
	}
}

const sound = ({ lines, ybase, x, y }: Grid, { cols, rows }: { cols: number; rows: number }): boolean => {
	if (lines.length < ybase + rows || y < 0 || y >= rows || x < 0 || x > cols) return false;
	for (let i = 0; i < lines.length; i++) if (lines.get(i)?.length !== cols) return false;
	return true;
};

/** Collects a payload up to the limit; a longer one is dropped whole. */
function bounded(handler: (payload: string) => void): PayloadHandler {
	let payload = "";
	let over = false;
	return {
		start() {
			payload = "";
			over = false;
		},
		put(data, from, to) {
			if (over) return;
			if (payload.length + to - from > LIMITS.payloadChars) {
				over = true;
				payload = "";
				return;
			}
			for (let i = from; i < to; i++) payload += String.fromCodePoint(data[i]!);
		},
		end(complete) {
			if (complete && !over) handler(payload);
			payload = "";
			return true;
		},
	};
}

const bounding = Symbol("clusters are bounded");

/** One cell may carry any number of combining marks upstream: 100 MB of them would be gigabytes of rope. */
function boundClusters(row: Row): void {
	const line = Object.getPrototypeOf(row) as {
		[bounding]?: true;
		_combined: Record<number, string | undefined>;
		addCodepointToCell(column: number, code: number, width: number): void;
	};
	if (line[bounding]) return;
	const add = line.addCodepointToCell;
	line.addCodepointToCell = function (column, code, width) {
		if ((this._combined[column]?.length ?? 0) < LIMITS.clusterChars) add.call(this, column, code, width);
	};
	line[bounding] = true;
}
