// MCP over streamable HTTP, both protocol eras, one exchange behind all requests.
// Who may come in is decided before: this only takes what the guard let through.

import { createMcpHandler } from "@modelcontextprotocol/server";
import type { ToolCard } from "../tools/exchange.ts";
import type { Caller } from "../tools/tool.ts";
import { tellChanges } from "./resources.ts";
import { type McpParts, mcpServer } from "./server.ts";

/** What the guard knows of the one who asks. */
export interface McpVisitor {
	readonly caller: Caller;
	readonly readOnly: boolean;
}

export interface McpOverHttp {
	fetch(request: Request, visitor: McpVisitor): Promise<Response>;
	close(): Promise<void>;
}

const MAX_BODY_BYTES = 2 << 20;

export function mcpOverHttp(parts: Omit<McpParts, "caller">): McpOverHttp {
	const over = new AbortController();
	let telling = false;

	const handler = createMcpHandler(
		({ era, authInfo }) => {
			const { caller, readOnly } = authInfo!.extra as unknown as McpVisitor;
			const allowed = (cards: readonly ToolCard[]) =>
				readOnly ? cards.filter(({ effect }) => effect === "reads") : cards;
			return mcpServer(
				{
					...parts,
					tools: async () => allowed(await parts.tools()),
					caller: (client) => ({ ...caller, owner: `${caller.owner}:${client}` }),
				},
				era,
			).server;
		},
		{ maxRequestBodySize: MAX_BODY_BYTES },
	);

	return {
		fetch: async (request, visitor) => {
			if (!telling) {
				telling = true;
				const notices = {
					listChanged: () => handler.notify.resourcesChanged(),
					updated: (uri: string) => handler.notify.resourceUpdated(uri),
				};
				void parts.connect().then((exchange) => tellChanges(exchange, notices, over.signal));
			}
			// The SDK passes this through to the factory untouched: it is how a visitor gets there.
			const authInfo = { token: "", clientId: visitor.caller.owner, scopes: [], extra: { ...visitor } };
			return handler.fetch(request, { authInfo });
		},
		close: async () => {
			over.abort();
			await handler.close();
		},
	};
}
