// Sessions as MCP resources: `dialtone://sessions/<name>` is what a person would see
// there now. Reading one does not change what is new to the model.

import { type ListResourcesResult, type ReadResourceResult, ResourceNotFoundError } from "@modelcontextprotocol/server";
import { oneLine } from "../protocol/clean.ts";
import type { SessionEvent } from "../protocol/events.ts";
import { Fault } from "../protocol/fault.ts";
import type { Client } from "../tools/client.ts";
import type { Caller } from "../tools/tool.ts";

const PREFIX = "dialtone://sessions/";

export const uriOf = (name: string) => `${PREFIX}${encodeURIComponent(name)}`;

/** An owner of its own, so that the model's "new since your last read" does not change. */
const observer = (caller: Caller): Caller => ({
	...caller,
	owner: `${caller.owner}:resources`,
	sessionsOf: caller.owner,
});

export async function listResources(client: Client | null, caller: Caller): Promise<ListResourcesResult> {
	if (client === null) return { resources: [] };
	const { facts } = await client.call("list", {}, { caller: observer(caller) });
	return {
		resources: facts.sessions.map(({ name, session, status, command }) => ({
			uri: uriOf(name || session),
			name: name || session,
			description: `${status}: ${oneLine(command)}`,
			mimeType: "text/plain",
		})),
	};
}

export async function readResource(client: Client | null, uri: string, caller: Caller): Promise<ReadResourceResult> {
	if (client === null || !uri.startsWith(PREFIX)) throw new ResourceNotFoundError(uri);
	const session = decodeURIComponent(uri.slice(PREFIX.length));
	try {
		const { facts } = await client.call("read", { session, view: "screen" }, { caller: observer(caller) });
		return { contents: [{ uri, mimeType: "text/plain", text: facts.text }] };
	} catch (error) {
		if (error instanceof Fault && error.code === "session_not_found") throw new ResourceNotFoundError(uri);
		throw error;
	}
}

// The protocol's limit for one answer.
const MAX_COMPLETIONS = 100;

/** Session names with this prefix, to complete `dialtone://sessions/{name}`. */
export async function namesBeginning(value: string, client: Client | null, caller: Caller): Promise<string[]> {
	const { resources } = await listResources(client, caller);
	const names = resources.map(({ name }) => name).filter((name) => name.startsWith(value));
	return [...new Set(names)].slice(0, MAX_COMPLETIONS);
}

/** Receives changes to the resources. */
export interface ChangeNotifier {
	listChanged(): void;
	updated(uri: string): void;
}

const CHANGES_THE_LIST: readonly SessionEvent["event"][] = ["started", "ended", "closed"];

/** Turns events into notifications until the signal aborts or the client disconnects. */
export async function notifyChanges(client: Client, notifier: ChangeNotifier, signal: AbortSignal): Promise<void> {
	try {
		for await (const event of client.events({ signal })) {
			if (event.event === "dropped") {
				notifier.listChanged();
				continue;
			}
			if (CHANGES_THE_LIST.includes(event.event)) notifier.listChanged();
			notifier.updated(uriOf(event.name || event.session));
		}
	} catch {
		// Notifications are best effort: they stop when the daemon restarts, and start again with the next call.
	}
}
