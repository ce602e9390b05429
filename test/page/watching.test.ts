// A person watches while an agent works: the page shows the rows that the agent reads, and what was, when it is over.

import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RealServer } from "../http/real-server.ts";
import { needing } from "../programs.ts";
import { Agent } from "./agent.ts";
import { PersonPage } from "./person-page.ts";
import { launchBrowser } from "./tab.ts";

describe("R4.2 an agent works, and a person watches", needing("chromium"), () => {
	let server: RealServer;
	let browser: Browser;
	beforeAll(async () => {
		[server, browser] = await Promise.all([RealServer.start(), launchBrowser()]);
	});
	afterAll(async () => {
		await browser.close();
		await server[Symbol.asyncDispose]();
	});

	test("python, from its first prompt to its end and back again", needing("chromium", "python3"), async () => {
		await using agent = await Agent.connect(server);
		await using person = await PersonPage.logIn(browser, server);
		const { page } = person;
		const session = "py";
		await agent.call("start", { name: session, argv: ["python3", "-q"] });
		await person.open(session);
		await person.showsRows(await agent.screen(session));
		await person.hasState(session, "waiting");
		const send = (text: string, more = {}) => agent.call("send", { session, text, submit: true, ...more });
		for (const line of [
			"x = 6 * 7; x",
			"print('\\n'.join('%3d' % i * 8 for i in range(60)))",
			"print('\\x1b[31mred\\x1b[0m \\u4f60\\u597d \\u00e9', 'w' * 60)",
			"print('w' * 200)",
			"1 / 0",
		]) {
			await send(line);
			await person.showsRows(await agent.screen(session));
		}
		const working = send("import time; print('busy'); time.sleep(2); print('rested')", { until: { text: "\nrested" } });
		await person.hasState(session, "working");
		await working;
		await person.hasState(session, "waiting");
		await agent.call("wait", { session });
		const before = await agent.screen(session);
		await person.showsRows(before);
		await agent.call("send", { session, text: "print('b' + 'ye'); exit(3)", submit: true });
		await person.hasState(session, "ended");
		const last = await agent.screen(session);
		expect(last.join("\n")).toContain("bye");
		await person.showsRows(last);
		await page.getByText("ended with 3").first().waitFor();

		// Back in time, by keys and by dragging.
		const moment = page.getByLabel("Moment");
		await moment.press("Home");
		await person.showsRows([""]);
		await page.locator('[data-terminal][data-shows="moment"]').waitFor();
		await moment.press("End");
		await person.showsRows(last);
		await moment.press("ArrowLeft");
		await moment.press("ArrowLeft");
		const then = await person.rowsThen();
		expect(then).not.toContain("bye");
		expect(last.join("\n")).toContain(then.slice(-3).join("\n"));
		const link = new URL(page.url()).hash;
		expect(link).toMatch(/^#py@[\d.]+$/);
		await page.reload();
		await person.showsRows(then);
		await person.follow("#py");
		await person.showsRows(last);
		await person.follow(link);
		await person.showsRows(then);
		const box = (await moment.boundingBox())!;
		await page.mouse.move(box.x + box.width * 0.9, box.y + box.height / 2);
		await page.mouse.down();
		await page.mouse.move(box.x + 2, box.y + box.height / 2, { steps: 5 });
		await page.mouse.up();
		await person.showsRows([""]);
		await person.button("Back to the end").click();
		await person.showsRows(last);
	});

	test("vim, with another look at any moment", needing("chromium", "vim"), async () => {
		await using agent = await Agent.connect(server);
		await using person = await PersonPage.logIn(browser, server);
		const session = "vi";
		const file = join(server.home, "edited.txt");
		await agent.call("start", { name: session, argv: ["vim", "-u", "NONE", "-N", "-c", "set ruler", file] });
		await person.open(session);
		await person.showsRows(await agent.screen(session));
		const turns = [
			{ text: "ione two three\nfour five" },
			{ keys: ["Escape"] },
			{ text: "yy20p" },
			{ text: "gg:%s/four/FOUR/g", submit: true },
			{ text: ":vsplit", submit: true },
			{ keys: ["PageDown"] },
			{ text: ":only | w", submit: true },
		];
		const seen: string[] = [];
		for (const turn of turns) {
			await agent.call("send", { session, ...turn });
			const rows = await agent.screen(session);
			await person.showsRows(rows);
			seen.push(rows.join("\n"));
		}
		expect(new Set(seen).size).toBe(turns.length);
		await agent.call("send", { session, text: ":q", submit: true });
		await person.hasState(session, "ended");
		await person.showsRows(await agent.screen(session));
		rmSync(file);
	});
});
