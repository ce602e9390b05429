// The page's terminal, as far as the wire is concerned: what a page gets and may do, and what a page that does not read costs.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import type { DriverFacts } from "../../src/protocol/driver.ts";
import { until } from "../condition.ts";
import { Person } from "./person.ts";
import { RealServer } from "./real-server.ts";

let server: RealServer;
let person: Person;
beforeAll(async () => {
	server = await RealServer.start();
	person = await Person.logIn(server);
});
afterAll(() => server[Symbol.asyncDispose]());

interface Told {
	readonly type: string;
	readonly [field: string]: unknown;
}

/** A page, as far as its socket is concerned. */
class Page implements Disposable {
	readonly socket: WebSocket;
	readonly told: Told[] = [];
	text = "";
	at = 0;
	bytes = 0;
	driver: DriverFacts = { kind: "agent" };
	lease: string | null = null;
	closed = 0;

	constructor(session: string, { cookie = person.cookie, headers = {}, takes = true } = {}) {
		const address = `${server.url.replace("http", "ws")}/v1/sessions/${session}/terminal`;
		this.socket = new WebSocket(address, "dialtone", { headers: { cookie, origin: server.url, ...headers } });
		this.socket.on("error", () => {});
		this.socket.on("close", (code) => {
			this.closed = code;
		});
		this.socket.on("message", (data: Buffer, isBinary: boolean) => {
			if (isBinary) {
				expect(Number(data.readBigUInt64LE())).toBe(this.at);
				this.text += data.subarray(8).toString();
				this.at += data.length - 8;
				this.bytes += data.length - 8;
			} else this.#take(JSON.parse(data.toString()) as Told);
			if (takes) this.send({ type: "took", offset: this.at });
		});
	}

	#take(told: Told): void {
		this.told.push(told);
		if (told.type === "snapshot") {
			this.text = String(told.content);
			this.at = Number(told.offset);
		}
		if (told.type === "driver") {
			this.driver = told.driver as DriverFacts;
			this.lease = told.lease as string | null;
		}
	}

	send(message: object): void {
		if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
	}

	of(type: string): readonly Told[] {
		return this.told.filter((one) => one.type === type);
	}

	shows(text: string): Promise<unknown> {
		return until(`the page shows ${text}`, () => {
			expect(this.closed).toBe(0);
			return this.text.includes(text);
		});
	}

	[Symbol.dispose](): void {
		this.socket.terminate();
	}
}

const agent = async (tool: string, input: object): Promise<Record<string, unknown>> => {
	const headers = { authorization: `Bearer ${server.token}`, "content-type": "application/json" };
	const answer = await fetch(`${server.url}/v1/tools/${tool}`, {
		method: "POST",
		headers,
		body: JSON.stringify(input),
	});
	return (await answer.json()) as Record<string, unknown>;
};
const start = async (name: string, ...argv: string[]) => String((await agent("start", { name, argv })).session);

