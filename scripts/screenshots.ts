// `npm run screenshots`: takes the pictures of the page that the documentation shows (docs/images), from a daemon of its own with real programs.

import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { RealServer } from "../test/http/real-server.ts";
import { furnish } from "../test/page/busy-desk.ts";
import { launchBrowser, Tab } from "../test/page/tab.ts";

const IMAGES = join(import.meta.dirname, "../docs/images");
const MAX_BYTES = 200_000;
const DESKTOP = { width: 1200, height: 720 };
const PHONE = { width: 390, height: 844 };

interface Picture {
	readonly name: string;
	readonly session: string | null;
	readonly colorScheme: "dark" | "light";
	readonly viewport: { readonly width: number; readonly height: number };
	prepare?(tab: Tab): Promise<void>;
}

const PICTURES: readonly Picture[] = [
	{ name: "overview-dark", session: null, colorScheme: "dark", viewport: DESKTOP },
	{ name: "overview-light", session: null, colorScheme: "light", viewport: DESKTOP },
	{ name: "terminal-dark", session: "editor", colorScheme: "dark", viewport: DESKTOP },
	{
		name: "driving-light",
		session: "python",
		colorScheme: "light",
		viewport: DESKTOP,
		prepare: async (tab) => {
			await tab.takeOver();
			await tab.page.keyboard.type("cart.discount");
			await tab.shows("cart.discount");
		},
	},
	{ name: "secret-dark", session: "deploy", colorScheme: "dark", viewport: DESKTOP },
	{ name: "monitor-dark", session: "monitor", colorScheme: "dark", viewport: DESKTOP },
	{ name: "ended-light", session: "tests", colorScheme: "light", viewport: DESKTOP },
	{ name: "phone-overview-dark", session: null, colorScheme: "dark", viewport: PHONE },
	{ name: "phone-terminal-light", session: "python", colorScheme: "light", viewport: PHONE },
	{
		name: "phone-list-dark",
		session: "monitor",
		colorScheme: "dark",
		viewport: PHONE,
		prepare: (tab) => tab.page.getByRole("button", { name: /^Sessions/ }).click(),
	},
];

mkdirSync(IMAGES, { recursive: true });
await using server = await RealServer.start();
const clear = await furnish(server);
const browser = await launchBrowser();
try {
	const wanted = process.argv.slice(2);
	for (const picture of PICTURES.filter(({ name }) => wanted.length === 0 || wanted.includes(name)))
		await take(picture);
} finally {
	await browser.close();
	clear();
}

async function take({ name, session, colorScheme, viewport, prepare }: Picture): Promise<void> {
	await using tab = await Tab.logIn(browser, server, { colorScheme, viewport, hasTouch: viewport === PHONE });
	if (session !== null) {
		await tab.open(session);
		await tab.shows(/\S/);
	}
	await prepare?.(tab);
	await tab.page.waitForTimeout(3000); // thumbnails and letters are drawn
	const path = join(IMAGES, `${name}.png`);
	await tab.page.screenshot({ path, animations: "disabled" });
	const { size } = statSync(path);
	console.log(`${path}: ${Math.round(size / 1000)} KB`);
	if (size > MAX_BYTES) throw new Error(`${name} is larger than ${MAX_BYTES} bytes`);
	if (session === "python" && prepare !== undefined) {
		await tab.page.keyboard.press("Control+u");
		await tab.page.getByRole("button", { name: "Hand back" }).click();
		await tab.page.getByRole("button", { name: "Take over" }).waitFor();
	}
}
