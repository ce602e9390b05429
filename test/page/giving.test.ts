// What is asked for is given in the page's boxes, by who drives and by who does not: it arrives once, or the person
// reads why it did not and has it still.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../condition.ts";
import { RealServer } from "../http/real-server.ts";
import { needing } from "../programs.ts";
import { Agent } from "./agent.ts";
import { PersonPage } from "./person-page.ts";
import { launchBrowser } from "./tab.ts";

const TWO_SECRETS = `
read -rsp 'First: ' a; echo; echo "first has \${#a}"
read -rsp 'Second: ' b; echo; echo "second has \${#b}"
read -rp 'And: ' y; echo "and <$y>"
sleep 300`;

describe("R4.12 a person gives what is asked for", needing("chromium"), () => {
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

	const start = (name: string, script: string) => agent.call("start", { name, argv: ["bash", "-c", script] });
	const boxOf = ({ page }: PersonPage, prompt: string) =>
		page.getByRole("region", { name: /wants a secret/ }).filter({ hasText: prompt });
	const hasFocus = ({ page }: PersonPage, where: string) =>
		until(`the focus is in ${where}`, () =>
			page.evaluate<boolean>(`document.activeElement.closest(${JSON.stringify(where)}) !== null`),
		);

	test("in the box while they drive: it is sent once, and the Enter that sent it goes nowhere else", async () => {
		await using person = await PersonPage.logIn(browser, server);
		const { page } = person;
		await start("driven", TWO_SECRETS);
		await person.open("driven");
		await boxOf(person, "First:").waitFor();
		await person.takeOver();
		await hasFocus(person, ".terminal-host");
		await boxOf(person, "First:").getByLabel("Secret", { exact: true }).fill("seven77");
		await person.button("Send secret").click();
		await person.shows("first has 7");
		// The second box appears while they drive: it leaves the focus where it is.
		await boxOf(person, "Second:").waitFor();
		await hasFocus(person, ".terminal-host");
		await boxOf(person, "Second:").getByLabel("Secret", { exact: true }).click();
		await page.keyboard.type("four");
		await page.keyboard.down("Enter");
		await person.shows("And:");
		await hasFocus(person, ".terminal-host");
		for (let repeated = 0; repeated < 5; repeated++) await page.keyboard.down("Enter");
		await page.keyboard.up("Enter");
		await page.keyboard.type("then this\n");
		await person.shows("and <then this>");
		expect(await person.rows()).toContain("second has 4");
		await agent.call("close", { session: "driven", force: true });
	});

	test("in the terminal while they drive: a box that appears in mid-word takes nothing of it", async () => {
		await using person = await PersonPage.logIn(browser, server);
		await start("typing", "read -rp 'Name: ' n; read -rsp 'Pass: ' p; echo; echo \"<$n> ${#p}\"; sleep 300");
		await person.open("typing");
		await person.takeOver();
		await person.page.keyboard.type("Bo\nsec");
		await boxOf(person, "Pass:").waitFor();
		await person.page.keyboard.type("ret\n");
		await person.shows("<Bo> 6");
		await agent.call("close", { session: "typing", force: true });
	});

	test("while another drives it is refused: they read who drives, and what they typed is still there", async () => {
		await using person = await PersonPage.logIn(browser, server);
		await using other = await PersonPage.logIn(browser, server);
		await start("taken", TWO_SECRETS);
		await person.open("taken");
		await other.open("taken");
		await other.takeOver();
		const box = boxOf(person, "First:");
		const field = box.getByLabel("Secret", { exact: true });
		await field.fill("seven77");
		await field.press("Enter");
		await box
			.getByRole("alert")
			.getByText(/^Not sent: .+ drives this terminal/)
			.waitFor();
		expect(await field.inputValue()).toBe("seven77");
		expect(await box.getByText("Sent.").count()).toBe(0);
		await other.handBack();
		await person.page.getByText("The agent drives. You watch.").waitFor();
		await person.button("Send secret").click();
		await person.shows("first has 7");
		await agent.call("close", { session: "taken", force: true });
	});

	test("an answer to the agent's question, while they drive", async () => {
		await using person = await PersonPage.logIn(browser, server);
		await start("asked", "read -rp 'Name: ' n; echo \"hi <$n>\"; read -rp 'Sure? ' s; echo \"sure <$s>\"; sleep 300");
		await person.open("asked");
		await agent.call("ask_human", { session: "asked", question: "Who are you?" });
		await person.page.getByText("Who are you?", { exact: true }).waitFor();
		await person.takeOver();
		await hasFocus(person, ".terminal-host");
		await person.page.getByLabel("Answer", { exact: true }).fill("Bo");
		await person.page.keyboard.down("Enter");
		await person.shows("Sure?");
		await person.page.keyboard.down("Enter");
		await person.page.keyboard.up("Enter");
		// It is answered, the box is gone, and they go on in the terminal.
		await hasFocus(person, ".terminal-host");
		await person.page.keyboard.type("yes\n");
		await person.shows("sure <yes>");
		expect(await person.rows()).toContain("Name: Bo");
		await agent.call("close", { session: "asked", force: true });
	});
});
