// The description of the HTTP interface is a document that holds together, and real answers are what it says.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/server/validators/ajv";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Listening, listen } from "../../src/http/listen.ts";
import { Tokens } from "../../src/http/tokens.ts";
import { Dialtone } from "../../src/index.ts";
import { faults } from "../../src/protocol/fault.ts";
import { TOOL_SETS } from "../../src/tools/client.ts";

interface Operation {
	readonly operationId?: string;
	readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: object }[];
	readonly responses: Readonly<Record<string, Response>>;
}
interface Response {
	readonly description: string;
	readonly content?: Readonly<
		Record<
			string,
			{
				readonly schema?: { readonly $ref?: string; readonly [word: string]: unknown };
				readonly "x-frames"?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
			}
		>
	>;
}
interface Api {
	readonly openapi: string;
	readonly info: { readonly title: string; readonly version: string };
	readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
	readonly components: { readonly schemas: Readonly<Record<string, Readonly<Record<string, unknown>>>> };
}

let directory: string;
let dialtone: Dialtone;
let http: Listening;
let headers: Record<string, string>;
let api: Api;
beforeAll(async () => {
	directory = mkdtempSync(join(tmpdir(), "dt-openapi-"));
	dialtone = await Dialtone.open();
	const tokens = new Tokens(join(directory, "tokens.json"));
	headers = {
		authorization: `Bearer ${tokens.create({ name: "test", role: "drive" }).token}`,
		"content-type": "application/json",
	};
	const env = { PATH: process.env.PATH ?? "" };
	http = await listen({
		client: dialtone.client,
		version: "1",
		sets: TOOL_SETS,
		port: 0,
		tokens,
		caller: ({ name }) => ({ owner: name, cwd: directory, env }),
	});
	api = (await (await fetch(`${http.url}/v1/openapi.json`, { headers })).json()) as Api;
});
afterAll(async () => {
	await http.close();
	await dialtone[Symbol.asyncDispose]();
	rmSync(directory, { recursive: true, force: true });
});

const operations = () =>
	Object.entries(api.paths).flatMap(([path, verbs]) => Object.values(verbs).map((one) => ({ path, ...one })));

/** Every `$ref` in the document. */
function refs(value: unknown): readonly string[] {
	if (typeof value !== "object" || value === null) return [];
	const own = "$ref" in value && typeof value.$ref === "string" ? [value.$ref] : [];
	return [...own, ...Object.values(value).flatMap(refs)];
}

function problemWith(schema: Readonly<Record<string, unknown>>, value: unknown): string | undefined {
	const document: Record<string, unknown> = { ...schema, components: api.components };
	return new AjvJsonSchemaValidator().getValidator(document)(value).errorMessage;
}

describe("the document", () => {
	test("is OpenAPI 3.1 in which every reference, parameter and response is there", () => {
		expect(api.openapi).toMatch(/^3\.1\.\d$/);
		expect(api.info).toEqual({ title: "Dialtone", version: "1", summary: expect.any(String) });
		for (const ref of refs(api)) {
			const name = /^#\/components\/schemas\/(\w+)$/.exec(ref)?.[1];
			expect([ref, name !== undefined && name in api.components.schemas]).toEqual([ref, true]);
		}
		for (const { path, parameters = [], responses } of operations()) {
			const inPath = parameters.filter((one) => one.in === "path").map(({ name }) => name);
			expect([path, inPath]).toEqual([path, [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)]);
			for (const { schema } of Object.values(responses[200]?.content ?? { nothing: {} }))
				expect([path, schema]).toEqual([path, expect.any(Object)]);
			for (const { description } of Object.values(responses)) expect(description).toEqual(expect.any(String));
		}
		const ids = operations().flatMap(({ operationId }) => operationId ?? []);
		expect(new Set(ids).size).toBe(ids.length);
	});

	test("describes the answer of every tool, and every fault by its status", () => {
		for (const { path, operationId, responses } of operations()) {
			if (operationId === undefined) continue;
			const { $ref } = responses[200]!.content!["application/json"]!.schema!;
			const schema = api.components.schemas[$ref!.split("/").at(-1)!];
			expect([path, JSON.stringify(schema).includes('"properties"')]).toEqual([path, true]);
			for (const [code, { status }] of Object.entries(faults)) expect(responses[status]!.description).toContain(code);
		}
	});

	test("every schema in it can be compiled", () => {
		for (const schema of Object.values(api.components.schemas))
			expect(problemWith(schema, 1)).toEqual(expect.any(String));
	});
});

