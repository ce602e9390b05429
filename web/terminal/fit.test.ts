import { expect, test } from "vitest";
import { gridToFill, largestFont, scrollToShow } from "./fit.ts";
import { keySequence, withControl } from "./key-bar.ts";
import { safeTarget } from "./links.ts";

const cell = { width: 0.6, height: 1.2 };

test("who watches sees all of the session's grid, in the largest letters that fit", () => {
	for (const largest of [5, 5.5, 9, 12.5, 16.5, 17]) expect(largestFont((fontPx) => fontPx <= largest)).toBe(largest);
	expect(largestFont(() => true)).toBe(17);
	expect(largestFont(() => false)).toBe(5);
});

test("it is scrolled as far as needed to see a stretch, and no further", () => {
	const shown = (from: number, to: number) => scrollToShow(100, 300, { from, to });
	expect([shown(120, 380), shown(80, 110), shown(-20, 40), shown(390, 420)]).toEqual([100, 80, 0, 120]);
});

test("who drives has the grid that fills the pane, within what a session may have", () => {
	expect(gridToFill({ width: 840, height: 600 }, cell, 14)).toEqual({ cols: 100, rows: 35 });
	expect(gridToFill({ width: 10, height: 10 }, cell, 14)).toEqual({ cols: 20, rows: 5 });
});

test("the bar's keys are what a keyboard sends", () => {
	expect([keySequence("Up", false), keySequence("Up", true), keySequence("Esc", true)]).toEqual([
		"\x1b[A",
		"\x1bOA",
		"\x1b",
	]);
	expect([withControl("c"), withControl("C"), withControl(" "), withControl("é")]).toEqual(["\x03", "\x03", "\0", "é"]);
});

test("only http and https targets can be opened", () => {
	expect(safeTarget("https://example.org/a")?.host).toBe("example.org");
	for (const text of ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "nothing", "ssh://host"])
		expect(safeTarget(text), text).toBeNull();
});
