// Where a program that draws for itself takes input: what tells a text field and a full screen from lines of output.

import type { Emulator } from "./emulator.ts";
import { isReversed } from "./grid.ts";

/** How many rows below the cursor the last row of the screen is, where it has text: a status line. Otherwise 0. */
export function footerBelow({ active: grid, rows }: Emulator): number {
	const lastRow = grid.lines.get(grid.ybase + rows - 1);
	return lastRow !== undefined && lastRow.getTrimmedLength() > 0 ? rows - 1 - grid.y : 0;
}

/** Nothing is drawn below the cursor, unless on the last row, and the cursor is above that: output ends there. */
export function endsAtCursor({ active: grid, rows }: Emulator): boolean {
	for (let y = grid.y + 1; y < rows - 1; y++)
		if ((grid.lines.get(grid.ybase + y)?.getTrimmedLength() ?? 0) > 0) return false;
	return grid.y < rows - 1;
}

/** There is no text on the screen. */
export function isBlank({ active: grid, rows }: Emulator): boolean {
	for (let y = 0; y < rows; y++) if ((grid.lines.get(grid.ybase + y)?.getTrimmedLength() ?? 0) > 0) return false;
	return true;
}

/** A single cell of the screen is in reverse video: with the real cursor hidden it is the program's own. */
export function hasDrawnCursor({ active: grid, cols, rows }: Emulator): boolean {
	let found = 0;
	for (let y = 0; y < rows && found < 2; y++) {
		const row = grid.lines.get(grid.ybase + y);
		for (let x = 0; row !== undefined && x < cols && found < 2; x++) if (isReversed(row, x)) found++;
	}
	return found === 1;
}
