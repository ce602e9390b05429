// The OpenAPI description, generated from the tool cards and the table of faults.

import { type FaultCode, faults } from "../protocol/fault.ts";
import { factsSchema } from "../tools/catalogue.ts";
import type { ToolCard } from "../tools/client.ts";
import { eventsDroppedSchema, sessionEventSchema } from "../tools/facts.ts";

const json = (schema: object) => ({ content: { "application/json": { schema } } });
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** One response for each status that a fault can have, with the codes that come with it. */
function refusals(): Record<string, object> {
	const byStatus = new Map<number, FaultCode[]>();
	for (const code of FAULT_CODES) {
		const { status } = faults[code];
		byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
	}
	const response = (codes: readonly FaultCode[]) => ({
		description: codes.join(", "),
		...json({ allOf: [ref("Fault"), { properties: { fault: { enum: codes } } }] }),
	});
	return Object.fromEntries([...byStatus].map(([status, codes]) => [status, response(codes)]));
}

const FAULT_CODES = Object.keys(faults) as FaultCode[];
const refused = { description: "A fault: what went wrong and what to do next", ...json(ref("Fault")) };
const answers = (schema: object, description: string) => ({
	200: { description, content: { ...json(schema).content, "text/plain": { schema: { type: "string" } } } },
	...refusals(),
	default: refused,
});
const sessionId = {
	name: "id",
	in: "path",
	required: true,
	schema: { type: "string" },
	description: "A name or an id",
};

/** OpenAPI 3.1 has no word for the parts of a stream: `x-frames` has the schema of `data` for each kind of `event`. */
function stream(
	summary: string,
	{
		frames,
		parameters,
		...said
	}: { description: string; frames: Record<string, object>; parameters: readonly object[] },
): object {
	const description = `${said.description} As server-sent events, or as a WebSocket on upgrade (the token as a subprotocol).`;
	const schema = { type: "string", description: "Frames of `event`, `id` and `data`, and comments to keep it alive" };
	const content = { "text/event-stream": { schema, "x-frames": { ...frames, fault: ref("Fault") } } };
	return {
		get: {
			summary,
			description,
			parameters,
			responses: { 200: { description: "A stream", content }, default: refused },
		},
	};
}

function toolPath(card: ToolCard): object {
	return {
		post: {
			operationId: card.name,
			summary: card.title,
			description: card.description,
			tags: ["tools"],
			"x-effect": card.effect,
			requestBody: { required: true, ...json(card.inputSchema) },
			responses: answers(ref(factsOf(card)), "The facts; with `Accept: text/plain` the text that a model reads"),
		},
	};
}

/** `ask_human` answers AskHumanFacts. */
function factsOf({ name }: Pick<ToolCard, "name">): string {
	return `${name.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}Facts`;
}

const get = (summary: string, schema: object, parameters: readonly object[] = []) => ({
	get: { summary, parameters, responses: { 200: { description: "Facts", ...json(schema) }, default: refused } },
});

const number = { type: "integer", minimum: 0 };
const record = (properties: Record<string, object>) => ({
	type: "object",
	required: Object.keys(properties),
	properties,
	additionalProperties: false,
});
const cardList = record({ tools: { type: "array", items: { type: "object" } } });
const snapshot = record({ content: { type: "string" }, cols: number, rows: number, offset: number });

export function openApi(cards: readonly ToolCard[], version: string, url: string): object {
	return {
		openapi: "3.1.0",
		info: { title: "Dialtone", version, summary: "A real terminal for AI agents" },
		servers: [{ url }],
		security: [{ bearer: [] }],
		paths: {
			"/v1/tools": get("The tools", cardList),
			...Object.fromEntries(cards.map((card) => [`/v1/tools/${card.name}`, toolPath(card)])),
			"/v1/sessions": get("All sessions", ref("ListFacts")),
			"/v1/sessions/{id}": get("One session and its screen", ref("ReadFacts"), [sessionId]),
			"/v1/sessions/{id}/snapshot": get(
				"What to write to a terminal of its size to show the screen, and the offset to continue from",
				snapshot,
				[sessionId],
			),
			"/v1/sessions/{id}/output": stream("A session's raw output", {
				description:
					"Each event is base64, its id the offset after it; Last-Event-ID or `from` resumes. WebSocket frames are binary: a 64-bit little-endian offset, then the bytes.",
				frames: {
					message: { type: "string", contentEncoding: "base64" },
					gap: record({ gap: record({ from: number, to: number }) }),
					ended: record({ ended: { const: true }, offset: number }),
				},
				parameters: [sessionId, { name: "from", in: "query", schema: number }],
			}),
			"/v1/events": stream("The events of all sessions", {
				description:
					"Each event is one compact JSON object, its id the sequence number; Last-Event-ID or `after` resumes.",
				frames: { message: { anyOf: [ref("SessionEvent"), ref("EventsDropped")] } },
				parameters: [{ name: "after", in: "query", schema: number }],
			}),
			"/healthz": {
				get: {
					summary: "Is it up",
					security: [],
					responses: { 200: { description: "Yes", ...json(record({ ok: { const: true } })) }, default: refused },
				},
			},
		},
		components: {
			securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
			schemas: {
				...Object.fromEntries(cards.map((card) => [factsOf(card), card.factsSchema])),
				SessionEvent: factsSchema(sessionEventSchema),
				EventsDropped: factsSchema(eventsDroppedSchema),
				Fault: {
					type: "object",
					required: ["fault", "message", "next"],
					properties: {
						fault: { type: "string", enum: FAULT_CODES },
						message: { type: "string" },
						next: { type: "string", description: "What the caller can do now" },
						facts: {},
					},
				},
			},
		},
	};
}
