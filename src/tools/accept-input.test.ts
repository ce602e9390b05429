import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Fault } from "../protocol/fault.ts";
import { acceptInput } from "./accept-input.ts";
import { catalogue, findTool, toolNames } from "./catalogue.ts";
import type { Caller } from "./tool.ts";

const caller: Caller = { owner: "agent", cwd: "/work", env: { HOME: "/home/me" } };

const accept = (tool: string, input: unknown) => acceptInput(findTool(tool, input)!, input, caller);

function refusal(tool: string, input: unknown): Fault {
	try {
		accept(tool, input);
	} catch (error) {
		if (error instanceof Fault) return error;
		throw error;
	}
	throw new Error(`${JSON.stringify(input)} was accepted`);
}

describe("T10: what is certainly meant is accepted", () => {
	test.each([
		["send", { submit: "true" }, { submit: true }],
		["send", { submit: "No" }, { submit: false }],
		["send", { timeoutMs: "5000" }, { timeoutMs: 5000 }],
		["send", { timeoutMs: "2 min" }, { timeoutMs: 120_000 }],
		["send", { keys: "enter" }, { keys: ["enter"] }],
		["send", { keys: "[" }, { keys: ["["] }],
		["send", { keys: "down, down, enter" }, { keys: ["down", "down", "enter"] }],
		["send", { text: 7 }, { text: "7" }],
		["send", { until: "ready" }, { until: { text: "ready" } }],
		["send", { until: '{"pattern": "a|b"}' }, { until: { pattern: "a|b" } }],
		["send", { until: null, text: null, submit: null }, { submit: false }],
		["signal", { signal: "SIGINT" }, { signal: "INT" }],
		["signal", { signal: "usr1" }, { signal: "USR1" }],
		["signal", { signal: 15 }, { signal: "TERM" }],
		["signal", { signal: "9" }, { signal: "KILL" }],
		["signal", { signal: "Ctrl+C" }, { signal: "INT" }],
		["read", { view: "SCREEN" }, { view: "screen" }],
		["read", { view: "history" }, { view: "lines" }],
		["read", { order: "first" }, { order: "oldest" }],
		["read", { session: "[py]" }, { session: "py" }],
		["read", { session: " py " }, { session: "py" }],
		["send", { timeoutMs: "1 minute" }, { timeoutMs: 60_000 }],
		["run", { command: "ls", timeout: "1 min" }, { timeoutMs: 60_000 }],
		["run_bash", { command: "ls", timeout: "2 hours" }, { timeout_seconds: 7200 }],
		["run", { command: "ls", description: "List files" }, { command: "ls" }],
		["wait", { session: "s", until: { idleMs: 500 } }, { until: { stillMs: 500 } }],
		["list", { status: "all" }, {}],
		["start", { cwd: "file:///tmp/a%20b" }, { cwd: "/tmp/a b" }],
		["start", { cwd: "~" }, { cwd: "/home/me" }],
		["start", { cwd: "~/x" }, { cwd: "/home/me/x" }],
		["start", { cwd: "~other" }, { cwd: "~other" }],
		["start", { env: { A: 1, B: false, C: null } }, { env: { A: "1", B: "false" } }],
		["start", { env: "A=b=c" }, { env: { A: "b=c" } }],
		["run", { cmd: "ls", timeout_ms: 10 }, { command: "ls", timeoutMs: 10 }],
		["run", { command: "ls", timeoutSeconds: 1.5 }, { timeoutMs: 1500 }],
		["unified_exec", { command: "ls", cwd: "~" }, { cmd: "ls", workdir: "/home/me" }],
		["run_bash", { command: "ls", timeout_ms: 1500 }, { timeout_seconds: 1.5 }],
		["pty_kill", { terminal_id: "x", signal: "SIGKILL" }, { signal: "KILL" }],
		["write_stdin", { session_id: 1000, chars: null }, { session_id: 1000, chars: "" }],
	])("%s %o", (tool, input, meant) => {
		const needed = { send: { session: "s" }, signal: { session: "s" }, read: { session: "s" } }[tool] ?? {};
		const { input: accepted, notices } = accept(tool, { ...needed, ...input });
		expect(accepted).toMatchObject(meant);
		expect(notices).toEqual([]);
	});
});