const CALLS: readonly (readonly [tool: string, input: object])[] = [
	["start", { argv: ["cat"], name: "cat" }],
	["send", { session: "cat", text: "hello", submit: true, id: "1" }],
	["send", { session: "cat", text: "hello", submit: true, id: "1", timeoutMs: 100 }],
	["read", { session: "cat", view: "raw" }],
	["wait", { session: "cat", timeoutMs: 100 }],
	["resize", { session: "cat", cols: 90, rows: 20 }],
	["signal", { session: "cat", signal: "TSTP", timeoutMs: 100 }],
	["ask_human", { session: "cat", question: "May I?" }],
	["run", { command: "echo hello | cat; sleep 60 &", program: "bash", clean: true, separate: true }],
	["list", {}],
	["close", { session: "cat", force: true }],
	["unified_exec", { cmd: "echo hello", yield_time_ms: 5000 }],
	["write_stdin", { session_id: "nobody" }],
	["list_pty_sessions", {}],
	["exec_command", { cmd: "sleep 60", yield_time_ms: 250, login: false }],
	["write_stdin", { session_id: 1000, yield_time_ms: 250, chars: "x" }],
	["pty_create", { cmd: "cat", name: "pty" }],
	["pty_send_keys", { terminal_id: "pty", keys: "hello" }],
	["pty_capture", { terminal_id: "pty" }],
	["pty_list", {}],
	["pty_kill", { terminal_id: "pty", signal: "KILL" }],
	["run_bash", { command: "echo hello" }],
	["start_background_process", { command: "sleep 60" }],
	["get_process_output", { process_id: "bg_001" }],
	["stop_background_process", { process_id: "bg_001" }],
];

describe("answers", () => {
	test.each(CALLS)("%s %j answers as the document says", async (tool, input) => {
		const answer = await fetch(`${http.url}/v1/tools/${tool}`, {
			method: "POST",
			headers,
			body: JSON.stringify(input),
		});
		const { schema } = api.paths[`/v1/tools/${tool}`]!.post!.responses[answer.status]!.content!["application/json"]!;
		expect(answer.status).toBe(200);
		expect(problemWith(schema!, await answer.json())).toBeUndefined();
	});

	test.each([
		["send", { session: "nobody", text: "x" }, 404],
		["send", { session: [] }, 400],
		["start", { argv: ["/no/such/program"] }, 422],
	] as const)("a refusal of %s is the fault that the document names", async (tool, input, status) => {
		const answer = await fetch(`${http.url}/v1/tools/${tool}`, {
			method: "POST",
			headers,
			body: JSON.stringify(input),
		});
		expect(answer.status).toBe(status);
		const { schema } = api.paths[`/v1/tools/${tool}`]!.post!.responses[status]!.content!["application/json"]!;
		expect(problemWith(schema!, await answer.json())).toBeUndefined();
	});

	test.each([["/v1/sessions"], ["/v1/sessions/{id}"], ["/v1/sessions/{id}/snapshot"], ["/v1/tools"], ["/healthz"]])(
		"GET %s",
		async (path) => {
			const answer = await fetch(`${http.url}${path.replace("{id}", "cat")}`, { headers });
			const { schema } = api.paths[path]!.get!.responses[200]!.content!["application/json"]!;
			expect(problemWith(schema!, await answer.json())).toBeUndefined();
		},
	);

	test.each([
		["/v1/sessions/{id}/output", "ended", ["message", "ended"]],
		["/v1/events?after=0", "message", ["message"]],
	] as const)("each frame of %s", async (address, last, expected) => {
		const stop = new AbortController();
		const answer = await fetch(`${http.url}${address.replace("{id}", "cat")}`, { headers, signal: stop.signal });
		const content = api.paths[address.replace(/\?.*/, "")]!.get!.responses[200]!.content!["text/event-stream"]!;
		expect(content.schema).toMatchObject({ type: "string" });
		const found = new Set<string>();
		let text = "";
		for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
			text += piece;
			for (const [, event = "message", data = ""] of text.matchAll(/^(?:event: (\w+)\n)?id: \d+\ndata: (.*)\n\n/gm)) {
				found.add(event);
				const schema = content["x-frames"]![event]!;
				const isText = schema.type === "string";
				expect(problemWith(schema, isText ? data : JSON.parse(data))).toBeUndefined();
			}
			if (found.has(last)) break;
		}
		stop.abort();
		expect([...found]).toEqual(expected);
	});

	test("this test can fail: a field too many is found", () => {
		const { schema } = api.paths["/v1/tools/list"]!.post!.responses[200]!.content!["application/json"]!;
		expect(problemWith(schema!, { sessions: [], now: 1, more: true })).toContain("additional");
	});
});
