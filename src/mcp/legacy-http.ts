// The 2025 era over HTTP, which has connections: cancelling, asking a person and
// change notifications all need one. A connection is bound to its caller:
// its id is of no use to others.

import { randomUUID } from "node:crypto";
import { type Server, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import type { McpAccess } from "./http.ts";
import type { ChangeNotifier } from "./resources.ts";
import type { Subscriptions } from "./server.ts";

interface Connection {
	readonly transport: WebStandardStreamableHTTPServerTransport;
	readonly server: Server;
	readonly subscriptions: Subscriptions;
	readonly owner: string;
	usedAt: number;
}

// Clients rarely close a connection. An evicted one gets 404 and initializes again, which loses nothing.
const MAX_CONNECTIONS = 256;
const IDLE_MS = 6 * 3_600_000;

export class LegacyConnections {
	readonly #open = new Map<string, Connection>();
	readonly #make: (access: McpAccess) => { server: Server; subscriptions: Subscriptions };
	readonly #maxBodyBytes: number;

	constructor(
		make: (access: McpAccess) => { server: Server; subscriptions: Subscriptions },
		{ maxBodyBytes }: { maxBodyBytes: number },
	) {
		this.#make = make;
		this.#maxBodyBytes = maxBodyBytes;
	}

	async fetch(request: Request, access: McpAccess): Promise<Response> {
		const { owner } = access.caller;
		const id = request.headers.get("mcp-session-id");
		if (id !== null) {
			const connection = this.#open.get(id);
			if (connection === undefined || connection.owner !== owner)
				return Response.json(
					{ jsonrpc: "2.0", id: null, error: { code: -32001, message: "Session not found" } },
					{ status: 404 },
				);
			connection.usedAt = Date.now();
			return connection.transport.handleRequest(request);
		}
		const { server, subscriptions } = this.#make(access);
		const transport = new WebStandardStreamableHTTPServerTransport({
			sessionIdGenerator: randomUUID,
			maxRequestBodySize: this.#maxBodyBytes,
			onsessioninitialized: (opened) => {
				this.#open.set(opened, { transport, server, subscriptions, owner, usedAt: Date.now() });
				this.#evictIdle();
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
		updated: (uri) => {
			for (const { server, subscriptions } of this.#open.values())
				if (subscriptions.has(uri)) void server.sendResourceUpdated({ uri }).catch(() => {}); // gone
		},
	};

	#evictIdle(): void {
		const oldestFirst = [...this.#open].sort(([, a], [, b]) => a.usedAt - b.usedAt);
		const tooOld = Date.now() - IDLE_MS;
		for (const [id, { server, usedAt }] of oldestFirst) {
			if (this.#open.size <= MAX_CONNECTIONS && usedAt > tooOld) return;
			this.#open.delete(id);
			void server.close();
		}
	}

	async close(): Promise<void> {
		const connections = [...this.#open.values()];
		this.#open.clear();
		for (const { server } of connections) await server.close();
	}
}
