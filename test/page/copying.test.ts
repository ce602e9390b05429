// What a person copies, and what a screen reader reads, is what the pane shows: live, scrolled up, or a moment.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../condition.ts";
import { RealServer } from "../http/real-server.ts";
import { needing } from "../programs.ts";
import { Agent } from "./agent.ts";
import { PersonPage } from "./person-page.ts";
import { launchBrowser } from "./tab.ts";

describe("R4.2 what is shown can be copied and read", needing("chromium"), () => {
	let server: RealServer;
	let browser: Browser;
	let agent: Agent;
	beforeAll(async () => {
		[server, browser] = await Promise.all([RealServer.start(), launchBrowser()]);
		agent = await Agent.connect(server);
	});
	afterAll(async () => {
		await agent[Symbol.asyncDispose]();
		await browser.close();
		await server[Symbol.asyncDispose]();
	});

	const clipboard = ({ page }: PersonPage) => page.evaluate<string>("navigator.clipboard.readText()");
	const empty = ({ page }: PersonPage) => page.evaluate("navigator.clipboard.writeText('nothing yet')");
	const copied = (person: PersonPage) =>
		until("something is copied", async () => {
			const text = await clipboard(person);
			return text !== "nothing yet" && text;
		});

	test("a moment's text, not the live one's; and the rows that are scrolled to", async () => {
		await using person = await PersonPage.logIn(browser, server);
		const { page } = person;
		const session = "past";
		await agent.call("start", { name: session, argv: ["bash", "-c", "echo early; read; clear; seq 200; exec cat"] });
		await person.open(session);
		await person.shows("early");
		await agent.call("send", { session, submit: true, until: { text: "200" } });
		await person.shows("200");
		await page.locator("[data-terminal]").hover();
		await until("the first row is scrolled to", async () => {
			await page.mouse.wheel(0, -1000);
			return (await person.rows()).includes("1");
		});
		expect(await person.rows()).not.toContain("200");

		await agent.call("send", { session, text: "only live", submit: true, until: { text: "only live" } });
		const { marks } = (await (await server.get(`/v1/sessions/${session}/timeline`)).json()) as {
			marks: { kind: string; at: number }[];
		};
		const at = marks.find(({ kind }) => kind === "turn")!.at / 1000;
		await person.follow(`#${session}@${(at - 0.002).toFixed(3)}`);
		expect(await person.rowsThen()).toEqual(["early"]);
		await empty(person);
		await person.button("Copy text").click();
		expect((await copied(person)).trim()).toBe("early");
		const mirror = page.getByRole("region", { name: new RegExp(`^Screen of ${session} at `) });
		await until("a screen reader has the moment", async () => (await mirror.textContent())?.trim() === "early");
		await person.button("Back to live").click();
		const live = page.getByRole("region", { name: `Screen of ${session}`, exact: true });
		await until("a screen reader has the live screen", async () => (await live.textContent())?.includes("only live"));
		await agent.call("close", { session, force: true });
	});

	test("what is selected: by Ctrl+C while they watch, by Ctrl+Shift+C always; Ctrl+C is the program's while they drive", async () => {
		await using person = await PersonPage.logIn(browser, server);
		const { page } = person;
		const session = "selected";
		await agent.call("start", {
			name: session,
			argv: ["bash", "-c", "trap 'echo interrupted' INT; echo onlyword; while :; do read -r line; done"],
		});
		await person.open(session);
		await person.shows("onlyword");
		const select = async () => {
			await empty(person);
			const word = page.locator('[data-is="live"] .xterm-rows span', { hasText: "onlyword" }).first();
			const { x, y, width, height } = await until("the word is drawn", () => word.boundingBox());
			await page.mouse.dblclick(x + width / 2, y + height / 2);
		};
		// Again where the terminal moved between the look and the click: it takes the size of the window.
		const copies = (keys: string) =>
			until(`${keys} copies`, async () => {
				await select();
				await page.keyboard.press(keys);
				return (await clipboard(person)) === "onlyword";
			});
		await copies("Control+c");
		await copies("Control+Shift+C");
		await person.takeOver();
		await copies("Control+Shift+C");
		await select();
		await page.keyboard.press("Control+c");
		await person.shows("interrupted");
		expect(await clipboard(person)).toBe("nothing yet");
		await person.handBack();
		await page.getByRole("heading", { level: 1 }).click();
		await page.keyboard.press("?");
		await page.getByRole("dialog").getByText("Copy what is selected").waitFor();
		await page.getByRole("dialog").getByText("Paste, while you drive").waitFor();
		await agent.call("close", { session, force: true });
	});
});
