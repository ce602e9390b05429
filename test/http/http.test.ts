import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { type Listening, listen } from "../../src/http/listen.ts";
import { Tokens } from "../../src/http/tokens.ts";
import { FakeClient } from "../fake-client.ts";

let dir: string;
let client: FakeClient;
let http: Listening;
let token: string;
let looker: string;

beforeEach(async () => {
	dir = mkdtempSync(join(tmpdir(), "dialtone-http-"));
	client = new FakeClient();
	const tokens = new Tokens(join(dir, "tokens.json"));
	token = tokens.create({ name: "agent", role: "drive" }).token;
	looker = tokens.create({ name: "looker", role: "view" }).token;
	http = await listen({
		client,
		version: "0.1.0",
		sets: ["native"],
		tokens,
		port: 0,
		caller: ({ name }) => ({ owner: `http:${name}`, cwd: "/", env: {} }),
	});
});
afterEach(async () => {
	await http.close();
	rmSync(dir, { recursive: true });
});

const post = (tool: string, body: unknown, headers: Record<string, string> = {}) =>
	fetch(`${http.url}/v1/tools/${tool}`, {
		method: "POST",
		headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
		body: typeof body === "string" ? body : JSON.stringify(body),
	});
const get = (path: string, headers: Record<string, string> = {}) =>
	fetch(`${http.url}${path}`, { headers: { authorization: `Bearer ${token}`, ...headers } });

describe("tools over HTTP", () => {
	test("a call answers with its facts, or with the model's text where text is asked for", async () => {
		const facts = await (await post("start", { command: "python3" })).json();
		expect(facts).toMatchObject({ session: "0py0", returned: "waiting", waitingFor: "line" });
		const text = await post("start", { command: "python3" }, { accept: "text/plain" });
		expect(await text.text()).toMatch(/^\[\S+\] .* <<\d{3}\n/);
		expect(client.calls[0]!.options?.caller?.owner).toBe("http:agent");
	});

	test("S21: a call belongs to the conversation that its header names, and to none without it", async () => {
		await post("start", { command: "python3" }, { "x-dialtone-parent": "conversation-1" });
		await post("start", { command: "python3" });
		expect(client.calls.map(({ options }) => options?.caller?.parent)).toEqual(["conversation-1", undefined]);
	});

	test("a fault has its status, its code and the next step", async () => {
		const answer = await post("read", { session: "nope" });
		expect(answer.status).toBe(404);
		expect(await answer.json()).toMatchObject({ fault: "session_not_found", next: expect.stringContaining("py") });
	});

	test.each([
		["no JSON", "{", {}],
		["a form, as another site could post it", "{}", { "content-type": "text/plain" }],
	])("%s is refused before anything is called", async (_, body, headers) => {
		const answer = await post("start", body, headers);
		expect(answer.status).toBe(400);
		expect(await answer.json()).toMatchObject({ fault: "bad_input" });
		expect(client.calls).toEqual([]);
	});

	test("a body beyond the limit is refused", async () => {
		expect((await post("start", { command: "x".repeat(5 << 20) })).status).toBe(413);
		expect(client.calls).toEqual([]);
	});

	test("an unknown tool is refused with the names of those that exist", async () => {
		const answer = await post("fly", {});
		expect(answer.status).toBe(404);
		expect(await answer.json()).toMatchObject({ fault: "unknown_tool", next: expect.stringContaining("start") });
	});

	test("a read-only token may look and may not type", async () => {
		const as = { authorization: `Bearer ${looker}` };
		expect((await post("read", { session: "py" }, as)).status).toBe(200);
		expect((await post("send", { session: "py", text: "x" }, as)).status).toBe(403);
		expect(client.calls.map(({ tool }) => tool)).toEqual(["read"]);
	});

	test("a caller that goes away ends its wait", async () => {
		const away = new AbortController();
		const waiting = fetch(`${http.url}/v1/tools/wait`, {
			method: "POST",
			headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
			body: JSON.stringify({ session: "py" }),
			signal: away.signal,
		});
		waiting.catch(() => {});
		await expect.poll(() => client.calls.length).toBe(1);
		away.abort();
		await expect.poll(() => client.calls[0]!.options?.signal?.aborted).toBe(true);
	});

	test("the description lists every tool with its own schema", async () => {
		const api = (await (await get("/v1/openapi.json")).json()) as { paths: Record<string, object> };
		expect(Object.keys(api.paths)).toContain("/v1/tools/send");
		expect(JSON.stringify(api.paths["/v1/tools/send"])).toContain('"required":["session"]');
	});

	test("sessions can be listed and looked at", async () => {
		expect(await (await get("/v1/sessions")).json()).toMatchObject({ sessions: [{ name: "py" }] });
		expect(await (await get("/v1/sessions/py")).json()).toMatchObject({ name: "py", text: ">>> " });
		expect((await get("/v1/sessions/nope")).status).toBe(404);
	});
});

