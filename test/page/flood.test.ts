// 20 pages that never take what they get, and a program that floods: what it costs the program, and a person who types
// into another session meanwhile. A tab that watches sees the end.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { until } from "../condition.ts";
import { Person } from "../http/person.ts";
import { RealServer } from "../http/real-server.ts";
import { needing } from "../programs.ts";
import { launchBrowser, Tab } from "./tab.ts";

const STUCK = 20;
/** The goals are for 50 MB, which takes two cores for minutes: FLOOD_BYTES=50000000 npx vitest run test/page/flood. */
const BYTES = Number(process.env.FLOOD_BYTES ?? 10_000_000);
const ROUNDS = 2;

/** After each Enter: prints as fast as it can, then how long that took by its own clock. */
const FLOOD = `
printf ready
while read -r; do
	from=$(date +%s%N)
	head -c ${BYTES} /dev/zero | tr '\\0' x | fold -w 70
	printf '\\ntook %s ms.' $((($(date +%s%N) - from) / 1000000))
done`;

/** Takes what it gets, and never says that it has drawn it. */
class StuckPage {
	readonly socket: WebSocket;
	joined = false;
	bytes = 0;

	constructor(url: string, session: string, cookie: string) {
		const address = `${url.replace("http", "ws")}/v1/sessions/${session}/terminal`;
		this.socket = new WebSocket(address, "dialtone", { headers: { cookie, origin: url } });
		this.socket.on("error", () => {}); // terminated by the test
		this.socket.on("message", (data: Buffer, isBinary: boolean) => {
			if (isBinary) this.bytes += data.length;
			else this.joined = true;
		});
	}
}

/** From a key to its letter on the screen, by the page's own clock, of the keys that were shown before it is over. */
async function keyEchoes({ page }: Tab, isOver: () => boolean): Promise<number[]> {
	const times: number[] = [];
	for (let key = 0; !isOver(); key++) {
		await page.evaluate(`{
			const terminal = document.querySelector("[data-terminal]");
			const before = terminal.screenText();
			window.echoMs = null;
			addEventListener("keydown", ({ timeStamp }) => {
				const look = () => {
					if (terminal.screenText() === before) setTimeout(look, 2);
					else window.echoMs = performance.now() - timeStamp;
				};
				look();
			}, { capture: true, once: true });
		}`);
		await page.keyboard.press(key % 50 === 49 ? "Enter" : "abcdefghij"[key % 10]!);
		const ms = await until("the key is on the screen", () => page.evaluate<number | null>("window.echoMs"));
		if (!isOver()) times.push(ms);
	}
	return times.sort((a, b) => a - b);
}

describe("R4.2 20 stuck pages and a flood", needing("chromium"), () => {
	let browser: Browser;
	beforeAll(async () => {
		browser = await launchBrowser();
	});
	afterAll(() => browser.close());

	test("slow neither the program nor a person who types elsewhere, and cost a window each", async () => {
		await using server = await RealServer.start();
		const person = await Person.logIn(server);
		const { session } = await person.call("start", { name: "flood", argv: ["bash", "-c", FLOOD] });
		await person.call("start", { name: "quiet", argv: ["cat"] });
		await using typist = await Tab.logIn(browser, server);
		await typist.open("quiet");
		await typist.takeOver();
		await typist.page.locator("[data-terminal]").click();
		const flood = async () => {
			const input = { session, submit: true, until: { text: "ms." }, timeoutMs: 120_000 };
			const { text } = (await person.call("send", input)) as unknown as { text: string };
			return Number([...text.matchAll(/took (\d+) ms/g)].at(-1)![1]); // the line of the one before is shown again
		};
		const [alone, watched]: [number[], number[]] = [[], []];
		let [grown, sent] = [0, 0];
		for (let round = 0; round < ROUNDS; round++) {
			alone.push(await flood());
			const stuck = Array.from({ length: STUCK }, () => new StuckPage(server.url, session, person.cookie));
			await until("all have joined", () => stuck.every(({ joined }) => joined));
			const before = server.residentBytes;
			watched.push(await flood());
			grown = Math.max(grown, server.residentBytes - before);
			sent = Math.max(sent, ...stuck.map(({ bytes }) => bytes));
			for (const one of stuck) one.socket.terminate();
		}
		// Typing is measured in a flood of its own: the page that measures takes a part of the machine.
		await using watcher = await Tab.logIn(browser, server);
		await watcher.open("flood");
		await watcher.shows("ms.");
		let isOver = false;
		const typing = keyEchoes(typist, () => isOver);
		const seen = await flood();
		isOver = true;
		const echoes = await typing;
		await watcher.shows(`took ${seen} ms.`);
		const at = (q: number) => echoes[Math.floor(q * (echoes.length - 1))]!;
		const ratio = Math.min(...watched) / Math.min(...alone);
		console.log(
			`a flood of ${BYTES / 1e6} MB: alone ${alone.join(", ")} ms, beside them ${watched.join(", ")} ms (${ratio.toFixed(2)}), ` +
				`beside a tab that watches and one that types ${seen} ms; ` +
				`${echoes.length} keys in the second: p50 ${at(0.5).toFixed(0)}, p95 ${at(0.95).toFixed(0)} ms; ` +
				`${(grown / 1e6).toFixed(0)} MB more in the daemon; a stuck page got ${sent} bytes`,
		);
		// The goals are 1.05 and 150 ms (p95). What is asserted also holds where others use the cores: the flood is not held up, and
		// keys are shown while it lasts, not after it.
		expect(ratio).toBeLessThan(3);
		expect(echoes.length).toBeGreaterThanOrEqual(2);
		expect(sent).toBeLessThan(400_000);
		expect(grown).toBeLessThan(200e6);
		await person.call("close", { session, force: true });
	});
});
