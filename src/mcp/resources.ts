// Sessions as MCP resources: `dialtone://sessions/<id>` is what a person would see
// there now. Reading one does not change what is new to the model.

import { type ListResourcesResult, type ReadResourceResult, ResourceNotFoundError } from "@modelcontextprotocol/server";
import { oneLine } from "../protocol/clean.ts";
import type { SessionEvent } from "../protocol/events.ts";
import { Fault } from "../protocol/fault.ts";
import { observerOf } from "../session/observer.ts";
import type { Client } from "../tools/client.ts";
import { listAll } from "../tools/list-pages.ts";
import type { Caller } from "../tools/tool.ts";

const PREFIX = "dialtone://sessions/";

/** By its id: owners may use the same names. */
export const uriOf = (id: string) => `${PREFIX}${encodeURIComponent(id)}`;

export async function listResources(
	client: Client | null,
	caller: Caller,
	cursor?: string,
): Promise<ListResourcesResult> {
	if (client === null) return { resources: [] };
	const page = cursor === undefined ? {} : { after: cursor };
	const { facts } = await client.call("list", page, { caller: observerOf(caller) });
	return {
		...(facts.next !== undefined && { nextCursor: facts.next }),
		resources: facts.sessions.map(({ name, session, status, command }) => ({
			uri: uriOf(session),
			name: name || session,
			title: name || session,
			description: `${status}: ${oneLine(command)}`,
			mimeType: "text/plain",
		})),
	};
}

export async function readResource(client: Client | null, uri: string, caller: Caller): Promise<ReadResourceResult> {
	if (client === null || !uri.startsWith(PREFIX)) throw new ResourceNotFoundError(uri);
	const session = decodeURIComponent(uri.slice(PREFIX.length));
	try {
		const { facts } = await client.call("read", { session, view: "screen" }, { caller: observerOf(caller) });
		return { contents: [{ uri, mimeType: "text/plain", text: facts.text }] };
	} catch (error) {
		if (error instanceof Fault && error.code === "session_not_found") throw new ResourceNotFoundError(uri);
		throw error;
	}
}

// The protocol's limit for one answer.
const MAX_COMPLETIONS = 100;

/** The ids of sessions whose name or id has this prefix, to complete `dialtone://sessions/{id}`. */
export async function idsBeginning(value: string, client: Client | null, caller: Caller): Promise<string[]> {
	if (client === null) return [];
	const { facts } = await listAll(client, {}, { caller: observerOf(caller) });
	return facts.sessions
		.filter(({ session, name }) => session.startsWith(value) || name.startsWith(value))
		.map(({ session }) => session)
		.slice(0, MAX_COMPLETIONS);
}

/** Receives changes to the resources. */
export interface ChangeNotifier {
	listChanged(): void;
	updated(uri: string, event: SessionEvent): void;
}

const CHANGES_THE_LIST: readonly SessionEvent["event"][] = ["started", "ended", "closed", "renamed"];

/** Turns events into notifications until the signal aborts or the client disconnects. */
export async function notifyChanges(client: Client, notifier: ChangeNotifier, signal: AbortSignal): Promise<void> {
	try {
		for await (const event of client.events({ signal })) {
			if (event.event === "dropped") {
				notifier.listChanged();
				continue;
			}
			if (CHANGES_THE_LIST.includes(event.event)) notifier.listChanged();
			notifier.updated(uriOf(event.session), event);
		}
	} catch {
		// Notifications are best effort: they stop when the daemon restarts, and start again with the next call.
	}
}
