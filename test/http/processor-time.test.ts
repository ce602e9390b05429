// What one client costs the daemon: the processor time of its main thread, during which everybody else waits.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
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
