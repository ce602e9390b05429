// The OpenAPI description, generated from the tool cards and the table of faults.

import { type FaultCode, faults } from "../protocol/fault.ts";
import { factsSchema } from "../tools/catalogue.ts";
import type { ToolCard } from "../tools/client.ts";
import { eventsDroppedSchema, listChangeSchema, sessionEventSchema } from "../tools/facts.ts";
import { DOWNLOADS } from "./past.ts";
import { PEOPLE_ROUTES } from "./people-routes.ts";
import { LIST_QUERY } from "./routes.ts";

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
		overWebSocket = true,
		...about
	}: {
		description: string;
		frames: Record<string, object>;
		parameters: readonly object[];
		overWebSocket?: boolean;
	},
): object {
	const ways = overWebSocket ? ", or as a WebSocket on upgrade (the token as a subprotocol)" : "";
	const description = `${about.description} As server-sent events${ways}.`;
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

function listQuery(cards: readonly ToolCard[]): readonly object[] {
	const fields = Object(cards.find(({ name }) => name === "list")?.inputSchema.properties) as Record<string, object>;
	return LIST_QUERY.filter((name) => name in fields).map((name) => ({ name, in: "query", schema: fields[name] }));
}

/** The routes of the page, by path. */
function peoplePaths(): Record<string, object> {
	const paths: Record<string, object> = {};
	for (const { method, path, needs, summary, description, body, answer } of PEOPLE_ROUTES) {
		const key = path.replace(":id", "{id}");
		const operation = {
			summary,
			...(description !== undefined && { description }),
			"x-needs": needs,
			parameters: [sessionId],
			...(body !== null && { requestBody: { required: true, ...json(factsSchema(body)) } }),
			responses: { 200: { description: "Facts", ...json(factsSchema(answer)) }, default: refused },
		};
		paths[key] = { ...paths[key], [method]: operation };
	}
	return paths;
}

const number = { type: "integer", minimum: 0 };
const record = (properties: Record<string, object>) => ({
	type: "object",
	required: Object.keys(properties),
	properties,
	additionalProperties: false,
});
const cardList = record({ tools: { type: "array", items: { type: "object" } } });
const snapshot = record({ content: { type: "string" }, cols: number, rows: number, offset: number });

const text = { type: "string" };
const me = record({
	role: { enum: ["agent", "person", "viewer"] },
	name: text,
	session: { type: ["string", "null"], description: "The only one that a viewer sees" },
	version: text,
	pid: number,
	startedAt: number,
	url: text,
});

const milliseconds = { type: "number", minimum: 0, description: "Milliseconds" };
const gap = record({ from: number, to: number });
const moment = record({
	at: milliseconds,
	offset: number,
	content: { type: "string", description: "What to write to a terminal of this size" },
	cols: number,
	rows: number,
	lines: { type: "array", items: { type: "string" } },
	gaps: { type: "array", items: gap, description: "Output before it that is not kept" },
});
const timelineSchema = record({
	startedAt: { type: "number", description: "Milliseconds since 1970" },
	endedAt: { type: ["number", "null"] },
	durationMs: milliseconds,
	offset: number,
	cols: number,
	rows: number,
	dropped: {
		type: "array",
		items: record({ from: number, to: number, because: { type: "string" } }),
		description: "Output that is not kept",
	},
	marks: {
		type: "array",
		items: {
			type: "object",
			required: ["at", "offset", "kind"],
			properties: {
				at: { ...milliseconds, description: "Since the start" },
				offset: number,
				kind: { enum: ["turn", "command", "state", "resize", "driver", "signal", "approval", "gap", "end"] },
			},
		},
	},
	marksDropped: { ...number, description: "Marks that are not kept, or not listed" },
});

export function openApi(cards: readonly ToolCard[], version: string, url: string): object {
	const people = peoplePaths();
	return {
		openapi: "3.1.0",
		info: { title: "Dialtone", version, summary: "A real terminal for AI agents" },
		servers: [{ url }],
		security: [{ bearer: [] }],
		paths: {
			"/v1/tools": get("The tools", cardList),
			...Object.fromEntries(cards.map((card) => [`/v1/tools/${card.name}`, toolPath(card)])),
			"/v1/sessions": get("All sessions", ref("ListFacts"), listQuery(cards)),
			"/v1/me": get("Whose token or cookie this is", me),
			...people,
			"/v1/sessions/{id}": {
				...get("One session and its screen", ref("ReadFacts"), [sessionId]),
				...people["/v1/sessions/{id}"],
			},
			"/v1/sessions/{id}/snapshot": get(
				"What to write to a terminal of its size to show the screen, and the offset to continue from",
				snapshot,
				[
					sessionId,
					{
						name: "scrollback",
						in: "query",
						schema: { const: 0 },
						description: "0: without the lines above the screen, to look at it",
					},
				],
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
			"/v1/sessions/{id}/timeline": get("What happened in a session, with times and offsets", timelineSchema, [
				sessionId,
			]),
			"/v1/sessions/{id}/moment": get("The screen of a moment, by time or by offset", moment, [
				sessionId,
				{ name: "at", in: "query", schema: milliseconds, description: "Since the start" },
				{ name: "offset", in: "query", schema: number, description: "The last moment with so much output" },
			]),
			"/v1/sessions/{id}/export": {
				get: {
					summary: "A session as a file: asciicast v3, all text, or a picture",
					parameters: [
						sessionId,
						{ name: "format", in: "query", schema: { enum: Object.keys(DOWNLOADS), default: "cast" } },
						{
							name: "at",
							in: "query",
							schema: milliseconds,
							description: "For text and pictures: the screen of this moment",
						},
					],
					responses: {
						200: {
							description: "A download",
							content: {
								"application/x-asciicast": { schema: { type: "string" } },
								"text/plain": { schema: { type: "string" } },
								"image/svg+xml": { schema: { type: "string" } },
								"image/png": { schema: { type: "string", contentEncoding: "binary" } },
							},
						},
						default: refused,
					},
				},
			},
			"/v1/events": stream("The events of all sessions", {
				description:
					"Each event is one compact JSON object, its id the sequence number; Last-Event-ID or `after` resumes.",
				frames: { message: { anyOf: [ref("SessionEvent"), ref("EventsDropped")] } },
				parameters: [{ name: "after", in: "query", schema: number }],
			}),
			"/v1/watch": stream("The list of all sessions, live, as people see it", {
				description:
					"First the whole list, then what changed in it, a few times a second at most; a slow reader gets the newest state. Reconnecting begins with the whole list.",
				frames: { sessions: ref("ListChange") },
				parameters: [],
				overWebSocket: false,
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
				ListChange: factsSchema(listChangeSchema),
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
