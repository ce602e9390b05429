// Calls that a caller could make, from the tools' own schemas, so that a new tool or field is tried from its
// first day. They act on the session `victim` and start only harmless programs.

import { toolCards } from "../../src/tools/catalogue.ts";
import { TOOL_SETS } from "../../src/tools/client.ts";
import { mutateJson, type Random } from "./random.ts";

export const VICTIM = "victim";

interface Schema {
	readonly type?: string;
	readonly enum?: readonly unknown[];
	readonly anyOf?: readonly Schema[];
	readonly items?: Schema;
	readonly minimum?: number;
	readonly maximum?: number;
	readonly properties?: Readonly<Record<string, Schema>>;
	readonly required?: readonly string[];
}

/** Fields whose value decides what is run or who is meant. */
const GIVEN: Readonly<Record<string, readonly unknown[]>> = {
	session: [VICTIM],
	session_id: [VICTIM, 1],
	terminal_id: [VICTIM],
	process_id: [VICTIM],
	name: [VICTIM, "other", "third"],
	shell: [VICTIM, "main"],
	command: ["true", "echo x", ["true"]],
	cmd: ["true", "cat"],
	argv: [["cat"], ["true"], ["bash", "-c", "echo x; read y"]],
	again: [VICTIM],
	cwd: ["/", "/tmp", "/nowhere"],
	workdir: ["/", "/tmp"],
	pattern: ["x", "[a-z]+$", "(a+)+b", "[^]{0,60}x"],
	timeoutMs: [0, 50, 300],
	timeout: [0, 1],
	timeout_ms: [0, 50],
	yield_time_ms: [0, 50],
	keys: [["enter"], ["a", "b"], ["ctrl+l"]],
	signal: ["CONT"],
	cols: [80, 2, 1000],
	rows: [24, 1, 500],
};

function valueFor(name: string, schema: Schema, random: Random): unknown {
	if (GIVEN[name] !== undefined) return random.pick(GIVEN[name]);
	if (schema.enum !== undefined) return random.pick(schema.enum);
	if (schema.anyOf !== undefined) return valueFor("", random.pick(schema.anyOf), random);
	switch (schema.type) {
		case "string":
			return random.pick(["x", "some text", "1"]);
		case "integer":
		case "number":
			return random.pick([schema.minimum ?? 0, Math.min(schema.maximum ?? 1000, 1000), 1]);
		case "boolean":
			return random.chance(0.5);
		case "array":
			return Array.from({ length: random.int(3) }, () => valueFor("", schema.items ?? {}, random));
		case "object":
			return inputFor(schema, random);
		default:
			return null;
	}
}

function inputFor({ properties = {}, required = [] }: Schema, random: Random): object {
	const fields = Object.entries(properties).filter(([name]) => required.includes(name) || random.chance(0.3));
	return Object.fromEntries(fields.map(([name, schema]) => [name, valueFor(name, schema, random)]));
}

const cards = toolCards(TOOL_SETS);
// Starting a process costs a hundred times what a refusal does: most calls should not.
const cheap = cards.filter(({ effect }) => effect === "reads" || effect === "types");

/** A call that may be right, or has something wrong with its input. */
export function toolCall(random: Random): { tool: string; input: unknown } {
	const card = random.pick(random.chance(0.85) ? cheap : cards);
	const input = inputFor(card.inputSchema as Schema, random);
	return { tool: card.name, input: random.chance(0.6) ? mutateJson(input, random) : input };
}
