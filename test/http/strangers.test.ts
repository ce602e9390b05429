// What somebody without a token can do to a real server: nothing that others notice.

import { readFileSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { setImmediate as tick } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { until } from "../condition.ts";
import { RealServer, upgradeRequest } from "./real-server.ts";

describe("G2: a connection that is reset", () => {
	test("right after an upgrade request, at any moment, ends nothing but itself", async () => {
		await using server = await RealServer.start();
		const valid = `Authorization: Bearer ${server.token}`;
		const requests = [
			upgradeRequest(server.port, "/v1/events"),
			upgradeRequest(server.port, "/v1/events", valid),
			upgradeRequest(server.port, "/nowhere", valid),
			upgradeRequest(server.port, "/v1/sessions/none/output", valid),
			upgradeRequest(server.port, "/v1/events", valid).replace("websocket", "h2c"),
		];
		for (let round = 0; round < 400 && server.isRunning; round++) {
			const socket = await server.connect();
			const request = requests[round % requests.length]!;
			// Also in the middle of the request, and some turns of the event loop later.
			socket.write(round % 7 === 0 ? request.slice(0, Math.floor(Math.random() * request.length)) : request);
			for (let turns = round % 6; turns > 0; turns--) await tick();
			socket.resetAndDestroy();
		}
		expect(server.isRunning).toBe(true);
		expect(await server.serves()).toBe(true);
	});

	test("while the token file is malformed ends nothing but itself either, and the reason is logged once", async () => {
		await using server = await RealServer.start();
		const intact = readFileSync(server.tokensFile, "utf8");
		writeFileSync(server.tokensFile, `${intact.slice(0, -9)}`);
		const valid = `Authorization: Bearer ${server.token}`;
		const answers = await Promise.all(
			Array.from({ length: 40 }, async (_, n) => {
				if (n % 2 === 0) return (await server.get("/v1/sessions")).status;
				const socket = await server.connect();
				socket.write(upgradeRequest(server.port, "/v1/events", valid));
				const answer = await said(socket);
				socket.destroy();
				return Number(answer.slice("HTTP/1.1 ".length, "HTTP/1.1 503".length));
			}),
		);
		expect(new Set(answers)).toEqual(new Set([503]));
		const refused = (await (await server.get("/v1/sessions")).json()) as { fault: string; message: string };
		expect(refused.fault).toBe("tokens_invalid");
		expect(refused.message).not.toContain(server.home);
		expect(server.log.split("\n").filter((line) => line.includes("is not JSON"))).toHaveLength(1);
		// Nothing overwrites it, not even the command that makes a new one.
		expect((await server.cli("token", "create", "x")).out).toContain("tokens.json is not JSON");
		writeFileSync(server.tokensFile, intact);
		expect(await server.serves()).toBe(true);
	});
});

/** All that the other side sends until it ends the connection. */
async function said(socket: Socket): Promise<string> {
	let text = "";
	socket.setEncoding("latin1").on("data", (more: string) => {
		text += more;
	});
	await until("the server ends the connection", () => socket.readableEnded || socket.destroyed);
	return text;
}

describe("G12: a connection that is held open", () => {
	test("after a refused upgrade is closed by the server, whatever its client does", async () => {
		await using server = await RealServer.start();
		const before = server.descriptors;
		const held = await Promise.all(Array.from({ length: 40 }, () => server.connect({ allowHalfOpen: true })));
		for (const socket of held) {
			socket.write(upgradeRequest(server.port, "/v1/events"));
			socket.resume();
		}
		try {
			await until("each was refused", () => held.every((socket) => socket.readableEnded));
			await until("the server has closed all of them", () => server.descriptors <= before);
		} finally {
			for (const socket of held) socket.destroy();
		}
	});

	test("1200 silent ones keep no client with a token out, nor the daemon from its own work", async () => {
		await using server = await RealServer.start({ descriptors: 1024 });
		const silent = await Promise.all(Array.from({ length: 1200 }, () => server.connect()));
		// On a busy machine one attempt may take longer for reasons of its own.
		await until("a client with a token is served within a second", () => server.serves(1000).catch(() => false));
		expect((await server.cli("start", "--name", "cat", "cat")).code).toBe(0);
		for (const socket of silent) socket.destroy();
	});

	test("a request that arrives byte by byte is given up, and so is a body", async () => {
		const env = { DIALTONE_HTTP_HEADERS_MS: "300", DIALTONE_HTTP_REQUEST_MS: "600" };
		await using server = await RealServer.start({ env });
		const head = `POST /v1/tools/list HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n`;
		const [headers, body] = await Promise.all([server.connect(), server.connect()]);
		headers.write(head);
		body.write(
			`${head}Authorization: Bearer ${server.token}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`,
		);
		const drip = setInterval(() => {
			for (const socket of [headers, body]) if (socket.writable) socket.write("x");
		}, 50);
		try {
			expect(await said(headers)).toContain(" 408 ");
			expect(await said(body)).toContain(" 408 ");
		} finally {
			clearInterval(drip);
			headers.destroy();
			body.destroy();
		}
	});
});

describe("a request that names another host", () => {
	test("G17: gets a description of this server, not of the one it named", async () => {
		await using server = await RealServer.start();
		const socket = await server.connect();
		socket.write(
			`GET http://evil.example/v1/openapi.json HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nConnection: close\r\n` +
				`Authorization: Bearer ${server.token}\r\n\r\n`,
		);
		const answer = await said(socket);
		expect(answer).not.toContain("evil.example");
		socket.destroy();
	});

	test("G13: `localhost` is served where ::1 is ours too", async () => {
		await using server = await RealServer.start();
		const answer = await fetch(`http://[::1]:${server.port}/healthz`).catch(() => null);
		const named = await fetch(`http://localhost:${server.port}/healthz`).catch(() => null);
		expect(named?.status).toBe(answer === null ? 403 : 200);
	});
});
