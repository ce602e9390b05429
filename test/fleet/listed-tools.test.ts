// The tools as a member of a fleet lists them, in every way in: with the fields that only a fleet has, and only then.

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, test } from "vitest";
import { cardInFleet } from "../../src/fleet/fleet-cards.ts";
import { listing } from "../../src/mcp/listing.ts";
import { toolCards } from "../../src/tools/catalogue.ts";
import { TOOL_SETS, type ToolCard } from "../../src/tools/client.ts";
import { MAIN } from "../cli/command-line.ts";
import { until } from "../condition.ts";
import { Home } from "../daemon/home.ts";
import { RealServer } from "../http/real-server.ts";
import { needing } from "../programs.ts";
import { OneServer } from "./one-server.ts";

const tokens = (cards: readonly ToolCard[]) =>
	cards
		.map(listing)
		.map(({ name, description, inputSchema }) => encode(JSON.stringify({ name, description, inputSchema })).length)
		.reduce((sum, each) => sum + each, 0);

describe("the tokens that a fleet costs before the first call", () => {
	test.each(TOOL_SETS)("T11: are few for %s, and none without a fleet", (set) => {
		const cards = toolCards([set]);
		const more = tokens(cards.map(cardInFleet)) - tokens(cards);
		console.info(`${set}: ${tokens(cards)} tokens, ${more} more in a fleet`);
		expect(more).toBeGreaterThan(0);
		expect(more).toBeLessThanOrEqual(set === "native" ? 110 : 60);
		expect(JSON.stringify(cards.map(listing))).not.toMatch(/fleet|"host"|placement/);
	});
});

interface Listed {
	readonly name: string;
	readonly inputSchema: { readonly properties?: object };
}
const hasHost = (tools: readonly Listed[]) =>
	"host" in (tools.find(({ name }) => name === "start")?.inputSchema.properties ?? {});

describe("a daemon that joins and leaves", () => {
	test("lists `host` over MCP and HTTP while it is a member", needing("nats-server"), async () => {
		await using broker = await OneServer.start();
		await using server = await RealServer.start();
		const client = new Client({ name: "host", version: "1" }, { versionNegotiation: { mode: "legacy" } });
		let changes = 0;
		client.setNotificationHandler("notifications/tools/list_changed", () => {
			changes++;
		});
		const env = { ...server.env } as Record<string, string>;
		await client.connect(new StdioClientTransport({ command: process.execPath, args: [MAIN, "mcp"], env }));
		const json = async (path: string) => {
			const headers = { authorization: `Bearer ${server.token}` };
			return (await fetch(`${server.url}${path}`, { headers })).json() as Promise<never>;
		};
		const overMcp = async () => hasHost((await client.listTools()).tools as readonly Listed[]);
		const overHttp = async () => hasHost(((await json("/v1/tools")) as { tools: Listed[] }).tools);
		const inOpenApi = async () => {
			const described = JSON.stringify(await json("/v1/openapi.json"));
			return described.includes('"placement"');
		};
		const everywhere = async () => [await overMcp(), await overHttp(), await inOpenApi()];
		try {
			expect(await everywhere()).toEqual([false, false, false]);
			// Its changes are heard of from the first call on.
			await client.callTool({ name: "start", arguments: { argv: ["true"], timeoutMs: 60_000 } });
			await server.cli("join", broker.url, "--as", "alpha");
			expect(await everywhere()).toEqual([true, true, true]);
			await server.cli("fleet", "leave");
			const before = changes;
			await client.callTool({ name: "start", arguments: { argv: ["true"], timeoutMs: 60_000 } });
			await until("the change is told", () => changes > before);
			expect(await everywhere()).toEqual([false, false, false]);
		} finally {
			await client.close();
		}
	});

	test(
		"lists `host` to an MCP server that begins while no daemon runs, or none of the fleet's servers",
		needing("nats-server"),
		async () => {
			await using broker = await OneServer.start();
			await using home = new Home();
			const listed = async () => {
				const client = new Client({ name: "host", version: "1" }, { versionNegotiation: { mode: "legacy" } });
				const env = { ...home.env } as Record<string, string>;
				await client.connect(new StdioClientTransport({ command: process.execPath, args: [MAIN, "mcp"], env }));
				try {
					return hasHost((await client.listTools()).tools as readonly Listed[]);
				} finally {
					await client.close();
				}
			};
			expect(await listed()).toBe(false);
			await home.cli("join", broker.url, "--as", "alpha");
			await home.cli("daemon", "stop");
			expect(await listed()).toBe(true);
			expect((await home.cli("daemon", "status")).code).not.toBe(0);
			await broker.down();
			await home.cli("ls");
			expect(await listed()).toBe(true);
			await home.cli("fleet", "leave");
			await home.cli("daemon", "stop");
			expect(await listed()).toBe(false);
		},
	);
});
