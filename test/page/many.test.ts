// 50 live sessions and the overview open: what the page and the daemon take of the processor.

import { setTimeout as delay } from "node:timers/promises";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../condition.ts";
import { Person } from "../http/person.ts";
import { RealServer } from "../http/real-server.ts";
import { needing } from "../programs.ts";
import { launchBrowser, Tab } from "./tab.ts";

const SESSIONS = 50;
const MEASURED_MS = 10_000;
/** Of five, three wait, one prints each second, and one is at work without a word. */
const COMMANDS = ["bash --norc", "cat", "bash --norc", "while :; do date; sleep 1; done", "sleep 1000"];

describe("R4.11 the overview of 50 live sessions", needing("chromium"), () => {
	let browser: Browser;
	beforeAll(async () => {
		browser = await launchBrowser();
	});
	afterAll(() => browser.close());

	test("takes a fraction of a core in the page, and less in the daemon", async () => {
		await using server = await RealServer.start();
		const person = await Person.logIn(server);
		for (let at = 0; at < SESSIONS; at++)
			await person.call("start", { name: `s${at}`, command: COMMANDS[at % COMMANDS.length]!, timeoutMs: 0 });
		// So large that all thumbnails are in view.
		await using tab = await Tab.logIn(browser, server, { viewport: { width: 2560, height: 4000 } });
		await until("all have their thumbnail", async () => (await tab.page.locator(".card").count()) === SESSIONS);
		await tab.page.locator('[data-session="s0"][data-state="waiting"]').waitFor();
		await tab.page.locator('[data-session="s4"][data-state="working"]').waitFor();
		const devtools = await browser.newBrowserCDPSession();
		const rendererMs = async () => {
			const { processInfo } = await devtools.send("SystemInfo.getProcessInfo");
			const renderers = processInfo.filter(({ type }) => type === "renderer");
			return 1000 * renderers.reduce((sum, { cpuTime }) => sum + cpuTime, 0);
		};
		const [pageBefore, daemonBefore, begun] = [await rendererMs(), server.ranMs, performance.now()];
		await delay(MEASURED_MS); // the measured time, not a wait
		const tookMs = performance.now() - begun;
		const page = ((await rendererMs()) - pageBefore) / tookMs;
		const daemon = (server.ranMs - daemonBefore) / tookMs;
		console.log(`50 sessions: page ${(100 * page).toFixed(1)} %, daemon ${(100 * daemon).toFixed(1)} % of a core`);
		// The goals are 25 % and 10 %. What is asserted leaves room for a machine whose cores are shared: beyond it, something
		// draws without need.
		expect(page).toBeLessThan(0.5);
		expect(daemon).toBeLessThan(0.2);
	});
});
