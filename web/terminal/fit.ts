// How a terminal fits its pane. Who watches sees the session's own size, in letters as
// large as fit, but not too small to be read unless they want to see all of it: what does not
// fit is reached by scrolling. Who drives gives the session the size of the pane.

export interface Box {
	readonly width: number;
	readonly height: number;
}

/** Where a terminal is shown. */
export interface Pane extends Box {
	/** All of it is visible, however small its letters become. */
	readonly showsAll: boolean;
}

export interface Grid {
	readonly cols: number;
	readonly rows: number;
}

/** A cell's size per pixel of font size: letters grow in proportion. */
export interface CellShape {
	readonly width: number;
	readonly height: number;
}

/** 120 columns fit on a phone, for the whole picture. */
const MIN_FONT_PX = 5;
/** Smaller letters are seen and not read. */
export const READABLE_FONT_PX = 10.5;
const MAX_FONT_PX = 17;
const MIN_GRID: Grid = { cols: 20, rows: 5 };
const MAX_GRID: Grid = { cols: 500, rows: 200 };

/** The largest font, in half pixels, that fits. It must be tried: cells are whole pixels and do not grow in proportion. */
export function largestFont(fits: (fontPx: number) => boolean): number {
	let [least, most] = [2 * MIN_FONT_PX, 2 * MAX_FONT_PX];
	while (least < most) {
		const middle = Math.ceil((least + most) / 2);
		if (fits(middle / 2)) least = middle;
		else most = middle - 1;
	}
	return least / 2;
}

/** How far to scroll so that a stretch is in view: not at all where it is. */
export function scrollToShow(
	scroll: number,
	room: number,
	stretch: { readonly from: number; readonly to: number },
): number {
	if (stretch.from < scroll) return Math.max(0, stretch.from);
	return Math.max(scroll, stretch.to - room);
}

/** The grid that fills the pane with a font of this size. */
export function gridToFill(pane: Box, cell: CellShape, fontPx: number): Grid {
	const within = (value: number, least: number, most: number) => Math.min(most, Math.max(least, Math.floor(value)));
	return {
		cols: within(pane.width / (cell.width * fontPx), MIN_GRID.cols, MAX_GRID.cols),
		rows: within(pane.height / (cell.height * fontPx), MIN_GRID.rows, MAX_GRID.rows),
	};
}
