// What a person would see: bytes in, a screen out.
//
// Reading the constructor is reading the whole data path of the layer. The emulator is
// in emulator.ts, what is new since a position in screen-diff.ts, replies to the program in
// replies.ts. No process, clock or file.

import { Listeners } from "../protocol/listeners.ts";
import type { OutputChunk } from "../protocol/output.ts";
import { ControlFilter } from "./control-filter.ts";
import { Emulator, SLICE, type Unserialized } from "./emulator.ts";
import { endsAtCursor, footerBelow, hasDrawnCursor, isBlank } from "./input-area.ts";
import { applyKeyframe, fitsKeyframe, type Keyframe, keyframeOf, pictureOf, takeKeyframe } from "./keyframe.ts";
import { KittyKeyboard } from "./kitty-keyboard.ts";
import { Links } from "./links.ts";
import { type Modes, modesOf } from "./modes.ts";
import { plainLines, startOfLast, stylesBefore } from "./plain-lines.ts";
import { answerQuestions, ReplyGate } from "./replies.ts";
import { joinRows, lineStarts, lineToCursor, startOfLine, textOfRow } from "./rows.ts";
import { type Cursor, diffScreen, type Erasure, type Position, type ScreenDiff } from "./screen-diff.ts";
import { type Snapshot, snapshotOf } from "./snapshot.ts";
import { type Area, type Run, styledRowsOf } from "./styled-rows.ts";
import { observeDirectory, observeTitle } from "./title.ts";

export interface DiffOptions {
	readonly highlights?: boolean;
	/** The line that the reader typed and entered since. */
	readonly typed?: string | undefined;
}

export interface ScreenOptions {
	readonly cols: number;
	readonly rows: number;
	/**
	 * Rows kept above the screen. 1000 rows are three times what the largest answer to an agent can carry and
	 * about 3 MB when full; older output is in the journal, by offset.
	 */
	readonly scrollback?: number;
	/** The absolute offset of the first byte that will be fed, where output before it is skipped. */
	readonly offset?: number;
	/** Milliseconds of any clock, for the bound on answers per second; without it the bound is per feed. */
	readonly now?: () => number;
}

/** A screen at rest: plain JSON, a few kilobytes. Earlier positions stay valid. */
export interface ScreenState extends Keyframe {
	readonly version: 1;
	readonly offset: number;
	readonly clears: number;
	readonly screenId: number;
	readonly erasedBefore: number;
	readonly erasures?: readonly Erasure[] | undefined;
	readonly title: string;
	readonly cwd: string | null;
	readonly kitty: KittyKeyboard["state"];
	readonly checkpoints: readonly { readonly row: number; readonly offset: number }[];
}

const LF = 0x0a;

/** A part of a feed that is drawn, after lines and rows that are only counted. */
interface Stretch {
	readonly from: number;
	readonly to: number;
	readonly lines: number;
	readonly rows: number;
}

/** More than one is not shown, however many there are. */
const MAX_ERASURES = 8;
const MAX_LAST_CHARS = 400;

/** CAN: cancels an incomplete sequence and draws nothing. */
const CANCEL = Uint8Array.of(0x18);

export class Screen {
	readonly #emulator: Emulator;
	readonly #kitty: KittyKeyboard;
	readonly #links: Links;
	readonly #gate: ReplyGate;
	readonly #replyListeners = new Listeners<Uint8Array>("terminal reply");
	/** Where in the bytes a row was current: absolute rows and offsets, both rising. */
	#checkpoints: { row: number; offset: number }[] = [];
	#replies = "";
	readonly #controls = new ControlFilter();
	#offset: number;
	#clears = 0;
	#screenId = 0;
	#erasedBefore = 0;
	#erasures: readonly Erasure[] = [];
	#title = "";
	#cwd: string | null = null;

	constructor({ cols, rows, scrollback = 1000, offset = 0, now }: ScreenOptions) {
		this.#offset = offset;
		const emulator = new Emulator({ cols, rows, scrollback });
		this.#emulator = emulator;
		this.#kitty = new KittyKeyboard(emulator);
		this.#links = new Links(emulator);
		this.#gate = new ReplyGate(now);
		answerQuestions(emulator, this.#kitty, (text) => {
			if (this.#gate.admits(text)) this.#replies += text;
		});
		observeTitle(emulator, (title) => {
			this.#title = title;
		});
		observeDirectory(emulator, (path) => {
			this.#cwd = path;
		});
		emulator.beforeErase = (how) => this.#erasing(how);
		emulator.onBufferChange(() => {
			if (emulator.alternate) this.#screenId++;
		});
		emulator.beforeReset = () => {
			const bottom = emulator.normal.lines.length;
			this.#noteErasure({ scrollback: false, top: emulator.lineOfRow(bottom - 1) + 1 });
		};
		emulator.afterReset = () => {
			this.#clears++;
			this.#erasedBefore = emulator.droppedLines;
			this.#kitty.reset();
			this.#links.forget();
		};
	}

