// A person who looks elsewhere, and a session that starts to need them: the tab's title says so, and a notification
// where they have allowed it.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";
import { FakeDaemon } from "./fake-daemon.ts";
import { launchBrowser } from "./tab.ts";

const NEED = { kind: "secret", question: null, reason: null, program: "ssh", command: "ssh prod", host: "prod" };

/** Keeps the notifications that the page makes, and says of the tab what the test wants: a headless one always has the focus. */
const RECORD = `
	window.tab = { visibility: "visible", focus: true };
	window.made = [];
	Object.defineProperty(document, "visibilityState", { get: () => tab.visibility });
	document.hasFocus = () => tab.focus;
	window.Notification = class extends Notification {
		constructor(title, options) {
			super(title, options);
			made.push(this);
		}
	};`;

describe("R4.11 a session that starts to need a person who looks elsewhere", needing("chromium"), () => {
	let browser: Browser;
	beforeAll(async () => {
		browser = await launchBrowser();
	});
	afterAll(() => browser.close());

	const open = async (permissions: string[]): Promise<{ page: Page; daemon: FakeDaemon }> => {
		const daemon = new FakeDaemon();
		for (const name of ["deploy", "quiet"]) daemon.session(name, "$ ");
		const url = await daemon.listen();
		const context = await browser.newContext();
		await context.grantPermissions(permissions, { origin: new URL(url).origin });
		await context.addInitScript(RECORD);
		const page = await context.newPage();
		onTestFinished(async () => {
			await context.close();
			await daemon.close();
		});
		await page.goto(url);
		await page.locator('[data-session="deploy"]').waitFor();
		return { page, daemon };
	};
	const look = (page: Page, visibility: "visible" | "hidden", focus: boolean) =>
		page.evaluate(`Object.assign(tab, ${JSON.stringify({ visibility, focus })})`);
	const notified = (page: Page) => page.evaluate<string[]>("made.map(({ title, body }) => title + ': ' + body)");
	const titled = (page: Page, title: string) =>
		until(`the title is ${title}`, async () => (await page.title()) === title);
	/** The session wants another secret, and the page has heard more of it since. */
	const need = async (page: Page, daemon: FakeDaemon, since: number) => {
		daemon.change("deploy", { state: "secret", needs: { ...NEED, since } });
		daemon.change("deploy", { lastLine: `asked at ${since}` });
		await page.locator('[data-session="deploy"]', { hasText: `asked at ${since}` }).waitFor();
	};

	test("one notification names it, and a click on that opens it", async () => {
		const { page, daemon } = await open(["notifications"]);
		await need(page, daemon, 1);
		await titled(page, "● deploy needs you · Dialtone");
		expect(await notified(page)).toEqual([]); // it is looked at
		daemon.change("deploy", { state: "working", needs: null });
		await titled(page, "Dialtone");
		await look(page, "hidden", false);
		await need(page, daemon, 2);
		await titled(page, "● deploy needs you · Dialtone");
		expect(await notified(page)).toEqual(["Dialtone: deploy: ssh wants a secret for prod."]);
		daemon.change("quiet", { lastLine: "more" });
		await page.locator('[data-session="quiet"]', { hasText: "more" }).waitFor();
		expect(await notified(page)).toHaveLength(1);
		await page.evaluate("made[0].dispatchEvent(new Event('click'))");
		await page.locator('[data-terminal="deploy"]').waitFor();
		expect(new URL(page.url()).hash).toBe("#deploy");
		await look(page, "visible", false);
		await need(page, daemon, 3);
		expect(await notified(page)).toHaveLength(2);
	});

	test("without permission only the title says so", async () => {
		const { page, daemon } = await open([]);
		await look(page, "hidden", false);
		await need(page, daemon, 1);
		await titled(page, "● deploy needs you · Dialtone");
		expect(await notified(page)).toEqual([]);
	});

	test("a connection that is made anew tells of the same need no second time", async () => {
		const { page, daemon } = await open(["notifications"]);
		await look(page, "hidden", false);
		await need(page, daemon, 1);
		daemon.session("later", "");
		daemon.dropConnections();
		await page.locator('[data-session="later"]').waitFor();
		expect(await notified(page)).toHaveLength(1);
	});
});
