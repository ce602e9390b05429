// MCP on stdin and stdout, both protocol eras. Starting costs nothing and does
// nothing: a client may start it twice to probe it, so the daemon is contacted
// on the first call. It exits when the host closes stdin, or on SIGINT or SIGTERM.

import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Client } from "../tools/client.ts";
import { notifyChanges } from "./resources.ts";
import { cardsToList, type McpParts, mcpServer } from "./server.ts";
import { StdioTransport } from "./stdio-transport.ts";

/** Serves until the host disconnects; settles then. */
export async function serveMcpOnStdio(parts: McpParts): Promise<void> {
	const over = new AbortController();
	let subscribed: Client | null = null;
	let listed: string | null = null;
	const cards = async () => {
		const now = await cardsToList(parts);
		listed = JSON.stringify(now);
		return now;
	};

	const transport = new StdioTransport(process.stdin, process.stdout);
	const handle = serveStdio(
		({ era }) => {
			const { server, subscriptions } = mcpServer({ ...parts, listed: cards, connect }, era);
			/** A fleet is joined or left without a word to us: looked at when sessions come and go. */
			const compareTools = async () => {
				const before = listed;
				await cards();
				if (before !== null && before !== listed) await server.sendToolListChanged();
			};
			const notifier = {
				listChanged: () => {
					void server.sendResourceListChanged().catch(() => {}); // the host has gone
					void compareTools().catch(() => {}); // as above, or the daemon
				},
				updated: (uri: string) => {
					if (subscriptions.has(uri)) void server.sendResourceUpdated({ uri }).catch(() => {}); // as above
				},
			};
			/** The first call on a client also subscribes to its changes. */
			async function connect(): Promise<Client> {
				const client = await parts.connect();
				if (client !== subscribed) {
					subscribed = client;
					void notifyChanges(client, notifier, over.signal);
				}
				return client;
			}
			return server;
		},
		{ transport },
	);

	await new Promise<void>((resolve) => {
		process.stdin.once("end", resolve);
		process.stdin.once("close", resolve);
		process.once("SIGINT", () => resolve());
		process.once("SIGTERM", () => resolve());
	});
	over.abort();
	await handle.close();
}
