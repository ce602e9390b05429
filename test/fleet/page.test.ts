// The page of one machine shows the sessions of the whole fleet in a real browser: another machine's terminal is used
// there, its loss is told, and so is that of the fleet's server.

import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Client } from "../../src/tools/client.ts";
import { until } from "../condition.ts";
import type { Home } from "../daemon/home.ts";
import { launchBrowser, Tab } from "../page/tab.ts";
import { missing, needing } from "../programs.ts";
import { BROKER_NEEDS, type Brokers } from "./broker.ts";
import { TwoHosts } from "./two-hosts.ts";

const NEEDS = [...BROKER_NEEDS, "chromium"];
/** Some fifty numbered lines a second until the file $0 is gone. */
const COUNTING =
	'i=0; while [ -e "$0" ]; do i=$((i + 1)); echo "line $i"; sleep 0.02; done; echo "the end after $i"; exec cat';
const ASKS = 'read -rsp "Password: " given; echo; echo "of ${#given} characters"; exec cat';

const started = (client: Client, input: object) => client.call("start", { timeoutMs: 0, ...input } as never);

describe("issue 15: the page of a machine in a fleet", needing(...NEEDS), () => {
	let hosts: TwoHosts;
	let brokers: Brokers;
	let browser: Browser;
	let alpha: Home;
	let beta: Home;
	let client: Client;
	let tab: Tab;
	const home = (own: Home) => ({
		cli: async (...args: string[]) => ({ out: (await own.cli(...args)).stdout, code: 0 }),
	});
	const entry = (name: string) => tab.page.locator(`[data-session="${name}"]`);
	const isIn = async (name: string, state: string) => {
		await until(`${name} is ${state}`, async () => (await entry(name).getAttribute("data-state")) === state);
	};
	const machine = (name: string) => tab.page.locator(`[data-machine="${name}"]`);
	const typed = async (text: string) => {
		await tab.page.locator("[data-terminal] .xterm-helper-textarea").first().focus();
		await tab.page.keyboard.type(text);
	};
	const killDaemon = async (own: Home) => {
		const found = await own.find();
		const { pid } = await found!.status();
		await found![Symbol.asyncDispose]();
		process.kill(pid, "SIGKILL");
	};
	beforeAll(async () => {
		if (missing(...NEEDS).length > 0) return;
		const rules = [{ owner: "agent", command: "touch *", then: "ask", because: "it touches files" }];
		const starting = TwoHosts.start({ policy: { rules }, env: { DIALTONE_PORT: "0" } });
		[hosts, browser] = await Promise.all([starting, launchBrowser()]);
		({ alpha, beta, brokers, client } = hosts);
		await using other = await beta.connect();
		await started(client, { name: "here", argv: ["cat"] });
		await started(other, { name: "far", argv: ["cat"] });
		tab = await Tab.logIn(browser, home(alpha));
	}, 120_000);
	afterAll(async () => {
		await tab?.[Symbol.asyncDispose]();
		await browser?.close();
		await hosts?.[Symbol.asyncDispose]();
	});

	test("lists the sessions of both machines, and one of them alone", async () => {
		await isIn("here", "waiting");
		await isIn("beta/far", "waiting");
		expect(await machine("alpha").textContent()).toContain("this machine");
		await machine("beta").getByRole("button").click();
		await entry("here").waitFor({ state: "detached" });
		expect(await entry("beta/far").count()).toBe(1);
		await machine("beta").getByRole("button").click();
		await entry("here").waitFor();
	});

	test("uses a terminal of the other machine: typing, its past, its output, its actions", async () => {
		await entry("beta/far").getByRole("button").click();
		await tab.page.locator('[data-terminal="beta/far"]').waitFor();
		expect(tab.page.url()).toContain("#beta%2Ffar");
		await tab.takeOver();
		await typed("hello\n");
		await tab.shows("hello\nhello");
		await tab.page.getByRole("button", { name: "Hand back" }).click();
		await tab.page.getByRole("button", { name: "Take over" }).waitFor();
		await tab.page.getByRole("button", { name: "All output" }).click();
		await tab.page.locator(".output-list", { hasText: "hello" }).waitFor();
		await tab.page.getByRole("button", { name: "Screen", exact: true }).click();
		await tab.page.getByLabel("Search output").fill("hell");
		await tab.page.locator(".search-results", { hasText: "hello" }).waitFor();
		await tab.page.getByLabel("Search output").fill("");
		await tab.page.locator(".timeline-slider").press("PageDown");
		await tab.page.locator("[data-terminal][data-moment]").waitFor();
		await tab.page.locator(".timeline-slider").press("End");
		await tab.page.getByRole("button", { name: "Actions" }).click();
		expect(await tab.page.locator(".menu-note, [role=menuitem][aria-disabled=true]").count()).toBe(0);
		const download = tab.page.waitForEvent("download");
		await tab.page.getByRole("menuitem", { name: /^Download: Text/ }).click();
		expect((await download).suggestedFilename()).toBe("beta-far.txt");
	});

	test("a secret is typed there, and a call that waits there is approved here", async () => {
		await started(client, { host: "beta", name: "login", argv: ["bash", "-c", ASKS] });
		await isIn("beta/login", "secret");
		await tab.open("beta/login");
		await tab.page.getByLabel("Secret", { exact: true }).fill("open sesame");
		await tab.page.getByRole("button", { name: "Send secret" }).click();
		await tab.shows("of 11 characters");
		const file = join(beta.path, "touched");
		await using other = await beta.connect();
		const caller = { owner: "agent", cwd: beta.path, env: { PATH: process.env.PATH ?? "" } };
		const touched = other.call("run", { command: `touch ${file}`, timeoutMs: 120_000 }, { caller });
		const box = tab.page.getByRole("region", { name: /wants to run or type/ });
		await box.getByText(`touch ${file}`, { exact: true }).waitFor();
		expect(existsSync(file)).toBe(false);
		await box.getByRole("button", { name: "Approve", exact: true }).click();
		await touched;
		expect(existsSync(file)).toBe(true);
		await box.waitFor({ state: "detached" });
	});

	test("a terminal of the other machine is renamed, shared, started again and deleted", async () => {
		await started(client, { host: "beta", name: "whole", argv: ["cat"] });
		await entry("beta/whole").waitFor();
		await tab.open("beta/whole");
		const dialog = tab.page.getByRole("dialog");
		const choose = async (action: string) => {
			await tab.page.getByRole("button", { name: "Actions" }).click();
			await tab.page.getByRole("menuitem", { name: action }).click();
		};
		await choose("Rename");
		expect(await dialog.getByLabel("Name", { exact: true }).inputValue()).toBe("whole");
		await dialog.getByLabel("Name", { exact: true }).fill("renamed");
		await dialog.getByRole("button", { name: "Rename" }).click();
		await tab.page.locator('[data-terminal="beta/renamed"]').waitFor();
		await choose("Share a read-only link");
		await dialog.getByRole("button", { name: "Make a link" }).click();
		const link = await dialog.locator("pre").textContent();
		await dialog.getByRole("button", { name: "Close" }).click();
		const { page: viewer } = await browser.newContext().then(async (context) => ({ page: await context.newPage() }));
		await viewer.goto(link!);
		await viewer.locator('[data-terminal="beta/renamed"]').waitFor();
		await client.call("send", { session: "beta/renamed", text: "for all", submit: true } as never);
		const screen = () => viewer.evaluate<string>("document.querySelector('[data-terminal]').screenText()");
		await until("the viewer sees it", async () => (await screen()).includes("for all\nfor all"));
		expect(await viewer.locator("[data-session]").count()).toBe(1);
		expect(await viewer.locator("[data-machine]").count()).toBe(0);
		expect(await viewer.getByRole("button", { name: "Take over" }).count()).toBe(0);
		expect(await viewer.locator("body").textContent()).not.toMatch(/alpha|here|beta\/far/);
		await viewer.context().close();
		const before = (await client.call("read", { session: "beta/renamed" })).facts.session;
		await choose("Restart");
		await dialog.getByRole("button", { name: "Restart" }).click();
		const now = await until("another one has its name", async () => {
			const { session, status } = (await client.call("read", { session: "beta/renamed", view: "screen" })).facts;
			return session !== before && status === "running" && session;
		});
		await client.call("close", { session: "beta/renamed" });
		await tab.page.locator(`[data-id="${now}"][data-state="ended"]`).waitFor();
		await tab.open("beta/renamed");
		await choose("Delete");
		await dialog.getByRole("button", { name: "Delete" }).click();
		await tab.page.locator("[data-terminal]").waitFor({ state: "detached" });
		// The one that it was before the restart stays.
		await until("it is gone", async () => {
			const { sessions } = (await client.call("list", { status: "ended" })).facts;
			const left = sessions.filter(({ name }) => name === "beta/renamed").map(({ session }) => session);
			return JSON.stringify(left) === JSON.stringify([before]);
		});
	});

	test("a terminal is started there, and is driven at once", async () => {
		await tab.page.getByRole("button", { name: "New", exact: true }).click();
		const dialog = tab.page.getByRole("dialog");
		await dialog.getByLabel(/^Command/).fill("cat");
		await dialog.getByLabel(/^Name/).fill("fresh");
		await dialog.getByLabel("Machine").selectOption("beta");
		await dialog.getByRole("button", { name: "Start" }).click();
		await tab.page.locator('[data-terminal="beta/fresh"]').waitFor();
		await tab.page.getByRole("button", { name: "Hand back" }).waitFor();
		await typed("mine\n");
		await tab.shows("mine\nmine");
	});

	test("a machine whose daemon is killed is unreachable since then, nothing of it has ended, and it is back with every byte", async () => {
		const go = join(beta.path, "go");
		writeFileSync(go, "");
		await started(client, { host: "beta", name: "count", argv: ["bash", "-c", COUNTING, go] });
		await entry("beta/count").waitFor();
		await tab.open("beta/count");
		await tab.shows(/line \d{2,}/);
		await killDaemon(beta);
		await isIn("beta/count", "unreachable");
		const since = /unreachable since (?:\w+ \w+ )?\d\d:\d\d/;
		expect(await entry("beta/count").textContent()).toMatch(since);
		expect(await machine("beta").textContent()).toMatch(since);
		const bar = tab.page.locator(".drive-bar");
		await expect.poll(() => bar.textContent()).toMatch(/^beta is unreachable since .*may still be running/);
		expect(await bar.textContent()).not.toContain("Ended");
		expect(await tab.page.getByRole("button", { name: "Take over" }).isDisabled()).toBe(true);
		expect(await entry("here").getAttribute("data-state")).toBe("waiting");
		const before = journalBytes(beta);
		await until("the program goes on meanwhile", () => journalBytes(beta) > before + 500);
		await using _next = await beta.connect();
		await isIn("beta/count", "working");
		expect(await machine("beta").textContent()).not.toContain("unreachable");
		rmSync(go);
		await tab.shows("the end after");
		const { facts } = await client.call("read", { session: "beta/count", view: "screen" });
		expect((await tab.screenText()).trimEnd()).toBe(facts.text.trimEnd());
		await tab.takeOver();
		await typed("again\n");
		await tab.shows("again\nagain");
		expect(await tab.page.locator(".drive-warning").count()).toBe(0);
	});

	test("without the fleet's server this machine goes on and the others are marked, until it is back", async () => {
		await tab.open("here");
		await brokers.kill(0);
		await tab.page.getByText(/^The fleet’s servers are unreachable since \d\d:\d\d/).waitFor();
		await isIn("beta/far", "unreachable");
		await tab.takeOver();
		await typed("alone\n");
		await tab.shows("alone\nalone");
		await brokers.startAll();
		await isIn("beta/far", "waiting");
		await tab.page.getByText(/^The fleet’s servers/).waitFor({ state: "detached" });
		await tab.open("beta/far");
		await tab.shows("hello\nhello");
		await tab.takeOver();
		await typed("back\n");
		await tab.shows("back\nback");
	});
});

function journalBytes({ path }: Home): number {
	const sessions = join(path, "sessions");
	const outputs = readdirSync(sessions, { recursive: true, encoding: "utf8" }).filter((file) => /out\.\d+$/.test(file));
	return outputs.reduce((sum, file) => sum + statSync(join(sessions, file)).size, 0);
}
