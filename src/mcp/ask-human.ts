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
import type { ToolCard } from "../tools/client.ts";

const KEY = "person";

interface Asking {
	readonly card: ToolCard;
	readonly input: Readonly<Record<string, unknown>>;
	readonly ctx: ServerContext;
	readonly page: ((session: string) => Promise<string | null>) | undefined;
	readonly capabilities: ClientCapabilities | undefined;
}

/** The question to ask first; null to proceed with the call. */
export async function askThePerson({
	card,
	input,
	ctx,
	page,
	capabilities,
}: Asking): Promise<InputRequiredResult | null> {
	if (card.name !== "ask_human" || page === undefined || typeof input.session !== "string") return null;
	if (capabilities?.elicitation?.url === undefined) return null;
	if (inputResponse(ctx.mcpReq.inputResponses, KEY).kind !== "missing") return null; // already asked
	const url = await page(input.session);
	if (url === null) return null;
	const message = typeof input.question === "string" ? input.question : `Session "${input.session}" needs you.`;
	return inputRequired({ inputRequests: { [KEY]: inputRequired.elicitUrl({ message, url }) } });
}
