// A person with the page open in a real browser, logged in by a link of `dialtone web`.

import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { until } from "../condition.ts";
import type { RealServer } from "../http/real-server.ts";
import { shownRows } from "./agent.ts";

interface TerminalElement extends HTMLElement {
	screenText(): string;
}

export class PersonPage implements AsyncDisposable {
	readonly page: Page;
	readonly context: BrowserContext;
	readonly #url: string;

	private constructor(context: BrowserContext, page: Page, url: string) {
		this.context = context;
		this.page = page;
		this.#url = url;
	}

	static async logIn(browser: Browser, server: RealServer): Promise<PersonPage> {
		const context = await browser.newContext();
		await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: server.url });
		context.setDefaultTimeout(90_000); // what only a hang takes longer than
		const page = await context.newPage();
		const { out } = await server.cli("web", "--json");
		await page.goto(JSON.parse(out).link);
		await page.waitForURL(`${server.url}/`);
		await page.locator('body[data-connection="live"]').waitFor();
		return new PersonPage(context, page, server.url);
	}

	/** By a link, as from another window. */
	async follow(hash: string): Promise<void> {
		await this.page.goto("about:blank");
		await this.page.goto(`${this.#url}/${hash}`);
	}

	/** By a click in the list. */
	async open(name: string): Promise<void> {
		await this.entry(name).getByRole("button").click();
		await this.page.locator(`[data-terminal="${name}"]`).waitFor();
	}

	entry(name: string): Locator {
		return this.page.locator(`[data-session="${name}"]`);
	}

	async hasState(name: string, state: string): Promise<void> {
		const seen = () => this.entry(name).getAttribute("data-state", { timeout: 20_000 });
		await until(`${name} is ${state}`, async () => (await seen()) === state);
	}

	button(name: string): Locator {
		return this.page.getByRole("button", { name, exact: true });
	}

	async rows(): Promise<readonly string[]> {
		const terminal = this.page.locator("[data-terminal]");
		return shownRows(await terminal.evaluate((element) => (element as TerminalElement).screenText()));
	}

	/** The moment that the address names is on the screen; its rows. */
	async rowsThen(): Promise<readonly string[]> {
		await until("the moment is drawn", async () => {
			const drawn = await this.page.locator("[data-terminal]").getAttribute("data-moment");
			const seconds = /@([\d.]+)$/.exec(this.page.url())?.[1]; // 0.43 and 0.430 are one moment
			return drawn !== null && seconds !== undefined && Math.round(Number(seconds) * 1000) === Number(drawn);
		});
		return this.rows();
	}

	/** The terminal shows exactly these rows. */
	showsRows(rows: readonly string[]): Promise<void> {
		const wanted = JSON.stringify(rows);
		return this.#shows(rows.join("\n"), (seen) => JSON.stringify(seen) === wanted);
	}

	/** A row of the terminal contains this. */
	shows(text: string): Promise<void> {
		return this.#shows(text, (seen) => seen.some((row) => row.includes(text)));
	}

	async #shows(what: string, isSo: (rows: readonly string[]) => boolean): Promise<void> {
		let seen: readonly string[] = [];
		try {
			await until("the terminal shows it", async () => {
				seen = await this.rows();
				return isSo(seen);
			});
		} catch (cause) {
			const page = await this.page.locator("body").textContent();
			throw new Error(`${this.page.url()} shows\n${seen.join("\n")}\ninstead of\n${what}\nin\n${page}`, { cause });
		}
	}

	async takeOver(): Promise<void> {
		await this.button("Take over").click();
		await this.button("Hand back").waitFor();
	}

	async handBack(note = ""): Promise<void> {
		await this.page.getByLabel("Note for the agent").fill(note);
		await this.button("Hand back").click();
		await this.button("Take over").waitFor();
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.context.close();
	}
}
