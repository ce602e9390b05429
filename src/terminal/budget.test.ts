import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { estimateTokens, fit } from "./budget.ts";

describe("R2.6 text within a number of tokens", () => {
	test("what fits is left alone", () => {
		expect(fit("short", 100)).toEqual({ text: "short", truncated: false, leftOut: null });
	});

	test("head and tail stay, the cut shows what was left out and how to get it", () => {
		const lines = Array.from({ length: 1000 }, (_, i) => `line ${i}`);
		const { text, truncated, leftOut } = fit(lines.join("\n"), 100, {
			mark: (what) => `[… ${what}: look elsewhere …]`,
		});
		expect(truncated).toBe(true);
		expect(text).toMatch(/^line 0\nline 1\n/);
		expect(text).toMatch(/\nline 998\nline 999$/);
		expect(text).toContain(`[… ${leftOut!.lines} lines, ${leftOut!.chars} characters: look elsewhere …]`);
		const kept = text.split("\n").filter((line) => line.startsWith("line"));
		expect(kept.length + leftOut!.lines).toBe(1000);
	});

	test("one endless line is cut inside, never inside a character", () => {
		const { text } = fit("🦀".repeat(5000), 100);
		expect(text).not.toMatch(/\p{Cs}/u);
		expect(estimateTokens(text)).toBeLessThanOrEqual(100);
	});

	test("a better count decides", () => {
		const words = (text: string) => text.split(/\s+/).length;
		const { text } = fit("word ".repeat(5000), 60, { count: words });
		expect(words(text)).toBeLessThanOrEqual(60);
		expect(words(text)).toBeGreaterThan(30);
	});

	test("the result is within the budget, whatever the text", () => {
		fc.assert(
			fc.property(
				fc.array(fc.string({ unit: "grapheme", maxLength: 80 }), { maxLength: 80 }),
				fc.integer({ min: 40, max: 500 }),
				(lines, max) => {
					const text = lines.join("\n");
					const fitted = fit(text, max);
					expect(estimateTokens(fitted.text)).toBeLessThanOrEqual(max);
					expect(fitted.truncated).toBe(estimateTokens(text) > max);
				},
			),
		);
	});
});
