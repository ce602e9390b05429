// How much of the page is drawn again for a message about one of many sessions. Chromium counts the calls of each
// function of the bundle; one is found by a class that only it writes.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { needing } from "../programs.ts";
import { FakeDaemon } from "./fake-daemon.ts";
import { launchBrowser } from "./tab.ts";

const SESSIONS = 50;
const MESSAGES = 10;

describe("R4.11 the list of 50 sessions", needing("chromium"), () => {
	let browser: Browser;
	beforeAll(async () => {
		browser = await launchBrowser();
	});
	afterAll(() => browser.close());

	test("a message about one session draws that one, and no other", async ({ onTestFinished }) => {
		const daemon = new FakeDaemon();
		for (let at = 0; at < SESSIONS; at++) daemon.session(`s${at}`, "$ ");
		const url = await daemon.listen();
		const page = await browser.newPage({ viewport: { width: 1280, height: 4000 } });
		onTestFinished(async () => {
			await page.close();
			await daemon.close();
		});
		const tell = async (words: string) => {
			daemon.change("s7", { lastLine: words });
			await page.locator('[data-session="s7"]', { hasText: words }).waitFor();
		};
		await page.goto(url);
		await page
			.locator(".card")
			.nth(SESSIONS - 1)
			.waitFor();
		await tell("ready");
		const drawn = await callsDuring(page, async () => {
			for (let at = 0; at < MESSAGES; at++) await tell(`line ${at}.`);
		});
		expect(drawn("entry-open")).toBeLessThanOrEqual(MESSAGES);
		expect(drawn("card-open")).toBeLessThanOrEqual(MESSAGES);

		await page.locator('[data-session="s8"]').getByRole("button").click();
		await page.locator('[data-terminal="s8"]').waitFor();
		await page.getByRole("button", { name: "Take over" }).waitFor();
		const beside = await callsDuring(page, () => tell("said beside an open terminal"));
		expect(beside("entry-open")).toBeLessThanOrEqual(1);
		expect(beside("terminal-host")).toBe(0);
	});
});

/** How often the innermost function whose source has this text was called meanwhile. */
async function callsDuring(page: Page, run: () => Promise<void>): Promise<(text: string) => number> {
	await page.coverage.startJSCoverage();
	await run();
	const scripts = await page.coverage.stopJSCoverage();
	return (text) => {
		expect(scripts.some(({ source }) => source?.includes(text))).toBe(true);
		let [calls, size] = [0, Number.POSITIVE_INFINITY]; // who was not called is not listed
		for (const { source = "", functions } of scripts)
			for (const { ranges } of functions) {
				const { startOffset, endOffset, count } = ranges[0]!;
				if (endOffset - startOffset >= size || !source.slice(startOffset, endOffset).includes(text)) continue;
				[calls, size] = [count, endOffset - startOffset];
			}
		return calls;
	};
}
