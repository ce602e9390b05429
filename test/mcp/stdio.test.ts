// The MCP server as hosts start and end it.

import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CommandLine, MAIN } from "../cli/command-line.ts";
import { until } from "../condition.ts";

let line: CommandLine;
beforeEach(() => {
	line = new CommandLine();
});
afterEach(() => line[Symbol.asyncDispose]());

async function connect(mode: "legacy" | "auto" = "auto", capabilities = {}): Promise<Client> {
	const client = new Client({ name: "host", version: "1" }, { capabilities, versionNegotiation: { mode } });
	await client.connect(new StdioClientTransport({ command: process.execPath, args: [MAIN, "mcp"], env: line.env }));
	return client;
}

const daemonRuns = async () => (await line.run(["daemon", "status"])).code === 0;
const text = (result: unknown) => (result as { content: { text: string }[] }).content[0]!.text;

describe("a host that only looks around", () => {
	test.each(["legacy", "auto"] as const)("lists tools and resources (%s) and leaves no trace", async (mode) => {
		await using client = disposable(await connect(mode));
		expect((await client.listTools()).tools.map(({ name }) => name)).toContain("start");
		expect((await client.listResources()).resources).toEqual([]);
		expect(await daemonRuns()).toBe(false);
		expect(existsSync(join(line.home, "sessions"))).toBe(false);
		expect(readdirSync(line.home)).toEqual([]);
	});

	test("gets the tool sets it asked for", async () => {
		const server = line.spawn(["mcp", "--tools", "nope"]);
		const [code] = await once(server, "close");
		expect(code).toBe(2);
	});
});

describe("G17: a host that sends what is no message", () => {
	test.each([
		["malformed JSON", '{"jsonrpc":"2.0","id":1,"method":', -32700],
		["JSON that is no request", '{"hello":"world"}', -32600],
		["null", "null", -32600],
		["a line that is too long", `"${"x".repeat(5 << 20)}"`, -32600],
		["a line that costs too much to parse", "[".repeat(1 << 20), -32600],
	])("%s gets an error, and the next request its answer", async (_, junk, code) => {
		const server = line.spawn(["mcp"]);
		let out = "";
		server.stdout.setEncoding("utf8").on("data", (text: string) => {
			out += text;
		});
		const answers = () =>
			out
				.split("\n")
				.filter(Boolean)
				.map((text) => JSON.parse(text));
		server.stdin.write(`${junk}\n`);
		await until("the error has come", () => answers().length === 1);
		expect(answers()[0]).toMatchObject({ jsonrpc: "2.0", id: null, error: { code } });
		const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "host", version: "1" } };
		server.stdin.write(`\r\n${JSON.stringify({ jsonrpc: "2.0", id: 2, method: "initialize", params })}\r\n`);
		await until("the next request is answered", () => answers().length === 2);
		expect(answers()[1]).toMatchObject({ id: 2, result: { serverInfo: { name: "dialtone" } } });
		server.stdin.end();
		const [exit] = await once(server, "close");
		expect(exit).toBe(0);
	});
});

describe("a host that works", () => {
	test("the daemon is started by the first call, and the session is there for others and after the host", async () => {
		const client = await connect();
		expect(await daemonRuns()).toBe(false);
		await client.callTool({ name: "start", arguments: { argv: ["cat"], name: "shared" } });
		expect(await daemonRuns()).toBe(true);
		await client.close();
		await line.run(["send", "shared", "from a shell", "--until", "shell\nfrom"]);
		await using again = disposable(await connect());
		const seen = await again.callTool({ name: "read", arguments: { session: "shared", view: "lines" } });
		expect(text(seen)).toContain("from a shell");
	});

	test("keys of the host do not reach what it starts, the directory does", async () => {
		const env = { ...line.env, ANTHROPIC_API_KEY: "sk-secret", LANG: "C.UTF-8" };
		const client = new Client({ name: "host", version: "1" });
		const transport = new StdioClientTransport({ command: process.execPath, args: [MAIN, "mcp"], env, cwd: "/usr" });
		await client.connect(transport);
		const { content } = await client.callTool({ name: "start", arguments: { command: "env; pwd" } });
		await client.close();
		expect(JSON.stringify(content)).not.toContain("sk-secret");
		expect(JSON.stringify(content)).toContain("LANG=C.UTF-8");
		expect(JSON.stringify(content)).toContain("\\n/usr\\n");
	});

	test("goes on after the daemon was restarted", async () => {
		await using client = disposable(await connect());
		await client.callTool({ name: "start", arguments: { argv: ["cat"], name: "kept" } });
		await line.run(["daemon", "restart"]);
		const answer = await client.callTool({
			name: "send",
			arguments: { session: "kept", text: "hello", submit: true, until: { text: "hello\nhello" } },
		});
		expect(text(answer)).toContain("hello");
	});

	test("a client that asked for signs of life gets them while a call waits", async () => {
		await using client = disposable(await connect());
		let progress = 0;
		await client.callTool(
			{ name: "start", arguments: { argv: ["sleep", "60"], timeoutMs: 6_000 } },
			{ onprogress: () => void progress++ },
		);
		expect(progress).toBeGreaterThan(0);
	});
});

describe("a host that leaves", () => {
	const hello = {
		jsonrpc: "2.0",
		id: 1,
		method: "initialize",
		params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "host", version: "1" } },
	};
	const wait = {
		jsonrpc: "2.0",
		id: 2,
		method: "tools/call",
		params: { name: "start", arguments: { argv: ["sleep", "60"], name: "long", timeoutMs: 60_000 } },
	};

	test.each([
		["closes stdin", (server: ReturnType<CommandLine["spawn"]>) => server.stdin.end()],
		["sends SIGINT", (server: ReturnType<CommandLine["spawn"]>) => server.kill("SIGINT")],
		["sends SIGTERM", (server: ReturnType<CommandLine["spawn"]>) => server.kill("SIGTERM")],
	])("and %s ends the server at once, also in the middle of a call, and no session", async (_, leave) => {
		const server = line.spawn(["mcp"]);
		const closed = once(server, "close");
		server.stdin.write(`${JSON.stringify(hello)}\n`);
		await once(server.stdout, "data");
		server.stdin.write(`${JSON.stringify(wait)}\n`);
		await expect.poll(async () => (await line.run(["ls"])).out, { timeout: 20_000 }).toContain("long");
		leave(server);
		expect((await closed)[0]).toBe(0);
		expect((await line.run(["ls", "--status", "running"])).out).toContain("long");
	});
});

function disposable(client: Client): Client & AsyncDisposable {
	return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

test("S21: a session belongs to the conversation that its call names in _meta, else to that of the server's environment", async () => {
	const parents = async () => {
		const { sessions } = (await line.json(["call", "list", "{}"])) as { sessions: { name: string; parent: string }[] };
		return Object.fromEntries(sessions.map(({ name, parent }) => [name, parent]));
	};
	const transport = new StdioClientTransport({
		command: process.execPath,
		args: [MAIN, "mcp"],
		env: { ...line.env, DIALTONE_PARENT: "of-the-server" },
	});
	const host = new Client({ name: "host", version: "1" });
	await host.connect(transport);
	await using client = disposable(host);
	const start = (name: string, _meta?: Record<string, unknown>) =>
		client.callTool({ name: "start", arguments: { name, argv: ["cat"] }, ...(_meta && { _meta }) });
	await start("named", { "dialtone/parent": "of-the-call" });
	await start("unnamed");
	expect(await parents()).toEqual({ named: "of-the-call", unnamed: "of-the-server" });
});
