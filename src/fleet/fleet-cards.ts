// The cards of tools as a member of a fleet has them: with the host that a call is for.

import type { ToolCard } from "../tools/client.ts";
import { SESSION_FIELDS } from "./aim.ts";

const HOST = { type: "string", description: "Another host; its sessions are host/name" } as const;
const PLACEMENT = {
	description: 'Where: "least-loaded", {"labels": {…}} or {"sameAs": session}',
	"x-brief": true,
	anyOf: [
		{ type: "string", enum: ["least-loaded"] },
		{
			type: "object",
			properties: {
				host: { type: "string" },
				labels: { type: "object", additionalProperties: { type: "string" } },
				sameAs: { type: "string" },
			},
		},
	],
} as const;
const PAGES = {
	limit: { type: "integer", minimum: 1, description: "At most so many", "x-advanced": true },
	after: { type: "string", description: "`next` of the answer before", "x-advanced": true },
} as const;

const MORE: Readonly<Record<string, object>> = {
	start: { placement: PLACEMENT },
	run: { placement: { ...PLACEMENT, "x-advanced": true } },
	list: PAGES,
};

export function cardInFleet(card: ToolCard): ToolCard {
	const own = card.inputSchema.properties as object;
	// Where a session is named, its name says the host: a model need not read of the field.
	const host = SESSION_FIELDS.some((field) => field in own) ? { ...HOST, "x-advanced": true } : HOST;
	const properties = { ...own, host, ...MORE[card.name] };
	return { ...card, inputSchema: { ...card.inputSchema, properties } };
}