describe("the policy", () => {
	test("without a token only the health check answers", async () => {
		expect((await fetch(`${http.url}/healthz`)).status).toBe(200);
		for (const path of ["/v1/tools", "/v1/sessions", "/v1/events", "/v1/openapi.json", "/mcp", "/nope"])
			expect((await fetch(`${http.url}${path}`)).status, path).toBe(401);
	});

	test("a rebound Host is refused even with a token", async () => {
		const { port } = new URL(http.url);
		const status = await new Promise((resolve) => {
			const headers = { host: `evil.example:${port}`, authorization: `Bearer ${token}` };
			request({ port, host: "127.0.0.1", path: "/v1/tools", headers }, (answer) => resolve(answer.statusCode)).end();
		});
		expect(status).toBe(403);
	});

	test("a foreign Origin is refused on routes and on upgrades, and no answer allows another site", async () => {
		const answer = await get("/v1/tools", { origin: "https://evil.example" });
		expect(answer.status).toBe(403);
		expect([...answer.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
		const socket = new WebSocket(`${http.url}/v1/events`, [token], { origin: "https://evil.example" });
		expect(await refusal(socket)).toBe(403);
	});

	test("an upgrade without a token, or to nowhere, is refused", async () => {
		expect(await refusal(new WebSocket(`${http.url}/v1/events`))).toBe(401);
		expect(await refusal(new WebSocket(`${http.url}/v1/nope`, [token]))).toBe(404);
		expect(await refusal(new WebSocket(`${http.url}/v1/sessions/%ff/output`, [token]))).toBe(404);
	});
});

function refusal(socket: WebSocket): Promise<number | undefined> {
	return new Promise((resolve) => {
		socket.once("unexpected-response", (_request, answer) => {
			resolve(answer.statusCode);
			socket.terminate();
		});
		socket.once("open", () => resolve(undefined));
		socket.on("error", () => {}); // the refusal is told once, above
	});
}

/** Reads a stream of server-sent events until enough has come. */
async function frames(answer: Response, count: number): Promise<string[]> {
	const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
	let text = "";
	const found = () => text.split("\n\n").filter((frame) => frame !== "" && !frame.startsWith(":"));
	while (found().length < count) {
		const { value, done } = await reader.read();
		if (done) break;
		text += value;
	}
	await reader.cancel();
	return found();
}

describe("events", () => {
	test("each is one compact JSON frame, and Last-Event-ID goes on after it", async () => {
		client.happen({ event: "started" });
		client.happen({ event: "ended" });
		const answer = await get("/v1/events", { "last-event-id": "1" });
		expect(answer.headers.get("content-type")).toContain("text/event-stream");
		const [frame] = await frames(answer, 1);
		expect(frame).toMatch(/^id: 2\ndata: \{"seq":2,.*"event":"ended"/);
	});

	test("the same over a WebSocket whose token is a subprotocol: a push channel for an agent", async () => {
		const socket = new WebSocket(`${http.url}/v1/events`, ["dialtone", token]);
		const got: unknown[] = [];
		socket.on("message", (data) => got.push(JSON.parse(String(data))));
		await new Promise((resolve) => socket.once("open", resolve));
		expect(socket.protocol).toBe("dialtone");
		client.happen({ event: "attention", activity: "waiting" });
		await expect.poll(() => got).toMatchObject([{ event: "attention", activity: "waiting" }]);
		socket.terminate();
	});
});

describe("output", () => {
	test("comes as base64 with the offset after it as its id, and resumes where it stopped", async () => {
		const [first] = await frames(await get("/v1/sessions/py/output"), 1);
		const id = /^id: (\d+)/.exec(first!)![1]!;
		expect(Number(id)).toBe(client.output_.length);
		client.print("6*7\r\n42\r\n");
		client.exit = { code: 0, signal: null };
		const rest = await frames(await get("/v1/sessions/py/output", { "last-event-id": id }), 2);
		expect(Buffer.from(/data: (.*)/.exec(rest[0]!)![1]!, "base64").toString()).toBe("6*7\r\n42\r\n");
		expect(rest[1]).toContain("event: ended");
	});

	test("an unknown session is a fault in the stream", async () => {
		const [frame] = await frames(await get("/v1/sessions/nope/output"), 1);
		expect(frame).toContain("session_not_found");
	});

	test("over a WebSocket frames are an offset and bytes, and the end is sent before it closes", async () => {
		client.exit = { code: 0, signal: null };
		const socket = new WebSocket(`${http.url}/v1/sessions/py/output?from=7`, [token]);
		const got: [Buffer, boolean][] = [];
		socket.on("message", (data, binary) => got.push([data as Buffer, binary]));
		const code = await new Promise((resolve) => socket.once("close", resolve));
		expect(code).toBe(1000);
		expect(got[0]![0].readBigUInt64LE()).toBe(7n);
		expect(got[0]![0].subarray(8).toString()).toBe("3.11\r\n>>> ");
		expect(got.map(([, binary]) => binary)).toEqual([true, false]);
	});

	test("a reader that never reads costs at most about a megabyte, and the program's output is not held up", async () => {
		client.output_ = Buffer.alloc(32 << 20, "x");
		let pulled = 0;
		const whole = client.output_;
		client.output = async function* (_session, { signal }) {
			for (let at = 0; at < whole.length && !signal.aborted; at += 64 << 10) {
				pulled = at;
				yield { offset: at, bytes: whole.subarray(at, at + (64 << 10)) };
			}
		};
		const socket = new WebSocket(`${http.url}/v1/sessions/py/output`, [token]);
		await new Promise((resolve) => socket.once("open", resolve));
		socket.pause();
		// The kernel's own socket buffers take a few megabytes on loopback; then nothing more is pulled.
		let before = -1;
		await expect
			.poll(
				() => {
					const still = pulled === before;
					before = pulled;
					return still && pulled > 0;
				},
				{ interval: 200, timeout: 20_000 },
			)
			.toBe(true);
		expect(pulled).toBeLessThan(16 << 20);
		socket.terminate();
	});
});
