import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { estimateTokens, fit } from "./budget.ts";

const hashed = (i: number) => createHash("sha256").update(String(i)).digest("base64");
const BASE64 = Array.from({ length: 100 }, (_, i) => hashed(i)).join("");
const JAPANESE =
	"吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。何でも薄暗いじめじめした所でニャーニャー泣いていた事だけは記憶している。";
const LOG = [
	"2026-03-04T12:00:01.123Z INFO  [worker-7] GET /api/v1/users/4711 200 13ms\n",
	"2026-03-04T12:00:02.456Z ERROR [worker-7] connection refused: 10.0.0.17:5432 (retry in 5 s)\n",
].join("");

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

	// Counted once with o200k_base.
	test.each([
		["numbers", Array.from({ length: 3000 }, (_, i) => `${i + 1}\n`).join(""), 8001],
		[
			"numbered lines",
			Array.from({ length: 2000 }, (_, i) => `line ${String(i + 1).padStart(4, "0")}\n`).join(""),
			10_000,
		],
		["base64", BASE64, 3005],
		["Japanese", `${JAPANESE}\n`.repeat(40), 2440],
		["rare emoji", "🦀".repeat(1000), 3000],
		["spinners", "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ working\n".repeat(50), 1600],
		["a log", LOG.repeat(40), 3160],
	])("the estimate is close to the count of a tokenizer, and not below it: %s", (_, text, counted) => {
		expect(estimateTokens(text)).toBeGreaterThanOrEqual(counted * 0.95);
		expect(estimateTokens(text)).toBeLessThanOrEqual(counted * 1.3);
	});

	test("an estimate takes a time that grows with the text, whatever is in it", () => {
		const ms = (text: string) => {
			const before = process.cpuUsage();
			estimateTokens(text);
			return process.cpuUsage(before).user / 1000;
		};
		for (const unit of ["7", "x", "X", "_", "=", "a1", "é", "🦀", " "]) {
			estimateTokens(unit.repeat(20_000));
			expect(ms(unit.repeat(200_000)), unit).toBeLessThan(2000);
		}
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
