// Whether text of a program can be read: the contrast of the colours that the page really draws, on the terminal's own ground.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { THEME } from "../../src/terminal/colors.ts";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";
import { FakeDaemon } from "./fake-daemon.ts";
import { launchBrowser } from "./tab.ts";

const AA = 4.5;
const COLOURS = [...Array.from({ length: 8 }, (_, at) => 30 + at), ...Array.from({ length: 8 }, (_, at) => 90 + at)];
/** Each is a row whose text names it. */
const STYLES = [
	"",
	"2",
	...COLOURS.map(String),
	...COLOURS.map((colour) => `1;${colour}`),
	...COLOURS.map((colour) => `2;${colour}`),
];

const channel = (value: number) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
const luminance = ([red, green, blue]: readonly number[]) =>
	0.2126 * channel(red! / 255) + 0.7152 * channel(green! / 255) + 0.0722 * channel(blue! / 255);
const ground = [1, 3, 5].map((at) => Number.parseInt(THEME.background.slice(at, at + 2), 16));

/** Of a colour as the browser computes it, on the terminal's ground. */
function contrast(css: string): number {
	const [red, green, blue, alpha = 1] = css.match(/[\d.]+/g)!.map(Number);
	const seen = [red!, green!, blue!].map((value, at) => value * alpha + ground[at]! * (1 - alpha));
	const [light, dark] = [luminance(seen), luminance(ground)].sort((a, b) => b - a);
	return (light! + 0.05) / (dark! + 0.05);
}

describe("R4.11 the colours of a terminal", needing("chromium"), () => {
	let browser: Browser;
	beforeAll(async () => {
		browser = await launchBrowser();
	});
	afterAll(() => browser.close());

	test.each(["dark", "light"] as const)("have 4.5:1, dim ones too, in the %s page", async (colorScheme) => {
		const daemon = new FakeDaemon();
		const rows = STYLES.map((style) => `\x1b[${style}mstyle-${style}.\x1b[m`);
		daemon.session("colours", rows.join("\r\n"), { cols: 40, rows: STYLES.length });
		const url = await daemon.listen();
		await using context = await browser.newContext({ colorScheme });
		const page = await context.newPage();
		await page.goto(`${url}#colours`);
		const drawn = await until("all are drawn", async () => {
			const seen = await page.evaluate<Record<string, string>>(COLOURS_DRAWN);
			return Object.keys(seen).length === STYLES.length && seen;
		});
		// Dim black asks to be hardly seen: xterm.js gives it half of the contrast.
		const faint = Object.entries(drawn).filter(
			([style, css]) => contrast(css) < (style === "style-2;30." ? AA / 2 : AA),
		);
		await daemon.close();
		expect(faint.map(([style, css]) => `${style} ${css} ${contrast(css).toFixed(2)}`)).toEqual([]);
		for (const style of ["", "31", "97"]) {
			const dim = style === "" ? "2" : `2;${style}`;
			expect(contrast(drawn[`style-${dim}.`]!)).toBeLessThanOrEqual(contrast(drawn[`style-${style}.`]!));
		}
	});
});

const COLOURS_DRAWN = `Object.fromEntries([...document.querySelectorAll('.terminal-host[data-is="live"] .xterm-rows span')]
	.filter(({ textContent }) => textContent.startsWith("style-"))
	.map((span) => [span.textContent.trim(), getComputedStyle(span).color]))`;
