// An MCP server over a client: the tool cards as they are, plain text results,
// sessions as resources. It knows the protocol and no tool.
//
// Results carry no structuredContent: where it exists, hosts show the model nothing else,
// and the text is what was written for the model.

import {
	type CallToolRequest,
	type CallToolResult,
	CLIENT_CAPABILITIES_META_KEY,
	CLIENT_INFO_META_KEY,
	type ClientCapabilities,
	type Implementation,
	type InputRequiredResult,
	ProtocolError,
	ProtocolErrorCode,
	Server,
	type ServerContext,
} from "@modelcontextprotocol/server";
import { hasPicture } from "../protocol/answer.ts";
import { Fault, type FaultJson } from "../protocol/fault.ts";
import { parentFromMeta } from "../session/parent.ts";
import { callerWithin } from "../session/scope.ts";
import { refusal } from "../tools/catalogue.ts";
import type { Client, ToolCard, ToolSet } from "../tools/client.ts";
import type { Caller } from "../tools/tool.ts";
import { askThePerson } from "./ask-human.ts";
import { ANSWER_WITHIN_MS } from "./host-limits.ts";
import { instructionsFor } from "./instructions.ts";
import { listing } from "./listing.ts";
import { reportProgress } from "./progress.ts";
import { idsBeginning, listResources, readResource, uriOf } from "./resources.ts";

export interface McpParts {
	readonly version: string;
	/** Which tools are offered. */
	readonly sets: readonly ToolSet[];
	/** Their cards, without contacting the daemon. */
	tools(): Promise<readonly ToolCard[]>;
	/** The same as they are listed, with what a daemon that runs adds to them. Without it, `tools`. */
	listed?(): Promise<readonly ToolCard[]>;
	/** Reaches the daemon, starting it where none runs: only for a tool call. */
	connect(): Promise<Client>;
	/** The daemon if it runs: listing resources must not start one. */
	peek(): Promise<Client | null>;
	/** The caller, by the name the client gives itself. */
	caller(client: string): Caller;
	/** How often a waiting call reports progress, to clients that requested it. */
	readonly progressEveryMs?: number;
	/** How long hosts wait for an answer, if not as long as the usual ones. */
	readonly answerWithinMs?: number;
}

// What a connection may make us remember: as many sessions as run at once, names longer than any session's.
const MAX_SUBSCRIPTIONS = 64;
const MAX_URI_CHARS = 1000;
const MAX_CLIENT_CHARS = 100;

const FAULT_META_KEY = "dialtone/fault";

export type Era = "legacy" | "modern";

/** Which resources the client of a 2025-era connection has subscribed to; for the modern era the SDK tracks it. */
export type Subscriptions = { has(uri: string): boolean };

export function mcpServer(parts: McpParts, era: Era): { server: Server; subscriptions: Subscriptions } {
	const server = new Server(
		{ name: "dialtone", title: "Dialtone", version: parts.version },
		{
			instructions: instructionsFor(parts.sets),
			capabilities: {
				tools: { listChanged: true },
				resources: { subscribe: true, listChanged: true },
				completions: {},
			},
			// The names are fixed; the fields of a fleet come and go with it.
			cacheHints: { "tools/list": { ttlMs: 60_000, cacheScope: "private" } },
		},
	);

	server.setRequestHandler("tools/list", async () => ({ tools: (await cardsToList(parts)).map(listing) }));
	server.setRequestHandler("tools/call", (request, ctx) => callTool(parts, server, request, ctx));
	server.setRequestHandler("resources/list", async ({ params }, ctx) =>
		listResources(await parts.peek(), parts.caller(clientName(server, ctx)), params?.cursor),
	);
	server.setRequestHandler("resources/templates/list", async () => ({
		resourceTemplates: [
			{
				uriTemplate: uriOf("{id}").replace("%7Bid%7D", "{id}"),
				name: "session",
				description: "A session's screen",
			},
		],
	}));
	server.setRequestHandler("resources/read", async ({ params }, ctx) =>
		readResource(await parts.peek(), params.uri, parts.caller(clientName(server, ctx))),
	);

	server.setRequestHandler("completion/complete", async ({ params }, ctx) => {
		const caller = parts.caller(clientName(server, ctx));
		return { completion: { values: await idsBeginning(params.argument.value, await parts.peek(), caller) } };
	});

	const subscribed = new Set<string>();
	if (era === "legacy") {
		server.setRequestHandler("resources/subscribe", async ({ params }) => {
			if (params.uri.length > MAX_URI_CHARS || subscribed.size >= MAX_SUBSCRIPTIONS)
				throw new ProtocolError(
					ProtocolErrorCode.InvalidParams,
					`At most ${MAX_SUBSCRIPTIONS} subscriptions of at most ${MAX_URI_CHARS} characters each.`,
				);
			subscribed.add(params.uri);
			return {};
		});
		server.setRequestHandler("resources/unsubscribe", async ({ params }) => {
			subscribed.delete(params.uri);
			return {};
		});
	}
	return { server, subscriptions: era === "legacy" ? subscribed : { has: () => true } };
}

