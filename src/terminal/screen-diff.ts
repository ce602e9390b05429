// What is new since a position: most of what an agent reads.
//
// Line output: every new logical line, and every line that changed since, once, in its
// current form. So an answered prompt is shown again with its answer, unless the reader
// itself typed the answer, and a progress bar of 2000 frames is one line. After the screen
// was cleared: its current content, and whether there was more that went unseen.
// Full-screen programs (the alternate screen): the rows that changed, or the whole
// screen when that is shorter.
//
// The reader keeps its position; the screen has no list of readers. Positions name logical
// lines by number, and numbers are stable across scrolling, trimming and resize.

import { clean } from "../protocol/clean.ts";
import { type Emulator, LIMITS } from "./emulator.ts";
import { type Highlight, highlightsOf } from "./highlights.ts";
import { joinRows, lineStarts, rowHash, startOfLine, textOfRow } from "./rows.ts";

/** How far a reader has read. Plain JSON, opaque to the reader. */
export interface Position {
	readonly version: 1;
	/** Bytes that had been fed when its lines were seen. */
	readonly offset: number;
	/** The first logical line not seen yet. */
	readonly end: number;
	/** The hashes of the lines before `end` that could still change, the first of them being line `first`. */
	readonly first: number;
	readonly hashes: readonly number[];
	/** How often the screen had been cleared. */
	readonly clears: number;
	/** The line that the cursor was on, as it was seen: what is typed is echoed behind it. Null where it was very long. */
	readonly prompt: { readonly line: number; readonly text: string } | null;
	/** The full-screen program's screen as it was seen. */
	readonly screen: { readonly id: number; readonly cols: number; readonly hashes: readonly number[] } | null;
}

export interface ScreenDiff {
	/** `lines`: line output · `screen`: all rows of the screen · `rows`: those that changed, numbered from 1. */
	readonly kind: "lines" | "screen" | "rows";
	/** For a model: clean, ready to show. Empty when nothing is new. */
	readonly text: string;
	/** The line before `text` that is nothing but the prompt as it was seen and what the reader typed; null if there is none. */
	readonly echo: string | null;
	/** Characters removed by cleaning. */
	readonly removed: number;
	/** With `rows`: the screen rows, from 0. */
	readonly changedRows: readonly number[];
	readonly buffer: "normal" | "alternate";
	readonly cursor: Cursor;
	/**
	 * Highlights in `text`. Line output is full of coloured badges, so there only redrawn lines count (a menu),
	 * or everything while the program hides the cursor.
	 */
	readonly highlights: readonly Highlight[];
	/** Lines that are no longer in the scrollback, or too long to be shown whole: read these bytes from the journal. */
	readonly missed: { readonly lines: number; readonly from: number; readonly to: number } | null;
	/** What was erased unseen, and is in the transcript only. */
	readonly erased: {
		/** Line by line, and once: to be read like other lines. Otherwise programs drew one screen after another. */
		readonly printed: boolean;
		/** What is new of the present screen, and how many lines the cursor is below the first of it. */
		readonly current: string;
		readonly cursorLine: number;
	} | null;
	/** `text` covers output up to this offset. */
	readonly offset: number;
	readonly position: Position;
}

export interface Cursor {
	/** On the screen, from 0. */
	readonly row: number;
	readonly column: number;
	readonly visible: boolean;
}

/** A screen, or a scrollback, that was erased with text on it. */
export interface Erasure {
	/** How often the screen had been cleared before. */
	readonly clears: number;
	/** The line after its last one with text, and that one. */
	readonly end: number;
	readonly last: string;
	/** The first line of the screen that follows: erased lines give their numbers away. */
	readonly top: number;
	readonly scrollback: boolean;
	/** By addressing rows, not line by line. */
	readonly drawn: boolean;
}

/** What a diff needs beyond the grid. */
export interface ScreenMeta {
	readonly offset: number;
	readonly clears: number;
	/** Which activation of the alternate screen this is. */
	readonly screenId: number;
	/** Lines before this one were erased on purpose, not lost to the scrollback's limit. */
	readonly erasedBefore: number;
	/** The latest, oldest first. */
	readonly erasures: readonly Erasure[];
	readonly cursor: Cursor;
	/** The offset after which every kept line began. */
	readonly keptFrom: () => number;
	/** Left out where only the text is wanted: they cost as much as the rest. */
	readonly highlights: boolean;
	/** The line that the reader typed and entered since. */
	readonly typed: string | undefined;
}

