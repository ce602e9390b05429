// What the holder of a token can do to a real server and to the holders of others, and what
// becomes of its streams when the token is revoked.

import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { until } from "../condition.ts";
import { RealServer, upgradeRequest } from "./real-server.ts";

const MEBIBYTE = 1 << 20;

/** A 2025-era handshake; returns the id of the connection. */
async function handshake(server: RealServer, token: string): Promise<string> {
	const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } };
	const answer = await server.post("/mcp", { jsonrpc: "2.0", id: 1, method: "initialize", params }, { token });
	await answer.text();
	return answer.headers.get("mcp-session-id")!;
}

const callTool = (server: RealServer, token: string, session: string, name: string, input: object) =>
	server.post(
		"/mcp",
		{ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name, arguments: input } },
		{ token, headers: { "mcp-session-id": session } },
	);

describe("G10: a token is its id", () => {
	test("a read-only twin by name gets nothing out of the other's MCP connection", async () => {
		await using server = await RealServer.start();
		const full = await server.createToken("agent");
		const twin = await server.createToken("agent", "--read-only");
		expect(twin.id).not.toBe(full.id);
		const connection = await handshake(server, full.token);
		const stolen = await callTool(server, twin.token, connection, "start", { argv: ["cat"], name: "stolen" });
		expect(stolen.status).toBe(404);
		const own = await callTool(server, full.token, connection, "start", { argv: ["cat"], name: "own" });
		expect(await own.text()).toContain("own");
		const { sessions } = (await (await server.get("/v1/sessions")).json()) as { sessions: { owner: string }[] };
		expect(sessions.map(({ owner }) => owner)).toEqual([`http:${full.id}:agent:test`]);
	});

	test("twelve processes that create and revoke at once lose none and revive none", async () => {
		await using server = await RealServer.start();
		const old = await Promise.all(Array.from({ length: 6 }, (_, n) => server.createToken(`old-${n}`)));
		const [made] = await Promise.all([
			Promise.all(Array.from({ length: 6 }, (_, n) => server.createToken(`new-${n}`))),
			Promise.all(old.map(({ id }) => server.cli("token", "revoke", id))),
		]);
		const { tokens } = JSON.parse((await server.cli("token", "list", "--json")).out) as { tokens: { id: string }[] };
		const left = new Set(tokens.map(({ id }) => id));
		expect(old.filter(({ id }) => left.has(id))).toEqual([]);
		expect(made.filter(({ id }) => !left.has(id))).toEqual([]);
	});
});

describe("G10: the streams of a revoked token", () => {
	test("end within a second, whatever kind they are; those of others go on", async () => {
		await using server = await RealServer.start();
		const { id, token } = await server.createToken("agent");
		await server.post("/v1/tools/start", { argv: ["cat"], name: "cat" });
		const ended = new Map<string, number>();
		const open = async (kind: string, answer: Promise<Response>) => {
			const { body, status } = await answer;
			expect([kind, status]).toEqual([kind, 200]);
			void drain(body!).then(() => ended.set(kind, Date.now()));
		};
		await open("events", server.get("/v1/events", { token }));
		await open("output", server.get("/v1/sessions/cat/output", { token }));
		await open("others", server.get("/v1/events"));
		const connection = await handshake(server, token);
		const headers = { "mcp-session-id": connection, accept: "text/event-stream" };
		await open("MCP", server.get("/mcp", { token, headers }));
		for (const path of ["/v1/events", "/v1/sessions/cat/output"]) {
			const socket = new WebSocket(`${server.url}${path}`, ["dialtone", token]);
			socket.once("close", (code) => ended.set(`${path} ${code}`, Date.now()));
			await new Promise((resolve) => socket.once("open", resolve));
		}
		const waiting = server.post("/v1/tools/wait", { session: "cat", until: { text: "never", only: true } }, { token });
		void waiting.then(
			() => ended.set("answered", Date.now()),
			() => ended.set("wait", Date.now()),
		);
		await until("the wait is in progress", async () => (await server.get("/v1/sessions")).ok);
		expect((await server.cli("token", "revoke", id)).code).toBe(0);
		const revokedAt = Date.now();
		const kinds = ["MCP", "events", "output", "wait", "/v1/events 1008", "/v1/sessions/cat/output 1008"];
		await until("every stream of the token has ended", () => kinds.every((kind) => ended.has(kind)));
		for (const [kind, at] of ended) expect([kind, at - revokedAt < 1000]).toEqual([kind, true]);
		expect(ended.has("others")).toBe(false);
		expect((await server.get("/v1/sessions", { token })).status).toBe(401);
		expect(await server.serves()).toBe(true);
	});
});

