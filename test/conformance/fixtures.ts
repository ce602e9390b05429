// The tools that the conformance suite expects a server to have, behind our own
// server: the suite's words, our protocol code. What our tools never do (pictures,
// sampling, logging, prompts) has no fixture: see not-applicable.json.

import { Fault } from "../../src/protocol/fault.ts";
import type { CallOptions, Client, ToolCard } from "../../src/tools/client.ts";

interface Fixture {
	readonly card: ToolCard;
	readonly run: () => Promise<string>;
}

const fixture = (name: string, run: Fixture["run"], inputSchema: object = { type: "object" }): Fixture => ({
	card: {
		name,
		title: name,
		description: "For the conformance suite",
		effect: "reads",
		always: false,
		inputSchema: inputSchema as ToolCard["inputSchema"],
		factsSchema: { type: "object" },
	},
	run,
});

const FIXTURES: readonly Fixture[] = [
	fixture("test_simple_text", async () => "This is a simple text response for testing."),
	fixture("test_error_handling", async () => {
		throw new Fault("internal", { problem: "This tool intentionally returns an error for testing" });
	}),
	fixture("test_tool_with_progress", async () => {
		// As long as a program takes that is waited for; the server shows signs of life meanwhile.
		await new Promise((resolve) => setTimeout(resolve, 400));
		return "Tool execution completed";
	}),
	fixture("json_schema_2020_12_tool", async () => "ok", {
		$schema: "https://json-schema.org/draft/2020-12/schema",
		type: "object",
		$defs: {
			address: {
				$anchor: "addressDef",
				type: "object",
				properties: { street: { type: "string" }, city: { type: "string" } },
			},
		},
		properties: {
			name: { type: "string" },
			address: { $ref: "#/$defs/address" },
			contactMethod: { type: "string", enum: ["phone", "email"] },
			phone: { type: "string" },
			email: { type: "string" },
		},
		allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
		if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
		then: { required: ["phone"] },
		else: { required: ["email"] },
		additionalProperties: false,
	}),
];

/** The real client, with the suite's tools beside its own. */
export function withFixtures(client: Client): Client {
	const call: Client["call"] = async (tool: string, input: unknown, options?: CallOptions) => {
		const found = FIXTURES.find(({ card }) => card.name === tool);
		return found === undefined ? client.call(tool, input, options) : { facts: {}, text: await found.run() };
	};
	return {
		call,
		tools: async (sets) => [...(await client.tools(sets)), ...FIXTURES.map(({ card }) => card)],
		events: (options) => client.events(options),
		output: (session, options) => client.output(session, options),
		snapshot: (session) => client.snapshot(session),
		view: (session, options) => client.view(session, options),
		drawn: (session, options) => client.drawn(session, options),
		act: (session, act) => client.act(session, act),
		drivers: (session, options) => client.drivers(session, options),
		people: (options) => client.people(options),
		approvals: () => client.approvals(),
		decide: (id, decision) => client.decide(id, decision),
		status: () => client.status(),
		[Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
	};
}
