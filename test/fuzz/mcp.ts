// Cases for MCP: JSON-RPC messages of both protocol eras, over HTTP and on stdin.

import { type Connection, connectionOf } from "./connection.ts";
import { type Header, requestText } from "./http.ts";
import { mutateBytes, mutateJson, type Random } from "./random.ts";
import { toolCall, VICTIM } from "./tool-calls.ts";

const MODERN = "2026-07-28";
const LEGACY = "2025-11-25";
const uri = `dialtone://sessions/${VICTIM}`;

const initialize = {
	method: "initialize",
	params: { protocolVersion: LEGACY, capabilities: {}, clientInfo: { name: "fuzz", version: "1" } },
};
const PLAIN: readonly { method: string; params?: object }[] = [
	initialize,
	{ method: "server/discover", params: {} },
	{ method: "ping" },
	{ method: "tools/list", params: { cursor: "x" } },
	{ method: "resources/list" },
	{ method: "resources/templates/list" },
	{ method: "resources/read", params: { uri } },
	{ method: "resources/subscribe", params: { uri } },
	{ method: "resources/unsubscribe", params: { uri } },
	{ method: "subscriptions/listen", params: { notifications: { resourcesListChanged: true, resourceUpdates: [uri] } } },
	{
		method: "completion/complete",
		params: {
			ref: { type: "ref/resource", uri: "dialtone://sessions/{id}" },
			argument: { name: "name", value: "v" },
		},
	},
	{ method: "logging/setLevel", params: { level: "debug" } },
	{ method: "prompts/list" },
	{ method: "notifications/initialized" },
	{ method: "notifications/cancelled", params: { requestId: 1, reason: "x" } },
	{ method: "notifications/progress", params: { progressToken: 1, progress: 1 } },
];

interface Message {
	readonly jsonrpc: "2.0";
	readonly method: string;
	readonly params?: Readonly<Record<string, unknown>>;
}

function message(random: Random, modern: boolean): Message & { id?: number } {
	const { tool, input } = toolCall(random);
	const call = { method: "tools/call", params: { name: tool, arguments: input } };
	const { method, params } = random.chance(0.5) ? call : random.pick(PLAIN);
	const meta = {
		"io.modelcontextprotocol/protocolVersion": MODERN,
		"io.modelcontextprotocol/clientInfo": { name: "fuzz", version: "1" },
		"io.modelcontextprotocol/clientCapabilities": {},
	};
	const progress = random.chance(0.1) ? { _meta: { progressToken: random.int(5) } } : {};
	const all = { ...params, ...progress, ...(modern ? { _meta: meta } : {}) };
	const id = method.startsWith("notifications/") ? {} : { id: random.int(20) };
	return { jsonrpc: "2.0", ...id, method, params: all };
}

/** One message as text: right, changed, in a batch, or no JSON any more. */
function messageText(sent: object, random: Random): string {
	const value = random.chance(0.55) ? mutateJson(sent, random) : sent;
	const text = JSON.stringify(random.chance(0.05) ? [value, sent] : value) ?? "";
	return random.chance(0.1)
		? mutateBytes(Buffer.from(text), random).toString("latin1")
		: Buffer.from(text).toString("latin1");
}

export function mcpCase(random: Random): Connection {
	let text = "";
	for (let i = 0; i <= random.int(2); i++) {
		const modern = random.chance(0.5);
		const sent = message(random, modern);
		const { name } = (sent.params ?? {}) as { name?: unknown };
		const headers: Header[] = [
			["Authorization", random.chance(0.8) ? "Bearer %TOKEN%" : "Bearer %READONLY%"],
			["Accept", random.chance(0.95) ? "application/json, text/event-stream" : "*/*"],
			["Content-Type", random.chance(0.95) ? "application/json" : "text/plain"],
			["MCP-Protocol-Version", random.chance(0.9) ? (modern ? MODERN : LEGACY) : "1999-01-01"],
		];
		if (modern) headers.push(["MCP-Method", sent.method]);
		if (modern && typeof name === "string") headers.push(["MCP-Name", name]);
		if (!modern && sent.method !== "initialize") headers.push(["MCP-Session-Id", random.chance(0.9) ? "%MCP%" : "x"]);
		const method = random.chance(0.92) ? "POST" : random.pick(["GET", "DELETE", "PUT"]);
		// DELETE would end the connection that the other cases use.
		const kept = method === "DELETE" ? headers.filter(([header]) => header !== "MCP-Session-Id") : headers;
		const body = method === "GET" ? null : messageText(sent, random);
		text += requestText({ method, path: "/mcp", headers: kept, body }, random);
	}
	return connectionOf(text, random);
}

/** Lines for one server on stdin, which takes the era of its first message. */
export interface StdioCase {
	readonly era: "legacy" | "modern";
	readonly lines: readonly string[];
}

export function stdioCase(random: Random): StdioCase {
	const era = random.pick(["legacy", "modern"] as const);
	const lines = Array.from({ length: 40 }, () => messageText(message(random, era === "modern"), random));
	return { era, lines: lines.map((line) => line.replaceAll("\n", " ")) };
}

export const FIRST: Readonly<Record<StdioCase["era"], object>> = {
	legacy: { jsonrpc: "2.0", id: "first", ...initialize },
	modern: {
		jsonrpc: "2.0",
		id: "first",
		method: "tools/list",
		params: {
			_meta: {
				"io.modelcontextprotocol/protocolVersion": MODERN,
				"io.modelcontextprotocol/clientInfo": { name: "fuzz", version: "1" },
				"io.modelcontextprotocol/clientCapabilities": {},
			},
		},
	},
};