/** Of a line without an end only the rows that can be on the screen change, and are shown. */
const HASHED_ROWS = LIMITS.rows.max;

/** Positions are kept for every reader. */
const MAX_PROMPT_CHARS = 400;

const UNSEEN: Position = { version: 1, offset: 0, end: 0, first: 0, hashes: [], clears: 0, prompt: null, screen: null };

export function diffScreen(emulator: Emulator, meta: ScreenMeta, since: Position | null): ScreenDiff {
	return emulator.alternate
		? diffFullScreen(emulator, meta, since ?? UNSEEN)
		: diffLines(emulator, meta, since ?? UNSEEN);
}

function diffLines(emulator: Emulator, meta: ScreenMeta, since: Position): ScreenDiff {
	const grid = emulator.normal;
	const starts = lineStarts(grid);
	const kept = emulator.droppedLines;
	const cursorRow = grid.ybase + grid.y;
	const rowsOf = (index: number) => [starts[index]!, starts[index + 1] ?? grid.lines.length] as const;
	const ends = new Map<number, string>();
	/** A line, of a very long one its end. */
	const textOf = (index: number): string => {
		const known = ends.get(index);
		if (known !== undefined) return known;
		const [first, to] = rowsOf(index);
		const from = Math.max(first, to - HASHED_ROWS);
		const text =
			cursorRow < from || cursorRow >= to
				? joinRows(grid, from, to)
				: joinRows(grid, from, cursorRow + 1, grid.x) + joinRows(grid, cursorRow + 1, to);
		ends.set(index, text);
		return text;
	};

	let count = starts.length;
	while (count > 0 && textOf(count - 1) === "") count--;

	const screenTop = starts.indexOf(startOfLine(grid, grid.ybase));
	const cleared = since.clears !== meta.clears;
	const cursorIndex = starts.findLastIndex((row) => row <= cursorRow);
	// Exactly what was seen with what was typed, and nothing that changed above it.
	const isEcho = (index: number, text: string) =>
		shown.length === 0 &&
		!cleared &&
		meta.typed !== undefined &&
		since.prompt?.line === kept + index &&
		index < cursorIndex &&
		text === `${since.prompt.text}${meta.typed}`.trimEnd();
	let echo: string | null = null;
	const unseen = erasedSince(meta, since);
	const shown: string[] = [];
	let before = 0;
	let cut = 0;
	const hashes: number[] = [];
	const redrawn = new Set<number>();
	const firstToCheck = Math.max(0, Math.min(since.first - kept, screenTop));
	for (let index = firstToCheck; index < count; index++) {
		const line = kept + index;
		const onScreen = index >= screenTop;
		const seenHash = line < since.end && !(cleared && onScreen) ? since.hashes[line - since.first] : undefined;
		const isNew = line >= since.end || (cleared && onScreen);
		if (!isNew && seenHash === undefined && !onScreen) continue;
		const [from, to] = rowsOf(index);
		const end = textOf(index);
		const hash =
			onScreen || seenHash !== undefined ? rowHash(emulator, grid, Math.max(from, to - HASHED_ROWS), to, end) : 0;
		if (onScreen) hashes.push(hash);
		if (to - from <= HASHED_ROWS && isEcho(index, end)) {
			echo = end;
			continue;
		}
		const changed = seenHash !== undefined && seenHash !== hash && end !== "";
		if (isNew || changed) shown.push(end);
		if (unseen !== null && line < unseen.top) before = shown.length;
		if ((isNew || changed) && to - from > HASHED_ROWS) cut++;
		if (!isNew && changed) {
			for (let row = from; row < to; row++) redrawn.add(row - grid.ybase);
		}
	}
	const printed = unseen !== null && unseen.screens <= 1 && !unseen.drawn && !emulator.addressed;
	// Cleared and drawn afresh with nothing above it: a screen (dialog and watch do without the alternate one).
	const drawn = cleared && !printed && (since !== UNSEEN || screenTop === 0);
	const { text, removed } = clean(shown.join("\n"));
	const anyCount = drawn || !meta.cursor.visible || redrawn.size > 0;
	const highlights = meta.highlights && anyCount ? highlightsOf(emulator, grid) : [];
	const lost = Math.max(0, kept - Math.max(since.end, meta.erasedBefore)) + cut;
	return {
		kind: drawn ? "screen" : "lines",
		text,
		echo: echo === null ? null : clean(echo).text,
		removed,
		changedRows: [],
		buffer: "normal",
		cursor: meta.cursor,
		highlights: highlights.filter(({ row }) => drawn || !meta.cursor.visible || redrawn.has(row)),
		// The offset of a kept line is known to a slice of output only: it may lie before what was seen.
		missed: lost > 0 ? { lines: lost, from: since.offset, to: Math.max(since.offset, meta.keptFrom()) } : null,
		erased: unseen && {
			printed,
			current: clean(shown.slice(before).join("\n")).text,
			cursorLine: kept + cursorIndex - unseen.top,
		},
		offset: meta.offset,
		position: {
			version: 1,
			offset: meta.offset,
			end: kept + count,
			first: kept + Math.min(screenTop, count),
			hashes,
			clears: meta.clears,
			prompt: promptAt(kept + cursorIndex, textOf(cursorIndex)),
			screen: null,
		},
	};
}

