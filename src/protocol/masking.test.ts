import { expect, test } from "vitest";
import { clean, oneLine } from "./clean.ts";
import { knownSpellings, learn, masked } from "./masking.ts";

test("R4.9 known values are masked in text, one star for each character, also over line ends", () => {
	const text = "before correct-horse after";
	expect(masked(text)).toBe(text);
	learn(["correct-horse", "short"]);
	expect(knownSpellings()).toEqual(["correct-horse"]);
	expect(masked(text)).toBe("before ************* after");
	expect(masked("a corr\nect-\nhorse b")).toBe("a ****\n****\n***** b");
	expect(clean("x correct-horse").text).toBe("x *************");
	expect(oneLine("x correct-horse")).toBe("x *************");
	learn(["horse-battery"]);
	expect(masked("correct-horse-battery")).toBe("*".repeat(21));
});

test("R4.9 the beginning of a value that was shown before the rest was masked is masked, too", () => {
	learn(["slowly-printed"]);
	expect(masked("x slowly-******* y")).toBe("x ************** y");
	expect(masked("slow\nly-pr*****")).toBe("****\n**********");
	expect(masked(`slow${"*".repeat(30)}`)).toBe("*".repeat(34));
	for (const other of ["slow***", "slowly ********", "lowly-*******", "s*************", "***"])
		expect(masked(other)).toBe(other);
});

test("R4.9 the oldest are forgotten where there are too many", () => {
	learn(Array.from({ length: 300 }, (_, i) => `value-number-${i}`));
	expect(knownSpellings().length).toBe(256);
	expect(masked("value-number-299")).toBe("*".repeat(16));
	learn(Array.from({ length: 30 }, (_, i) => `${i}-${"x".repeat(996)}`));
	expect(knownSpellings().join("").length).toBeLessThanOrEqual(20_000);
	expect(masked(`29-${"x".repeat(996)}`)).toBe("*".repeat(999));
});
