// `ask_human` where the client can show a person a link: URL-mode elicitation, so
// that a secret goes from the person to the program and never through the model.
// Where it cannot (or they decline), the tool's own answer says what a person can do.

import {
	type ClientCapabilities,
	type InputRequiredResult,
	inputRequired,
	inputResponse,
	type ServerContext,
} from "@modelcontextprotocol/server";
import { observerOf } from "../session/observer.ts";
import type { Client, ToolCard } from "../tools/client.ts";
import type { Caller } from "../tools/tool.ts";

const KEY = "person";

interface Asking {
	readonly card: ToolCard;
	readonly input: Readonly<Record<string, unknown>>;
	readonly ctx: ServerContext;
	readonly caller: Caller;
	/** The daemon if it runs: without one there is no session to ask about. */
	readonly peek: () => Promise<Client | null>;
	readonly capabilities: ClientCapabilities | undefined;
}

/** The question to ask first; null to proceed with the call. */
export async function askThePerson({
	card,
	input,
	ctx,
	caller,
	peek,
	capabilities,
}: Asking): Promise<InputRequiredResult | null> {
	if (card.name !== "ask_human" || typeof input.session !== "string") return null;
	if (capabilities?.elicitation?.url === undefined) return null;
	if (inputResponse(ctx.mcpReq.inputResponses, KEY).kind !== "missing") return null; // already asked
	const client = await peek();
	const url = client && (await pageOf(client, input.session, caller));
	if (url === null) return null;
	const message = typeof input.question === "string" ? input.question : `Session "${input.session}" needs you.`;
	return inputRequired({ inputRequests: { [KEY]: inputRequired.elicitUrl({ message, url }) } });
}

/**
 * Where a person can answer for this session in a browser, while HTTP is open. By its id: to the page a name may
 * mean another caller's session. Without a login code: a link that passes through an agent must not log anyone in.
 */
async function pageOf(client: Client, session: string, caller: Caller): Promise<string | null> {
	const { http } = await client.status();
	if (http === null) return null;
	const { facts } = await client.call("read", { session, view: "screen" }, { caller: observerOf(caller) });
	return `${http}/#${encodeURIComponent(facts.session)}`;
}
