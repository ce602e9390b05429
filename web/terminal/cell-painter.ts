// Draws a terminal's cells on a canvas: background runs, then text runs of one style.

import type { IBuffer, IBufferCell } from "@xterm/xterm";
import { PALETTE, THEME } from "../../src/terminal/colors.ts";
import { readable } from "../../src/terminal/contrast.ts";
import type { Grid } from "./fit.ts";
import { MONOSPACE } from "./theme.ts";

/** A stretch of cells with the same colours. */
export interface Run {
	readonly column: number;
	readonly cells: number;
	readonly text: string;
	readonly foreground: string;
	readonly background: string | null;
	readonly isBold: boolean;
}

const rgb = (value: number) => `#${value.toString(16).padStart(6, "0")}`;

function coloursOf(cell: IBufferCell): Pick<Run, "foreground" | "background" | "isBold"> {
	const text = cell.isFgRGB() ? rgb(cell.getFgColor()) : cell.isFgPalette() ? PALETTE[cell.getFgColor()]! : null;
	const behind = cell.isBgRGB() ? rgb(cell.getBgColor()) : cell.isBgPalette() ? PALETTE[cell.getBgColor()]! : null;
	const isBold = cell.isBold() !== 0;
	const [foreground, background] =
		cell.isInverse() !== 0
			? [behind ?? THEME.background, text ?? THEME.foreground]
			: [text ?? THEME.foreground, behind];
	return { foreground: readable(foreground, background ?? THEME.background), background, isBold };
}

/** The runs of one row; blank cells without a background are in none. */
export function runsOf(buffer: IBuffer, row: number, cols: number): readonly Run[] {
	const line = buffer.getLine(row);
	const runs: Run[] = [];
	let cell: IBufferCell | undefined;
	for (let column = 0; line !== undefined && column < cols; column++) {
		cell = line.getCell(column, cell);
		if (cell === undefined || cell.getWidth() === 0) continue;
		const text = cell.isInvisible() ? " " : cell.getChars() || " ";
		const colours = coloursOf(cell);
		if (text === " " && colours.background === null) continue;
		const cells = cell.getWidth();
		const before = runs.at(-1);
		// Only plain letters are surely one cell wide in every font: others are drawn where they belong, one by one.
		const joins =
			before !== undefined &&
			before.column + before.cells === column &&
			before.foreground === colours.foreground &&
			before.background === colours.background &&
			before.isBold === colours.isBold &&
			isPlain(text) &&
			isPlain(before.text);
		if (joins) runs[runs.length - 1] = { ...before, cells: before.cells + cells, text: before.text + text };
		else runs.push({ column, cells, text, ...colours });
	}
	return runs;
}

const isPlain = (text: string) => text.charCodeAt(text.length - 1) < 0x7f;

/** Letters are as wide as a cell: this is a monospaced font's usual shape. */
const FONT_PER_WIDTH = 1 / 0.602;
const CELL_RATIO = 2;

/** Narrow output is drawn larger, in few steps: letters must not change their size with each line. */
const WIDTHS = [60, 80];

/** A part of a screen, and the size of its cells. */
export interface Part {
	readonly firstRow: number;
	readonly rows: number;
	readonly cols: number;
	readonly cellWidth: number;
}

/** What a picture of this size shows: a full-screen program's whole screen, otherwise the newest lines. */
export function shownPart(buffer: IBuffer, grid: Grid, picture: { width: number; height: number }): Part {
	const whole = Math.min(picture.width / grid.cols, picture.height / grid.rows / CELL_RATIO);
	if (buffer.type === "alternate") return { firstRow: 0, ...grid, cellWidth: whole };
	let used = buffer.cursorY + 1;
	let widest = 0;
	for (let row = 0; row < grid.rows; row++) {
		const length = buffer.getLine(buffer.baseY + row)?.translateToString(true).length ?? 0;
		if (length > 0) used = Math.max(used, row + 1);
		widest = Math.max(widest, length);
	}
	const cols = Math.min(grid.cols, WIDTHS.find((width) => width >= widest) ?? grid.cols);
	const cellWidth = picture.width / cols;
	const rows = Math.min(grid.rows, Math.floor(picture.height / cellWidth / CELL_RATIO));
	return { firstRow: Math.max(0, Math.min(used, grid.rows) - rows), rows, cols, cellWidth };
}

export function paint(context: CanvasRenderingContext2D, buffer: IBuffer, grid: Grid): void {
	const { width, height } = context.canvas;
	context.fillStyle = THEME.background;
	context.fillRect(0, 0, width, height);
	const { firstRow, rows, cols, cellWidth } = shownPart(buffer, grid, context.canvas);
	const cellHeight = cellWidth * CELL_RATIO;
	const fontPx = cellWidth * FONT_PER_WIDTH;
	context.textBaseline = "middle";
	for (let row = 0; row < rows; row++) {
		const top = row * cellHeight;
		for (const run of runsOf(buffer, buffer.baseY + firstRow + row, cols)) {
			const left = run.column * cellWidth;
			const across = run.cells * cellWidth;
			if (run.background !== null) {
				context.fillStyle = run.background;
				context.fillRect(left, top, Math.ceil(across), Math.ceil(cellHeight));
			}
			if (run.text.trim() === "") continue;
			context.fillStyle = run.foreground;
			context.font = `${run.isBold ? "bold " : ""}${fontPx}px ${MONOSPACE}`;
			context.fillText(run.text, left, top + cellHeight / 2, across);
		}
	}
}
