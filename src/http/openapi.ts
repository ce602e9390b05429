// The description of the HTTP interface, made from the tool cards.

import { faults } from "../protocol/fault.ts";
import type { ToolCard } from "../tools/client.ts";

const json = (schema: object) => ({ content: { "application/json": { schema } } });
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const refused = { description: "A fault: what went wrong and what to do next", ...json(ref("Fault")) };
const sessionId = {
	name: "id",
	in: "path",
	required: true,
	schema: { type: "string" },
	description: "A name or an id",
};

const stream = (summary: string, description: string, parameters: readonly object[]) => ({
	get: {
		summary,
		description: `${description} As server-sent events, or as a WebSocket on upgrade (the token as a subprotocol).`,
		parameters,
		responses: { 200: { description: "A stream", content: { "text/event-stream": {} } }, default: refused },
	},
});

function toolPath(card: ToolCard): object {
	return {
		post: {
			operationId: card.name,
			summary: card.title,
			description: card.description,
			tags: ["tools"],
			"x-effect": card.effect,
			requestBody: { required: true, ...json(card.inputSchema) },
			responses: {
				200: {
					description: "The facts; with `Accept: text/plain` the text that a model reads",
					content: { "application/json": { schema: { type: "object" } }, "text/plain": { schema: { type: "string" } } },
				},
				default: refused,
			},
		},
	};
}

export function openApi(cards: readonly ToolCard[], version: string, url: string): object {
	const get = (summary: string, parameters: readonly object[] = []) => ({
		get: {
			summary,
			parameters,
			responses: { 200: { description: "Facts", ...json({ type: "object" }) }, default: refused },
		},
	});
	return {
		openapi: "3.1.0",
		info: { title: "Dialtone", version, summary: "A real terminal for AI agents" },
		servers: [{ url }],
		security: [{ bearer: [] }],
		paths: {
			"/v1/tools": get("The tools"),
			...Object.fromEntries(cards.map((card) => [`/v1/tools/${card.name}`, toolPath(card)])),
			"/v1/sessions": get("All sessions"),
			"/v1/sessions/{id}": get("One session and its screen", [sessionId]),
			"/v1/sessions/{id}/snapshot": get(
				"The screen as what to write to a terminal of its size, and the offset to go on from",
				[sessionId],
			),
			"/v1/sessions/{id}/output": stream(
				"A session's raw output",
				"Each event is base64, its id the offset after it; Last-Event-ID or `from` resumes. WebSocket frames are binary: a 64-bit little-endian offset, then the bytes.",
				[sessionId, { name: "from", in: "query", schema: { type: "integer", minimum: 0 } }],
			),
			"/v1/events": stream(
				"What happens to all sessions",
				"Each event is one compact JSON object, its id the sequence number; Last-Event-ID or `after` resumes.",
				[{ name: "after", in: "query", schema: { type: "integer", minimum: 0 } }],
			),
			"/healthz": { get: { summary: "Is it up", security: [], responses: { 200: { description: "Yes" } } } },
		},
		components: {
			securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
			schemas: {
				Fault: {
					type: "object",
					required: ["fault", "message", "next"],
					properties: {
						fault: { type: "string", enum: Object.keys(faults) },
						message: { type: "string" },
						next: { type: "string", description: "What the caller can do now" },
						facts: {},
					},
				},
			},
		},
	};
}
