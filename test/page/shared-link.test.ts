// Who watches by a shared link is told when it has ended: the machine is not theirs, and no command helps them.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Person } from "../http/person.ts";
import { RealServer } from "../http/real-server.ts";
import { needing } from "../programs.ts";
import { launchBrowser } from "./tab.ts";

describe("R4.11 a shared link", needing("chromium"), () => {
	let server: RealServer;
	let browser: Browser;
	beforeAll(async () => {
		[server, browser] = await Promise.all([RealServer.start(), launchBrowser()]);
	});
	afterAll(async () => {
		await browser.close();
		await server[Symbol.asyncDispose]();
	});

	test("that has ended says so", async () => {
		const person = await Person.logIn(server);
		const { session } = await person.call("start", { name: "shown", argv: ["cat"] });
		const shared = (await (await person.post(`/v1/sessions/${session}/share`, { minutes: 0.5 })).json()) as {
			url: string;
		};
		const page = await browser.newPage();
		await page.goto(shared.url);
		await page.locator('[data-terminal="shown"]').waitFor();
		await page.locator('body[data-connection="live"]').waitFor();
		await page.getByRole("heading", { name: "This shared link has ended" }).waitFor({ timeout: 120_000 });
		await page.locator('body[data-connection="offline"]').waitFor();
		expect(await page.locator("body").textContent()).not.toContain("dialtone web");
		await person.call("close", { session, force: true });
	});
});
