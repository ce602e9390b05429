// How a tool card looks to an MCP host: annotations from its effect, and the hints
// that hosts read from `_meta`.

import type { Tool, ToolAnnotations } from "@modelcontextprotocol/server";
import type { ToolCard } from "../tools/client.ts";
import type { Effect } from "../tools/tool.ts";

/**
 * What a host may assume. A program that is started or receives input can do anything, so those count as destructive and open;
 * repeating a read or an end changes nothing more.
 */
const ANNOTATIONS: Record<Effect, ToolAnnotations> = {
	reads: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
	asks: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
	types: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
	starts: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
	ends: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
};

// Claude Code moves results over 50,000 characters into a file unless the tool declares otherwise; ours are bounded
// by tokens already (`maxTokens`, `max_output_tokens`, `limits.answerTokens`), and only a call that asks for more comes near.
const MAX_RESULT_CHARS = 200_000;

export function listing(card: ToolCard): Tool {
	return {
		name: card.name,
		title: card.title,
		description: card.description,
		inputSchema: forModel(card.inputSchema) as Tool["inputSchema"],
		annotations: { title: card.title, ...ANNOTATIONS[card.effect] },
		_meta: {
			"anthropic/maxResultSizeChars": MAX_RESULT_CHARS,
			// Hosts that hide tools behind a search show these from the start.
			...(card.always && { "anthropic/alwaysLoad": true }),
		},
	};
}

type Schema = Readonly<Record<string, unknown>>;

/** Checked by us, and named in the refusal; a model does not need to read them before. */
const UNREAD = ["minimum", "maximum", "pattern", "format", "propertyNames", "additionalProperties", "x-advanced"];

/** An input schema in as few words as a model needs: without bounds, and without what hardly any call sets. */
function forModel(schema: Schema): Schema {
	if (schema["x-brief"] === true) return { type: schema.type, description: schema.description };
	const entries = Object.entries(schema).filter(([word, value]) => !UNREAD.includes(word) && value !== false);
	const kept = Object.fromEntries(entries);
	const properties = schema.properties as Readonly<Record<string, Schema>> | undefined;
	if (properties === undefined) return kept;
	const shown = Object.entries(properties).filter(([, property]) => property["x-advanced"] !== true);
	return { ...kept, properties: Object.fromEntries(shown.map(([name, property]) => [name, forModel(property)])) };
}