	/** The next output; missing bytes are skipped and offsets continue after them. */
	take(chunk: OutputChunk): void {
		if ("bytes" in chunk) this.feed(chunk.bytes);
		else {
			this.#emulator.write(CANCEL); // a sequence cut off by the gap never completes
			this.#offset = chunk.gap.to;
			this.#checkpoint();
		}
	}

	/** Synchronous; never throws, whatever the bytes. */
	feed(bytes: Uint8Array): void {
		this.#gate.open();
		this.#emulator.open();
		for (let at = 0; at < bytes.length; ) {
			const next = this.#skipScrolledAway(bytes, at);
			if (next.from > at) this.#skip(bytes, at, next);
			this.#draw(bytes.subarray(next.from, next.to));
			at = next.to;
		}
		this.#emit();
	}

	/** Answers to the program's questions, to be typed to it: at most one call for each feed. */
	onReply(listener: (bytes: Uint8Array) => void): () => void {
		return this.#replyListeners.add(listener);
	}

	resize(cols: number, rows: number): void {
		const emulator = this.#emulator;
		const lineOf = ({ row }: { row: number }) => emulator.lineOfRow(row - emulator.droppedRows);
		const lines = cols === emulator.cols ? null : this.#checkpoints.map(lineOf);
		emulator.resize(cols, rows);
		if (!lines) return;
		this.#links.forget();
		const starts = lineStarts(emulator.normal);
		this.#checkpoints = this.#checkpoints.map(({ offset }, i) => ({
			row: emulator.droppedRows + (starts[lines[i]! - emulator.droppedLines] ?? -1),
			offset,
		}));
	}

	get cols(): number {
		return this.#emulator.cols;
	}
	get rows(): number {
		return this.#emulator.rows;
	}
	/** Bytes fed so far. */
	get offset(): number {
		return this.#offset;
	}
	get modes(): Modes {
		return modesOf(this.#emulator, this.#kitty);
	}
	get title(): string {
		return this.#title;
	}
	/** The directory the program last named (OSC 7); null if none was. */
	get cwd(): string | null {
		return this.#cwd;
	}
	get cursor(): Cursor {
		const { x, y } = this.#emulator.active;
		return { row: y, column: Math.min(x, this.cols - 1), visible: !this.#emulator.state.coreService.isCursorHidden };
	}

	snapshot(): Snapshot {
		return snapshotOf(this.#emulator, { cursor: this.cursor, links: this.#links.onScreen(), offset: this.#offset });
	}

	/** The screen with its colours, or a part of it. */
	styledRows(area: Area = { row: 0, rows: this.rows, column: 0, cols: this.cols }): Run[][] {
		return styledRowsOf(this.#emulator, area);
	}

	/** What is new since a position; null: everything still kept. */
	diffSince(since: Position | null, { highlights = true, typed }: DiffOptions = {}): ScreenDiff {
		return diffScreen(
			this.#emulator,
			{
				offset: this.#offset,
				clears: this.#clears,
				screenId: this.#screenId,
				erasedBefore: this.#erasedBefore,
				erasures: this.#erasures,
				cursor: this.cursor,
				keptFrom: () => this.#keptFrom(),
				highlights,
				typed,
			},
			since,
		);
	}

	/** The cursor's logical line up to the cursor: the shape of a prompt. */
	lastLine(): string {
		return lineToCursor(this.#emulator.active);
	}

	/** How many rows below the cursor the last row is, where it has text; otherwise 0. */
	get footerBelow(): number {
		return footerBelow(this.#emulator);
	}

	/** Nothing is drawn below the cursor, unless on the last row, and the cursor is above that. */
	get endsAtCursor(): boolean {
		return endsAtCursor(this.#emulator);
	}

	get isBlank(): boolean {
		return isBlank(this.#emulator);
	}

	/** A single cell is in reverse video: with the cursor hidden it is the program's own. */
	get hasDrawnCursor(): boolean {
		return hasDrawnCursor(this.#emulator);
	}

	/** The last logical lines of line output, scrollback included; of a long one at least its last `lineChars` characters. */
	lines(count: number, { lineChars = Number.POSITIVE_INFINITY }: { readonly lineChars?: number } = {}): string[] {
		const grid = this.#emulator.normal;
		const starts = lineStarts(grid);
		const newestFirst: string[] = [];
		for (let i = starts.length - 1; i >= 0 && newestFirst.length < count; i--) {
			const end = starts[i + 1] ?? grid.lines.length;
			const text = joinRows(grid, Math.max(starts[i]!, end - 1 - Math.ceil(lineChars / this.cols)), end);
			if (text !== "" || newestFirst.length > 0) newestFirst.push(text);
		}
		return newestFirst.reverse();
	}

	/** Null in the middle of an escape sequence or character: ask again after the next feed. Null if it is too large, too. */
	serialize(): ScreenState | null {
		const keyframe = takeKeyframe(this.#emulator);
		return keyframe && this.#stateWith(keyframe);
	}

	/** `serialize` would keep every line. */
	get fitsKeyframe(): boolean {
		return fitsKeyframe(this.#emulator);
	}

	/** What `serialize` leaves out, for a `restore` in this process. */
	get unserialized(): Unserialized {
		return this.#emulator.unserialized;
	}

	/** The same without what is above the screen, also in the middle of a sequence: to be looked at, not to go on from. */
	picture(): Pick<ScreenState, "content" | "cursorHidden" | "mouse"> | null {
		return pictureOf(this.#emulator);
	}

	#stateWith(keyframe: Keyframe): ScreenState {
		return {
			version: 1,
			...keyframe,
			offset: this.#offset,
			clears: this.#clears,
			screenId: this.#screenId,
			erasedBefore: this.#erasedBefore,
			erasures: this.#erasures,
			title: this.#title,
			cwd: this.#cwd,
			kitty: this.#kitty.state,
			checkpoints: this.#checkpoints,
		};
	}

	/** Applies the mode changes in these bytes without drawing. */
	skim(bytes: Uint8Array): void {
		this.#emulator.open(bytes.length);
		this.#emulator.write(this.#controls.feed(bytes));
		this.#replies = "";
	}

	/** An empty screen with the same modes that continues at `to`, after `lines` undrawn lines. */
	jumped(to: number, lines: number): ScreenState {
		const emulator = this.#emulator;
		emulator.write(CANCEL);
		const state = this.#stateWith(keyframeOf(emulator, emulator.alternate ? "\x1b[?1049h" : "", 0));
		const droppedRows = emulator.droppedRows + emulator.normal.lines.length + lines;
		return {
			...state,
			normal: { ...state.normal, x: 0 },
			alternate: { ...state.alternate, x: 0 },
			// As if they had been drawn, so that positions from before stay comparable.
			cursorLine: emulator.lineOfRow(emulator.normal.ybase + emulator.normal.y) + lines,
			droppedRows,
			offset: to,
			checkpoints: [{ row: droppedRows, offset: to }],
		};
	}

	/** The screen that `serialize` described; feed it from `offset` on. */
	static restore(
		state: ScreenState,
		options: Omit<ScreenOptions, "cols" | "rows"> = {},
		unserialized?: Unserialized,
	): Screen {
		const screen = new Screen({ ...options, cols: state.cols, rows: state.rows });
		applyKeyframe(screen.#emulator, state);
		if (unserialized !== undefined) screen.#emulator.unserialized = unserialized;
		screen.#emulator.addressed = false;
		screen.#replies = "";
		screen.#offset = state.offset;
		screen.#clears = state.clears;
		screen.#screenId = state.screenId;
		screen.#erasedBefore = state.erasedBefore;
		screen.#erasures = state.erasures ?? [];
		screen.#title = state.title;
		screen.#cwd = state.cwd;
		screen.#kitty.restore(state.kitty);
		screen.#checkpoints = [...state.checkpoints];
		return screen;
	}

	dispose(): void {
		this.#replyListeners.clear();
		this.#emulator.dispose();
	}

	/** What the feed brought about, told once it is over. */
	#emit(): void {
		if (this.#replies !== "") {
			const reply = new TextEncoder().encode(this.#replies);
			this.#replies = "";
			this.#replyListeners.emit(reply);
		}
	}

	#draw(bytes: Uint8Array): void {
		// The slice is also the granularity of the offsets in `missed`.
		for (let at = 0; at < bytes.length; at += SLICE) {
			const slice = bytes.subarray(at, at + SLICE);
			this.#emulator.write(slice);
			this.#offset += slice.length;
			this.#checkpoint();
		}
	}

	/** What to draw next: from `at` on, or after lines that would be drawn only to scroll away. */
	#skipScrolledAway(bytes: Uint8Array, at: number): Stretch {
		const { keptRows } = this.#emulator;
		const rest = bytes.length - at;
		// A line has two bytes at least, and a skip must be worth the search.
		if (rest < keptRows * 4) return { from: at, to: bytes.length, lines: 0, rows: 0 };
		if (!this.#emulator.atPlainLineStart) {
			const line = bytes.indexOf(LF, at);
			return {
				from: at,
				to: line < 0 || line - at > SLICE ? Math.min(bytes.length, at + SLICE) : line + 1,
				lines: 0,
				rows: 0,
			};
		}
		const { end, lines, wraps } = plainLines(bytes, at, this.cols);
		// Output that is not plain is drawn a slice at a time before the next search, which keeps searching cheap.
		if (lines < keptRows * 2) return { from: at, to: Math.min(bytes.length, end + SLICE), lines: 0, rows: 0 };
		const from = startOfLast(bytes, end, keptRows);
		let rows = lines - keptRows;
		for (let i = 0; i < wraps.length && wraps[i]! <= from; i += 2) rows += wraps[i + 1]!;
		return { from, to: end, lines: lines - keptRows, rows };
	}

	#skip(bytes: Uint8Array, at: number, { from, lines, rows }: Stretch): void {
		this.#emulator.countAsDropped(lines, rows);
		this.#offset += from - at;
		const styles = stylesBefore(bytes, at, from);
		if (styles.length > 0) this.#emulator.write(styles);
	}

	#erasing(how: number): void {
		const emulator = this.#emulator;
		if (emulator.alternate) return;
		const { x, y, ybase } = emulator.normal;
		// `ESC[H ESC[J` clears the screen as well as `ESC[2J` does.
		if (how === 2 || (how === 0 && x === 0 && y === 0)) {
			this.#noteErasure({ scrollback: false });
			this.#clears++;
		}
		if (how === 3) {
			this.#noteErasure({ scrollback: true });
			this.#erasedBefore = emulator.lineOfRow(ybase);
		}
	}

	/** What is about to be erased, if there is text on it. */
	#noteErasure({ scrollback, top }: { readonly scrollback: boolean; readonly top?: number }): void {
		const emulator = this.#emulator;
		const { lines, ybase } = emulator.normal;
		let row = scrollback ? ybase : lines.length;
		// Spaces are no text, in whatever colour.
		while (row > ybase && textOfRow(lines.get(row - 1)!) === "") row--;
		const isBlank = row === ybase;
		const drawn = emulator.addressed;
		if (!scrollback) emulator.addressed = false;
		// With a reset the scrollback goes too.
		if (isBlank && (ybase === 0 || (!scrollback && top === undefined))) return;
		const start = startOfLine(emulator.normal, row - 1);
		const erasure: Erasure = {
			clears: this.#clears,
			end: emulator.lineOfRow(row - 1) + 1,
			top: top ?? emulator.lineOfRow(ybase),
			scrollback,
			drawn,
			last: joinRows(emulator.normal, start, Math.min(row, start + MAX_LAST_CHARS)).slice(0, MAX_LAST_CHARS),
		};
		this.#erasures = [...this.#erasures.slice(1 - MAX_ERASURES), erasure];
	}

	#checkpoint(): void {
		const { droppedRows, normal } = this.#emulator;
		const row = droppedRows + normal.ybase + normal.y;
		const last = this.#checkpoints.at(-1);
		if (last && last.row >= row) return;
		this.#checkpoints.push({ row, offset: this.#offset });
		if (this.#checkpoints[0]!.row < droppedRows) {
			const kept = this.#checkpoints.findIndex((point) => point.row >= droppedRows);
			this.#checkpoints.splice(0, kept < 0 ? this.#checkpoints.length : kept);
		}
	}

	/** An offset at or after the end of everything that was dropped. */
	#keptFrom(): number {
		const { droppedRows } = this.#emulator;
		return this.#checkpoints.find(({ row }) => row >= droppedRows)?.offset ?? this.#offset;
	}
}
