// The whole screen: rows, cursor, highlights, links.

import { clean } from "../protocol/clean.ts";
import type { Emulator } from "./emulator.ts";
import { type Highlight, highlightsOf } from "./highlights.ts";
import type { Link } from "./links.ts";
import { joinRows, textOfRow } from "./rows.ts";
import type { Cursor } from "./screen-diff.ts";

export interface Snapshot {
	readonly cols: number;
	readonly rows: number;
	readonly buffer: "normal" | "alternate";
	readonly cursor: Cursor;
	/** The grid: one text per row, trailing blanks removed. A wide character fills two columns. */
	readonly lines: readonly string[];
	/** `wrapped[i]`: row i continues row i-1. */
	readonly wrapped: readonly boolean[];
	/** For a model: soft-wrapped rows joined, clean, no empty rows at the end. */
	readonly text: string;
	readonly removed: number;
	readonly highlights: readonly Highlight[];
	readonly links: readonly Link[];
	/** Rows above the screen that can still be read. */
	readonly scrollback: number;
	/** Bytes that had been fed. */
	readonly offset: number;
}

export function snapshotOf(
	emulator: Emulator,
	{ cursor, links, offset }: { cursor: Cursor; links: readonly Link[]; offset: number },
): Snapshot {
	const grid = emulator.active;
	const lines: string[] = [];
	const wrapped: boolean[] = [];
	const joined: string[] = [];
	for (let y = 0; y < emulator.rows; y++) {
		const at = grid.ybase + y;
		const row = grid.lines.get(at);
		const keep = y === cursor.row ? cursor.column : 0;
		lines.push(row ? textOfRow(row, keep) : "");
		// A row that continues one above the screen still starts the text here.
		wrapped.push(y > 0 && row?.isWrapped === true);
	}
	for (let y = 0; y < lines.length; ) {
		let end = y + 1;
		while (end < lines.length && wrapped[end]) end++;
		joined.push(end === y + 1 ? lines[y]! : joinRows(grid, grid.ybase + y, grid.ybase + end, cursorColumn(y, end)));
		y = end;
	}
	function cursorColumn(from: number, to: number) {
		return cursor.row === to - 1 && cursor.row >= from ? cursor.column : 0;
	}
	const { text, removed } = clean(joined.join("\n").replace(/\n+$/, ""));
	return {
		cols: emulator.cols,
		rows: emulator.rows,
		buffer: emulator.alternate ? "alternate" : "normal",
		cursor,
		lines,
		wrapped,
		text,
		removed,
		highlights: highlightsOf(emulator, grid),
		links,
		scrollback: grid.ybase,
		offset,
	};
}
