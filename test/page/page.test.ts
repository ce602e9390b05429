// The page in a real browser, against a daemon that says what no well-behaved program would.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import axe from "axe-core";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { until } from "../condition.ts";
import { find, missing } from "../programs.ts";
import { FakeDaemon } from "./fake-daemon.ts";

const DIST = join(import.meta.dirname, "../../dist/web");
const MAX_PAGE_BYTES = 250 * 1024;

/** One of each question that a program can ask its terminal, and requests that concern a person's window. */
const QUERIES =
	"\x1b[c\x1b[>c\x1b[5n\x1b[6n\x1b[?6n\x1b[?2026$p\x1b[>q\x1b[?u\x1b[14t\x1b[18t\x1bZ\x1b]4;1;?\x07\x1b]10;?\x07\x1b]11;?\x07\x1bP$qm\x1b\\\x1bP+q544e\x1b\\\x1b[?1004h\x1b]52;c;c3RvbGVu\x07\x1b]0;other title\x07\x05";

test("the page is small and takes nothing from elsewhere", () => {
	const files = readdirSync(DIST, { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile())
		.map((entry) => join(entry.parentPath, entry.name));
	const bytes = files.reduce((sum, file) => sum + gzipSync(readFileSync(file)).length, 0);
	expect(bytes).toBeLessThan(MAX_PAGE_BYTES);
	const index = readFileSync(join(DIST, "index.html"), "utf8");
	expect(index).not.toMatch(/https?:|<script>|<style/);
});

describe.skipIf(missing("chromium").length > 0)("in Chromium", () => {
	let browser: Browser;
	let daemon: FakeDaemon;
	let page: Page;
	let url: string;

	beforeAll(async () => {
		browser = await chromium.launch({ executablePath: find("chromium")!, args: ["--no-sandbox"] });
	});
	afterAll(() => browser.close());
	beforeEach(async ({ onTestFinished }) => {
		daemon = new FakeDaemon();
		daemon.session("py", ">>> ");
		url = await daemon.listen();
		const context = await browser.newContext({ bypassCSP: true }); // for axe
		page = await context.newPage();
		onTestFinished(async () => {
			await context.close();
			await daemon.close();
		});
	});

	const open = async (hash: string) => {
		await page.goto(url + hash);
		await page.locator("[data-terminal]").waitFor();
	};
	const screenText = () => page.evaluate<string>("document.querySelector('[data-terminal]').screenText()");
	const shows = (text: string) => until(`the terminal shows ${text}`, async () => (await screenText()).includes(text));

	test("the page answers no query of a program, whether it watches or drives", async () => {
		daemon.session("py", `>>> ${QUERIES}`);
		await open("#py");
		daemon.print("py", `${QUERIES}watched`);
		await shows("watched");
		expect(daemon.received).toEqual([]);
		await page.getByRole("button", { name: "Take over" }).click();
		await page.getByRole("button", { name: "Hand back" }).waitFor();
		daemon.print("py", `${QUERIES}driven`);
		await shows("driven");
		await page.keyboard.type("x");
		await until("the key arrives", () => daemon.received.some(({ text }) => text === "x"));
		expect(daemon.received.map(({ type }) => type).filter((type) => type !== "resize")).toEqual(["take", "input"]);
		expect(await page.title()).toBe("py · Dialtone");
	});

	test("a secret goes to the terminal and stays nowhere in the page", async () => {
		const needs = {
			kind: "secret",
			since: 1,
			question: null,
			reason: null,
			program: "ssh",
			command: "ssh prod",
			host: "prod",
		} as const;
		daemon.session("ssh", "password: ", { state: "secret", needs });
		await open("#ssh");
		await page.getByLabel("Secret", { exact: true }).fill("correct horse");
		await page.getByRole("button", { name: "Send secret" }).click();
		await until("the secret arrives", () => daemon.received.length > 0);
		expect(daemon.received).toEqual([{ type: "secret", text: "correct horse", id: expect.any(String) }]);
		const kept = "JSON.stringify([localStorage, sessionStorage, document.documentElement.outerHTML, location.href])";
		expect(await page.evaluate(kept)).not.toContain("correct horse");
		await page.getByText("Sent.", { exact: true }).waitFor();
		expect(await page.getByLabel("Secret", { exact: true }).inputValue()).toBe("");
		daemon.change("ssh", { state: "working", needs: null });
		await page.locator('[data-session="ssh"][data-state="working"]').waitFor();
		expect(await page.getByRole("button", { name: "Send secret" }).count()).toBe(0);
	});

	test("after a lost connection the list, the screen and the lease come back", async () => {
		await open("#py");
		await page.getByRole("button", { name: "Take over" }).click();
		await page.getByRole("button", { name: "Hand back" }).waitFor();
		daemon.session("py", "after the loss");
		daemon.session("new", "");
		daemon.received.length = 0;
		daemon.dropConnections();
		await page.locator('[data-session="new"]').waitFor();
		await shows("after the loss");
		await page.locator('body[data-connection="live"]').waitFor();
		await until("the lease is taken up", () => daemon.received.some(({ type }) => type === "take"));
		expect(daemon.received[0]).toEqual({ type: "take", lease: "lease" });
	});

	test("a box that asks before something ends shows all of a long command, and begins at Cancel", async () => {
		daemon.session("long", "", { command: `sh -c ${"a-very-long-word ".repeat(80)}${"x".repeat(400)}` });
		await open("#long");
		for (const action of ["Close", "Restart"]) {
			await page.getByRole("button", { name: "Actions" }).click();
			await page.getByRole("menuitem", { name: action, exact: true }).click();
			const dialog = page.getByRole("dialog");
			await until("Cancel has the focus", () =>
				page.evaluate<boolean>("document.activeElement.textContent === 'Cancel'"),
			);
			const scrolls =
				"(({ scrollWidth, clientWidth, scrollHeight, clientHeight }) => scrollWidth > clientWidth || scrollHeight > clientHeight)(document.querySelector('dialog pre'))";
			expect(await page.evaluate<boolean>(scrolls)).toBe(false);
			await page.evaluate(axe.source);
			const { violations } = await page.evaluate<{ violations: { id: string }[] }>("axe.run('dialog')");
			expect(violations.map(({ id }) => id)).toEqual([]);
			await page.keyboard.press("Enter");
			await until("it is cancelled", async () => (await dialog.count()) === 0);
		}
	});

	test("a name that cannot be is refused with which names can", async () => {
		await open("#py");
		const words = "Letters, digits, dot, dash and underscore, at most 64; first a letter or a digit.";
		const refuses = async (button: string) => {
			const dialog = page.getByRole("dialog");
			await dialog.getByText(words, { exact: true }).waitFor();
			const field = dialog.getByLabel(/^Name/);
			await field.fill("no spaces");
			expect(await field.evaluate((element) => (element as HTMLInputElement).validationMessage)).toBe(words);
			await field.fill("good.name-1");
			expect(await field.evaluate((element) => (element as HTMLInputElement).validationMessage)).toBe("");
			await dialog.getByRole("button", { name: "Cancel" }).click();
			await until(`${button} is closed`, async () => (await dialog.count()) === 0);
		};
		await page.getByRole("button", { name: "Actions" }).click();
		await page.getByRole("menuitem", { name: "Rename" }).click();
		await refuses("Rename");
		await page.getByRole("button", { name: /^New/ }).first().click();
		await refuses("New");
	});

	test("what is refused is told in the box that asked, and then the focus is where it came from", async () => {
		await open("#py");
		const taken = { fault: "name_taken", message: "The name is taken.", next: 'Use `ifExists: "use"`.', facts: {} };
		await page.route("**/rename", (route) => route.fulfill({ status: 409, json: taken }));
		await page.getByRole("button", { name: "Actions" }).click();
		await page.getByRole("menuitem", { name: "Rename" }).click();
		const dialog = page.getByRole("dialog");
		await dialog.getByLabel("Name").fill("other");
		await page.keyboard.press("Enter");
		await dialog.getByRole("alert").waitFor();
		// Tools are none of a person's business.
		expect(await dialog.getByRole("alert").textContent()).toBe("The name is taken.");
		await page.keyboard.press("Escape");
		await dialog.waitFor({ state: "detached" });
		expect(await page.evaluate<string | undefined>("document.activeElement?.textContent")).toBe("Actions");
	});

	test("a phone has the keys that it lacks, each large enough for a finger, and no words are cut", async () => {
		const question = {
			...{ kind: "question", since: 1, question: "Go on?", reason: null, program: "sh", command: "sh", host: null },
		} as const;
		daemon.session("ask", "", { state: "needs-you", needs: question });
		await page.setViewportSize({ width: 390, height: 844 });
		await open("#ask");
		const cut = `(() => {
			const field = document.querySelector('[aria-label="Answer"]');
			const context = document.createElement("canvas").getContext("2d");
			context.font = getComputedStyle(field).font;
			return context.measureText(field.placeholder).width > field.clientWidth - 20;
		})()`;
		await page.getByLabel("Answer", { exact: true }).waitFor();
		expect(await page.evaluate<boolean>(cut)).toBe(false);
		await page.getByText("Typed into the terminal, with Enter: sh gets it as its input.").waitFor();
		await page.getByRole("button", { name: "Take over" }).click();
		const keys = page.getByRole("toolbar", { name: "Keys" });
		await keys.waitFor();
		const wanted = {
			"Ctrl+C": "\x03",
			Home: "\x1b[H",
			End: "\x1b[F",
			PgUp: "\x1b[5~",
			PgDn: "\x1b[6~",
			"|": "|",
			"/": "/",
			"~": "~",
		};
		for (const [name, text] of Object.entries(wanted)) {
			const key = keys.getByRole("button", { name, exact: true });
			const { width, height } = (await key.boundingBox())!;
			expect([name, width >= 44, height >= 40]).toEqual([name, true, true]);
			await key.click();
			await until(`${name} arrives`, () => daemon.received.at(-1)?.text === text);
		}
	});

	test("somebody who cannot see can use it, in the dark and in the light (axe)", async () => {
		const question = {
			kind: "question",
			since: 1,
			question: "Go on?",
			reason: null,
			program: "sh",
			command: "sh",
			host: null,
		} as const;
		daemon.session("ask", "\x1b[2mdim\x1b[m \x1b[34mblue\x1b[m", { state: "needs-you", needs: question });
		daemon.session("gone", "", { state: "ended", exit: { code: 1, signal: null } });
		for (const colorScheme of ["dark", "light"] as const)
			for (const hash of ["", "#ask", "#gone"]) {
				await page.emulateMedia({ colorScheme });
				await page.goto("about:blank");
				await page.goto(url + hash);
				await page.locator('[data-session="ask"]').waitFor();
				await page.getByRole("heading", { level: 1 }).waitFor();
				await page.evaluate(axe.source);
				const { violations } = await page.evaluate<{ violations: { id: string }[] }>("axe.run()");
				expect(
					violations.map(({ id }) => id),
					`${colorScheme} ${hash}`,
				).toEqual([]);
			}
	});

	const ACTIONS = ["Rename", "Share a read-only link", "Close", "Send a signal", "Resize", "Restart"];
	test.each(["dark", "light"] as const)("and its dialogs: %s (axe)", async (colorScheme) => {
		await page.emulateMedia({ colorScheme });
		await open("#py");
		await page.evaluate(axe.source);
		const dialogs: Record<string, () => Promise<void>> = {
			new: () => page.getByRole("button", { name: "New", exact: true }).click(),
			palette: () => page.keyboard.press("Control+k"),
			keys: () => page.keyboard.press("?"),
		};
		for (const name of ACTIONS)
			dialogs[name] = async () => {
				await page.getByRole("button", { name: "Actions" }).click();
				await page.getByRole("menuitem", { name, exact: true }).click();
			};
		const problems: string[] = [];
		for (const [name, show] of Object.entries(dialogs)) {
			await show();
			await page.getByRole("dialog").waitFor();
			const { violations } = await page.evaluate<{ violations: { id: string }[] }>("axe.run()");
			problems.push(...violations.map(({ id }) => `${name}: ${id}`));
			await page.keyboard.press("Escape");
			await page.getByRole("dialog").waitFor({ state: "detached" });
		}
		expect(problems).toEqual([]);
	});
});
