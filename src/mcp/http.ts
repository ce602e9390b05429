// MCP over streamable HTTP, both protocol eras, one client behind all requests.
// Access control comes before: this handles only what the guard has admitted.

import { createMcpHandler, INVALID_REQUEST, isLegacyRequest } from "@modelcontextprotocol/server";
import { guarded } from "../protocol/boundary.ts";
import type { SessionEvent } from "../protocol/events.ts";
import { resolveOptions } from "../session/options.ts";
import { callerWithin } from "../session/scope.ts";
import type { ToolCard } from "../tools/client.ts";
import type { Caller, Effect } from "../tools/tool.ts";
import { boundedStream } from "./bounded-stream.ts";
import { type ConnectionLimits, LegacyConnections } from "./legacy-http.ts";
import { notifyChanges } from "./resources.ts";
import { cardsToList, type Era, type McpParts, mcpServer } from "./server.ts";

/** What the guard knows about the caller. */
export interface McpAccess {
	readonly tokenId: string;
	/** The size of the request's body. */
	readonly bodyBytes: number;
	readonly caller: Caller;
	/** Whether it may call tools with this effect. */
	may(effect: Effect): boolean;
	/** Whether it may know of the session of this event. */
	sees(event: SessionEvent): boolean;
}

export interface McpOverHttp {
	fetch(request: Request, access: McpAccess): Promise<Response>;
	/** Ends the connections of tokens that are no longer valid; the requests themselves are the server's. */
	endRevoked(isValid: (tokenId: string) => boolean): void;
	close(): Promise<void>;
}

// As for the other routes: a write of 1 MiB, escaped in JSON, with a margin.
const MAX_BODY_BYTES = 4 << 20;

// What is remembered of a handshake or a subscription lives as long as its connection.
const MAX_KEPT_BYTES = 64 << 10;

const opensConnection = (request: Request) => request.headers.get("mcp-session-id") === null;

function tooLarge(): Response {
	const message = `A handshake or subscription is at most ${MAX_KEPT_BYTES} bytes.`;
	return Response.json({ jsonrpc: "2.0", id: null, error: { code: INVALID_REQUEST, message } }, { status: 413 });
}

const SUBSCRIBE = "subscriptions/listen";

/** Whether any of its messages opens a subscription. */
async function subscribes(request: Request): Promise<boolean> {
	if (request.method !== "POST") return false;
	const body = (await request
		.clone()
		.json()
		.catch(() => null)) as unknown;
	return [body].flat().some((message) => (message as { method?: unknown } | null)?.method === SUBSCRIBE);
}

function notForScopes(): Response {
	const message = "A token that is limited to some sessions has no subscriptions: use `wait`.";
	return Response.json({ jsonrpc: "2.0", id: null, error: { code: INVALID_REQUEST, message } }, { status: 403 });
}

export interface McpLimits extends ConnectionLimits {
	readonly streamBufferBytes: number;
}

export function mcpOverHttp(parts: Omit<McpParts, "caller">, limits: McpLimits = resolveOptions()): McpOverHttp {
	const over = new AbortController();
	let notifying = false;

	const serverFor = ({ caller, may }: McpAccess, era: Era) => {
		const allowed = (cards: readonly ToolCard[]) => cards.filter(({ effect }) => may(effect));
		return mcpServer(
			{
				...parts,
				tools: async () => allowed(await parts.tools()),
				listed: async () => allowed(await cardsToList(parts)),
				caller: (client) => callerWithin(caller.scope ?? null, { ...caller, owner: `${caller.owner}:${client}` }),
			},
			era,
		);
	};

	const legacy = new LegacyConnections((access) => serverFor(access, "legacy"), {
		...limits,
		maxBodyBytes: MAX_BODY_BYTES,
	});
	const modern = createMcpHandler(
		({ authInfo }) => serverFor(authInfo!.extra as unknown as McpAccess, "modern").server,
		{ legacy: "reject", maxRequestBodySize: MAX_BODY_BYTES },
	);
	const notifier = {
		listChanged: () => {
			legacy.notifier.listChanged();
			modern.notify.resourcesChanged();
		},
		updated: (uri: string, event: SessionEvent) => {
			legacy.notifier.updated(uri, event);
			modern.notify.resourceUpdated(uri);
		},
	};

	const answer = async (request: Request, access: McpAccess) => {
		const isLarge = access.bodyBytes > MAX_KEPT_BYTES && opensConnection(request);
		const method = request.headers.get("mcp-method"); // every request of the modern era has it
		// Before it is parsed.
		if (isLarge && (method === null || method === SUBSCRIBE)) return tooLarge();
		if (await isLegacyRequest(request, undefined, { maxRequestBodySize: MAX_BODY_BYTES }))
			return isLarge ? tooLarge() : legacy.fetch(request, access);
		// The SDK tells all subscribers of a resource, whoever they are.
		if (access.caller.scope !== undefined && (await subscribes(request))) return notForScopes();
		// The SDK passes `extra` to the factory unchanged.
		const authInfo = { token: "", clientId: access.caller.owner, scopes: [], extra: { ...access } };
		return modern.fetch(request, { authInfo });
	};

	return {
		fetch: async (request, access) => {
			if (!notifying) {
				notifying = true;
				guarded("mcp notifications", async () => notifyChanges(await parts.connect(), notifier, over.signal))();
			}
			return boundedStream(await answer(request, access), limits.streamBufferBytes);
		},
		endRevoked: (isValid) => legacy.endRevoked(isValid),
		close: async () => {
			over.abort();
			await modern.close();
			await legacy.close();
		},
	};
}
