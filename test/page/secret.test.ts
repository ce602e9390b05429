// A person types a secret, in the box that the page shows or by the keyboard while they drive. The program gets it, and
// it is nowhere else: every file of the daemon, event, answer, recording and storage of the browser is searched.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../condition.ts";
import { RealServer } from "../http/real-server.ts";
import { needing } from "../programs.ts";
import { filesBelow } from "../secrets/files-below.ts";
import { Agent } from "./agent.ts";
import { PersonPage } from "./person-page.ts";
import { launchBrowser } from "./tab.ts";

/** Short enough to be typed, long enough not to occur by chance; a password is shown by its length. */
const IN_THE_BOX = "Xq7-correct-horse";
const WHILE_DRIVING = "Zw9-battery-staple";
const IN_THE_BOX_WHILE_DRIVING = "Vt5-lemon-ladder";
const LENGTHS = `lengths ${IN_THE_BOX.length} ${WHILE_DRIVING.length} ${IN_THE_BOX_WHILE_DRIVING.length}`;

const ASKS = `
read -rsp "ana@prod.example's password: " first; echo
read -rp 'Name: ' name
read -rsp 'Passphrase: ' second; echo
read -rsp 'Code: ' third; echo
echo "lengths \${#first} \${#second} \${#third} of $name"
[ "$first $second $third" = "$(printf '%s%s' Xq7- correct-horse) $(printf '%s%s' Zw9- battery-staple) $(printf '%s%s' Vt5- lemon-ladder)" ] && echo all right
read -rp 'Bye? '`;

describe("R4.12 a secret is typed by a person", needing("chromium"), () => {
	let server: RealServer;
	let browser: Browser;
	beforeAll(async () => {
		[server, browser] = await Promise.all([RealServer.start(), launchBrowser()]);
	});
	afterAll(async () => {
		await browser.close();
		await server[Symbol.asyncDispose]();
	});

	test("the program gets it, and it is found nowhere", async () => {
		await using agent = await Agent.connect(server);
		await using person = await PersonPage.logIn(browser, server);
		const { page } = person;
		const received: string[] = [];
		page.on("websocket", (socket) => socket.on("framereceived", ({ payload }) => received.push(String(payload))));
		const session = "login";
		await agent.call("start", { name: session, argv: ["bash", "-c", ASKS] });
		await person.open(session);
		await person.hasState(session, "secret");
		expect(await page.title()).toBe("● login needs you · Dialtone");
		const box = page.getByRole("region", { name: /bash wants a secret for prod\.example/ });
		await box.getByText("ana@prod.example's password:", { exact: true }).waitFor();
		const field = box.getByLabel("Secret", { exact: true });
		expect(await field.getAttribute("type")).toBe("password");
		await until("the box has the focus", () =>
			field.evaluate((element) => element === element.ownerDocument.activeElement),
		);
		const waiting = agent.call("wait", { session, until: { text: "Name:" }, timeoutMs: 120_000 });
		await page.keyboard.type(IN_THE_BOX);
		await person.button("Send secret").click();
		expect(await waiting).toMatch(/^A person \(.+\) typed the secret\./);
		await person.shows("Name:");
		await person.hasState(session, "waiting");
		expect(await box.count()).toBe(0);

		await person.takeOver();
		await page.keyboard.type("Bo\n");
		await person.shows("Passphrase:");
		await person.hasState(session, "secret");
		await page.getByRole("region", { name: /wants a secret/ }).waitFor();
		await page.keyboard.type(`${WHILE_DRIVING}\n`); // the terminal has the focus still
		await person.shows("Code:");
		await page
			.getByRole("region", { name: /wants a secret/ })
			.getByText("Code:", { exact: true })
			.waitFor();
		await page.getByLabel("Secret", { exact: true }).fill(IN_THE_BOX_WHILE_DRIVING);
		await page.keyboard.press("Enter");
		await person.shows("all right");
		await person.handBack("logged in");
		expect(await agent.call("wait", { session })).toContain(`${LENGTHS} of Bo`);
		await agent.call("read", { session, view: "lines" });
		await page.getByLabel("Search output").fill("password");
		await page.getByText("1 line matches.").waitFor();

		const places = new Map<string, string>();
		const keep = async (live: string) => {
			const get = async (path: string) => (await server.get(path)).text();
			for (const path of [
				"timeline",
				"snapshot",
				"export?format=cast",
				"export?format=text",
				"export?format=svg",
				"moment?at=1000",
			])
				places.set(`${path} ${live}`, await get(`/v1/sessions/${session}/${path}`));
			places.set(`sessions ${live}`, await get("/v1/sessions"));
			for (const [path, bytes] of filesBelow(server.home)) places.set(`${path} ${live}`, bytes);
		};
		await keep("while it runs");
		await agent.call("send", { session, text: "y", submit: true });
		await person.hasState(session, "ended");
		await page.getByRole("button", { name: "Events" }).click();
		await keep("when it has ended");
		places.set("the page", await page.content());
		places.set(
			"what the page keeps",
			JSON.stringify([await page.evaluate<string>(KEPT), await person.context.storageState({ indexedDB: true })]),
		);
		await page.goBack();
		places.set("the page before", `${page.url()} ${await page.content()}`);
		places.set("what the page was sent", received.join("\n"));
		places.set("what the agent heard", agent.heard.join("\n"));
		places.set("all events", await eventsOf(server));

		expect(places.get("all events")).toContain('"ended"');
		expect([...places.values()].filter((text) => text.includes("Passphrase")).length).toBeGreaterThan(5); // it would be found
		expect([...places.keys()].some((path) => path.includes("driver.json"))).toBe(true);
		const found = [...places].flatMap(([place, text]) =>
			SPELLINGS.filter((one) => text.includes(one)).map(() => place),
		);
		expect(found).toEqual([]);
	});
});

const SPELLINGS = [IN_THE_BOX, WHILE_DRIVING, IN_THE_BOX_WHILE_DRIVING].flatMap((secret) => [
	secret,
	Buffer.from(secret).toString("base64").slice(0, -4),
	Buffer.from(secret).toString("hex"),
]);

/** What a browser keeps for the page, apart from what the context tells. */
const KEPT = `(async () => JSON.stringify([
	{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.length, history.state,
	await caches.keys(), await indexedDB.databases(),
	[...document.querySelectorAll("input, textarea")].map(({ value }) => value),
	performance.getEntries().map(({ name }) => name),
]))()`;

/** All events since the daemon began. */
async function eventsOf(server: RealServer): Promise<string> {
	const stop = new AbortController();
	const answer = await server.get("/v1/events?after=0", { signal: stop.signal });
	let text = "";
	for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
		text += piece;
		if (text.includes('"ended"')) break;
	}
	stop.abort();
	return text;
}
