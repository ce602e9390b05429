import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PALETTE, THEME } from "./colors.ts";
import { blend, contrast, GOOD_CONTRAST, LEAST_CONTRAST, readable } from "./contrast.ts";

const sixteen = PALETTE.slice(0, 16);
const color = fc
	.tuple(fc.nat(255), fc.nat(255), fc.nat(255))
	.map((rgb) => `#${rgb.map((part) => part.toString(16).padStart(2, "0")).join("")}`);

describe("T14 text can be read against its own background", () => {
	test("black on white is 21, a colour on itself is 1", () => {
		expect(contrast("#000000", "#ffffff")).toBeCloseTo(21);
		expect(contrast("#123456", "#123456")).toBe(1);
		expect(contrast("#777777", "#ffffff")).toBeCloseTo(4.48, 2); // WCAG's own example
	});

	test("every pair of the sixteen colours and the theme's has at least 3, and 4.5 where it had less", () => {
		for (const background of [...sixteen, THEME.background, THEME.foreground])
			for (const text of [...sixteen, THEME.foreground, THEME.background]) {
				if (text === background) continue;
				const least = contrast(text, background) < LEAST_CONTRAST ? GOOD_CONTRAST : LEAST_CONTRAST;
				expect(contrast(readable(text, background), background), `${text} on ${background}`).toBeGreaterThanOrEqual(
					least,
				);
			}
	});

	// Foreground and background as mc, dialog, whiptail and htop choose them: the palette serves these as it is.
	test.each([
		["mc's panels", [7, 15, 11, 14, 10], 4],
		["mc's menu and dialog's buttons", [0, 15, 11], 6],
		["mc's errors", [15, 11, 7, 0], 1],
		["dialog's and whiptail's windows", [0, 1, 4], 7],
		["htop's headers", [0, 15], 2],
	])("%s are in the colours of the palette, unchanged", (_, texts, background) => {
		for (const text of texts) expect(readable(sixteen[text]!, sixteen[background]!)).toBe(sixteen[text]);
	});

	test("text that is exactly as its background is hidden, and stays so", () => {
		expect(readable("#2d5ca3", "#2d5ca3")).toBe("#2d5ca3");
	});

	test("any colour on any background reaches the goal, and is left alone where it is readable", () => {
		fc.assert(
			fc.property(color, color, fc.constantFrom(LEAST_CONTRAST, GOOD_CONTRAST), (text, background, goal) => {
				fc.pre(text !== background);
				const moved = readable(text, background, { goal });
				if (contrast(text, background) >= LEAST_CONTRAST) expect(moved).toBe(text);
				else expect(contrast(moved, background)).toBeGreaterThanOrEqual(goal);
			}),
			{ numRuns: 2000 },
		);
	});

	test("a fade to the background stops at the least contrast instead of growing again", () => {
		const steps = Array.from({ length: 20 }, (_, i) => blend("#77ca9b", "#000000", i / 20));
		const shown = steps.map((step) => contrast(readable(step, "#000000", { goal: LEAST_CONTRAST }), "#000000"));
		for (const [i, value] of shown.entries()) {
			expect(value).toBeGreaterThanOrEqual(LEAST_CONTRAST);
			if (i > 0) expect(value).toBeLessThan(shown[i - 1]! + 0.6); // the next step of the search
		}
	});

	test("moved text keeps its hue: dark blue on black becomes blue, not grey", () => {
		const moved = readable("#000080", "#000000");
		const [red, green, blue] = [1, 3, 5].map((at) => Number.parseInt(moved.slice(at, at + 2), 16));
		expect(blue).toBe(255);
		expect(red).toBe(green);
		expect(red).toBeLessThan(160);
	});
});
