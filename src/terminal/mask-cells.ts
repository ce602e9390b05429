// Known secrets on a drawn screen become stars in its cells, so that nothing that is read from them (text, pictures,
// saved screens, transcripts) has them. The holder has masked what came in one piece; a line editor may put
// a secret together by moving the cursor, or wrap it by itself.

import { secretsIn } from "../protocol/masking.ts";
import { type Cell, type Grid, rowAt } from "./grid.ts";

const STAR = 0x2a;
/** Of a cell's content: the character, and whether it is one of several; the rest is its width. */
const CHARACTER = 0x3f_ffff;

/** Masks the rows from this one on, and those that it continues. */
export function maskCells(grid: Grid, from: number, cell: Cell): void {
	let first = Math.max(0, from);
	while (first > 0 && runsOn(grid, first - 1)) first--;
	for (let row = first; row < grid.lines.length; ) {
		let text = "";
		const start = row;
		do text += grid.lines.get(row)?.translateToString(true) ?? "";
		while (runsOn(grid, row++));
		const found = secretsIn(text);
		if (found.length > 0) maskLine(grid, { start, end: row, found, cell });
	}
}

/** The next row continues this one: it was wrapped, or it is full, which looks the same. */
function runsOn(grid: Grid, row: number): boolean {
	const next = rowAt(grid, row + 1);
	if (next === undefined) return false;
	return next.isWrapped || grid.lines.get(row)?.getTrimmedLength() === next.length;
}

interface Line {
	readonly start: number;
	readonly end: number;
	readonly found: ReturnType<typeof secretsIn>;
	readonly cell: Cell;
}

function maskLine(grid: Grid, { start, end, found, cell }: Line): void {
	let at = 0;
	for (let index = start; index < end; index++) {
		const row = grid.lines.get(index)!;
		const width = row.getTrimmedLength();
		for (let column = 0; column < width; column++) {
			row.loadCell(column, cell);
			if (cell.getWidth() === 0) continue; // the second half of a wide character
			const chars = cell.getChars().length || 1;
			const isSecret = found.some(([from, to]) => at < to && at + chars > from);
			at += chars;
			if (!isSecret) continue;
			cell.content = (cell.content & ~CHARACTER) | STAR;
			row.setCell(column, cell);
		}
	}
}