async function drain(body: ReadableStream<Uint8Array>): Promise<void> {
	try {
		for await (const _ of body);
	} catch {
		// cut off: also an end
	}
}

describe("G12: a read-only token", () => {
	test("costs others no MCP connection, however many handshakes it makes", async () => {
		await using server = await RealServer.start();
		const honest = await handshake(server, server.token);
		const { token } = await server.createToken("looker", "--read-only");
		for (let n = 0; n < 260; n += 10) await Promise.all(Array.from({ length: 10 }, () => handshake(server, token)));
		const answer = await callTool(server, server.token, honest, "list", {});
		expect(answer.status).toBe(200);
		await answer.text();
	});

	test("has a limited number of requests and streams at once, and others are served meanwhile", async () => {
		await using server = await RealServer.start({ env: { DIALTONE_HTTP_PER_TOKEN: "16" } });
		const { token } = await server.createToken("looker", "--read-only");
		const answers = await Promise.all(Array.from({ length: 40 }, () => server.get("/v1/events", { token })));
		expect(answers.filter(({ status }) => status === 200)).toHaveLength(16);
		expect(answers.filter(({ status }) => status === 429)).toHaveLength(24);
		expect(await server.serves()).toBe(true);
		await Promise.all(answers.map(({ body }) => body?.cancel()));
		await until("its streams can be opened again", async () => {
			const again = await server.get("/v1/events", { token });
			await again.body?.cancel();
			return again.ok;
		});
	});
});

describe("G9: what a client makes the server remember", () => {
	test("is bounded: handshakes, subscriptions and names of megabytes are refused or cut", async () => {
		await using server = await RealServer.start();
		const huge = "x".repeat(3 * MEBIBYTE);
		const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: huge, version: "1" } };
		const initialize = { jsonrpc: "2.0", id: 1, method: "initialize", params };
		expect((await server.post("/mcp", initialize)).status).toBe(413);
		const connection = await handshake(server, server.token);
		const headers = { "mcp-session-id": connection };
		const subscribe = (uri: string) =>
			server.post("/mcp", { jsonrpc: "2.0", id: 2, method: "resources/subscribe", params: { uri } }, { headers });
		expect(await (await subscribe(huge)).text()).toContain("-32602");
		let refused = 0;
		for (let n = 0; n < 100; n++)
			if ((await (await subscribe(`dialtone://sessions/${n}`)).text()).includes("-32602")) refused++;
		expect(refused).toBe(100 - 64);
	});
});

describe("G9: a WebSocket client that never reads", () => {
	test("and floods with pings costs a bounded amount of memory, then its connection", async () => {
		await using server = await RealServer.start();
		const socket = await server.connect();
		socket.pause();
		socket.write(upgradeRequest(server.port, "/v1/events", `Authorization: Bearer ${server.token}`));
		const before = server.residentBytes;
		const ping = Buffer.concat([Buffer.from([0x89, 0x80 | 125, 0, 0, 0, 0]), Buffer.alloc(125, "p")]);
		const flood = Buffer.concat(Array.from({ length: 500 }, () => ping));
		let sent = 0;
		const send = () => {
			while (sent < 64 * MEBIBYTE && socket.writable && socket.write(flood)) sent += flood.length;
		};
		socket.on("drain", send);
		send();
		// Either all of it is taken, or the connection is.
		await until("the flood is over", () => socket.destroyed || sent >= 64 * MEBIBYTE);
		expect((server.residentBytes - before) / MEBIBYTE).toBeLessThan(50);
		expect(await server.serves()).toBe(true);
		socket.destroy();
	});
});
