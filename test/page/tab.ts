// A person's tab in a real Chromium: logged in by a link of `dialtone web`, and what it shows.

import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { until } from "../condition.ts";
import type { RealServer } from "../http/real-server.ts";
import { find } from "../programs.ts";

export const launchBrowser = (): Promise<Browser> =>
	chromium.launch({ executablePath: find("chromium")!, args: ["--no-sandbox"] });

export class Tab implements AsyncDisposable {
	readonly page: Page;
	readonly url: string;
	readonly #context: BrowserContext;

	private constructor(context: BrowserContext, page: Page, url: string) {
		this.#context = context;
		this.page = page;
		this.url = url;
	}

	/** As another browser: with a cookie of its own. */
	static async logIn(
		browser: Browser,
		server: Pick<RealServer, "cli">,
		options: BrowserContextOptions = {},
	): Promise<Tab> {
		const { url, link } = JSON.parse((await server.cli("web", "--json")).out) as { url: string; link: string };
		const context = await browser.newContext(options);
		context.setDefaultTimeout(90_000); // what only a hang takes longer than
		const page = await context.newPage();
		await page.goto(link);
		await page.waitForURL(`${url}/`);
		await page.locator('body[data-connection="live"]').waitFor();
		return new Tab(context, page, url);
	}

	async open(session: string): Promise<void> {
		await this.page.evaluate(`location.hash = ${JSON.stringify(session)}`);
		await this.page.locator(`[data-terminal="${session}"]`).waitFor();
	}

	screenText(): Promise<string> {
		return this.page.evaluate<string>("document.querySelector('[data-terminal]').screenText()");
	}

	async shows(text: string | RegExp): Promise<void> {
		const isShown = (screen: string) => (typeof text === "string" ? screen.includes(text) : text.test(screen));
		try {
			await until(`the tab shows ${text}`, async () => isShown(await this.screenText()));
		} catch (cause) {
			throw new Error(`the tab does not show ${text}, but:\n${await this.screenText()}`, { cause });
		}
	}

	/** The page is connected, or not. */
	connection(state: "live" | "reconnecting" | "offline"): Promise<void> {
		return this.page.locator(`body[data-connection="${state}"]`).waitFor();
	}

	async takeOver(): Promise<void> {
		await this.page.getByRole("button", { name: "Take over" }).click();
		await this.page.getByRole("button", { name: "Hand back" }).waitFor();
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.#context.close();
	}
}
