// A person helps an agent in the middle of its conversation: is asked, takes over, types, hands back; the agent hears of it.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../condition.ts";
import { RealServer } from "../http/real-server.ts";
import { needing } from "../programs.ts";
import { Agent } from "./agent.ts";
import { PersonPage } from "./person-page.ts";
import { launchBrowser } from "./tab.ts";

describe("R4.11 a person takes over", needing("chromium"), () => {
	let server: RealServer;
	let browser: Browser;
	let agent: Agent;
	beforeAll(async () => {
		[server, browser] = await Promise.all([RealServer.start(), launchBrowser()]);
		agent = await Agent.connect(server, { showsLinks: true });
	});
	afterAll(async () => {
		await agent[Symbol.asyncDispose]();
		await browser.close();
		await server[Symbol.asyncDispose]();
	});

	const size = async (session: string) =>
		(await (await server.get(`/v1/sessions/${session}/snapshot`)).json()) as { cols: number; rows: number };

	test("in the middle of a conversation, and hands back with a note", needing("chromium", "python3"), async () => {
		await using person = await PersonPage.logIn(browser, server);
		const { page } = person;
		const session = "helped";
		await agent.call("start", { name: session, argv: ["python3", "-q"] });
		await agent.call("send", { session, text: "x = 1", submit: true });
		await person.hasState(session, "waiting");
		expect(await page.title()).toBe("Dialtone");

		await agent.call("ask_human", { session, question: "Set x to the answer, please", reason: "Only you know it" });
		const waiting = agent.call("wait", { session, timeoutMs: 120_000 });
		const asking = page.getByRole("region", { name: "Needs you" }).getByRole("button", { name: /Set x to the answer/ });
		await asking.waitFor();
		await person.hasState(session, "needs-you");
		expect(await page.title()).toBe("● helped needs you · Dialtone");
		// Exactly there, and nobody is logged in by it.
		const [link] = agent.links;
		expect(link).toMatchObject({ mode: "url", message: "Set x to the answer, please" });
		expect(new URL(link!.url).origin).toBe(server.url);
		expect(link!.url).not.toMatch(/code|dt_/);
		await page.goto(link!.url);
		await page.locator(`[data-terminal="${session}"]`).waitFor();
		await page.getByText("Only you know it").waitFor();

		const agents = await size(session);
		await person.takeOver();
		await page.keyboard.type("x = 42");
		await page.keyboard.press("Enter");
		await person.shows("x = 42");
		const refused = await agent.attempt("send", { session, text: "x = 2", submit: true });
		expect(refused).toMatchObject({
			isError: true,
			fault: { fault: "driven_by_human", facts: { who: expect.any(String), since: expect.any(Number) } },
		});
		await page.evaluate("navigator.clipboard.writeText('y = 1\\nz = 2\\n')");
		await page.keyboard.press("Control+Shift+V");
		await person.shows("z = 2");
		const fits = await until("the size follows the driver", async () => {
			const { cols, rows } = await size(session);
			return (cols !== agents.cols || rows !== agents.rows) && { cols, rows };
		});
		await page.getByText(`${fits.cols} × ${fits.rows}`).waitFor();
		await page.setViewportSize({ width: 900, height: 600 });
		await until("it follows the window", async () => (await size(session)).cols < fits.cols);

		await person.handBack("x is set");
		const heard = await waiting;
		expect(heard.split("\n")[0]).toMatch(/^A person \(.+\) typed 7 keys, pasted 2 lines; note: "x is set"\.$/);
		expect(heard).toContain("x = 42");
		expect(await agent.call("send", { session, text: "print(x + y + z)", submit: true })).toContain("45");
		await person.shows("45");
		await person.hasState(session, "waiting");
		expect(await page.title()).toBe("helped · Dialtone");
		await agent.call("close", { session, force: true });
	});

	test("one driver at a time: the first watches when a second takes over, and a tab that is gone for 30 s drives no more", async () => {
		await using first = await PersonPage.logIn(browser, server);
		const second = await PersonPage.logIn(browser, server);
		const session = "shared";
		await agent.call("start", { name: session, argv: ["cat"] });
		await first.open(session);
		await second.open(session);
		await first.takeOver();
		await first.page.keyboard.type("one ");
		await second.page.getByText(/drives\. You watch/).waitFor();
		await second.takeOver();
		await first.button("Take over").waitFor();
		await first.page
			.getByRole("alert")
			.getByText(/^Another tab of .+ took over: what you type does not reach the program\.$/)
			.waitFor();
		await first.page.keyboard.type("not lost on shortcuts"); // `t` would take over, `o` leave
		await second.page.keyboard.type("two");
		await second.page.keyboard.press("Enter");
		const rows = ["one two", "one two"];
		await second.showsRows(rows);
		await first.showsRows(rows);
		const waiting = agent.call("wait", { session, timeoutMs: 120_000 });
		const gone = Date.now();
		await second[Symbol.asyncDispose]();
		expect((await agent.attempt("send", { session, text: "x" })).text).toContain("driven_by_human");
		const heard = await waiting;
		expect(Date.now() - gone).toBeGreaterThan(29_000);
		expect(heard).toMatch(/^A person \(.+\) typed 4 keys/);
		await first.page.getByText("The agent drives. You watch.").waitFor();
		expect(await first.page.getByRole("alert").count()).toBe(0);
		await agent.call("send", { session, text: "three", submit: true, until: { text: "three\nthree" } });
		await first.shows("three");
		await agent.call("close", { session, force: true });
	});

	test("answers in words, or declines: the agent hears which", async () => {
		await using person = await PersonPage.logIn(browser, server);
		const { page } = person;
		const session = "asked";
		await agent.call("start", {
			name: session,
			argv: ["bash", "-c", "read -p 'Name: ' x; echo hi $x; read -p 'Sure? '"],
		});
		await person.open(session);
		const ask = async (question: string) => {
			await agent.call("ask_human", { session, question });
			return agent.call("wait", { session, timeoutMs: 120_000 });
		};
		const answered = ask("What is your name?");
		await page.getByText("What is your name?", { exact: true }).waitFor();
		await page.getByLabel("Answer", { exact: true }).fill("Bo");
		await person.button("Answer").click();
		expect(await answered).toMatch(/^A person \(.+\) answered\.[\s\S]*hi Bo/);
		await person.shows("hi Bo");
		await person.hasState(session, "waiting");
		const declined = ask("May it be deleted?");
		await page.getByText("May it be deleted?", { exact: true }).waitFor();
		await person.button("Decline").click();
		expect(await declined).toMatch(/^A person \(.+\) declined to answer\./);
		await person.hasState(session, "waiting");
		expect(await person.button("Decline").count()).toBe(0);
		await agent.call("close", { session, force: true });
	});
});