/** What was erased and not seen: on how many screens, whether these were drawn, and where the one that followed begins. */
function erasedSince({ erasures, typed }: ScreenMeta, since: Position) {
	let [seen, screens, top] = [since.end, 0, 0];
	let [any, drawn] = [false, false];
	for (const erasure of erasures.filter(({ clears }) => clears >= since.clears)) {
		const { end, last, scrollback } = erasure;
		const { prompt } = since;
		const isEcho =
			!any && typed !== undefined && prompt?.line === end - 1 && last === `${prompt.text}${typed}`.trimEnd();
		if (end > seen && !isEcho) {
			any = true;
			if (!scrollback) screens++;
			drawn ||= erasure.drawn;
		}
		seen = scrollback ? Math.max(seen, end) : erasure.top;
		top = erasure.top;
	}
	return any ? { screens, drawn, top } : null;
}

function diffFullScreen(emulator: Emulator, meta: ScreenMeta, since: Position): ScreenDiff {
	const grid = emulator.active;
	const texts: string[] = [];
	const hashes: number[] = [];
	for (let y = 0; y < emulator.rows; y++) {
		const row = grid.lines.get(grid.ybase + y);
		const text = row ? textOfRow(row) : "";
		texts.push(text);
		hashes.push(rowHash(emulator, grid, grid.ybase + y, grid.ybase + y + 1, text));
	}
	const seen = since.screen;
	const comparable = seen?.id === meta.screenId && seen.cols === emulator.cols && seen.hashes.length === hashes.length;
	const changedRows = comparable ? hashes.flatMap((hash, y) => (hash === seen.hashes[y] ? [] : [y])) : [];
	const whole = texts.join("\n").replace(/\n+$/, "");
	const parts = numbered(changedRows, texts);
	const asRows = comparable && (changedRows.length === 0 || parts.length < whole.length);
	const { text, removed } = clean(asRows ? parts : whole);
	const highlights = meta.highlights ? highlightsOf(emulator, grid) : [];
	return {
		kind: asRows ? "rows" : "screen",
		text,
		echo: null,
		removed,
		changedRows,
		buffer: "alternate",
		cursor: meta.cursor,
		highlights: highlights.filter(({ row }) => !asRows || changedRows.includes(row)),
		missed: null,
		erased: null,
		offset: meta.offset,
		// Lines of the normal buffer stay unseen.
		position: { ...since, screen: { id: meta.screenId, cols: emulator.cols, hashes } },
	};
}

const promptAt = (line: number, text: string): Position["prompt"] =>
	text.length > MAX_PROMPT_CHARS ? null : { line, text };

/** Rows with their numbers, from 1; consecutive empty ones are shown as a range. */
function numbered(rows: readonly number[], texts: readonly string[]): string {
	const parts: string[] = [];
	for (let i = 0; i < rows.length; i++) {
		const first = rows[i]!;
		while (texts[first] === "" && rows[i + 1] === rows[i]! + 1 && texts[rows[i + 1]!] === "") i++;
		parts.push(rows[i] === first ? `${first + 1}: ${texts[first]}` : `${first + 1}-${rows[i]! + 1}:`);
	}
	return parts.join("\n");
}
