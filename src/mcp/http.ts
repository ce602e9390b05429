// MCP over streamable HTTP, both protocol eras, one client behind all requests.
// Who may come in is decided before: this only takes what the guard let through.

import { createMcpHandler, isLegacyRequest } from "@modelcontextprotocol/server";
import type { ToolCard } from "../tools/client.ts";
import type { Caller } from "../tools/tool.ts";
import { LegacyConnections } from "./legacy-http.ts";
import { tellChanges } from "./resources.ts";
import { type Era, type McpParts, mcpServer } from "./server.ts";

/** What the guard knows of the one who asks. */
export interface McpVisitor {
	readonly caller: Caller;
	readonly readOnly: boolean;
}

export interface McpOverHttp {
	fetch(request: Request, visitor: McpVisitor): Promise<Response>;
	close(): Promise<void>;
}

// As for the other routes: a write of 1 MiB, escaped in JSON, with room to spare.
const MAX_BODY_BYTES = 4 << 20;

export function mcpOverHttp(parts: Omit<McpParts, "caller">): McpOverHttp {
	const over = new AbortController();
	let telling = false;

	const serverFor = ({ caller, readOnly }: McpVisitor, era: Era) => {
		const allowed = (cards: readonly ToolCard[]) =>
			readOnly ? cards.filter(({ effect }) => effect === "reads") : cards;
		return mcpServer(
			{
				...parts,
				tools: async () => allowed(await parts.tools()),
				caller: (client) => ({ ...caller, owner: `${caller.owner}:${client}` }),
			},
			era,
		);
	};

	const legacy = new LegacyConnections((visitor) => serverFor(visitor, "legacy"), { maxBodyBytes: MAX_BODY_BYTES });
	const modern = createMcpHandler(
		({ authInfo }) => serverFor(authInfo!.extra as unknown as McpVisitor, "modern").server,
		{ legacy: "reject", maxRequestBodySize: MAX_BODY_BYTES },
	);
	const notices = {
		listChanged: () => {
			legacy.notices.listChanged();
			modern.notify.resourcesChanged();
		},
		updated: (uri: string) => {
			legacy.notices.updated(uri);
			modern.notify.resourceUpdated(uri);
		},
	};

	return {
		fetch: async (request, visitor) => {
			if (!telling) {
				telling = true;
				void parts.connect().then((client) => tellChanges(client, notices, over.signal));
			}
			if (await isLegacyRequest(request, undefined, { maxRequestBodySize: MAX_BODY_BYTES }))
				return legacy.fetch(request, visitor);
			// The SDK passes this through to the factory untouched: it is how a visitor gets there.
			const authInfo = { token: "", clientId: visitor.caller.owner, scopes: [], extra: { ...visitor } };
			return modern.fetch(request, { authInfo });
		},
		close: async () => {
			over.abort();
			await modern.close();
			await legacy.close();
		},
	};
}
