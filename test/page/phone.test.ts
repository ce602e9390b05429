// A terminal that is wider than a phone: its letters can be read, a finger reaches the rest, and a button shows it whole.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";
import { FakeDaemon } from "./fake-daemon.ts";
import { launchBrowser } from "./tab.ts";

const PHONE = { width: 390, height: 844 };
const WIDE = { cols: 100, rows: 30 };
const LAST = `${"-".repeat(WIDE.cols - 4)}last`;

interface Shown {
	readonly fontPx: number;
	/** Of the screen, beside what is visible of it. */
	readonly widths: readonly [number, number];
	readonly scrolled: number;
	/** Where the cursor is from the left of what is visible. */
	readonly cursorAt: number;
}

describe("R4.11 a terminal of 100 columns on a phone", needing("chromium"), () => {
	let browser: Browser;
	let daemon: FakeDaemon;
	let page: Page;
	beforeAll(async () => {
		browser = await launchBrowser();
	});
	afterAll(() => browser.close());
	beforeEach(async ({ onTestFinished }) => {
		daemon = new FakeDaemon();
		daemon.session("wide", `${LAST}\r\n$ `, WIDE);
		daemon.session("narrow", "$ ", { cols: 40, rows: 20 });
		const url = await daemon.listen();
		const context = await browser.newContext({ viewport: PHONE, hasTouch: true });
		page = await context.newPage();
		onTestFinished(async () => {
			await context.close();
			await daemon.close();
		});
		await page.goto(`${url}#wide`);
		await page.locator('[data-terminal="wide"]').waitFor();
		await button("Fit").waitFor();
	});

	const button = (name: string) => page.getByRole("button", { name, exact: true });
	const shown = () => page.evaluate<Shown>(SHOWN);
	const screenText = () => page.evaluate<string>("document.querySelector('[data-terminal]').screenText()");

	test("has letters that can be read, and all of it within reach of a finger", async () => {
		const before = await shown();
		expect(before.fontPx).toBeGreaterThanOrEqual(10);
		expect(before.widths[0]).toBeGreaterThan(before.widths[1]);
		expect(before.scrolled).toBe(0);
		const devtools = await page.context().newCDPSession(page);
		await until("the finger has reached the last column", async () => {
			const touch = (type: "touchStart" | "touchMove" | "touchEnd", ...xs: number[]) =>
				devtools.send("Input.dispatchTouchEvent", { type, touchPoints: xs.map((x) => ({ x, y: 330 })) });
			await touch("touchStart", 300);
			for (let x = 290; x >= 50; x -= 20) await touch("touchMove", x);
			await touch("touchEnd");
			const { widths, scrolled } = await shown();
			return scrolled + widths[1] >= widths[0];
		});
		expect((await screenText()).split("\n")[0]).toBe(LAST);
		expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
	});

	test("a finger reaches the lines above the screen, and comes back", async () => {
		daemon.print("wide", Array.from({ length: 200 }, (_, i) => `\r\nline ${i}`).join(""));
		await until("all of it is printed", async () => (await screenText()).includes("line 199"));
		const devtools = await page.context().newCDPSession(page);
		const rows = page.locator('.terminal-host[data-is="live"] .xterm-rows > div');
		const isSeen = async (line: string) =>
			(await rows.allTextContents()).some((row) => row.replaceAll(/\s+/g, " ").trim() === line);
		const drag = async (from: number, to: number) => {
			const touch = (type: "touchStart" | "touchMove" | "touchEnd", ...ys: number[]) =>
				devtools.send("Input.dispatchTouchEvent", { type, touchPoints: ys.map((y) => ({ x: 150, y })) });
			await touch("touchStart", from);
			for (let step = 1; step <= 10; step++) await touch("touchMove", from + ((to - from) * step) / 10);
			await touch("touchEnd");
		};
		await until("the first lines are seen", async () => {
			await drag(250, 450);
			return isSeen("line 1");
		});
		await until("the last line is seen again", async () => {
			await drag(450, 250);
			return isSeen("line 199");
		});
	});

	test("is shown whole where that is asked for, and stays so in other terminals", async () => {
		await button("Fit").click();
		await until("all of it is visible", async () => {
			const { widths, fontPx } = await shown();
			return widths[0] <= widths[1] && fontPx < 10;
		});
		await page.evaluate("location.hash = 'narrow'");
		await page.locator('[data-terminal="narrow"]').waitFor();
		await until("small terminals have large letters", async () => (await shown()).fontPx > 10);
		expect(await button("Readable").count()).toBe(0);
		await page.evaluate("location.hash = 'wide'");
		await page.locator('[data-terminal="wide"]').waitFor();
		await button("Readable").click();
		await until("it can be read again", async () => (await shown()).fontPx >= 10);
		expect((await screenText()).split("\n")[0]).toBe(LAST);
	});

	test("follows the cursor of who drives", async () => {
		await button("Take over").click();
		await button("Hand back").waitFor();
		const cursorIsSeen = async () => {
			const { widths, cursorAt } = await shown();
			return cursorAt >= 0 && cursorAt < widths[1];
		};
		// This daemon leaves the terminal as wide as it is.
		daemon.print("wide", "x".repeat(80));
		await until("the end of the line is in view", async () => (await shown()).scrolled > 0 && cursorIsSeen());
		daemon.print("wide", "\r\n$ ");
		await until(
			"the next line is seen from its beginning",
			async () => (await shown()).scrolled < 20 && cursorIsSeen(),
		);
	});
});

const SHOWN = `(() => {
	const host = document.querySelector('.terminal-host[data-is="live"]');
	const screen = host.querySelector(".xterm-screen").getBoundingClientRect();
	const cursor = host.querySelector(".xterm-cursor")?.getBoundingClientRect();
	return {
		fontPx: parseFloat(getComputedStyle(host.querySelector(".xterm-rows")).fontSize),
		widths: [screen.width, host.clientWidth],
		scrolled: host.scrollLeft,
		cursorAt: cursor === undefined ? -1 : cursor.left - host.getBoundingClientRect().left,
	};
})()`;
