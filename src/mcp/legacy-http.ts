// The 2025 era over HTTP, which has connections: cancelling, asking a person and
// change notifications all need one. A connection is bound to its token:
// its id is of no use to others, it counts against the token's limit and ends with it.

import { randomUUID } from "node:crypto";
import { type Server, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { reportError } from "../protocol/listeners.ts";
import type { McpAccess } from "./http.ts";
import type { ChangeNotifier } from "./resources.ts";
import type { Subscriptions } from "./server.ts";

interface Connection {
	readonly transport: WebStandardStreamableHTTPServerTransport;
	readonly server: Server;
	readonly subscriptions: Subscriptions;
	readonly tokenId: string;
	readonly sees: McpAccess["sees"];
	usedAt: number;
}

export interface ConnectionLimits {
	readonly mcpConnections: number;
	readonly mcpPerToken: number;
}

// Clients rarely close a connection. An evicted one gets 404 and initializes again, which loses nothing.
const IDLE_MS = 6 * 3_600_000;

export class LegacyConnections {
	readonly #open = new Map<string, Connection>();
	readonly #make: (access: McpAccess) => { server: Server; subscriptions: Subscriptions };
	readonly #limits: ConnectionLimits & { readonly maxBodyBytes: number };

	constructor(
		make: (access: McpAccess) => { server: Server; subscriptions: Subscriptions },
		limits: ConnectionLimits & { readonly maxBodyBytes: number },
	) {
		this.#make = make;
		this.#limits = limits;
	}

	async fetch(request: Request, access: McpAccess): Promise<Response> {
		const { tokenId, sees } = access;
		const id = request.headers.get("mcp-session-id");
		if (id !== null) {
			const connection = this.#open.get(id);
			if (connection === undefined || connection.tokenId !== tokenId)
				return Response.json(
					{ jsonrpc: "2.0", id: null, error: { code: -32001, message: "Session not found" } },
					{ status: 404 },
				);
			connection.usedAt = performance.now();
			return connection.transport.handleRequest(request);
		}
		const { server, subscriptions } = this.#make(access);
		const transport = new WebStandardStreamableHTTPServerTransport({
			sessionIdGenerator: randomUUID,
			maxRequestBodySize: this.#limits.maxBodyBytes,
			onsessioninitialized: (opened) => {
				this.#open.set(opened, { transport, server, subscriptions, tokenId, sees, usedAt: performance.now() });
				this.#evict(tokenId);
			},
			onsessionclosed: (closed) => void this.#open.delete(closed),
		});
		await server.connect(transport);
		// The transport refuses anything but `initialize`; both objects are then garbage.
		return transport.handleRequest(request);
	}

	/** Notifies each connection of what it subscribed to. */
	readonly notifier: ChangeNotifier = {
		listChanged: () => {
			for (const { server } of this.#open.values()) void server.sendResourceListChanged().catch(() => {}); // gone
		},
		updated: (uri, event) => {
			for (const { server, subscriptions, sees } of this.#open.values())
				if (subscriptions.has(uri) && sees(event)) void server.sendResourceUpdated({ uri }).catch(() => {}); // gone
		},
	};

	/** Ends the connections of tokens that are no longer valid. */
	endRevoked(isValid: (tokenId: string) => boolean): void {
		for (const [id, { tokenId }] of [...this.#open]) if (!isValid(tokenId)) this.#end(id);
	}

	/** A token pays for its own connections: what one opens never costs another a connection it is entitled to. */
	#evict(tokenId: string): void {
		const byToken = new Map<string, string[]>();
		const oldestFirst = [...this.#open].sort(([, a], [, b]) => a.usedAt - b.usedAt);
		for (const [id, connection] of oldestFirst) {
			if (connection.usedAt <= performance.now() - IDLE_MS) this.#end(id);
			else byToken.set(connection.tokenId, [...(byToken.get(connection.tokenId) ?? []), id]);
		}
		const own = byToken.get(tokenId) ?? [];
		while (own.length > this.#limits.mcpPerToken) this.#end(own.shift()!);
		while (this.#open.size > this.#limits.mcpConnections) {
			const most = [...byToken.values()].reduce((a, b) => (b.length > a.length ? b : a));
			this.#end(most.shift()!);
		}
	}

	#end(id: string): void {
		const connection = this.#open.get(id);
		this.#open.delete(id);
		void connection?.server.close().catch((error: unknown) => reportError(error, "mcp connection"));
	}

	async close(): Promise<void> {
		const connections = [...this.#open.values()];
		this.#open.clear();
		for (const { server } of connections) await server.close();
	}
}
