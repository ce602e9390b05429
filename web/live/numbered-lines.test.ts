import { expect, test } from "vitest";
import { numberedText, searchResult } from "./numbered-lines.ts";

test("lines keep their numbers", () => {
	expect(numberedText({ text: "a\n\nc", lines: { from: 5, to: 7, total: 9 }, missed: null })).toEqual({
		from: 5,
		rows: ["a", "", "c"],
		total: 9,
	});
});

test("of an answer that was cut, the mark is no line", () => {
	const cut = { text: "a\nb\n[lines 7–9 …]", lines: { from: 5, to: 9, total: 9 }, missed: { from: 7, to: 9 } };
	expect(numberedText(cut).rows).toEqual(["a", "b"]);
});

test("lines that are not kept do not move those after them", () => {
	const { rows } = numberedText({ text: "[not kept]\nz", lines: { from: 1, to: 4, total: 4 }, missed: null });
	expect(rows).toEqual(["[not kept]", "[not kept]", "[not kept]", "z"]);
});

test("no lines are no rows", () => {
	expect(numberedText({ text: "", lines: { from: 1, to: 0, total: 0 }, missed: null }).rows).toEqual([]);
});

test("of a search the marks are left out and the count is that of all", () => {
	const text = "[30 of 32 matching lines]\n7: error: a\n12: error: 5: b";
	expect(searchResult({ text, missed: null, matches: { count: 32, shown: 2 } })).toEqual({
		count: 32,
		found: [
			{ number: 7, text: "error: a" },
			{ number: 12, text: "error: 5: b" },
		],
	});
});
