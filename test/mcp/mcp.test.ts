import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type McpOverHttp, mcpOverHttp } from "../../src/mcp/http.ts";
import { FAKE_CARDS, FakeClient } from "../fake-client.ts";

let dialtone: FakeClient;
let mcp: McpOverHttp;
let readOnly: boolean;
const rights = () => ({ may: (effect: string) => !readOnly || effect === "reads", sees: () => true });
const opened: Client[] = [];

beforeEach(() => {
	dialtone = new FakeClient();
	readOnly = false;
	mcp = mcpOverHttp({
		sets: ["native"],
		version: "0.1.0",
		tools: async () => FAKE_CARDS,
		connect: async () => dialtone,
		peek: async () => dialtone,
	});
});
afterEach(async () => {
	for (const client of opened.splice(0)) await client.close();
	await mcp.close();
});

type Era = "2025" | "2026";

async function connect(
	era: Era,
	options: { elicit?: (params: unknown) => "accept" | "decline" } = {},
): Promise<Client> {
	const client = new Client(
		{ name: "tester", version: "1" },
		{
			capabilities: options.elicit ? { elicitation: { url: {} } } : {},
			versionNegotiation: { mode: era === "2025" ? "legacy" : { pin: "2026-07-28" } },
		},
	);
	if (options.elicit) {
		const { elicit } = options;
		client.setRequestHandler("elicitation/create", async ({ params }) => ({ action: elicit(params) }));
	}
	const access = { tokenId: "t", bodyBytes: 0, caller: { owner: "http:agent", cwd: "/", env: {} }, ...rights() };
	const transport = new StreamableHTTPClientTransport(new URL("http://127.0.0.1/mcp"), {
		fetch: (url, init) => mcp.fetch(new Request(url, init as RequestInit), access),
	});
	await client.connect(transport);
	opened.push(client);
	return client;
}

const text = (result: unknown) => (result as { content: { text: string }[] }).content[0]!.text;

