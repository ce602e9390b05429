// Which of very many rows of one height are in view. Browsers limit how tall an element
// may be (some 33 million pixels): beyond that, the scroll bar stands for a share of the rows.

const MAX_HEIGHT_PX = 8_000_000;

export interface Rows {
	readonly total: number;
	readonly rowPx: number;
	readonly viewPx: number;
}

export const heightOf = ({ total, rowPx }: Rows): number => Math.min(MAX_HEIGHT_PX, total * rowPx);

/** The first row in view, from 0, and how many fit (one more, for those that are cut). */
export function rowsInView(rows: Rows, scrollPx: number): { first: number; count: number } {
	const count = Math.ceil(rows.viewPx / rows.rowPx) + 1;
	const last = Math.max(0, rows.total - Math.floor(rows.viewPx / rows.rowPx));
	// Each row has its own place: the one that is cut at the top is the first.
	if (heightOf(rows) === rows.total * rows.rowPx)
		return { first: Math.min(last, Math.max(0, Math.floor(scrollPx / rows.rowPx))), count };
	const travel = heightOf(rows) - rows.viewPx;
	const share = travel <= 0 ? 0 : Math.min(1, Math.max(0, scrollPx / travel));
	return { first: Math.round(share * last), count };
}

/** Where to scroll so that a row is in the middle. */
export function scrollTo(rows: Rows, row: number): number {
	const fit = Math.floor(rows.viewPx / rows.rowPx);
	const last = Math.max(1, rows.total - fit);
	const first = Math.min(last, Math.max(0, row - Math.floor(fit / 2)));
	return (first / last) * Math.max(0, heightOf(rows) - rows.viewPx);
}
