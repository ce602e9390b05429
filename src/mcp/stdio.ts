// MCP on stdin and stdout, both protocol eras. Starting costs nothing and does
// nothing: a client may start it twice to probe it, so the daemon is reached for
// on the first call. It ends when the host closes stdin, or on SIGINT or SIGTERM.

import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Client } from "../tools/client.ts";
import { tellChanges } from "./resources.ts";
import { type McpParts, mcpServer } from "./server.ts";

/** Serves until the host has gone; settles then. */
export async function serveMcpOnStdio(parts: McpParts): Promise<void> {
	const over = new AbortController();
	let told: Client | null = null;

	const handle = serveStdio(({ era }) => {
		const { server, subscriptions } = mcpServer({ ...parts, connect }, era);
		const notices = {
			listChanged: () => void server.sendResourceListChanged().catch(() => {}), // the host has gone
			updated: (uri: string) => {
				if (subscriptions.has(uri)) void server.sendResourceUpdated({ uri }).catch(() => {}); // as above
			},
		};
		/** The first call on an client also begins the notices from it. */
		async function connect(): Promise<Client> {
			const client = await parts.connect();
			if (client !== told) {
				told = client;
				void tellChanges(client, notices, over.signal);
			}
			return client;
		}
		return server;
	});

	await new Promise<void>((resolve) => {
		process.stdin.once("end", resolve);
		process.stdin.once("close", resolve);
		process.once("SIGINT", () => resolve());
		process.once("SIGTERM", () => resolve());
	});
	over.abort();
	await handle.close();
}
