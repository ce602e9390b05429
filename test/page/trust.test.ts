// What a person sees of trust on the page: that a session is confined, and in its past who approved and who sent a signal.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RealServer } from "../http/real-server.ts";
import { needing } from "../programs.ts";
import { Agent } from "./agent.ts";
import { PersonPage } from "./person-page.ts";
import { launchBrowser } from "./tab.ts";

const RULES = [{ owner: "http:*", command: "touch *", then: "ask", because: "it touches files" }];

describe("R4.9 R4.14 what the page shows of trust", needing("chromium"), () => {
	let server: RealServer;
	let browser: Browser;
	let workspace: string;
	beforeAll(async () => {
		workspace = mkdtempSync(join(tmpdir(), "dt-workspace-"));
		[server, browser] = await Promise.all([RealServer.start(), launchBrowser()]);
		writeFileSync(join(server.home, "policy.json"), JSON.stringify({ rules: RULES }), { mode: 0o600 });
	});
	afterAll(async () => {
		await browser.close();
		await server[Symbol.asyncDispose]();
		rmSync(workspace, { recursive: true });
	});

	test("a session in a sandbox has a badge, another has none", { timeout: 180_000, ...needing("bwrap") }, async () => {
		await using agent = await Agent.connect(server);
		await using person = await PersonPage.logIn(browser, server);
		await agent.call("start", { name: "confined", argv: ["cat"], sandbox: { workspace }, cwd: workspace });
		await agent.call("start", { name: "free", argv: ["cat"] });
		const badge = person.page.locator(".session-bar").getByText("sandboxed", { exact: true });
		await person.open("confined");
		await badge.waitFor();
		await person.open("free");
		await badge.waitFor({ state: "detached" });
	});

	test("an approval and a signal are marks of the timeline, with their words", async () => {
		await using agent = await Agent.connect(server);
		await using person = await PersonPage.logIn(browser, server);
		const { page } = person;
		const session = "shell";
		await agent.call("start", { name: session, argv: ["bash", "--norc", "--noprofile"] });
		const running = agent.call("send", { session, text: "touch /dev/null", submit: true, timeoutMs: 120_000 });
		const box = page.getByRole("region", { name: /wants to run or type/ });
		await box.getByLabel("Note", { exact: true }).fill("go on");
		await box.getByRole("button", { name: "Approve", exact: true }).click();
		expect(await running).toContain("approved by ");
		await agent.call("signal", { session, signal: "WINCH" });
		await person.open(session);
		await page.getByRole("button", { name: "Events" }).click();
		const words = (kind: string) => page.locator(`.mark-list [data-kind="${kind}"]`);
		await words("approval")
			.getByText(/^\S.* approved what the agent wanted to do: “go on”$/)
			.waitFor();
		await words("signal")
			.getByText(/^http:\S+ sent WINCH$/)
			.waitFor();
		// Of marks at one place of the line only the weightiest is drawn.
		await page.locator('.track .mark[data-kind="approval"]').waitFor({ state: "attached" });
	});
});
