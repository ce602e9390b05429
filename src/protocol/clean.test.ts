import fc from "fast-check";
import { expect, test } from "vitest";
import { clean } from "./clean.ts";

test("text for a model carries no escape, control, bidi or tag characters, and says how many there were", () => {
	expect(clean("a\x1b[31mb\u202ec\u{e0041}d\x9be\x00")).toEqual({ text: "a[31mbcde", removed: 5 });
	expect(clean("tab\tand\r\nline")).toEqual({ text: "tab\tand\nline", removed: 0 });
});

test("what people write stays", () => {
	const text = "漢字 é 👩‍👩‍👧 ❤️ می‌خواهم ─│┌ \u00a0x";
	expect(clean(text)).toEqual({ text, removed: 0 });
});

test("invisible carriers in a row are not left to carry anything", () => {
	const smuggled = clean(`x${"\ufe00\ufe01\ufe02".repeat(20)}y${"\u200d\u200c".repeat(20)}z`);
	expect(smuggled.text.length).toBeLessThanOrEqual(5);
	expect(smuggled.removed).toBeGreaterThan(90);
});

test("cleaning twice changes nothing", () => {
	fc.assert(
		fc.property(fc.string({ unit: "binary" }), (text) => {
			const once = clean(text).text;
			expect(clean(once)).toEqual({ text: once, removed: 0 });
			expect(once).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/);
		}),
	);
});
