// One client that asks for more than it reads, or never ends what it says: what it costs
// the daemon in memory and in processor time of its main thread, and that others are served.
import { once, setMaxListeners } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createConnection, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { readResponses } from "../../src/daemon/messages.ts";
import { parseRequest } from "../../src/daemon/requests.ts";
import type { Response } from "../../src/daemon/wire.ts";
import { until } from "../condition.ts";
import { Home } from "./home.ts";

const caller = { owner: "o", cwd: "/", env: {} };

async function open(path: string): Promise<Socket> {
	const socket = createConnection(path);
	socket.on("error", () => {}); // `close` follows
	await once(socket, "connect");
	return socket;
}

const statusMb = (pid: number, field: string) =>
	Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
const ranMs = (pid: number) => Number.parseInt(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8"), 10) / 1e6;

/** How much the daemon grew at most, in MB, and how long it ran, until `act` was over. */
async function cost(pid: number, act: () => Promise<unknown>): Promise<{ grewMb: number; ranMs: number }> {
	writeFileSync(`/proc/${pid}/clear_refs`, "5"); // the peak counts from here
	const [before, ran] = [statusMb(pid, "VmRSS"), ranMs(pid)];
	await act();
	return { grewMb: statusMb(pid, "VmHWM") - before, ranMs: ranMs(pid) - ran };
}

const PRINT = "head -c 3000000 /dev/zero | tr '\\0' x | fold -w 100; echo printed; exec cat";

const questions = (count: number, question: object) =>
	Array.from({ length: count }, (_, i) => `${JSON.stringify({ id: i + 1, ...question })}\n`).join("");

/** Sends so many requests in one write and reads until each has an answer. */
async function askAndRead(path: string, count: number, question: object): Promise<void> {
	const socket = await open(path);
	const answered = new Set<number>();
	readResponses(
		socket,
		({ value }) => answered.add((value as Response).id),
		() => socket.destroy(),
	);
	socket.write(questions(count, question));
	await until("each is answered", () => answered.size === count);
	socket.destroy();
}

describe("a thousand requests in one write by a client that reads nothing", () => {
	const floods: [name: string, question: object][] = [
		["output streams", { do: "output", session: "big", from: 0 }],
		["raw output", { do: "call", tool: "read", input: { session: "big", view: "raw", from: 0 }, caller }],
		["views", { do: "view", session: "big" }],
		["drawings", { do: "drawn", session: "big", as: "cast" }],
		["snapshots", { do: "snapshot", session: "big" }],
		["lists of tools", { do: "tools", sets: ["native", "exec"] }],
	];
	// By what the same requests cost for a client that reads, on the same machine in the same minute.
	test.each(floods)("%s: most are not computed, and others are served meanwhile", async (_name, question) => {
		await using home = new Home();
		await using client = await home.connect();
		const { pid, socket } = await client.status();
		await client.call("start", { name: "big", argv: ["bash", "-c", PRINT], until: { text: "printed" } });
		const serveOthers = async () => {
			for (let i = 0; i < 200; i++) await client.status();
		};
		const others = await cost(pid, serveOthers);
		const hundred = await cost(pid, () => askAndRead(socket!, 100, question));
		const silent = await open(socket!);
		silent.pause();
		const { grewMb, ranMs } = await cost(pid, async () => {
			silent.write(questions(1000, question));
			await serveOthers();
		});
		silent.destroy();
		expect({ grewMb, of1000: (ranMs - others.ranMs) / (hundred.ranMs / 100) }).toSatisfy(
			({ of1000 }) => grewMb < 80 && of1000 < 300,
		);
	});

	test("one that reads gets every answer, in the order of its requests", async () => {
		await using home = new Home();
		await using client = await home.connect();
		await client.call("start", { name: "cat", argv: ["cat"] });
		const waits = Array.from({ length: 3000 }, () =>
			client.call("wait", { session: "cat", until: { text: "now", only: true } }),
		);
		const order: number[] = [];
		await Promise.all(
			Array.from({ length: 1000 }, async (_, i) => {
				await client.tools();
				order.push(i);
			}),
		);
		expect(order).toEqual([...order].sort((a, b) => a - b));
		await client.call("send", { session: "cat", text: "now", submit: true, timeoutMs: 0 });
		for (const { facts } of await Promise.all(waits)) expect(facts.status).toBe("running");
	});
});

describe("messages that do not end", () => {
	test("are held up to a total; then the largest is dropped, and others are served", async () => {
		await using home = new Home();
		await using client = await home.connect();
		const { pid, socket } = await client.status();
		const half = Buffer.alloc(7 << 20, "x");
		const halves: Socket[] = [];
		const { grewMb } = await cost(pid, async () => {
			for (let i = 0; i < 60; i++) {
				const connection = await open(socket!);
				halves.push(connection);
				await new Promise((resolve) => connection.write(half, resolve));
			}
			await until("most are disconnected", () => halves.filter(({ destroyed }) => !destroyed).length <= 4);
			await client.status();
		});
		for (const connection of halves) connection.destroy();
		expect(grewMb).toBeLessThan(250);
	});
});

const DEAF = "stty raw -echo; echo deaf; exec tail -f /dev/null"; // raw: a line of any length is accepted

describe("much input for a program that does not read", () => {
	test("waits up to a total; the rest is refused at once", async () => {
		await using home = new Home();
		await using client = await home.connect();
		const { pid } = await client.status();
		await client.call("start", { name: "deaf", argv: ["bash", "-c", DEAF], until: { text: "deaf" } });
		const text = "x".repeat(999_999);
		const abort = new AbortController();
		setMaxListeners(0, abort.signal);
		const refused: string[] = [];
		const sends: Promise<unknown>[] = [];
		const { grewMb } = await cost(pid, async () => {
			for (let i = 0; i < 200; i++) {
				const sent = client.call("send", { session: "deaf", text }, { signal: abort.signal });
				sends.push(sent.catch((error: { code?: string }) => refused.push(error.code ?? "aborted")));
			}
			await until("most are refused", () => refused.length >= 190);
		});
		abort.abort();
		await Promise.all(sends);
		expect(refused.filter((code) => code === "queue_full").length).toBeGreaterThanOrEqual(190);
		expect(grewMb).toBeLessThan(200);
	});
});

describe("an environment of a hundred thousand variables", () => {
	test.each([
		["of numbers", 1],
		["of strings", "v"],
	])("%s is refused with one problem", async (_name, value) => {
		const env = Object.fromEntries(Array.from({ length: 95_000 }, (_, i) => [`k${i}`, value]));
		const parsed = parseRequest({ id: 1, do: "call", tool: "list", input: {}, caller: { ...caller, env } });
		expect(parsed).toMatchObject({ id: 1, fault: { facts: { problems: ["caller.env: at most 4096 entries"] } } });
	});
});
