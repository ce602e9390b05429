import { describe, expect, test } from "vitest";
import { lineMatcher, requiredTexts } from "./line-pattern.ts";
import { expression } from "./pattern.ts";
import { checkLinePattern } from "./pattern-dialect.ts";

const lines = (pattern: string, ...texts: readonly string[]) => [...lineMatcher(pattern)(texts)].length;

describe("the dialect of patterns", () => {
	test("flags at the beginning hold for all of it, in a wait and in a search", () => {
		for (const [pattern, text] of [
			["(?i)error", "an ERROR"],
			["(?im)^error: \\d+$", "well\nError: 3\nmore"],
			["(?s)begin.*end", "begin\nand\nend"],
			["(?m)^done", "well\ndone"],
		] as const)
			expect(expression(pattern).test(text), pattern).toBe(true);
		expect(expression("error").test("ERROR")).toBe(false);
		expect(expression("begin.*end").test("begin\nend")).toBe(false);
		expect(lines("(?i)error", "ERROR", "no", "Error 2")).toBe(2);
		expect(lines("(?i)warn|FATAL", "WARN\nfatal\nok")).toBe(2);
		// What it looks for first is found in any case.
		expect(requiredTexts("(?i)error")).toEqual([["error"]]);
	});

	test("a path is a pattern, too", () => {
		expect(expression("/usr/lib/").test("in /usr/lib/x")).toBe(true);
	});

	test("a pattern with a flag that goes over lines is found in pieces", () => {
		const matcher = expression("(?s)begin.*end");
		expect(["begin\n", "more\n", "end\n"].map((piece) => matcher.feed(piece))).toEqual([false, false, true]);
	});

	test.each([
		["(?x)a b", /only i, m and s/],
		["a(?i)b", /only be at the beginning/],
		["(?i:a)b", /only be at the beginning/],
		["(?P<n>a)", /\(\?<name>…\)/],
		["\\Aerror", /\\A is not known in JavaScript's regular expressions: use \^/],
		["error\\Z", /use \$/],
		["\\p{L}+", /list the characters/],
		["[[:space:]]+x", /\[:space:\] are not known/],
		["(", /Unterminated group/],
		["/>>>/i", /without slashes around it: \(\?i\)>>>;/],
		["/^done$/", /without slashes around it: \^done\$;/],
	])("%s is refused in words", (pattern, words) => {
		expect(() => expression(pattern)).toThrow(words);
		expect(() => lineMatcher(pattern)).toThrow(words);
	});

	test.each([["\\(?i"], ["(\\(?x)"], ["a\\.b\\/c\\-d"], ["\\\\A"], ["(?<n>a)\\k<n>"], ["(?:a|b)(?=c)(?!d)(?<=e)?"]])(
		"%s is what it was",
		(pattern) => {
			let expected = true;
			try {
				new RegExp(pattern);
			} catch {
				expected = false; // refused by both
			}
			if (expected) expect(() => expression(pattern)).not.toThrow();
		},
	);

	test.each([["a\\nb"], ["a\nb"], ["(?s)a.*b"], ["a[\\s\\S]*b"], ["a[^]*b"], ["a(?:.|\\r?\\n)*b"]])(
		"%j goes over lines, which a search of lines refuses in words",
		(pattern) => {
			expect(() => checkLinePattern(pattern)).toThrow(/lines are searched one by one/);
			expect(() => expression(pattern)).not.toThrow();
		},
	);

	test.each([["a\\sb"], ["[^\\n]*"], ["(?i)a.*b$"]])("%j stays in a line", (pattern) => {
		expect(() => checkLinePattern(pattern)).not.toThrow();
	});
});
