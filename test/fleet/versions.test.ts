// A fleet is upgraded machine by machine: between a machine of the new version and one of the old one each is told why its
// sessions cannot be used from the other, they run on, and all is as before once both have the new one.

import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ListFacts, noticesIn } from "../../src/protocol/answer.ts";
import { VERSION } from "../../src/version.ts";
import { until } from "../condition.ts";
import type { Home } from "../daemon/home.ts";
import { versioned } from "../daemon/versioned.ts";
import { launchBrowser, Tab } from "../page/tab.ts";
import { missing, needing } from "../programs.ts";
import { BROKER_NEEDS } from "./broker.ts";
import { called, TwoHosts } from "./two-hosts.ts";

const NEEDS = [...BROKER_NEEDS, "chromium"];
const NEW = "99.0.0";
const run = promisify(execFile);

describe("issue 15: a fleet that is upgraded machine by machine", needing(...NEEDS), () => {
	let hosts: TwoHosts;
	let browser: Browser;
	let tab: Tab;
	let newer: string;
	/** A command of the new version on a machine: its first one replaces the daemon there. */
	const upgraded = async ({ env, path }: Home, ...args: string[]): Promise<string> =>
		(await run(process.execPath, [join(newer, "dist/main.js"), ...args], { env, cwd: path })).stdout;
	beforeAll(async () => {
		if (missing(...NEEDS).length > 0) return;
		newer = versioned(NEW);
		[hosts, browser] = await Promise.all([TwoHosts.start({ env: { DIALTONE_PORT: "0" } }), launchBrowser()]);
		await called(hosts.client, "start", { host: "beta", name: "far", argv: ["cat"], timeoutMs: 60_000 });
		const cli = async (...args: string[]) => ({ out: (await hosts.alpha.cli(...args)).stdout, code: 0 });
		tab = await Tab.logIn(browser, { cli });
	}, 120_000);
	afterAll(async () => {
		await tab?.[Symbol.asyncDispose]();
		await browser?.close();
		await hosts?.[Symbol.asyncDispose]();
		if (newer !== undefined) rmSync(newer, { recursive: true });
	});
	const entry = () => tab.page.locator('[data-session="beta/far"]');
	const machine = () => tab.page.locator('[data-machine="beta"]');

	test("what has to be done is told where a machine has been upgraded and this one has not", async () => {
		const { client, alpha, beta } = hosts;
		await tab.open("beta/far");
		await called(client, "send", { session: "beta/far", text: "before", submit: true });
		await tab.shows("before\nbefore");
		expect(JSON.parse(await upgraded(beta, "ls", "--json")).sessions).toMatchObject([
			{ name: "far", status: "running" },
		]);
		const refused = await until("its version is known", () =>
			called(client, "read", { session: "beta/far" }).then(
				() => null,
				(error) => error.code === "host_version" && error,
			),
		);
		expect(refused.facts).toEqual({ host: "beta", ours: VERSION, theirs: NEW });
		expect(refused.message).toBe(`Host "beta" runs Dialtone ${NEW}, and this machine ${VERSION}; nothing was done.`);
		expect(refused.next).toContain(`Upgrade this machine to ${NEW}`);
		for (const [tool, input] of [
			["send", { session: "beta/far", text: "x" }],
			["start", { host: "beta", argv: ["cat"] }],
			["list", { host: "beta" }],
		] as const)
			await expect(called(client, tool, input)).rejects.toMatchObject({ code: "host_version" });
		await expect(client.snapshot("beta/far")).rejects.toMatchObject({ code: "host_version" });
		await expect(client.act("beta/far", { act: "remove", who: "me" })).rejects.toMatchObject({ code: "host_version" });
		// What is placed by what it needs goes elsewhere.
		const placement = { labels: { is: "beta" } };
		await expect(called(client, "start", { placement, argv: ["true"] })).rejects.toMatchObject({
			code: "no_host_fits",
			message: expect.stringContaining(`runs Dialtone ${NEW}`),
		});
		const listed = (await called(client, "list", {})).facts as ListFacts;
		const why = `host beta runs Dialtone ${NEW}, and this machine ${VERSION}`;
		expect(listed.sessions.find(({ name }) => name === "beta/far")).toMatchObject({
			status: "running",
			because: expect.stringContaining(why),
		});
		expect(noticesIn(listed)).toEqual([expect.stringContaining(why)]);
		expect((await alpha.cli("ls")).stdout).toContain("beta/far");
		expect((await alpha.cli("fleet", "hosts")).stdout).toMatch(new RegExp(`beta +not ${VERSION} .* ${NEW} `));
	});

	test("the page keeps its terminals, says why nothing can be done with them, and has them back by itself", async () => {
		const { alpha } = hosts;
		const words = `on Dialtone ${NEW}, not ${VERSION}`;
		await machine().getByText(words).waitFor();
		await tab.page.locator(".drive-bar", { hasText: `beta is ${words}.` }).waitFor();
		expect(await tab.page.getByRole("button", { name: "Take over" }).isDisabled()).toBe(true);
		await tab.page.getByRole("button", { name: "Actions" }).click();
		await tab.page.locator(".menu-note", { hasText: `beta is ${words}.` }).waitFor();
		for (const item of await tab.page.getByRole("menuitem").all())
			expect(await item.getAttribute("aria-disabled")).toBe("true");
		await tab.page.keyboard.press("Escape");
		expect(await entry().count()).toBe(1);
		await upgraded(alpha, "ls");
		await machine().getByText(words).waitFor({ state: "detached" });
		await tab.takeOver();
		await tab.page.locator("[data-terminal] .xterm-helper-textarea").first().focus();
		await tab.page.keyboard.type("after\n");
		await tab.shows("before\nbefore\nafter\nafter");
		const read = JSON.parse(await upgraded(alpha, "screen", "beta/far", "--json"));
		expect(read).toMatchObject({ name: "beta/far", text: expect.stringContaining("after") });
	});
});
