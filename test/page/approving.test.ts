// R4.14: a person approves and denies on the page what an agent may not do without them.

import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RealServer } from "../http/real-server.ts";
import { needing } from "../programs.ts";
import { Agent } from "./agent.ts";
import { PersonPage } from "./person-page.ts";
import { launchBrowser } from "./tab.ts";

describe("R4.14 a person approves on the page", needing("chromium"), () => {
	let server: RealServer;
	let browser: Browser;
	beforeAll(async () => {
		[server, browser] = await Promise.all([RealServer.start(), launchBrowser()]);
		const rules = [{ owner: "http:*", command: "touch *", then: "ask", because: "it touches files" }];
		writeFileSync(join(server.home, "policy.json"), JSON.stringify({ rules }), { mode: 0o600 });
	});
	afterAll(async () => {
		await browser.close();
		await server[Symbol.asyncDispose]();
	});

	test("what they see is what is run, and what they deny is not", async () => {
		await using agent = await Agent.connect(server);
		await using person = await PersonPage.logIn(browser, server);
		const { page } = person;
		const [first, second] = [join(server.home, "first"), join(server.home, "second")];
		const approved = agent.call("run", { command: `touch ${first}`, timeoutMs: 120_000 });
		const box = page.getByRole("region", { name: /wants to run or type/ });
		await box.getByText(`touch ${first}`, { exact: true }).waitFor();
		await box.getByText("it touches files", { exact: true }).waitFor();
		expect(await page.title()).toBe("● 1 to approve · Dialtone");
		expect(existsSync(first)).toBe(false);
		await box.getByRole("button", { name: "Approve", exact: true }).click();
		expect(await approved).toContain("approved by ");
		expect(existsSync(first)).toBe(true);
		await box.waitFor({ state: "detached" });
		const denied = agent.attempt("run", { command: `touch ${second}`, timeoutMs: 120_000 });
		await box.getByText(`touch ${second}`, { exact: true }).waitFor();
		await box.getByLabel("Note", { exact: true }).fill("not now");
		await box.getByRole("button", { name: "Deny", exact: true }).click();
		const { text } = await denied;
		expect(text).toContain("denied_by_person");
		expect(text).toContain("not now");
		await box.waitFor({ state: "detached" });
		expect(existsSync(second)).toBe(false);
	}, 180_000);
});
