import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { lineMatcher, requiredTexts } from "./line-pattern.ts";

describe("T2 the lines that match a pattern", () => {
	const piece = fc.constantFrom(
		...[
			"a",
			"b",
			"ab",
			".",
			".*",
			".*?",
			".+",
			"^",
			"$",
			"\\s",
			"\\S",
			"\\d",
			"\\D",
			"\\w",
			"\\W",
			"\\b",
			"\\B",
			"\\n",
			"|",
		],
		...[
			"[^a]",
			"[^-a]",
			"[^]",
			"[\\s\\S]",
			"[\\x00-b]",
			"[ab\\]]",
			"[^\\n]",
			"\\x0a",
			"\\u000a",
			"\\012",
			"\\cJ",
			"\n",
			"\\r",
		],
		...["(?:a|\\s)", "(a)\\1", "(?=[^b])", "(?!\\s)", "(?<=\\W)", "(?<!^)", "é", " "],
	);
	const quantified = fc
		.tuple(piece, fc.constantFrom("", "", "", "*", "?", "+", "{2}", "+?"))
		.map(([atom, quantifier]) => atom + quantifier);
	const pattern = fc.array(quantified, { minLength: 1, maxLength: 6 }).map((pieces) => pieces.join(""));
	const line = fc
		.array(fc.constantFrom("a", "b", "ab", " ", "1", "-", "é", "."), { maxLength: 6 })
		.map((all) => all.join(""));

	test("are those that match alone", () => {
		let found = 0;
		fc.assert(
			fc.property(pattern, fc.array(line, { minLength: 1, maxLength: 12 }), fc.nat(12), (source, lines, cut) => {
				let alone: RegExp;
				try {
					alone = new RegExp(source, "m");
				} catch {
					return;
				}
				const expected = lines.flatMap((text, i) => (alone.test(text) ? [i] : []));
				const text = lines.join("\n");
				const ends = [
					...lineMatcher(source)(cut === 0 ? [text] : [lines.slice(0, cut).join("\n"), ...lines.slice(cut)]),
				];
				expect(ends.map((end) => text.slice(0, end).split("\n").length - 1)).toEqual(expected);
				for (const end of ends) expect(["\n", ""]).toContain(text.charAt(end));
				found += expected.length;
			}),
			{ numRuns: 5000 },
		);
		expect(found).toBeGreaterThan(1000);
	});

	test.each([
		["[0-9]{4}[.]c", ["unit_1234.c", "unit_123.c", "1234", ".c", "12345.cc", "x"], [0, 4]],
		["^.ab$", ["ab", "xab", "xxab", "xabx", "aab"], [1, 4]],
		["\\d\\d ms\\b", ["9 ms", "12 ms", "12 msec", "x99 ms)", " ms"], [1, 3]],
		["(?i)\\dAB", ["1ab", "2Ab", "ab", "ab1"], [0, 1]],
	])("%s: a text behind something else", (pattern, lines, expected) => {
		const text = lines.join("\n");
		const ends = [...lineMatcher(pattern)([text])];
		expect(ends.map((end) => text.slice(0, end).split("\n").length - 1)).toEqual(expected);
	});
});

describe("T2 texts that every match holds", () => {
	test.each([
		["error", [["error"]]],
		["^\\d+ errors? in (foo|bar) of it$", [[" error"], [" in "], [" of it"]]],
		["a|b", []],
		["error:|warning: .*x", [["error:", "warning: "]]],
		["error|.", []],
		["(error)", []],
		["x{3}error", [["error"]]],
		["errors*", [["error"]]],
		["err{0,3}or", [["er"], ["or"]]],
		["err+or", [["err"], ["or"]]],
		["1\\.2\\.3 is out", [["1.2.3 is out"]]],
		["\\x41\\x42error", []],
		["[error]+: no", [[": no"]]],
		["[0-9]{4}[.]c", [[".c"]]],
		["(a[)]b|c) then", [[" then"]]],
		["naïve", [["naïve"]]],
		["(?i)naïve Error", [["na"], ["ve Error"]]],
	])("of %s are %j", (pattern, texts) => {
		expect(requiredTexts(pattern)).toEqual(texts);
	});

	test("is in every text that matches", () => {
		const piece = fc.constantFrom(
			"ab",
			"a",
			"b",
			"\\.",
			".",
			"[ab]",
			"(?:ab|c)",
			"(b)",
			"\\w",
			"\\b",
			"c",
			"^",
			"$",
			"|",
			"{1,",
			"é",
		);
		const quantified = fc
			.tuple(piece, fc.constantFrom("", "", "", "*", "?", "+", "{0,2}", "{2}", "+?", "*?"))
			.map(([a, b]) => a + b);
		const pattern = fc.array(quantified, { minLength: 1, maxLength: 7 }).map((pieces) => pieces.join(""));
		const text = fc
			.array(fc.constantFrom("a", "b", "c", ".", "é", "{1,", " "), { maxLength: 12 })
			.map((all) => all.join(""));
		let checked = 0;
		fc.assert(
			fc.property(pattern, fc.array(text, { minLength: 5, maxLength: 20 }), (source, texts) => {
				let compiled: RegExp;
				try {
					compiled = new RegExp(source, "m");
				} catch {
					return;
				}
				const choices = requiredTexts(source);
				for (const candidate of texts) {
					if (choices.length === 0 || !compiled.test(candidate)) continue;
					checked++;
					for (const choice of choices) expect(choice.some((text) => candidate.includes(text))).toBe(true);
				}
			}),
			{ numRuns: 3000 },
		);
		expect(checked).toBeGreaterThan(100);
	});
});
