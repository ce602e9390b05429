// Codex's documented behaviour of `exec_command` and `write_stdin`, as cases: the facts, and the
// text that its models know.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { toolCards } from "../../src/tools/catalogue.ts";
import { needing } from "../programs.ts";
import { WAYS, type Way } from "./ways.ts";

test.each([
	[
		"exec_command",
		["cmd"],
		["cmd", "workdir", "shell", "login", "tty", "yield_time_ms", "max_output_tokens"],
		{ login: true, max_output_tokens: 10_000 },
	],
	[
		"write_stdin",
		["session_id"],
		["session_id", "chars", "yield_time_ms", "max_output_tokens"],
		{ chars: "", max_output_tokens: 10_000 },
	],
])("%s has Codex's parameters, its own ones after them", (tool, required, names, defaults) => {
	const { inputSchema } = toolCards(["codex"]).find(({ name }) => name === tool)!;
	const schema = inputSchema as { required: string[]; properties: Record<string, { type: string; default?: unknown }> };
	expect(schema.required).toEqual(required);
	expect(Object.keys(schema.properties).slice(0, names.length)).toEqual(names);
	for (const [name, value] of Object.entries(defaults)) expect(schema.properties[name]?.default).toBe(value);
});

test("a session is a number", () => {
	const [, writeStdin] = toolCards(["codex"]);
	expect(writeStdin?.inputSchema).toMatchObject({ properties: { session_id: { type: "integer" } } });
});

const RUNNING =
	/^Wall time: \d+\.\d{4} seconds\nProcess running with session ID (\d+)\nOriginal token count: \d+\nOutput:\n/;
const ended = (code: number, output: string) =>
	new RegExp(
		`^Wall time: \\d+\\.\\d{4} seconds\\nProcess exited with code ${code}\\nOriginal token count: \\d+\\nOutput:\\n${output}$`,
	);

describe.each(Object.entries(WAYS))("%s", (_, open) => {
	let codex: Way;
	beforeAll(async () => {
		codex = await open("codex");
	});
	afterAll(() => codex[Symbol.asyncDispose]());

	const exec = (cmd: string, more: object = {}) =>
		codex.text("exec_command", { cmd, shell: "/bin/bash", login: false, ...more });
	const write = (session_id: number, chars: string, more: object = {}) =>
		codex.text("write_stdin", { session_id, chars, ...more });
	const numberIn = (text: string) => Number(RUNNING.exec(text)?.[1]);

	test.each([
		["one that ends", "echo hi; exit 2", 2, "hi"],
		["one that says nothing", "true", 0, ""],
	])("a command that ends within its time: %s", async (_, cmd, code, output) => {
		expect(await exec(cmd)).toMatch(ended(code, output));
	});

	test("D4: after a signal the code is 128 + n, with the signal's name", async () => {
		expect(await exec("kill -9 $$")).toMatch(/^Wall time: .*\nProcess exited with code 137 \(SIGKILL\)\nOriginal/);
	});

	test("one that goes on gets a session ID, and empty chars wait for more", async () => {
		const text = await exec("echo one; sleep 1; echo two", { yield_time_ms: 250 });
		expect(text).toMatch(RUNNING);
		expect(await write(numberIn(text), "")).toMatch(ended(0, "two"));
	});

	test("D3 T10: its session ID as a string is the same one", async () => {
		const session_id = String(numberIn(await exec("cat", { yield_time_ms: 250 })));
		expect(await codex.text("write_stdin", { session_id, chars: "hi\n\u0004", yield_time_ms: 5000 })).toMatch(
			ended(0, "hi\nhi"),
		);
	});

	test("a conversation keeps its state from write to write", needing("python3"), async () => {
		const session = numberIn(await exec("python3 -q"));
		await write(session, "x = 41\n", { yield_time_ms: 5000 });
		expect(await write(session, "print(x + 1)\n", { yield_time_ms: 5000 })).toContain("\n42\n");
		expect(await write(session, "\u0004", { yield_time_ms: 5000 })).toMatch(ended(0, "[\\s\\S]*"));
	});

	test("Ctrl+C interrupts", async () => {
		const session = numberIn(
			await exec("trap 'echo got; exit 9' INT; echo on; while :; do sleep 0.1; done", { yield_time_ms: 1000 }),
		);
		expect(await write(session, "\u0003", { yield_time_ms: 10_000 })).toMatch(ended(9, "[\\s\\S]*got"));
	});

	test("output beyond max_output_tokens is cut, and the count is of all of it", async () => {
		const text = await exec("seq 1 1000", { max_output_tokens: 50 });
		expect(text).toMatch(ended(0, "[\\s\\S]*truncated[\\s\\S]*1000"));
		expect(Number(/Original token count: (\d+)/.exec(text)?.[1])).toBeGreaterThan(900);
	});

	test.each([
		[-5, "`yield_time_ms`: -5 is less than 250; 250 was used"],
		[1, "`yield_time_ms`: 1 is less than 250; 250 was used"],
		[10_000_000, "`yield_time_ms`: 10000000 is more than 30000; 30000 was used"],
	])("T10: a time out of range is clamped, not refused, and told: %d", async (yield_time_ms, note) => {
		const text = await exec("echo quick", { yield_time_ms });
		expect(text).toContain(`\nNote: ${note}\nOutput:\n`);
		// A busy machine needs more than 250 ms to start it.
		if (yield_time_ms > 250) expect(text.replace(/^Note: .*\n/m, "")).toMatch(ended(0, "quick"));
	});
});

test("an unknown session is a refusal in the words of this set", async () => {
	await using dialtone = await Dialtone.open({ owner: "codex" });
	const unknown = dialtone.client.call("write_stdin", { session_id: 4711, chars: "x" });
	await expect(unknown).rejects.toMatchObject({
		code: "session_not_found",
		next: "No session is open: call `exec_command`.",
	});
});