describe("R4.11 the page's terminal", () => {
	test("shows the screen, then the output, takes over, types, pastes, resizes and hands back", async () => {
		const id = await start("cat", "cat");
		await agent("send", { session: "cat", text: "from the agent", submit: true });
		using page = new Page(id);
		await page.shows("from the agent");
		page.send({ type: "input", text: "too early" });
		await until("refused", () => page.of("refused").length > 0);
		expect(page.of("refused")[0]).toMatchObject({ to: "input", fault: { fault: "not_driving" } });
		page.send({ type: "take", cols: 70, rows: 20 });
		await until("it drives", () => page.lease !== null);
		page.send({ type: "input", text: "by hand\r", id: "0".repeat(32) });
		page.send({ type: "input", text: "by hand\r", id: "0".repeat(32) });
		await page.shows("by hand");
		page.send({ type: "paste", text: "pasted\x1b[201~ no escape\n" });
		await page.shows("no escape");
		expect(page.text.match(/by hand/g)).toHaveLength(2); // the echo, and cat's line: typed once
		expect(page.text).not.toContain("\x1b[201~");
		expect(page.of("resized").at(-1) ?? page.of("snapshot").at(-1)).toMatchObject({ cols: 70, rows: 20 });
		expect(await agent("send", { session: "cat", text: "x" })).toMatchObject({ fault: "driven_by_human" });
		page.send({ type: "hand-back", note: "done" });
		await until("handed back", () => page.driver.kind === "agent");
		expect(JSON.stringify(await agent("wait", { session: "cat", timeoutMs: 2000 }))).toContain('note: \\"done\\"');
		await agent("close", { session: "cat" });
		await until("the end is told", () => page.of("ended").length === 1 && page.closed === 1000);
	});

	test("a page that comes back goes on with its lease", async () => {
		const id = await start("back", "cat");
		let lease: string;
		{
			using page = new Page(id);
			await until("joined", () => page.of("driver").length > 0);
			page.send({ type: "take" });
			lease = await until("it drives", () => page.lease);
		}
		using page = new Page(id);
		await until("it sees who drives", () => page.driver.kind === "person");
		expect(page.lease).toBeNull();
		page.send({ type: "take", lease });
		await until("it drives again", () => page.lease === lease);
		page.send({ type: "input", text: "again\r" });
		await page.shows("again");
		page.send({ type: "take" });
		using other = new Page(id);
		await until("the other has joined", () => other.of("driver").length > 0);
		other.send({ type: "take" });
		await until("the other drives", () => other.lease !== null);
		await until("the first watches", () => page.lease === null);
		// As a tab does that was offline meanwhile.
		page.send({ type: "take", lease });
		await until("refused", () => page.of("refused").length > 0);
		expect(page.of("refused")).toMatchObject([{ to: "take", fault: { fault: "not_driving" } }]);
		expect(other.lease).not.toBeNull();
		await agent("close", { session: "back", force: true });
	});

	test("who drives gives what is asked for, and each is acknowledged or refused by its id; another person is refused", async () => {
		const id = await start(
			"asks",
			"bash",
			"-c",
			"read -rsp 'Secret: ' x; echo got ${#x}; read -rp 'And: ' y; echo $y; cat",
		);
		using page = new Page(id);
		using other = new Page(id);
		await until("both have joined", () => [page, other].every((one) => one.of("driver").length > 0));
		page.send({ type: "take" });
		await until("it drives", () => page.lease !== null);
		await until("the secret is asked for", async () =>
			JSON.stringify(await agent("read", { session: "asks" })).includes('"waitingFor":"secret"'),
		);
		const ids = ["1", "2", "3", "4"].map((digit) => digit.repeat(32));
		other.send({ type: "secret", text: "other", id: ids[0] });
		await until("the other is refused", () => other.of("refused").length > 0);
		expect(other.of("refused")).toMatchObject([{ to: "secret", id: ids[0], fault: { fault: "driven_by_human" } }]);
		page.send({ type: "secret", text: "hidden", id: ids[1] });
		await page.shows("got 6");
		await until("it is acknowledged", () => page.of("typed").some((one) => one.id === ids[1]));
		expect(page.lease).not.toBeNull();
		await agent("ask_human", { session: "asks", question: "What?" });
		page.send({ type: "answer", text: "this", id: ids[2] });
		await until("the answer is acknowledged", () => page.of("typed").some((one) => one.id === ids[2]));
		await page.shows("this");
		page.send({ type: "answer", text: "again", id: ids[3] });
		await until("nothing is asked", () => page.of("refused").length > 0);
		expect(page.of("refused")).toMatchObject([{ to: "answer", id: ids[3], fault: { fault: "not_asked" } }]);
		await agent("close", { session: "asks", force: true });
	});

	test("G14 an agent's token, a shared link and another site's page take nothing over", async () => {
		const id = await start("mine", "cat");
		const refusal = async (page: Page) => {
			await until("joined", () => page.of("driver").length > 0);
			page.send({ type: "take" });
			page.send({ type: "secret", text: "x" });
			await until("both refused", () => page.of("refused").length === 2);
			return page.of("refused").map(({ fault }) => (fault as { fault: string }).fault);
		};
		using agents = new Page(id, { cookie: "", headers: { authorization: `Bearer ${server.token}` } });
		expect(await refusal(agents)).toEqual(["not_allowed", "not_allowed"]);
		const shared = (await (await person.post(`/v1/sessions/${id}/share`, { minutes: 5 })).json()) as { url: string };
		using viewers = new Page(id, { cookie: (await Person.open(server, shared.url)).cookie });
		expect(await refusal(viewers)).toEqual(["not_allowed", "not_allowed"]);
		using foreign = new Page(id, { headers: { origin: "http://127.0.0.1:1" } });
		await until("refused", () => foreign.closed > 0);
		expect(foreign.told).toEqual([]);
		await agent("close", { session: "mine", force: true });
	});

	test("bad messages are refused and change nothing", async () => {
		const id = await start("odd", "cat");
		using page = new Page(id);
		await until("joined", () => page.of("driver").length > 0);
		for (const bad of ["", "{", '"x"', '{"type":"input"}', '{"type":"take","cols":-1,"rows":2}', "[".repeat(1000)])
			page.socket.send(bad);
		await until("all refused", () => page.of("refused").length === 6);
		expect(page.driver).toEqual({ kind: "agent" });
		await agent("close", { session: "odd", force: true });
	});

	test("R4.2 pages that do not take what they get cost a window each, and the others see the end of a flood", async () => {
		const id = await start(
			"flood",
			...["bash", "-c", "read; head -c 50000000 /dev/zero | tr '\\0' x | fold -w 70; echo the end; cat"],
		);
		const stuck = Array.from({ length: 20 }, () => new Page(id, { takes: false }));
		using page = new Page(id);
		await until("all have joined", () => [...stuck, page].every((one) => one.of("driver").length > 0));
		const before = server.residentBytes;
		const sent = await agent("send", {
			session: "flood",
			submit: true,
			until: { text: "the end" },
			timeoutMs: 120_000,
		});
		expect(sent).toMatchObject({ returned: "matched" });
		await page.shows("the end");
		const grown = (server.residentBytes - before) / 1e6;
		const most = Math.max(...stuck.map(({ bytes }) => bytes));
		for (const one of stuck) one[Symbol.dispose]();
		console.log(`20 stuck pages and a flood of 50 MB: ${grown.toFixed(0)} MB more memory, ${most} bytes sent at most`);
		expect(most).toBeLessThan(400_000);
		expect(grown).toBeLessThan(150);
		await agent("close", { session: "flood", force: true });
	});
});
