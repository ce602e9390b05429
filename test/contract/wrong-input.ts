// Wrong values for every field of every tool, made from the tools' own schemas: a new field is tested from its first day.

import { expect } from "vitest";
import { type Fault, faults } from "../../src/protocol/fault.ts";
import { toolCards } from "../../src/tools/catalogue.ts";
import { TOOL_SETS, type ToolCard } from "../../src/tools/client.ts";

export interface Schema {
	readonly type?: string;
	readonly enum?: readonly unknown[];
	readonly anyOf?: readonly Schema[];
	readonly minimum?: number;
	readonly maximum?: number;
	readonly maxLength?: number;
	readonly minLength?: number;
	readonly properties?: Readonly<Record<string, Schema>>;
	readonly required?: readonly string[];
}

// What is certainly meant is accepted (T10, src/tools/accept-input.test.ts); these are not.
const WRONG_FOR: Readonly<Record<string, readonly unknown[]>> = {
	string: [true, [], {}],
	integer: ["x", "", 1.5, true, [], {}, -(2 ** 60)],
	number: ["x", true, [], {}],
	boolean: ["maybe", 2, [], {}],
	array: [true, {}, [null], [{}], [[]]],
	object: [0, true, [], ["x"], { "a=b": 1 }],
};

/** Values that this schema refuses. Null is left out of a call, so it is wrong only where a value is needed. */
export function wrongFor(schema: Schema, isNeeded: boolean): readonly unknown[] {
	const nothing = isNeeded ? [null] : [];
	if (schema.enum !== undefined) return ["no such choice", 0, [], {}, ...nothing];
	if (schema.anyOf !== undefined) {
		const types = new Set(schema.anyOf.map(({ type }) => type));
		return [...nothing, ...(types.has("array") ? [] : [[]]), ...(types.has("object") ? [] : [{}])];
	}
	const beyond = [
		...(schema.minimum === undefined ? [] : [Math.min(0, schema.minimum) - 1]),
		...(schema.maxLength === undefined ? [] : ["x".repeat(schema.maxLength + 1)]),
		...(schema.minLength === undefined || schema.minLength === 0 ? [] : [""]),
	].filter((value) => typeof value === "string" || Number.isSafeInteger(value));
	const nested = Object.entries(schema.properties ?? {}).flatMap(([name, inner]) =>
		wrongFor(inner, false).map((value) => ({ [name]: value })),
	);
	return [...(WRONG_FOR[schema.type ?? ""] ?? []), ...nothing, ...beyond, ...nested];
}

/** Reads lines and answers none: whatever is typed into it by a refused call shows. */
export const PROBE = { name: "probe", argv: ["bash", "-c", "stty -echo; echo ready; cat"] };

/** An input that would be right, so that one wrong field is the only thing wrong. */
export function right(card: ToolCard): Record<string, unknown> {
	const { required = [], properties = {} } = card.inputSchema as Schema;
	const GIVEN: Record<string, unknown> = {
		session: PROBE.name,
		session_id: PROBE.name,
		terminal_id: PROBE.name,
		command: "true",
		cmd: "true",
	};
	return Object.fromEntries(
		required.map((name) => [
			name,
			GIVEN[name] ?? { integer: 80, boolean: false, array: [] }[properties[name]?.type ?? ""] ?? "x",
		]),
	);
}

export function wellSaid(fault: Fault, about: string): void {
	expect(Object.keys(faults), about).toContain(fault.code);
	expect(fault.code, `${about}: ${fault.message}`).not.toBe("internal");
	expect(fault.message.length, about).toBeGreaterThan(10);
	expect(fault.next.length, about).toBeGreaterThan(10);
}

export const cards = toolCards(["native"]);
// Two of them share a name; each is asked for once.
export const dialects = [...new Map(toolCards(TOOL_SETS).map((card) => [card.name, card])).values()].filter(
	({ name }) => !cards.some((card) => card.name === name),
);
