// The daemon is killed while a person looks at the page: what they see in the meantime and after it.

import { readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";
import { launchBrowser, Tab } from "./tab.ts";
import { WebHome } from "./web-home.ts";

/** Some fifty numbered lines a second until the file $0 is gone. */
const COUNTING =
	'i=0; while [ -e "$0" ]; do i=$((i + 1)); echo "line $i"; sleep 0.02; done; echo "the end after $i"; exec cat';

describe("R4.2 the daemon is killed while a person watches", needing("chromium"), () => {
	let browser: Browser;
	beforeAll(async () => {
		browser = await launchBrowser();
	});
	afterAll(() => browser.close());

	test("the page says so, is live again with the next command, and misses no line", async () => {
		await using home = new WebHome();
		const go = join(home.path, "go");
		writeFileSync(go, "");
		await using tab = await Tab.logIn(browser, home);
		await home.call("start", { name: "count", argv: ["bash", "-c", COUNTING, go], timeoutMs: 0 });
		await tab.open("count");
		await tab.shows(/line \d{2,}/);
		await home.kill();
		await tab.connection("reconnecting");
		await tab.page.getByText("Reconnecting to the daemon").waitFor();
		const before = journalBytes(home);
		await until("the program goes on meanwhile", () => journalBytes(home) > before + 500);
		expect((await home.cli("ls")).code).toBe(0);
		await tab.connection("live");
		rmSync(go);
		await tab.shows("the end after");
		const screen = await tab.screenText();
		const { text } = await home.call("read", { session: "count", view: "screen" });
		expect(screen.trimEnd()).toBe(String(text).trimEnd());
		const count = Number(/the end after (\d+)/.exec(screen)![1]);
		expect(await byScrolling(tab)).toEqual(numbered(count));
		await tab.page.getByRole("button", { name: "All output" }).click();
		expect(await allOutput(tab, count)).toEqual([...numbered(count), `the end after ${count}`]);
	});

	test("where no command comes, the page tells which one would help", async () => {
		await using home = new WebHome();
		await using tab = await Tab.logIn(browser, home);
		await home.kill();
		await tab.connection("offline");
		await expect.poll(() => tab.page.getByRole("status").first().textContent()).toContain("dialtone web");
		await home.cli("web");
		await tab.connection("live");
		expect(await tab.page.getByText("Offline").count()).toBe(0);
	});

	test("a person who drives goes on driving, with the same lease", async () => {
		await using home = new WebHome();
		await using tab = await Tab.logIn(browser, home);
		await home.call("start", { name: "cat", argv: ["cat"] });
		await tab.open("cat");
		await tab.takeOver();
		await tab.page.keyboard.type("before\n");
		await tab.shows("before\nbefore");
		const driver = await driverIn(home);
		await home.kill();
		await tab.page.getByText("Reconnecting …").waitFor();
		await home.cli("ls");
		await tab.connection("live");
		await tab.page.getByText("Reconnecting …").waitFor({ state: "detached" });
		await until("it drives", () => tab.page.getByRole("button", { name: "Hand back" }).isVisible());
		await tab.page.locator('[data-terminal="cat"] textarea').focus();
		await tab.page.keyboard.type("after\n");
		await tab.shows("after\nafter");
		expect(await driverIn(home)).toEqual(driver);
		const refused = await home.cli("call", "send", JSON.stringify({ session: "cat", text: "x" }), "--json");
		expect(refused.out).toContain("driven_by_human");
	});
});

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}`);

function journalBytes({ path }: WebHome): number {
	const sessions = join(path, "sessions");
	const outputs = readdirSync(sessions, { recursive: true, encoding: "utf8" }).filter((file) => /out\.\d+$/.test(file));
	return outputs.reduce((sum, file) => sum + statSync(join(sessions, file)).size, 0);
}

async function driverIn(home: WebHome): Promise<unknown> {
	const { driver } = await home.call("read", { session: "cat", view: "screen" });
	return driver;
}

/** Every numbered line that is seen while a person scrolls from the bottom to the top, each once, in order. */
async function byScrolling({ page }: Tab): Promise<string[]> {
	const rows = page.locator('[data-is="live"] .xterm-rows > div');
	await page.locator("[data-terminal]").hover();
	let seen: string[] = [];
	await until("the first line is in view", async () => {
		const shown = (await rows.allTextContents()).map((row) => row.trimEnd()).filter((row) => row.startsWith("line "));
		const known = shown.indexOf(seen[0] ?? "");
		if (seen.length === 0) seen = shown;
		else if (known > 0) seen = [...shown.slice(0, known), ...seen];
		await page.mouse.wheel(0, -200);
		return seen[0] === "line 1";
	});
	return seen;
}

/** The numbered list from its first line to its last. */
async function allOutput({ page }: Tab, count: number): Promise<string[]> {
	const lines = new Map<number, string>();
	await until("every line is loaded", async () => {
		for (const [number, text] of await page.evaluate<[number, string][]>(LISTED))
			if (text !== "…") lines.set(number, text);
		const next = numbered(count + 1).findIndex((_, index) => !lines.has(index + 1));
		await page.evaluate(`document.querySelector(".output-list").scrollTop = ${next * ROW_PX}`);
		return next < 0;
	});
	return [...lines].sort(([a], [b]) => a - b).map(([, text]) => text);
}

const ROW_PX = 19;
const LISTED = `[...document.querySelectorAll(".output-list li")].map((row) => [
	Number(row.dataset.line),
	row.querySelector(".line-text").textContent,
])`;
