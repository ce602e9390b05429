// Where a program that draws for itself takes input: what tells a text field and a full screen from lines of output.

import type { Emulator } from "./emulator.ts";
import { isReversed } from "./grid.ts";

/** There is text on the last row of the screen, below the cursor: a status line. */
export function hasFooter({ active: grid, rows }: Emulator): boolean {
	return grid.y < rows - 1 && (grid.lines.get(grid.ybase + rows - 1)?.getTrimmedLength() ?? 0) > 0;
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