describe.each(["2025", "2026"] as const)("MCP of the era %s", (era) => {
	test("tools are listed with annotations from their effects, in a fixed order, before anything is called", async () => {
		const client = await connect(era);
		const { tools } = await client.listTools();
		expect(tools.map(({ name }) => name)).toEqual(FAKE_CARDS.map(({ name }) => name));
		const by = (name: string) => tools.find((tool) => tool.name === name)!;
		expect(by("read").annotations).toMatchObject({ readOnlyHint: true, destructiveHint: false });
		expect(by("close").annotations).toMatchObject({ readOnlyHint: false, destructiveHint: true, idempotentHint: true });
		expect(by("start")._meta).toMatchObject({ "anthropic/alwaysLoad": true });
		expect(by("list")._meta).not.toHaveProperty("anthropic/alwaysLoad");
		expect(by("send").inputSchema).toMatchObject({ required: ["session"] });
		expect(dialtone.calls).toEqual([]);
	});

	test("instructions teach the conversation", async () => {
		expect((await connect(era)).getInstructions()).toContain("One call is one turn");
	});

	test("an answer is plain text and nothing else", async () => {
		const result = await (await connect(era)).callTool({ name: "start", arguments: { command: "python3" } });
		expect(text(result)).toContain("[py] waiting");
		expect(result).not.toHaveProperty("structuredContent");
		expect(dialtone.calls[0]!.options?.caller?.owner).toBe("http:agent:tester");
	});

	test("a refusal is an error the model can read, with the next step", async () => {
		const result = await (await connect(era)).callTool({ name: "read", arguments: { session: "nope" } });
		expect(result).toMatchObject({ isError: true });
		expect(text(result)).toBe('session_not_found: There is no session called "nope". Open sessions: py.');
		expect(result._meta).toMatchObject({ "dialtone/fault": { fault: "session_not_found", facts: { id: "nope" } } });
		expect(result).not.toHaveProperty("structuredContent");
	});

	test("an unknown tool is a protocol error that names those that exist", async () => {
		const calling = (await connect(era)).callTool({ name: "fly", arguments: {} });
		await expect(calling).rejects.toThrow(/There is no tool called "fly".*start/);
	});

	test("cancelling ends the wait", async () => {
		const client = await connect(era);
		const away = new AbortController();
		const waiting = client.callTool({ name: "wait", arguments: { session: "py" } }, { signal: away.signal });
		waiting.catch(() => {});
		await expect.poll(() => dialtone.calls.length).toBe(1);
		away.abort();
		await expect.poll(() => dialtone.calls[0]!.options?.signal?.aborted).toBe(true);
	});

	test("T13: two owners' sessions of one name are two resources", async () => {
		const [mine] = dialtone.list;
		dialtone.list = [mine!, { ...mine!, session: "0theirs0", owner: "mcp:another", mine: false, byName: false }];
		const { resources } = await (await connect(era)).listResources();
		expect(resources.map(({ uri, title }) => [uri, title])).toEqual([
			["dialtone://sessions/id-py", "py"],
			["dialtone://sessions/0theirs0", "py"],
		]);
	});

	test("sessions are resources: listed, and read as their screen without using up what is new", async () => {
		const client = await connect(era);
		const { resources } = await client.listResources();
		expect(resources).toMatchObject([{ uri: "dialtone://sessions/id-py", name: "py", title: "py" }]);
		const { contents } = await client.readResource({ uri: "dialtone://sessions/0py0" });
		expect(contents).toMatchObject([{ mimeType: "text/plain", text: ">>> " }]);
		expect(dialtone.calls.at(-1)).toMatchObject({ tool: "read", input: { view: "screen" } });
		expect(dialtone.calls.at(-1)!.options?.caller?.owner).toBe("http:agent:tester:observer");
		await expect(client.readResource({ uri: "dialtone://sessions/nope" })).rejects.toThrow();
		await expect(client.readResource({ uri: "file:///etc/passwd" })).rejects.toThrow();
	});

	test("with a read-only token only tools that read exist", async () => {
		readOnly = true;
		const client = await connect(era);
		const { tools } = await client.listTools();
		expect(tools.map(({ name }) => name)).toEqual(["read", "wait", "list"]);
		await expect(client.callTool({ name: "send", arguments: { session: "py" } })).rejects.toThrow(/no tool called/);
	});

	test("a client that cannot show a link gets the tool's own answer", async () => {
		const result = await (await connect(era)).callTool({ name: "ask_human", arguments: { session: "py" } });
		expect(text(result)).toContain("[py]");
	});

	test.each(["accept", "decline"] as const)(
		"a person is asked by a link, and %s leads on to the tool",
		async (action) => {
			const asked: unknown[] = [];
			dialtone.http = "http://127.0.0.1:1";
			const client = await connect(era, {
				elicit: (params) => {
					asked.push(params);
					return action;
				},
			});
			const result = await client.callTool({ name: "ask_human", arguments: { session: "py", question: "Password?" } });
			expect(asked).toMatchObject([{ mode: "url", url: "http://127.0.0.1:1/#0py0", message: "Password?" }]);
			expect(text(result)).toContain("[py]");
			// What is new to the agent stays new.
			expect(dialtone.calls[0]).toMatchObject({
				tool: "read",
				options: { caller: { owner: "http:agent:tester:observer" } },
			});
		},
	);

	test("nobody is sent to a page that is not served", async () => {
		const client = await connect(era, {
			elicit: () => {
				throw new Error("asked by a link");
			},
		});
		const result = await client.callTool({ name: "ask_human", arguments: { session: "py", question: "Password?" } });
		expect(text(result)).toContain("[py]");
		expect(dialtone.calls.map(({ tool }) => tool)).toEqual(["ask_human"]);
	});
});

describe("change notifications", () => {
	test("a subscriber is notified that a session changed", async () => {
		const client = await connect("2026");
		const updated: string[] = [];
		client.setNotificationHandler("notifications/resources/updated", ({ params }) => void updated.push(params.uri));
		await client.listen({ resourceSubscriptions: ["dialtone://sessions/0py0"] });
		dialtone.happen({ event: "attention" });
		await expect.poll(() => updated).toEqual(["dialtone://sessions/0py0"]);
	});

	test("so is a client of the era 2025, for what it subscribed to and nothing else", async () => {
		const client = await connect("2025");
		const updated: string[] = [];
		client.setNotificationHandler("notifications/resources/updated", ({ params }) => void updated.push(params.uri));
		await client.subscribeResource({ uri: "dialtone://sessions/0py0" });
		dialtone.happen({ event: "attention", session: "0other0", name: "other" });
		dialtone.happen({ event: "attention" });
		await expect.poll(() => updated).toEqual(["dialtone://sessions/0py0"]);
	});
});

describe("a connection of the era 2025", () => {
	test("G10: is of no use to another token that knows its id, even one of the same name", async () => {
		const client = await connect("2025");
		const id = (client.transport as StreamableHTTPClientTransport).sessionId!;
		const request = new Request("http://127.0.0.1/mcp", {
			method: "POST",
			headers: {
				"content-type": "application/json",
				accept: "application/json, text/event-stream",
				"mcp-session-id": id,
			},
			body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
		});
		const thief = {
			tokenId: "thief",
			bodyBytes: 0,
			caller: { owner: "http:agent", cwd: "/", env: {} },
			...rights(),
		};
		expect((await mcp.fetch(request, thief)).status).toBe(404);
	});
});
