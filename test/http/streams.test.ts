// A stream costs something only while its client is there, and little while the client does not read.

import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Listening, listen } from "../../src/http/listen.ts";
import { Tokens } from "../../src/http/tokens.ts";
import { boundedStream } from "../../src/mcp/bounded-stream.ts";
import { resolveOptions } from "../../src/session/options.ts";
import { until } from "../condition.ts";
import { FakeClient } from "../fake-client.ts";

const CHUNK = Buffer.alloc(64 << 10, "x");

/** A client whose output never ends; counts the readers that are still served. */
class EndlessClient extends FakeClient {
	open = 0;
	started = 0;

	override async *output(_session: string, { signal }: { signal: AbortSignal }) {
		this.open++;
		this.started++;
		try {
			for (let offset = 0; !signal.aborted; offset += CHUNK.length) yield { offset, bytes: CHUNK };
		} finally {
			this.open--;
		}
	}

	override async *events(options: { signal: AbortSignal }) {
		this.open++;
		this.started++;
		try {
			yield* super.events(options);
		} finally {
			this.open--;
		}
	}
}

let dir: string;
let client: EndlessClient;
let http: Listening;
let token: string;
/** A reader that takes nothing is given up after `stallMs`. */
async function serve(stallMs: number): Promise<Listening> {
	const tokens = new Tokens(join(dir, `tokens-${stallMs}.json`));
	token = tokens.create({ name: "agent", role: "view" }).token;
	const caller = () => ({ owner: "http:agent", cwd: "/", env: {} });
	const limits = resolveOptions({ streamStallMs: stallMs });
	return listen({ client, version: "1", sets: ["native"], tokens, port: 0, caller, limits });
}

beforeEach(async () => {
	dir = mkdtempSync(join(tmpdir(), "dialtone-streams-"));
	client = new EndlessClient();
	http = await serve(60_000);
});
afterEach(async () => {
	await http.close();
	rmSync(dir, { recursive: true });
});

const request = (method: string, path: string) =>
	`${method} ${path} HTTP/1.1\r\nHost: ${new URL(http.url).host}\r\nAuthorization: Bearer ${token}\r\n\r\n`;

function open(method: string, path: string) {
	const socket = connect(Number(new URL(http.url).port), "127.0.0.1");
	socket.on("error", () => {}); // what a test does with it is meant to break it
	socket.write(request(method, path));
	return socket.pause();
}

describe("a stream whose client", () => {
	test("S6: disconnects while it is not reading ends with it", async () => {
		const sockets = Array.from({ length: 5 }, () => open("GET", "/v1/sessions/py/output"));
		await until("all are being served", () => client.open === 5);
		for (const socket of sockets) socket.resetAndDestroy();
		await until("none is served any more", () => client.open === 0);
	});

	test("disconnects at once ends, whether or not it has begun", async () => {
		for (let n = 0; n < 50; n++) {
			const socket = open("GET", n % 2 ? "/v1/events" : "/v1/sessions/py/output");
			socket.once("connect", () => (n % 3 ? setImmediate(() => socket.resetAndDestroy()) : socket.resetAndDestroy()));
			await until("it is gone", () => socket.destroyed);
		}
		expect((await fetch(`${http.url}/healthz`)).ok).toBe(true);
		await until("none is served any more", () => client.open === 0);
	});

	test("takes nothing for too long is closed, and can resume", async () => {
		await http.close();
		http = await serve(300);
		const socket = open("GET", "/v1/sessions/py/output");
		await until("it is being served", () => client.open === 1);
		await until("it is served no more", () => client.open === 0);
		socket.destroy();
	});
});

test("G9: HEAD on a stream answers with the headers and asks for nothing", async () => {
	for (const path of ["/v1/events", "/v1/sessions/py/output"]) {
		const authorization = `Bearer ${token}`;
		const answer = await fetch(`${http.url}${path}`, { method: "HEAD", headers: { authorization } });
		expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
		const other = await fetch(`${http.url}/v1/sessions`, { method: "HEAD", headers: { authorization } });
		expect(other.status).toBe(200);
	}
	expect(client.started).toBe(0);
});

describe("the notifications of an MCP stream", () => {
	const stream = () => {
		let source!: ReadableStreamDefaultController<Uint8Array>;
		let cancelled = false;
		const body = new ReadableStream<Uint8Array>({
			start: (controller) => {
				source = controller;
			},
			cancel: () => {
				cancelled = true;
			},
		});
		const headers = { "content-type": "text/event-stream" };
		const reader = boundedStream(new Response(body, { headers }), 4096).body!.getReader();
		return { source, reader, isCancelled: () => cancelled };
	};

	test("are delivered whatever their size to a reader that reads", async () => {
		const { source, reader } = stream();
		for (let n = 0; n < 10; n++) {
			source.enqueue(CHUNK);
			expect((await reader.read()).value).toHaveLength(CHUNK.length);
		}
		source.close();
		expect((await reader.read()).done).toBe(true);
	});

	test("end with a reader that does not", async () => {
		const { source, reader, isCancelled } = stream();
		for (let n = 0; n < 10; n++) source.enqueue(new Uint8Array(1000));
		await until("its source is told", isCancelled);
		await expect(reader.read()).rejects.toThrow("fell behind");
	});
});
