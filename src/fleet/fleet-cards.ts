// The cards of tools as a member of a fleet has them: with the host that a call is for.

import type { ToolCard } from "../tools/client.ts";

const HOST = { type: "string", description: "Host of the fleet; its sessions are called host/name" } as const;
const PLACEMENT = {
	description: 'Where: "least-loaded", or by `labels` or `sameAs` (a session)',
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
	const properties = { ...(card.inputSchema.properties as object), host: HOST, ...MORE[card.name] };
	return { ...card, inputSchema: { ...card.inputSchema, properties } };
}
