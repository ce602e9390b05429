// The machines of a fleet on the page, against a daemon that only says that there are some: test/fleet/page.test.ts has
// real ones.

import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";
import { FakeDaemon } from "./fake-daemon.ts";
import { launchBrowser } from "./tab.ts";

const status = (host: string, more: object = {}) => ({
	host,
	reachable: true,
	since: 1,
	version: "1",
	labels: { gpu: "a100" },
	running: 1,
	capacity: 10,
	load: 0.5,
	...more,
});
const fleet = (beta: object = {}, awaySince: number | null = null) => ({
	host: "alpha",
	awaySince,
	hosts: [status("alpha"), status("beta", beta)],
});
/** Of today, as the page tells it. */
const NOON = new Date().setHours(0, 1, 0, 0);
const LOST = "unreachable since 00:01";

describe("issue 15: the page and machines", needing("chromium"), () => {
	let browser: Browser;
	let daemon: FakeDaemon;
	let page: Page;
	let url: string;
	beforeAll(async () => {
		browser = await launchBrowser();
	});
	afterAll(() => browser.close());
	beforeEach(async ({ onTestFinished }) => {
		daemon = new FakeDaemon();
		daemon.session("here", "$ ");
		url = await daemon.listen();
		const context = await browser.newContext({ bypassCSP: true }); // for axe
		page = await context.newPage();
		onTestFinished(async () => {
			await context.close();
			await daemon.close();
		});
	});
	const entry = (name: string) => page.locator(`[data-session="${name}"]`);
	const far = (more: object = {}) => daemon.session("beta/far", "far $ ", { host: "beta", ports: [8080], ...more });
	const violations = async () => {
		await page.evaluate(axe.source);
		const found = await page.evaluate<{ violations: { id: string; impact: string }[] }>("axe.run()");
		return found.violations.filter(({ impact }) => impact === "serious" || impact === "critical").map(({ id }) => id);
	};

	test("without a fleet there is nothing of it", async () => {
		await page.goto(`${url}#here`);
		await page.locator('[data-terminal="here"]').waitFor();
		expect(await page.locator(".machines, .machine-of").count()).toBe(0);
		await page.getByRole("button", { name: "New", exact: true }).click();
		await page.getByRole("dialog").waitFor();
		expect(await page.getByLabel("Machine").count()).toBe(0);
	});

	test("a lost machine's terminal is shown as it was, says since when, and nothing can be done with it", async () => {
		far();
		daemon.fleet(fleet());
		await page.goto(`${url}#beta%2Ffar`);
		await page.locator('[data-terminal="beta/far"]').waitFor();
		const text = () => page.evaluate<string>("document.querySelector('[data-terminal]').screenText()");
		await until("its screen is shown", async () => (await text()).includes("far $"));
		expect(await entry("beta/far").getByRole("link").count()).toBe(0); // its port is not one of this machine
		far({ state: "unreachable", unreachableSince: NOON });
		daemon.fleet(fleet({ reachable: false, since: NOON }));
		await entry("beta/far").getByText(LOST, { exact: true }).waitFor();
		await page.locator('[data-machine="beta"]', { hasText: LOST }).waitFor();
		expect(await page.locator(".drive-who").textContent()).toBe(`beta is ${LOST}. The program may still be running.`);
		expect(await text()).toContain("far $");
		expect(await page.getByRole("button", { name: "Take over" }).isDisabled()).toBe(true);
		await page.getByRole("button", { name: "Actions" }).click();
		await page.getByText(`beta is ${LOST}.`, { exact: true }).waitFor();
		const items = page.getByRole("menuitem");
		expect(await items.count()).toBe(await page.getByRole("menuitem", { disabled: true }).count());
		await items.first().click({ force: true });
		expect(await page.getByRole("dialog").count()).toBe(0);
		expect(await violations()).toEqual([]);
		far();
		daemon.fleet(fleet());
		await entry("beta/far").getByText("working", { exact: true }).waitFor();
		await page.keyboard.press("Escape");
		await page.getByRole("button", { name: "Take over" }).click();
		await page.getByRole("button", { name: "Hand back" }).waitFor();
	});

	test("the servers' loss is told, and a machine's sessions alone are listed, also on a phone", async () => {
		await page.setViewportSize({ width: 390, height: 844 });
		far({ state: "unreachable", unreachableSince: NOON });
		daemon.fleet(fleet({}, NOON));
		await page.goto(url);
		await page.getByText(/^The fleet’s servers are unreachable since 00:01\./).waitFor();
		await page.getByRole("button", { name: /^Sessions/ }).click();
		await page.locator('[data-machine="alpha"]').getByRole("button").click();
		await entry("beta/far").waitFor({ state: "detached" });
		expect(await entry("here").count()).toBe(1);
		expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
		expect(await violations()).toEqual([]);
	});
});
