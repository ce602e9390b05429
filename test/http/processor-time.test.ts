// What one client costs the daemon: the processor time of its main thread, during which everybody else waits.

import { Agent, get } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../condition.ts";
import { RealServer } from "./real-server.ts";

const BODY_BYTES = 4 << 20;
const fill = (part: string, around: [string, string]) =>
	`${around[0]}${part.repeat(Math.floor((BODY_BYTES - 1000) / part.length))}${around[1]}`;

const BODIES: [string, string][] = [
	["objects", fill("{},", ["[", "{}]"])],
	["arrays in an argument", fill("[],", ['{"session":[', "[]]}"])],
	["keys", `{${Array.from({ length: 350_000 }, (_, n) => `"k${n}":0`).join()}}`],
	["nesting", "[".repeat(BODY_BYTES / 2 - 10) + "]".repeat(BODY_BYTES / 2 - 10)],
	["messages", `[${Array.from({ length: 60_000 }, (_, id) => `{"jsonrpc":"2.0","id":${id},"method":"ping"}`).join()}]`],
];

let server: RealServer;
let token = "";
beforeAll(async () => {
	server = await RealServer.start();
	token = (await server.createToken("reader", "--read-only")).token;
	await Promise.all(["/v1/tools/list", "/mcp"].map((path) => server.post(path, {}, { token })));
}, 60_000);
afterAll(() => server[Symbol.asyncDispose]());

describe("a request body that costs too much to parse", () => {
	describe.each([
		["/v1/tools/read", {}],
		["/mcp", {}],
		["/mcp", { "mcp-session-id": "none" }],
		["/mcp", { "mcp-method": "tools/call", "mcp-protocol-version": "2026-07-28" }],
	])("at %s with %o", (path, headers) => {
		test.each(BODIES)("is refused without parsing it: %s", async (_, body) => {
			const before = server.ranMs;
			const answer = await server.post(path, body, { token, headers });
			expect([answer.status, await answer.json()]).toMatchObject([413, { fault: "too_large" }]);
			expect(server.ranMs - before).toBeLessThan(150);
		});
	});

	test("is one call with more than any tool takes; what a tool takes is accepted", async () => {
		const input = { argv: ["true"], env: Object.fromEntries(Array.from({ length: 900 }, (_, n) => [`V${n}`, "[{,:"])) };
		expect((await server.post("/v1/tools/start", input)).status).toBe(200);
		const text = await server.post("/v1/tools/list", { status: "{},".repeat(300_000) });
		expect([text.status, await text.json()]).toMatchObject([400, { fault: "bad_input" }]);
	});
});

describe("requests that are sent without reading an answer", () => {
	const raw = JSON.stringify({ session: "big", view: "raw", from: 0 });
	const call = `Content-Type: application/json\r\nContent-Length: ${raw.length}\r\n`;
	beforeAll(async () => {
		const print = "head -c 3000000 /dev/zero | tr '\\0' x | fold -w 100; echo printed; exec cat";
		await server.post("/v1/tools/start", { name: "big", argv: ["sh", "-c", print] });
		await until("it has printed", async () =>
			(await (await server.get("/v1/sessions/big")).text()).includes("printed"),
		);
	});

	const head = (path: string, withToken: boolean) =>
		`${path} HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n${withToken ? `Authorization: Bearer ${token}\r\n` : ""}`;
	test.each([
		["without a token, on 20 connections", 20, () => `${head("GET /healthz", false)}\r\n`.repeat(100_000)],
		["without a token, refused ones", 1, () => `${head("GET /v1/openapi.json", false)}\r\n`.repeat(20_000)],
		["for raw output", 1, () => `${head("POST /v1/tools/read", true)}${call}\r\n${raw}`.repeat(3000)],
		["for the description", 1, () => `${head("GET /v1/openapi.json", true)}\r\n`.repeat(3000)],
	])("cost little, and their connection: %s", async (_, count, requests) => {
		const before = { ranMs: server.ranMs, bytes: server.residentBytes };
		const sockets = await Promise.all(Array.from({ length: count }, () => server.connect()));
		for (const socket of sockets) socket.pause().write(requests());
		await until("the server has closed them", () => sockets.every(({ destroyed }) => destroyed));
		expect(server.ranMs - before.ranMs).toBeLessThan(400);
		expect(server.residentBytes - before.bytes).toBeLessThan(60e6);
	});

	test("are all answered, in order, when they are few", async () => {
		const socket = await server.connect();
		let answers = "";
		socket.setEncoding("latin1").on("data", (text: string) => {
			answers += text;
		});
		socket.write(Array.from({ length: 30 }, (_, n) => `${head(`GET /v1/none-${n}`, true)}\r\n`).join(""));
		await until("the last is answered", () => answers.includes("none-29"));
		const order = [...new Set([...answers.matchAll(/GET \/v1\/none-(\d+)/g)].map(([, n]) => Number(n)))];
		expect(order).toEqual(Array.from({ length: 30 }, (_, n) => n));
		socket.destroy();
	});

	test.each([
		["without a token is closed after a hundred", "/healthz", 100],
		["with a token stays open", "/v1/tools", -1],
	])("one after the other: a connection %s", async (_, path, closing) => {
		const agent = new Agent({ keepAlive: true, maxSockets: 1 });
		const headers = closing < 0 ? { authorization: `Bearer ${token}` } : {};
		const says: (string | undefined)[] = [];
		for (let n = 0; n < 110; n++)
			await new Promise((resolve, reject) =>
				get(`${server.url}${path}`, { agent, headers }, (answer) => {
					says.push(answer.headers.connection);
					answer.resume().once("end", resolve);
				}).once("error", reject),
			);
		expect(says.indexOf("close")).toBe(closing);
		agent.destroy();
	});
});
