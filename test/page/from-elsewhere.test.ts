// A person follows a link to a terminal on a page of another site: they arrive there, logged in as they are.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../condition.ts";
import { RealServer } from "../http/real-server.ts";
import { needing } from "../programs.ts";
import { Agent } from "./agent.ts";
import { PersonPage } from "./person-page.ts";
import { launchBrowser } from "./tab.ts";

describe("R4.11 a link on another site's page", needing("chromium"), () => {
	let server: RealServer;
	let browser: Browser;
	let elsewhere: string;
	const other = createServer((_, response) => {
		const links = ["#py", "#py@0.001", ""].map((hash) => `<a href="${server.url}/${hash}">to ${hash}.</a>`);
		response
			.writeHead(200, { "content-type": "text/html" })
			.end(`<!doctype html><title>other</title>${links.join(" ")}`);
	});
	beforeAll(async () => {
		[server, browser] = await Promise.all([RealServer.start(), launchBrowser()]);
		await new Promise<void>((listening) => other.listen(0, "127.0.0.1", listening));
		// Another site than 127.0.0.1, unlike another port of it.
		elsewhere = `http://localhost:${(other.address() as AddressInfo).port}/`;
	});
	afterAll(async () => {
		other.closeAllConnections();
		other.close();
		await browser.close();
		await server[Symbol.asyncDispose]();
	});

	test("leads to the terminal and the moment that it names", async () => {
		await using agent = await Agent.connect(server);
		await using person = await PersonPage.logIn(browser, server);
		const { page } = person;
		await agent.call("start", { name: "py", argv: ["cat"] });
		for (const hash of ["#py", "#py@0.001", ""]) {
			await page.goto(elsewhere);
			const asked: number[] = [];
			const count = (answer: { url(): string; status(): number }) => {
				if (answer.url().split("#")[0] === `${server.url}/`) asked.push(answer.status());
			};
			page.on("response", count);
			await page.getByText(`to ${hash}.`, { exact: true }).click();
			await page.locator('body[data-connection="live"]').waitFor();
			if (hash !== "") await page.locator('[data-terminal="py"]').waitFor();
			page.off("response", count);
			expect(page.url()).toBe(`${server.url}/${hash}`);
			expect(asked).toEqual([401, 200]); // without the cookie, then with it
		}
		await agent.call("close", { session: "py", force: true });
	});

	test("says to who is not logged in how to log in, once", async () => {
		const page = await browser.newPage();
		await page.goto(elsewhere);
		const asked: string[] = [];
		page.on("request", (request) => request.isNavigationRequest() && asked.push(request.url()));
		await page.getByText("to #py.", { exact: true }).click();
		await page.waitForURL(`${server.url}/#py`);
		await until("it has asked again", () => asked.length === 2);
		await page.getByText("Not logged in").waitFor();
		await page.waitForLoadState("networkidle");
		expect(asked).toHaveLength(2);
		await page.close();
	});
});
