// Bad input on every field of every tool: a fault with a code and a next step,
// never a crash, never half a write. The inputs are made from the tools' own schemas,
// so a new field is tested from its first day.

import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { Fault, faults } from "../../src/protocol/fault.ts";
import { toolCards } from "../../src/tools/catalogue.ts";
import { TOOL_SETS, type ToolCard } from "../../src/tools/client.ts";
import { HANG_MS } from "../condition.ts";

interface Schema {
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

let dialtone: Dialtone;
/** Reads lines and answers none: whatever is typed into it by a refused call shows. */
const probe = "probe";

beforeAll(async () => {
	dialtone = await Dialtone.open();
	await dialtone.client.call("start", { argv: ["bash", "-c", "stty -echo; echo ready; cat"], name: probe });
});
afterAll(() => dialtone[Symbol.asyncDispose]());

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
function wrongFor(schema: Schema, isNeeded: boolean): readonly unknown[] {
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

/** An input that would be right, so that one wrong field is the only thing wrong. */
function right(card: ToolCard): Record<string, unknown> {
	const { required = [], properties = {} } = card.inputSchema as Schema;
	const GIVEN: Record<string, unknown> = {
		session: probe,
		session_id: probe,
		terminal_id: probe,
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

async function outcome(tool: string, input: unknown): Promise<Fault | null> {
	try {
		await dialtone.client.call(tool, input);
		return null;
	} catch (error) {
		if (error instanceof Fault) return error;
		throw new Error(`${tool} crashed on ${JSON.stringify(input)?.slice(0, 300)}`, { cause: error });
	}
}

/** What must not change: who is there, and what was said to the probe. */
async function world(): Promise<unknown> {
	const { sessions } = (await dialtone.client.call("list", {})).facts;
	return sessions.map(({ name, offset, status }) => [name, offset, status]);
}

function wellSaid(fault: Fault, about: string): void {
	expect(Object.keys(faults), about).toContain(fault.code);
	expect(fault.code, `${about}: ${fault.message}`).not.toBe("internal");
	expect(fault.message.length, about).toBeGreaterThan(10);
	expect(fault.next.length, about).toBeGreaterThan(10);
}

const cards = toolCards(["native"]);
// Two of them share a name; each is asked for once.
const dialects = [...new Map(toolCards(TOOL_SETS).map((card) => [card.name, card])).values()].filter(
	({ name }) => !cards.some((card) => card.name === name),
);

describe.each(cards.map((card) => [card.name, card] as const))("R2.5 bad input to %s", (name, card) => {
	const { properties = {}, required = [] } = card.inputSchema as Schema;

	test("each wrong value in each field is refused by the field's name, and nothing is done", async () => {
		const before = await world();
		for (const [field, schema] of Object.entries(properties)) {
			for (const value of wrongFor(schema, required.includes(field))) {
				const about = `${name}.${field} = ${JSON.stringify(value)?.slice(0, 80)}`;
				const fault = await outcome(name, { ...right(card), [field]: value });
				if (fault === null) throw new Error(`${about} was taken`);
				wellSaid(fault, about);
				expect(fault.code, about).toBe("bad_input");
				expect(fault.message, about).toContain(field);
			}
		}
		expect(await world()).toEqual(before);
	});

	test("each missing field and an unknown one are refused by name", async () => {
		const before = await world();
		for (const field of required) {
			const { [field]: _, ...rest } = right(card);
			const fault = await outcome(name, rest);
			expect(fault?.code, field).toBe("bad_input");
			expect(fault?.message).toContain(field);
		}
		const fault = await outcome(name, { ...right(card), "no such field": 1 });
		expect(fault?.code).toBe("bad_input");
		expect(fault?.message).toContain("no such field");
		expect(await world()).toEqual(before);
	});

	test("anything at all that is not an object is refused", async () => {
		await fc.assert(
			fc.asyncProperty(fc.jsonValue(), async (input) => {
				fc.pre(typeof input !== "object" || input === null || Array.isArray(input));
				const fault = await outcome(name, input);
				expect(fault?.code).toBe("bad_input");
			}),
			{ numRuns: 50 },
		);
	});
});

// The dialects answer in the shapes of the systems they speak for, refusals included (test/dialects holds them to those),
// and take fields they do not know. What does not fit a field is refused all the same.
describe.each(dialects.map((card) => [card.name, card] as const))("R2.5 bad input to %s", (name, card) => {
	test("no wrong value in any field crashes, starts or types anything", async () => {
		const before = await world();
		const { properties = {}, required = [] } = card.inputSchema as Schema;
		for (const [field, schema] of Object.entries(properties)) {
			for (const value of wrongFor(schema, required.includes(field))) {
				const about = `${name}.${field} = ${JSON.stringify(value)?.slice(0, 80)}`;
				const fault = await outcome(name, { ...right(card), [field]: value });
				if (fault !== null) wellSaid(fault, about);
			}
		}
		expect(await world()).toEqual(before);
	});
});

describe("R2.5 input that is well formed and still cannot be", () => {
	test("no name, however strange, finds a session that is not there or breaks the search", async () => {
		const names = fc.oneof(
			fc.string({ minLength: 1, maxLength: 200, unit: "binary" }),
			fc.constantFrom("../../etc/passwd", "..", "/", "\0", "%00", "__proto__", "constructor", "*", "probe\nprobe"),
		);
		await fc.assert(
			fc.asyncProperty(
				names,
				fc.constantFrom("read", "send", "wait", "close", "resize", "signal"),
				async (session, tool) => {
					// The last one, and the one that is there, also as headers write it.
					const meant = session
						.trim()
						.replace(/^\[(.*)\]$/s, "$1")
						.trim();
					fc.pre(meant !== "-" && meant !== probe);
					const expected = meant === "" ? "bad_input" : "session_not_found";
					const card = cards.find((one) => one.name === tool)!;
					const extra = tool === "signal" ? { signal: "INT" } : {};
					const fault = await outcome(tool, { ...right(card), ...extra, session });
					expect(fault?.code).toBe(expected);
				},
			),
			{ numRuns: 150 },
		);
	});

	test("no pattern, however wrong or slow, is more than a fault or an answer within its time", async () => {
		const patterns = fc.oneof(
			fc.string({ minLength: 1, maxLength: 100 }),
			fc.constantFrom(
				"(",
				"[",
				"(?<",
				"\\",
				"(a+)+$",
				"(x|x)*y",
				"(?=.*)*",
				"a{1000000}",
				"\\p{nope}",
				"(?<a>.)(?<a>.)",
			),
		);
		await fc.assert(
			fc.asyncProperty(patterns, async (pattern) => {
				const before = performance.now();
				const fault = await outcome("wait", { session: probe, until: { pattern, only: true }, timeoutMs: 20 });
				if (fault !== null) wellSaid(fault, pattern);
				expect(performance.now() - before).toBeLessThan(HANG_MS);
			}),
			{ numRuns: 60 },
		);
	});

	test.each([
		["a directory that is not there", { argv: ["true"], cwd: "/no/such/place" }],
		["a directory that is a file", { argv: ["true"], cwd: "/etc/passwd" }],
		["a program that is not there", { argv: ["no-such-program-anywhere"] }],
		["a program that is a directory", { argv: ["/"] }],
		["an argument with a NUL", { argv: ["echo", "a\0b"] }],
		["a command with a NUL", { command: "echo a\0b" }],
		["an environment with a NUL", { argv: ["true"], env: { A: "a\0b" } }],
		["a program of no name", { argv: [""] }],
		["both a command and its arguments", { command: "true", argv: ["true"] }],
		["a name that is a path", { argv: ["true"], name: "../x" }],
		["an empty name", { argv: ["true"], name: "" }],
		["a conversation of two lines", { argv: ["true"], parent: "a\n\u001b[2J" }],
	])("%s is a fault with a next step, and leaves nothing running", async (_, input) => {
		const fault = await outcome("start", input);
		if (fault === null) throw new Error("it was taken");
		wellSaid(fault, JSON.stringify(input));
		const { sessions } = (await dialtone.client.call("list", { status: "running" })).facts;
		expect(sessions.map(({ name }) => name)).toEqual([probe]);
	});

	test("a call with one wrong key types none of it", async () => {
		const before = await world();
		await fc.assert(
			fc.asyncProperty(fc.string({ minLength: 2, maxLength: 40 }), async (key) => {
				const fault = await outcome("send", { session: probe, text: "typed\n", keys: ["a", key] });
				fc.pre(fault !== null); // it happens to be a key
				wellSaid(fault!, key);
			}),
			{ numRuns: 1, examples: [["no-such-key"], ["ctrl+nope"], ["\u0000x"], ["enter enter"]] },
		);
		expect(await world()).toEqual(before);
	});
});
