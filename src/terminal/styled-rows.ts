// The screen with its colours, as runs of equal style: for pictures and viewers.

import type { Emulator } from "./emulator.ts";
import type { Cell } from "./grid.ts";

/** Null: the theme's own · 0–255: of the palette · `#rrggbb`. */
export type Color = number | string | null;

export interface Run {
	readonly column: number;
	/** In cells. */
	readonly width: number;
	readonly text: string;
	/** One character that is wide or made of several code points; otherwise each cell has one. */
	readonly alone: boolean;
	readonly foreground: Color;
	readonly background: Color;
	readonly inverse: boolean;
	readonly bold: boolean;
	readonly dim: boolean;
	readonly italic: boolean;
	readonly underline: boolean;
	readonly strike: boolean;
}

const rgb = (value: number) => `#${value.toString(16).padStart(6, "0")}`;
/** Bold text in one of the first eight colours is bright, as on most terminals: dialog's frames count on it. */
const foregroundOf = (cell: Cell): Color => {
	if (cell.isFgRGB()) return rgb(cell.getFgColor());
	if (!cell.isFgPalette()) return null;
	const color = cell.getFgColor();
	return cell.isBold() && color < 8 ? color + 8 : color;
};
const backgroundOf = (cell: Cell): Color =>
	cell.isBgRGB() ? rgb(cell.getBgColor()) : cell.isBgPalette() ? cell.getBgColor() : null;

/** A part of the screen, in cells from 0. */
export interface Area {
	readonly row: number;
	readonly rows: number;
	readonly column: number;
	readonly cols: number;
}

/** Columns count from the area's first. */
export function styledRowsOf(emulator: Emulator, area: Area): Run[][] {
	const grid = emulator.active;
	const cell = emulator.newCell();
	return Array.from({ length: area.rows }, (_, y) => {
		const row = grid.lines.get(grid.ybase + area.row + y);
		const runs: Run[] = [];
		if (!row) return runs;
		let style = "";
		for (let x = area.column; x < area.column + area.cols; x++) {
			row.loadCell(x, cell);
			const width = cell.getWidth();
			if (width === 0) continue;
			const chars = cell.isInvisible() ? " " : cell.getChars() || " ";
			// A wide character or a cluster gets its own run: fonts differ in its width.
			const alone = width > 1 || chars.length > 1;
			const key = alone ? "" : `${cell.fg},${cell.bg}`;
			const last = runs.at(-1);
			if (last && key !== "" && key === style) {
				runs[runs.length - 1] = { ...last, width: last.width + width, text: last.text + chars };
				continue;
			}
			style = key;
			runs.push({
				column: x - area.column,
				width,
				text: chars,
				alone,
				foreground: foregroundOf(cell),
				background: backgroundOf(cell),
				inverse: cell.isInverse() !== 0,
				bold: cell.isBold() !== 0,
				dim: cell.isDim() !== 0,
				italic: cell.isItalic() !== 0,
				underline: cell.isUnderline() !== 0,
				strike: cell.isStrikethrough() !== 0,
			});
		}
		return runs;
	});
}
