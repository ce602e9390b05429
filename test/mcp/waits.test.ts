// Waits as a host with little patience sees them: real programs behind an MCP server
// whose host gives up after a second.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { type McpOverHttp, mcpOverHttp } from "../../src/mcp/http.ts";
import { toolCards } from "../../src/tools/catalogue.ts";

const HOST_MS = 1000;
const caller = { owner: "model", cwd: "/", env: { PATH: process.env.PATH ?? "", SHELL: "/bin/bash" } };

let dialtone: Dialtone;
let mcp: McpOverHttp;
let client: Client;

beforeAll(async () => {
	dialtone = await Dialtone.open({ owner: "model" });
});
afterAll(() => dialtone[Symbol.asyncDispose]());

beforeEach(async () => {
	mcp = mcpOverHttp({
		version: "0.1.0",
		sets: ["native"],
		tools: async () => toolCards(["native"]),
		connect: async () => dialtone.client,
		peek: async () => dialtone.client,
		answerWithinMs: HOST_MS,
	});
	client = new Client({ name: "tester", version: "1" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
	const access = { tokenId: "t", bodyBytes: 0, caller, may: () => true, sees: () => true };
	const transport = new StreamableHTTPClientTransport(new URL("http://127.0.0.1/mcp"), {
		fetch: (url, init) => mcp.fetch(new Request(url, init as RequestInit), access),
	});
	await client.connect(transport);
});
afterEach(async () => {
	await client.close();
	await mcp.close();
});

async function ask(name: string, input: Record<string, unknown>): Promise<string> {
	const result = (await client.callTool({ name, arguments: input })) as { content: { text: string }[] };
	return result.content[0]!.text;
}

const LIMITED = "still running: this answer was limited to 1 s of the 600 s asked; `wait` continues it";

describe("T1 a wait that a host would not sit through", () => {
	test("T1: the command is not stopped there; `wait` goes on, and the answer is its end", async () => {
		const command = "read -t 2 < <(sleep 9); echo built";
		const text = await ask("run", { command, shell: "build", timeoutMs: 600_000 });
		expect(text).toMatch(/^\[build\] (?:likely )?working\n/);
		expect(text).toContain(LIMITED);
		let ended = text;
		while (ended.includes("still running")) ended = await ask("wait", { session: "build", timeoutMs: 600_000 });
		expect(ended).toMatch(/^\[build\] (?:likely )?waiting for a command/);
		expect(ended).toContain("built");
		expect(ended).not.toContain("stopped");
	});

	test("T1: `onTimeout: stop` counts the time that was asked for, and the next answer says so", async () => {
		const startedAt = performance.now();
		const text = await ask("run", { command: "sleep 600", shell: "slow", timeoutMs: 2500 });
		expect(text).toContain("this answer was limited to 1 s of the 2.5 s asked");
		let later = text;
		while (later.includes("still running")) later = await ask("wait", { session: "slow", timeoutMs: 600_000 });
		expect(performance.now() - startedAt).toBeGreaterThanOrEqual(2500);
		expect(later).toMatch(/^\[slow\] (?:likely )?waiting for a command/);
		expect(later).toContain("the previous command timed out and was stopped");
		expect(later).toContain("exit code 130");
		expect(await ask("run", { command: "echo usable", shell: "slow" })).toContain("usable");
	});

	test("T1: a caller that goes away leaves the command its time, and `run` says how it ended", async () => {
		const gone = new AbortController();
		await dialtone.client.call("run", { command: "true", shell: "left" }, { caller });
		const called = dialtone.client.call(
			"run",
			{ command: "echo begun; sleep 600", shell: "left", timeoutMs: 1500 },
			{ caller, signal: gone.signal },
		);
		await dialtone.client.call("wait", { session: "left", until: { text: "begun" } }, { caller });
		gone.abort(new Error("gone"));
		await expect(called).rejects.toThrow("gone");
		await dialtone.client.call("wait", { session: "left" }, { caller: { ...caller, owner: "observer" } });
		const { text } = await dialtone.client.call("run", { command: "echo next", shell: "left" }, { caller });
		expect(text).toMatch(/^\[left\] exit code 0 <</);
		expect(text).toContain("the previous command timed out and was stopped");
	});

	test("T1: `onTimeout: leave` leaves it", async () => {
		const input = { command: "sleep 600", shell: "stays", timeoutMs: 1500, onTimeout: "leave" };
		expect(await ask("run", input)).toContain("limited to 1 s of the 1.5 s asked");
		const waited = await ask("wait", { session: "stays", timeoutMs: 900 });
		expect(waited).toMatch(/^\[stays\] timed out, (?:likely )?working/);
		await ask("close", { session: "stays", force: true });
	});

	test("T1: a shell that is let go before takes its deadline with it", async () => {
		await ask("run", { command: "sleep 600", shell: "closed", timeoutMs: 1200 });
		expect(await ask("close", { session: "closed", force: true })).toMatch(/^\[closed\] ended/);
	});

	test("T1: a condition that has not come true yet is said to be awaited still", async () => {
		await ask("start", { command: "cat", name: "cat" });
		const text = await ask("wait", { session: "cat", until: { text: "never" }, timeoutMs: 600_000 });
		expect(text).toMatch(/^\[cat\] not matched yet, waiting\n/);
		expect(text).toContain(LIMITED);
		await ask("close", { session: "cat", force: true });
	});
});
