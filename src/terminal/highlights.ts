// What stands out: reverse video, or a background that differs from the rows around.
//
// Menus show which item is selected by colour alone (dialog, whiptail, htop, mc, fzf), so
// plain text hides it. A status bar stands out too: we report, we do not interpret.

import type { Emulator } from "./emulator.ts";
import { type Grid, isOnDefaultBackground } from "./grid.ts";
import { BACKGROUND, backgroundOf } from "./rows.ts";

export interface Highlight {
	/** Row and columns of the screen, from 0; `to` is exclusive. */
	readonly row: number;
	readonly from: number;
	readonly to: number;
	readonly text: string;
	readonly how: "reverse" | "background";
}

/** A band of colour taller than this is a panel, not a selected item. */
const MAX_BAND_ROWS = 2;
const MAX_GAP = 3;
const MAX_HIGHLIGHTS = 60;

export function highlightsOf(emulator: Emulator, grid: Grid): Highlight[] {
	const { cols, rows } = emulator;
	const backgrounds = new Int32Array(cols * rows);
	const reversed = new Uint8Array(cols * rows);
	const cell = emulator.newCell();
	let reversedCells = 0;
	let anything = false;
	for (let y = 0; y < rows; y++) {
		const row = grid.lines.get(grid.ybase + y);
		if (!row) continue;
		for (let x = 0; x < cols; x++) {
			if (isOnDefaultBackground(row, x)) continue;
			const background = backgroundOf(row.loadCell(x, cell));
			anything = true;
			backgrounds[y * cols + x] = background;
			if (cell.isInverse()) {
				reversed[y * cols + x] = 1;
				reversedCells++;
			}
		}
	}
	if (!anything) return [];
	// A program that draws everything reversed means nothing by it.
	const reverseMeans = reversedCells * 2 < cols * rows;

	const bandRows = (x: number, y: number) => {
		const background = backgrounds[y * cols + x];
		let top = y;
		let bottom = y;
		while (top > 0 && backgrounds[(top - 1) * cols + x] === background) top--;
		while (bottom < rows - 1 && backgrounds[(bottom + 1) * cols + x] === background) bottom++;
		return bottom - top + 1;
	};

	// Without their texts: a row of many colours is joined cell by cell.
	const found: Omit<Highlight, "text">[] = [];
	const textOf = ({ row, from, to }: Omit<Highlight, "text">) =>
		grid.lines
			.get(grid.ybase + row)
			?.translateToString(false, from, to)
			.trim() ?? "";
	const withTexts = () => found.map((one) => ({ ...one, text: textOf(one) }));
	for (let y = 0; y < rows; y++) {
		const row = grid.lines.get(grid.ybase + y);
		if (!row) continue;
		for (let from = 0, to = 0; from < cols; from = to) {
			const at = y * cols + from;
			for (to = from + 1; to < cols && backgrounds[y * cols + to] === backgrounds[at]; ) to++;
			const background = backgrounds[at]!;
			if (background === BACKGROUND.normal) {
				// The default colour marks the selection only inside a coloured panel.
				const before = from > 0 ? backgrounds[at - 1]! : BACKGROUND.normal;
				const after = to < cols ? backgrounds[y * cols + to]! : BACKGROUND.normal;
				if (before === BACKGROUND.normal || before !== after) continue;
			}
			const how = reversed[at] && reverseMeans ? "reverse" : "background";
			if (how === "background" && bandRows((from + to) >> 1, y) > MAX_BAND_ROWS) continue;
			if (row.translateToString(false, from, to).trim() === "") continue;
			const last = found.at(-1);
			// A tag and its item, or words on a bar: blanks in between do not split them.
			if (
				last?.row === y &&
				last.how === how &&
				from - last.to <= MAX_GAP &&
				row.translateToString(false, last.to, from).trim() === ""
			) {
				found[found.length - 1] = { ...last, to };
				continue;
			}
			// One more would not be shown.
			if (found.length === MAX_HIGHLIGHTS) return withTexts();
			found.push({ row: y, from, to, how });
		}
	}
	return withTexts();
}
