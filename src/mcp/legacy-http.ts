// The 2025 era over HTTP, which has connections: cancelling, asking a person and
// update notices all need one. A connection is bound to the one who opened it:
// knowing its id gives nobody else anything.

import { randomUUID } from "node:crypto";
import { type Server, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import type { McpVisitor } from "./http.ts";
import type { Notices } from "./resources.ts";
import type { Subscriptions } from "./server.ts";

interface Connection {
	readonly transport: WebStandardStreamableHTTPServerTransport;
	readonly server: Server;
	readonly subscriptions: Subscriptions;
	readonly owner: string;
	usedAt: number;
}

// Clients seldom say goodbye. An evicted one gets 404, which tells it to shake hands again; it loses nothing.
const MAX_CONNECTIONS = 256;
const IDLE_MS = 6 * 3_600_000;

export class LegacyConnections {
	readonly #open = new Map<string, Connection>();
	readonly #make: (visitor: McpVisitor) => { server: Server; subscriptions: Subscriptions };
	readonly #maxBodyBytes: number;

	constructor(
		make: (visitor: McpVisitor) => { server: Server; subscriptions: Subscriptions },
		{ maxBodyBytes }: { maxBodyBytes: number },
	) {
		this.#make = make;
		this.#maxBodyBytes = maxBodyBytes;
	}

	async fetch(request: Request, visitor: McpVisitor): Promise<Response> {
		const { owner } = visitor.caller;
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
		const { server, subscriptions } = this.#make(visitor);
		const transport = new WebStandardStreamableHTTPServerTransport({
			sessionIdGenerator: randomUUID,
			maxRequestBodySize: this.#maxBodyBytes,
			onsessioninitialized: (opened) => {
				this.#open.set(opened, { transport, server, subscriptions, owner, usedAt: Date.now() });
				this.#makeRoom();
			},
			onsessionclosed: (closed) => void this.#open.delete(closed),
		});
		await server.connect(transport);
		// Anything but a handshake is refused by the transport, and the two are garbage.
		return transport.handleRequest(request);
	}

	/** Tells each connection what it asked to be told. */
	readonly notices: Notices = {
		listChanged: () => {
			for (const { server } of this.#open.values()) void server.sendResourceListChanged().catch(() => {}); // gone
		},
		updated: (uri) => {
			for (const { server, subscriptions } of this.#open.values())
				if (subscriptions.has(uri)) void server.sendResourceUpdated({ uri }).catch(() => {}); // gone
		},
	};

	#makeRoom(): void {
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
