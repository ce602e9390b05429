// Other sites' pages in the browser of a person who is logged in. Each attack is shown to work, in the same browser,
// against a server on loopback that checks nothing, and not to work against ours.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { RealServer } from "../http/real-server.ts";
import { find, needing } from "../programs.ts";
import { Tab } from "./tab.ts";

/** Of the attacker; its name leads to this machine, as a rebound one does. */
const EVIL = "evil.test";
const START = { name: "owned", argv: ["cat"] };

interface Victim {
	readonly url: string;
	/** Whether a session was started by an attack. */
	wasUsed(): Promise<boolean>;
}

describe("FACTS 6, G13: a page of another site", needing("chromium"), () => {
	let browser: Browser;
	let server: RealServer;
	let ours: Victim;
	let naive: Victim;
	let used = false;
	let tab: Tab;

	const unguarded = createServer((request, response) => {
		let body = "";
		request.on("data", (text: Buffer) => {
			body += text.toString();
		});
		request.on("end", () => {
			if (request.method === "POST" && body.includes(START.name)) used = true;
			const type = request.url === "/" ? "text/html" : "application/json";
			response
				.writeHead(200, { "content-type": type })
				.end(request.url === "/" ? "<title>Dialtone</title><h1>sessions</h1>" : '{"sessions":[]}');
		});
	});
	const unguardedSockets = new WebSocketServer({ server: unguarded });
	const attacker = createServer((_, response) => {
		response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>attack</title><body></body>");
	});
	const portOf = (one: typeof attacker) => (one.address() as AddressInfo).port;

	beforeAll(async () => {
		for (const one of [unguarded, attacker])
			await new Promise<void>((listening) => one.listen(0, "127.0.0.1", listening));
		// As a browser that does not ask before a page may reach this machine: older ones, and other makes.
		const unasked = "--disable-features=LocalNetworkAccessChecks,PrivateNetworkAccessSendPreflights";
		const args = ["--no-sandbox", `--host-resolver-rules=MAP ${EVIL} 127.0.0.1`, unasked];
		[server, browser] = await Promise.all([
			RealServer.start(),
			chromium.launch({ executablePath: find("chromium")!, args }),
		]);
		tab = await Tab.logIn(browser, server);
		ours = {
			url: server.url,
			wasUsed: async () => (await (await server.get("/v1/sessions")).text()).includes(`"${START.name}"`),
		};
		naive = { url: `http://127.0.0.1:${portOf(unguarded)}`, wasUsed: async () => used };
	});
	afterAll(async () => {
		unguardedSockets.close();
		for (const one of [unguarded, attacker]) {
			one.closeAllConnections();
			one.close();
		}
		await tab?.[Symbol.asyncDispose]();
		await browser?.close();
		await server?.[Symbol.asyncDispose]();
	});

	/** A page of this origin in the browser of the person who is logged in. */
	async function visit(origin: string): Promise<Page> {
		const page = await tab.page.context().newPage();
		await page.goto(`${origin}/`);
		return page;
	}
	const evil = () => `http://${EVIL}:${portOf(attacker)}`;
	/** Another user's server on this machine: to a browser the same site, so that cookies are sent. */
	const otherPort = () => `http://127.0.0.1:${portOf(attacker)}`;

	const attacks: readonly {
		readonly what: string;
		/** Whether it got what it wanted. */
		run(victim: Victim): Promise<boolean>;
	}[] = [
		{
			what: "whose name is bound to this machine later reads nothing",
			run: async ({ url }) => {
				const { port } = new URL(url);
				const page = await tab.page.context().newPage();
				// The page itself came from the attacker's own machine, under the same name and port.
				await page.route(`http://${EVIL}:${port}/attack`, (route) =>
					route.fulfill({ contentType: "text/html", body: "<!doctype html><title>attack</title>" }),
				);
				await page.goto(`http://${EVIL}:${port}/attack`);
				const read = await page.evaluate<string>("fetch('/v1/sessions').then((answer) => answer.text())");
				await page.close();
				return read.includes('"sessions"');
			},
		},
		...(["evil", "otherPort"] as const).map((where) => ({
			what: `${where === "evil" ? "" : "or port "}opens no WebSocket`,
			run: async ({ url }: Victim) => {
				const page = await visit(where === "evil" ? evil() : otherPort());
				const address = `${url.replace("http", "ws")}/v1/events`;
				const opened = await page.evaluate<boolean>(
					`new Promise((done) => { const socket = new WebSocket(${JSON.stringify(address)}); socket.onopen = () => done(true); socket.onerror = () => done(false); })`,
				);
				await page.close();
				return opened;
			},
		})),
		...(["evil", "otherPort"] as const).map((where) => ({
			what: `${where === "evil" ? "" : "or port "}starts nothing by a form`,
			run: async (victim: Victim) => {
				const page = await visit(where === "evil" ? evil() : otherPort());
				const body = JSON.stringify({ ...START, env: { X: "" } });
				// As text/plain a form sends `name=value`: together they are the JSON.
				const [name, value] = [body.slice(0, -3), body.slice(-3)];
				await page.evaluate(
					`(() => { const form = document.createElement("form"); form.method = "post"; form.enctype = "text/plain"; form.action = ${JSON.stringify(`${victim.url}/v1/tools/start`)};
					const field = document.createElement("input"); field.name = ${JSON.stringify(name)}; field.value = ${JSON.stringify(value)}; form.append(field); document.body.append(form); form.submit(); })()`,
				);
				// Until its answer is shown: a page that is closed while it loads may never say so.
				await page.waitForURL(`${victim.url}/v1/tools/start`);
				await page.close();
				return victim.wasUsed();
			},
		})),
		...(["evil", "otherPort"] as const).map((where) => ({
			what: `${where === "evil" ? "" : "or port "}starts nothing by fetch without asking first`,
			run: async (victim: Victim) => {
				const page = await visit(where === "evil" ? evil() : otherPort());
				const address = JSON.stringify(`${victim.url}/v1/tools/start`);
				const init = `{ method: "POST", mode: "no-cors", credentials: "include", body: ${JSON.stringify(JSON.stringify(START))} }`;
				await page.evaluate(`fetch(${address}, ${init}).then(() => true, () => false)`);
				await page.close();
				return victim.wasUsed();
			},
		})),
		...(["evil", "otherPort"] as const).map((where) => ({
			what: `${where === "evil" ? "" : "or port "}has no frame with our page in it`,
			run: async ({ url }: Victim) => {
				const page = await visit(where === "evil" ? evil() : otherPort());
				await page.evaluate(
					`new Promise((done) => { const frame = document.createElement("iframe"); frame.src = ${JSON.stringify(`${url}/`)}; frame.onload = done; frame.onerror = done; document.body.append(frame); })`,
				);
				const frame = page.frames().find((one) => one !== page.mainFrame())!;
				const content = await frame.content().catch(() => "");
				await page.close();
				return content.includes("<title>Dialtone");
			},
		})),
	];

	for (const { what, run } of attacks)
		test(what, async () => {
			used = false;
			expect(await run(naive)).toBe(true);
			expect(await run(ours)).toBe(false);
			expect(await ours.wasUsed()).toBe(false);
		});

	test("changes nothing for the person, who is still logged in", async () => {
		await tab.page.reload();
		await tab.connection("live");
	});
});
