// How the page looks with real programs on it: to somebody who cannot see, on a phone, and how soon.

import axe from "axe-core";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../condition.ts";
import { RealServer } from "../http/real-server.ts";
import { needing } from "../programs.ts";
import { furnish } from "./busy-desk.ts";
import { launchBrowser, Tab } from "./tab.ts";

const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };

describe("R4.11 the page with real programs", needing("chromium", "vim", "htop", "python3", "git", "mounts"), () => {
	let browser: Browser;
	let server: RealServer;
	let clear = () => {};
	beforeAll(async () => {
		browser = await launchBrowser();
		server = await RealServer.start();
		clear = await furnish(server);
	});
	afterAll(async () => {
		await browser.close();
		await server[Symbol.asyncDispose]();
		clear();
	});

	const VIEWS = [
		["dark", DESKTOP],
		["light", DESKTOP],
		["dark", PHONE],
		["light", PHONE],
	] as const;
	test.each(VIEWS)("can be used by who cannot see it: %s, %o (axe)", async (colorScheme, viewport) => {
		// Without the policy, for axe itself.
		await using tab = await Tab.logIn(browser, server, { colorScheme, viewport, bypassCSP: true });
		const { page } = tab;
		await page.evaluate(axe.source);
		const problems: string[] = [];
		const check = async (view: string) => {
			const { violations } = await page.evaluate<{ violations: { id: string; impact: string }[] }>(AXE);
			for (const { id, impact } of violations)
				if (impact === "serious" || impact === "critical") problems.push(`${view}: ${id}`);
		};
		await page.locator(".card").first().waitFor();
		await check("overview");
		for (const name of ["python", "monitor", "deploy", "tests"]) {
			await tab.open(name);
			await tab.shows(/\S/);
			await check(name);
		}
		await page.getByRole("button", { name: "Actions" }).click();
		await check("actions");
		await page.keyboard.press("Escape");
		await page.getByRole("button", { name: "All output" }).click();
		await page.locator(".output-list", { hasText: "collected 214 items" }).waitFor();
		await check("all output");
		await page.keyboard.press("Control+k");
		await page.getByRole("dialog").waitFor();
		await check("palette");
		expect(problems).toEqual([]);
	});

	test.each([DESKTOP, PHONE])(
		"shows the whole of each terminal, on a phone where that is wanted: %o",
		async (viewport) => {
			await using tab = await Tab.logIn(browser, server, { viewport });
			for (const name of ["python", "editor", "monitor", "deploy", "tests"]) {
				await tab.open(name);
				await tab.shows(/\S/);
				if (viewport === PHONE && name === "python") await tab.page.getByRole("button", { name: "Fit" }).click();
				await until(`all of ${name} is in its pane`, () => tab.page.evaluate<boolean>(IS_WHOLE));
			}
			expect(await tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
		},
	);

	test("is painted soon", async () => {
		await using tab = await Tab.logIn(browser, server);
		await tab.page.reload();
		await tab.connection("live");
		const paintMs = await until("it is painted", () => tab.page.evaluate<number | null>(FIRST_PAINT));
		console.log(`first paint after ${Math.round(paintMs)} ms`);
		expect(paintMs).toBeLessThan(5000); // the goal is 1 s on a machine that does nothing else
	});
});

const IS_WHOLE = `(() => {
	const pane = document.querySelector("[data-terminal]").getBoundingClientRect();
	const screen = document.querySelector('.terminal-host[data-is="live"] .xterm-screen').getBoundingClientRect();
	return screen.width > 0 && screen.left >= pane.left && screen.right <= pane.right + 1
		&& screen.top >= pane.top && screen.bottom <= pane.bottom + 1;
})()`;
const FIRST_PAINT = `performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null`;
/** Only what would be reported: all rules with all their results take much longer. */
const AXE = `axe.run({ resultTypes: ["violations"] })`;