export const cardsToList = (parts: Pick<McpParts, "tools" | "listed">): Promise<readonly ToolCard[]> =>
	parts.listed?.() ?? parts.tools();

async function callTool(
	parts: McpParts,
	server: Server,
	{ params }: CallToolRequest,
	ctx: ServerContext,
): Promise<CallToolResult | InputRequiredResult> {
	const cards = await parts.tools();
	const card = cards.find(({ name }) => name === params.name);
	if (card === undefined) {
		const fault = new Fault("unknown_tool", { tool: params.name, tools: cards.map(({ name }) => name) });
		throw new ProtocolError(ProtocolErrorCode.InvalidParams, fault.text, fault.toJSON());
	}
	const input = params.arguments ?? {};
	using _progress = reportProgress(ctx, parts.progressEveryMs);
	try {
		const known = parts.caller(clientName(server, ctx));
		// One server process may serve several conversations: what the request says overrides its environment.
		const parent = parentFromMeta(params._meta) ?? known.parent;
		const caller = callerWithin(known.scope ?? null, { ...known, parent });
		const asked = await askThePerson({
			card,
			input,
			ctx,
			caller,
			peek: parts.peek,
			capabilities: capabilities(server, ctx),
		});
		if (asked !== null) return asked;
		const client = await parts.connect();
		// Cancelling ends the wait, not the session.
		const { text, facts, refused } = await client.call(card.name, input, {
			signal: ctx.mcpReq.signal,
			caller,
			answerWithinMs: parts.answerWithinMs ?? ANSWER_WITHIN_MS,
			sets: parts.sets,
		});
		if (refused !== undefined) return refusedWith(text, { fault: refused });
		if (!hasPicture(facts)) return { content: [{ type: "text", text }] };
		const { base64: data, mimeType } = facts.picture;
		return {
			content: [
				{ type: "text", text },
				{ type: "image", data, mimeType },
			],
		};
	} catch (error) {
		const fault = error instanceof Fault ? error : new Fault("internal", { problem: (error as Error).message });
		// Also of what failed before it reached a daemon.
		const told = refusal({ name: card.name, input, sets: parts.sets }, fault);
		return told instanceof Fault
			? refusedWith(told.text, told.toJSON())
			: refusedWith(told.text, { fault: fault.code });
	}
}

/** The text is for the model, and has the code too; `_meta` is for programs, and hosts show it to no model. */
const refusedWith = (text: string, fault: Pick<FaultJson, "fault"> & Partial<FaultJson>): CallToolResult => ({
	content: [{ type: "text", text }],
	isError: true,
	_meta: { [FAULT_META_KEY]: fault },
});

/** In the modern era every request names its client; in the older one the handshake did. */
function clientName(server: Server, ctx: ServerContext): string {
	const info = envelope(ctx)[CLIENT_INFO_META_KEY] as Implementation | undefined;
	return ((info ?? server.getClientVersion())?.name ?? "unknown").slice(0, MAX_CLIENT_CHARS);
}

function capabilities(server: Server, ctx: ServerContext): ClientCapabilities | undefined {
	const capabilities = envelope(ctx)[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined;
	return capabilities ?? server.getClientCapabilities();
}

function envelope(ctx: ServerContext): Readonly<Record<string, unknown>> {
	return ctx.mcpReq.envelope ?? {};
}
