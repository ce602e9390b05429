import { expect, test } from "vitest";
import { heightOf, rowsInView, scrollTo } from "./virtual-rows.ts";

test.each([100, 5_000, 50_000_000])("of %d rows the first and the last can be reached", (total) => {
	const rows = { total, rowPx: 20, viewPx: 400 };
	expect(rowsInView(rows, 0)).toEqual({ first: 0, count: 21 });
	const { first } = rowsInView(rows, heightOf(rows) - rows.viewPx);
	expect(first).toBe(total - 20);
});

test.each([100, 50_000_000])("of %d rows any is in view after scrolling to it", (total) => {
	const rows = { total, rowPx: 20, viewPx: 400 };
	for (const row of [0, 1, Math.floor(total / 3), total - 1]) {
		const { first, count } = rowsInView(rows, scrollTo(rows, row));
		expect(row).toBeGreaterThanOrEqual(first);
		expect(row).toBeLessThan(first + count);
	}
});

test("a list that fits begins at its first row", () => {
	expect(rowsInView({ total: 3, rowPx: 20, viewPx: 400 }, 0).first).toBe(0);
});

test("the row at the top of the view is drawn, also near the end and where the view cuts a row", () => {
	const rows = { total: 481, rowPx: 19, viewPx: 523 };
	for (let row = 0; row <= 453; row++) {
		const { first, count } = rowsInView(rows, row * 19);
		expect(first).toBe(row);
		expect((first + count) * 19).toBeGreaterThanOrEqual(row * 19 + 523);
	}
	const { first, count } = rowsInView(rows, 481 * 19 - 523);
	expect([first, first + count >= 481]).toEqual([453, true]);
});
