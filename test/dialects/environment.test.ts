// D5, D7: what a program inherits and its limits, as fields of every tool that starts one, and what was withheld told once.
// Codex' tools have `env` alone: their schema may cost no more than the original's.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import type { Inherit } from "../../src/pty/environment.ts";
import type { Caller } from "../../src/tools/tool.ts";
import { until } from "./ways.ts";

let dialtone: Dialtone;
beforeAll(async () => {
	dialtone = await Dialtone.open({ owner: "environment" });
});
afterAll(() => dialtone[Symbol.asyncDispose]());

const BASIC = { PATH: process.env.PATH ?? "", SHELL: "/bin/bash", HOME: "/nonexistent" };
const PLAIN = { ...BASIC, PLAIN: "plain" };
const ENVIRONMENTS: Readonly<Record<Inherit, Pick<Caller, "env" | "withheld">>> = {
	none: { env: BASIC, withheld: [] },
	safe: { env: PLAIN, withheld: ["SOME_API_KEY"] },
	all: { env: { ...PLAIN, SOME_API_KEY: "key" }, withheld: [] },
};

let callers = 0;
/** A caller that was told nothing yet, with a key in its environment. */
function stranger(): Caller {
	const inheriting = (inherit: Inherit = "safe") => ENVIRONMENTS[inherit];
	return { owner: `stranger-${++callers}`, cwd: "/", ...ENVIRONMENTS.safe, inheriting };
}

interface Facts extends Record<string, unknown> {
	readonly notices?: readonly string[];
}
const call = async (caller: Caller, tool: string, input: object) =>
	(await dialtone.client.call(tool, input, { caller })).facts as Facts;

const PRINTED = 'echo "[$PLAIN:$SOME_API_KEY:$MORE] $(ulimit -n)"';
const patient = { yield_time_ms: 20_000, shell: "/bin/bash", login: false };

/** What a program of each set prints, with the facts of its start. */
const SETS: Readonly<Record<string, (caller: Caller, more: object) => Promise<{ facts: Facts; printed: string }>>> = {
	unified_exec: async (caller, more) => {
		const facts = await call(caller, "unified_exec", { cmd: PRINTED, ...patient, ...more });
		return { facts, printed: String(facts.output) };
	},
	exec_command: async (caller, more) => {
		const facts = await call(caller, "exec_command", { cmd: PRINTED, ...patient, ...more });
		return { facts, printed: String(facts.output) };
	},
	pty_create: async (caller, more) => {
		const facts = await call(caller, "pty_create", { cmd: PRINTED, ...more });
		const { terminal_id } = facts;
		const captured = await until(
			() => call(caller, "pty_capture", { terminal_id }),
			({ state }) => state === "succeeded",
		);
		return { facts, printed: String(captured.text) };
	},
	start_background_process: async (caller, more) => {
		const facts = await call(caller, "start_background_process", { command: PRINTED, ...more });
		const { process_id } = facts;
		const shown = await until(
			() => call(caller, "get_process_output", { process_id }),
			({ is_running }) => is_running === false,
		);
		return { facts, printed: String(shown.output) };
	},
	run_bash: async (caller, more) => {
		const facts = await call(caller, "run_bash", { command: PRINTED, ...more });
		return { facts, printed: String(facts.stdout).trimEnd() };
	},
	run: async (caller, more) => {
		const facts = await call(caller, "run", { command: PRINTED, ...more });
		return { facts, printed: String(facts.text).trimEnd() };
	},
};

describe.each(Object.entries(SETS).filter(([tool]) => tool !== "exec_command"))("%s", (_, start) => {
	test.each([
		["none", "[::]"],
		["safe", "[plain::]"],
		["all", "[plain:key:]"],
	])("D5: `inherit: %s` chooses", async (inherit, expected) => {
		expect((await start(stranger(), { inherit })).printed).toContain(expected);
	});

	test("D7: `limits` limits", async () => {
		expect((await start(stranger(), { limits: { openFiles: 77 } })).printed).toMatch(/\] 77$/);
	});
});

describe.each(Object.entries(SETS))("%s", (_, start) => {
	test("D5: `env` adds", async () => {
		expect((await start(stranger(), { env: { MORE: "more" } })).printed).toContain("[plain::more]");
	});

	test("D5: what was withheld is told once to each caller", async () => {
		const caller = stranger();
		const [first, second] = [await start(caller, {}), await start(caller, {})];
		expect(first.facts.notices).toEqual([expect.stringMatching(/^not inherited: SOME_API_KEY; /)]);
		expect(second.facts.notices ?? []).toEqual([]);
	});
});

test.each(["run", "run_bash"])(
	"D5: %s says that what is for a new shell has no effect on one that runs",
	async (tool) => {
		const caller = { ...stranger(), withheld: [] };
		await call(caller, tool, { command: "true" });
		const { notices } = await call(caller, tool, { command: "true", inherit: "none", env: { MORE: "more" } });
		expect(notices).toEqual(["`env`, `inherit` had no effect: the shell was running already"]);
	},
);

test("D5: `run` says so, too, where another program is asked for than the shell is", async () => {
	const caller = { ...stranger(), withheld: [] };
	await call(caller, "run", { command: "true", program: "/bin/bash" });
	const told = async (program: string) => (await call(caller, "run", { command: "true", program })).notices ?? [];
	expect(await told("bash")).toEqual([]);
	expect(await told("sh")).toEqual(["`program` had no effect: the shell was running already"]);
});

test("D5: Codex' text has it before the output, where it cannot be the program's", async () => {
	const { text } = await dialtone.client.call("exec_command", { cmd: "echo out", ...patient }, { caller: stranger() });
	expect(text).toMatch(/\nNote: not inherited: SOME_API_KEY; `env` adds what the program needs\nOutput:\nout$/);
});

test("D5 D7: the options choose for Codex' programs", async () => {
	await using narrow = await Dialtone.open({ owner: "narrow", options: { inherit: "none", limitOpenFiles: 77 } });
	const caller = { owner: "narrow", cwd: "/", ...ENVIRONMENTS.all };
	const { facts } = await narrow.client.call("exec_command", { cmd: PRINTED, ...patient }, { caller });
	expect(facts.output).toBe("[::] 77");
});
