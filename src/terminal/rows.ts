// Reading the grid: rows as text, soft-wrapped rows joined to logical lines, and a
// hash that changes when a line does.

import type { Emulator } from "./emulator.ts";
import { type Cell, type Grid, isOnDefaultBackground, type Row, rowAt } from "./grid.ts";

/** Default colours, in the key space of `backgroundOf`. */
export const BACKGROUND = { normal: 0, reversed: 1 } as const;

/** A cell's background as one number; equal numbers look equal. */
export function backgroundOf(cell: Cell): number {
	const reversed = cell.isInverse() !== 0;
	const mode = reversed ? cell.getFgColorMode() : cell.getBgColorMode();
	if (mode === 0) return reversed ? BACKGROUND.reversed : BACKGROUND.normal;
	return 2 + (mode >>> 0) + (reversed ? cell.getFgColor() : cell.getBgColor());
}

/** A row as text; `keep` columns stay even if blank (up to the cursor, say). */
export function textOfRow(row: Row, keep = 0): string {
	const text = row.translateToString(true).trimEnd();
	if (keep === 0) return text;
	const kept = row.translateToString(false, 0, keep);
	return kept.length > text.length ? kept : text;
}

/** The row on which the logical line starts that `row` belongs to. */
export function startOfLine(grid: Grid, row: number): number {
	let start = row;
	while (start > 0 && grid.lines.get(start)?.isWrapped) start--;
	return start;
}

/**
 * A wide character that did not fit, with which the next row begins, leaves one empty cell: not a space. Other cells of a
 * row that another continues are real blanks.
 */
const leavesRoom = (row: Row, next: Row | undefined): boolean =>
	row.getTrimmedLength() === row.length - 1 && next?.getWidth(0) === 2;

/** Rows `from` to `to` (exclusive), of which each is continued by the next one, and the last as well. */
export function joinContinued(grid: Grid, from: number, to: number): string {
	let text = "";
	for (let i = from; i < to; i++) {
		const row = grid.lines.get(i);
		if (!row) break;
		text += row.translateToString(leavesRoom(row, rowAt(grid, i + 1)));
	}
	return text;
}

/** Rows `from` to `to` (exclusive) of one logical line, joined; `keep` columns of the last stay. */
export function joinRows(grid: Grid, from: number, to: number, keep = 0): string {
	const last = to > from ? grid.lines.get(to - 1) : undefined;
	const text = joinContinued(grid, from, to - 1) + (last === undefined ? "" : textOfRow(last, keep));
	// Not by an expression: /\s+$/ takes quadratic time on a line of blanks with something after them.
	return keep === 0 ? text.trimEnd() : text;
}

/** No prompt is longer; a line without an end fills the scrollback, and would be read for each verdict. */
const MAX_PROMPT_ROWS = 50;

/** The cursor's logical line, up to the cursor: the shape of a prompt. */
export function lineToCursor(grid: Grid): string {
	const at = grid.ybase + grid.y;
	const start = Math.max(startOfLine(grid, at), at - MAX_PROMPT_ROWS);
	return joinRows(grid, start, at, 1) + (grid.lines.get(at)?.translateToString(false, 0, grid.x) ?? "");
}

/** The first rows of all logical lines of a grid, in order. */
export function lineStarts(grid: Grid): number[] {
	const starts: number[] = [];
	for (let i = 0; i < grid.lines.length; i++) if (i === 0 || !grid.lines.get(i)?.isWrapped) starts.push(i);
	return starts;
}

const mix = (hash: number, value: number) => Math.imul(hash ^ value, 0x01000193);

/** The hashes of rows `from` to `to`: text and background. Trailing blanks do not count. */
export function rowHash(emulator: Emulator, grid: Grid, from: number, to: number, text: string): number {
	let hash = 0x811c9dc5;
	const end = text.trimEnd().length;
	for (let i = 0; i < end; i++) hash = mix(hash, text.charCodeAt(i));
	const cell = emulator.newCell();
	let column = 0;
	for (let i = from; i < to; i++) {
		const row = grid.lines.get(i);
		if (!row) break;
		const width = row.getTrimmedLength();
		for (let x = 0; x < width; x++, column++) {
			if (isOnDefaultBackground(row, x)) continue;
			hash = mix(mix(hash, column), backgroundOf(row.loadCell(x, cell)));
		}
	}
	return hash >>> 0;
}
