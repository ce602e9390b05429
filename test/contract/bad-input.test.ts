// Bad input on every field of every tool: a fault with a code and a next step,
// never a crash, never half a write.

import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { Fault } from "../../src/protocol/fault.ts";
import { HANG_MS } from "../condition.ts";
import { cards, dialects, PROBE, right, type Schema, wellSaid, wrongFor } from "./wrong-input.ts";

let dialtone: Dialtone;
const probe = PROBE.name;

beforeAll(async () => {
	dialtone = await Dialtone.open();
	await dialtone.client.call("start", PROBE);
});
afterAll(() => dialtone[Symbol.asyncDispose]());

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
