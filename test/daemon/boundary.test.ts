// What any program of this user can write to the daemon's socket: none of it ends the
// daemon, and no other client notices.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createConnection, type Socket } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseRequest } from "../../src/daemon/requests.ts";
import { until } from "../condition.ts";
import { Home } from "./home.ts";

const caller = { owner: "o", cwd: "/", env: {} };

async function open(path: string): Promise<Socket> {
	const socket = createConnection(path);
	socket.on("error", () => {}); // `close` follows
	await once(socket, "connect");
	return socket;
}

/** What the daemon answers to these lines, until it ends the connection or has answered `status`. */
async function answersTo(path: string, ...lines: string[]): Promise<{ answers: unknown[]; closed: boolean }> {
	const socket = await open(path);
	const answers: { id: number }[] = [];
	const read = createInterface({ input: socket }).on("line", (line) => answers.push(JSON.parse(line)));
	socket.write(`${lines.join("\n")}\n${JSON.stringify({ id: 99, do: "status" })}\n`);
	await until("it has answered", () => socket.destroyed || answers.some(({ id }) => id === 99));
	const closed = socket.destroyed;
	read.close();
	socket.destroy();
	return { answers: answers.filter(({ id }) => id !== 99), closed };
}

describe("G2 lines that are not requests", () => {
	test("end their own connection with a logged reason, and the daemon goes on", async () => {
		await using home = new Home();
		await using client = await home.connect();
		const { pid, socket } = await client.status();
		const waiting = client.call("start", { name: "cat", argv: ["cat"] });
		for (const line of ["null", "7", "[]", '"x"', "{}", "not json", '{"id":"1","do":"status"}', '{"do":"status"}']) {
			expect(await answersTo(socket!, line), line).toEqual({ answers: [], closed: true });
		}
		expect((await waiting).facts).toMatchObject({ status: "running" });
		expect((await client.status()).pid).toBe(pid);
		const log = readFileSync(join(home.path, "daemon.log"), "utf8");
		expect(log).toContain("a line that is not a request with an id");
		expect(log).toContain("a line that is not JSON");
	});

	test("with an id they are answered with a fault, and the connection can be used further", async () => {
		await using home = new Home();
		await using client = await home.connect();
		const { socket } = await client.status();
		const bad: object[] = [
			{ do: "explode" },
			{ do: "call" },
			{ do: "call", tool: "list", input: {} },
			{ do: "call", tool: "list", input: {}, caller: { ...caller, owner: 7 } },
			{ do: "call", tool: "list", input: {}, caller: { ...caller, env: { A: 1 } } },
			{ do: "call", tool: "list", input: {}, caller: { ...caller, env: { A: "x".repeat(3 << 20) } } },
			{ do: "call", tool: "list", input: {}, caller: { ...caller, cwd: "/".repeat(5000) } },
			{ do: "output", session: "s", from: -1 },
			{ do: "output", session: "s", from: 1e300 },
			{ do: "events", afterSeq: "all" },
			{ do: "stop" },
			{ do: "type", session: {}, base64: "" },
		];
		const lines = bad.map((request, index) => JSON.stringify({ id: index + 1, ...request }));
		const { answers, closed } = await answersTo(socket!, ...lines);
		expect(closed).toBe(false);
		expect(answers).toMatchObject(bad.map((_, index) => ({ id: index + 1, fault: { fault: "bad_input" } })));
	});

	test("an id in use is refused; the request that has it goes on", async () => {
		await using home = new Home();
		await using client = await home.connect();
		await client.call("start", { name: "cat", argv: ["cat"] });
		const { socket } = await client.status();
		const wait = {
			id: 1,
			do: "call",
			tool: "wait",
			input: { session: "cat", until: { text: "now", only: true } },
			caller,
		};
		const { answers } = await answersTo(socket!, JSON.stringify(wait), JSON.stringify({ id: 1, do: "status" }));
		expect(answers).toMatchObject([{ id: 1, fault: { fault: "bad_input", message: /in use/ } }]);
	});

	test("whatever JSON is sent, it is a request, a fault or the end of that connection", () => {
		const words = fc.constantFrom("hello", "call", "tools", "events", "output", "type", "stop", "cancel", "x");
		const almost = fc.record({ id: fc.jsonValue(), do: words, input: fc.jsonValue(), caller: fc.jsonValue() });
		fc.assert(
			fc.property(fc.oneof(fc.jsonValue(), almost), (value) => {
				expect(Object.keys(parseRequest(JSON.parse(JSON.stringify(value)))).join()).toMatch(
					/^(request|id,fault|problem)$/,
				);
			}),
			{ numRuns: 500 },
		);
	});
});

describe("clients that misbehave", () => {
	test("one that never reads its answers is disconnected, and others do not notice", async () => {
		await using home = new Home();
		await using client = await home.connect();
		const { socket } = await client.status();
		const silent = await open(socket!);
		silent.pause();
		// The list of tools is the largest answer that costs the daemon nothing.
		const tools = { do: "tools", sets: ["native", "exec", "codex", "pty", "terminal"] };
		for (let id = 1; id <= 2000 && !silent.destroyed; id++) silent.write(`${JSON.stringify({ id, ...tools })}\n`);
		await until("it is disconnected", () =>
			readFileSync(join(home.path, "daemon.log"), "utf8").includes("does not read its answers"),
		);
		expect((await client.status()).pid).toBeGreaterThan(0);
		silent.destroy();
	});

	test("G12 those that connect and say nothing make room for those that do", async () => {
		await using home = new Home({ DIALTONE_CONNECTIONS: "20" });
		await using client = await home.connect();
		const { socket } = await client.status();
		await client.call("start", { name: "cat", argv: ["cat"] });
		const silent: Socket[] = [];
		for (let i = 0; i < 60; i++) silent.push(await open(socket!));
		await until("the oldest are disconnected", () => silent.filter(({ destroyed }) => !destroyed).length <= 20);
		await using late = await home.connect();
		const { facts } = await late.call("send", { session: "cat", text: "still there", submit: true });
		expect(facts.text).toContain("still there");
		expect((await client.call("list", {})).facts.sessions).toHaveLength(1);
		for (const one of silent) one.destroy();
	});
});