describe("T10: what is not certain is asked back, with what would be right", () => {
	test.each([
		["run", { command: "ls", timeout: 5 }, "did you mean `timeoutMs` (milliseconds)?"],
		["run_bash", { command: "ls", timeout: 5 }, "did you mean `timeout_seconds` (seconds)?"],
		["run", { command: "ls", session: "main" }, "did you mean `shell`?"],
		["run", { command: "ls", run_in_background: true }, "did you mean the tool `start`"],
		["run", { command: "ls", onTimeout: "kill" }, 'did you mean "stop"?'],
		["send", { session: "s", txt: "x" }, "did you mean `text`?"],
		["send", { session: "s", stillMs: 5 }, 'did you mean `until: {"stillMs": …}`?'],
		["send", { session: "s", submit: "perhaps" }, "`submit` must be true or false"],
		["send", { session: "s", keys: {} }, '`keys` must be a list such as ["ctrl+c"]'],
		["start", { argv: "ls -l" }, "a command line goes in `command`"],
		["start", { command: ["ls", "-l"] }, "did you mean `argv`?"],
		["read", { session: "a", session_id: "b" }, "give `session` or `session_id`, not both"],
		["unified_exec", { cmd: "ls", yield_tme_ms: 5 }, "did you mean `yield_time_ms`?"],
	])("%s %o", (tool, input, told) => {
		const { code, message, next } = refusal(tool, input);
		expect(code).toBe("bad_input");
		expect(message).toContain(told);
		expect(next).toContain("nothing was done");
	});
});

describe("T10: what is too big is reduced to the bound, and told", () => {
	test("in a word that every way in shows", () => {
		const { input, notices } = accept("read", { session: "s", lines: "1000000", maxTokens: 1 });
		expect(input).toMatchObject({ lines: 100_000, maxTokens: 50 });
		expect(notices).toEqual([
			"`lines`: 1000000 is more than 100000; 100000 was used",
			"`maxTokens`: 1 is less than 50; 50 was used",
		]);
	});

	test("but not where the number names something, nor where zero may mean no limit", () => {
		expect(refusal("wait", { session: "s", until: { port: 99_999 } }).message).toContain("1 to 65535");
		expect(refusal("send", { session: "s", ifOffset: 1e300 }).message).toContain("ifOffset");
		expect(refusal("start", { command: "x", limits: { cpuSeconds: 0 } }).message).toContain("cpuSeconds");
	});

	test("a field that a set does not have is ignored, and told", () => {
		const { notices } = accept("exec_command", { cmd: "ls", justification: "to see" });
		expect(notices).toEqual(["`justification` is not a field of exec_command and was ignored"]);
	});
});

describe("any input of any tool", () => {
	test("is accepted or refused as bad input, never anything else", () => {
		const fields = [
			...new Set(Object.values(catalogue).flatMap((set) => set.flatMap(({ input }) => Object.keys(input.shape)))),
		];
		const keys = fc.oneof(fc.constantFrom(...fields, "timeout", "__proto__", "constructor", "toString"), fc.string());
		fc.assert(
			fc.property(fc.constantFrom(...toolNames()), fc.dictionary(keys, fc.jsonValue()), (tool, input) => {
				try {
					accept(tool, input);
				} catch (error) {
					expect(error).toBeInstanceOf(Fault);
				}
			}),
			{ examples: [["start", { timeout_seconds: { toString: null } }]] },
		);
	});

	test("what was right before is taken as it is", () => {
		const schema = z.strictObject({
			a: z.string(),
			b: z.int().max(5).optional(),
			c: z.array(z.string()),
			d: z.record(z.string(), z.string()),
		});
		const right = fc.record({
			a: fc.string(),
			b: fc.integer({ min: -5, max: 5 }),
			c: fc.array(fc.string()),
			d: fc.dictionary(fc.string(), fc.string()),
		});
		fc.assert(
			fc.property(right, (input) => {
				const accepted = acceptInput({ name: "any", input: schema }, input, caller);
				expect(accepted.input).toEqual(schema.parse(input));
				expect(accepted.notices).toEqual([]);
			}),
		);
	});
});
