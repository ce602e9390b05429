// R2.10, R2.13, D5, D7: what a program inherits and its limits, as fields of every tool that starts one and as options for
// all of them; what was withheld, and the limit that ended a program, are told in every set.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import type { Inherit } from "../../src/pty/environment.ts";
import { catalogue } from "../../src/tools/catalogue.ts";
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

/** Who calls, and of which Dialtone. */
interface At {
	readonly caller: Caller;
	readonly of: Dialtone;
}
const newcomer = (of = dialtone): At => ({ caller: stranger(), of });
const call = async ({ caller, of }: At, tool: string, input: object) =>
	(await of.client.call(tool, input, { caller })).facts as Facts;

const patient = { yield_time_ms: 20_000, shell: "/bin/bash", login: false };

interface Shown {
	readonly facts: Facts;
	readonly printed: string;
	/** The text for the model about its end. */
	readonly end: string;
}

/** What a command prints that is started by each tool that starts one, and what its end is told as. */
const STARTS: Readonly<Record<string, (at: At, command: string, more: object) => Promise<Shown>>> = {
	start: async (at, command, more) => answered(at, "start", { command, timeoutMs: 20_000, ...more }, "text"),
	run: async (at, command, more) => answered(at, "run", { command, ...more }, "text"),
	unified_exec: async (at, cmd, more) => answered(at, "unified_exec", { cmd, ...patient, ...more }, "output"),
	exec_command: async (at, cmd, more) => answered(at, "exec_command", { cmd, ...patient, ...more }, "output"),
	run_bash: async (at, command, more) => answered(at, "run_bash", { command, ...more }, "stdout"),
	pty_create: async (at, cmd, more) => {
		const facts = await call(at, "pty_create", { cmd, ...more });
		const { terminal_id } = facts;
		const captured = await until(
			() => call(at, "pty_capture", { terminal_id }),
			({ state }) => state !== "running",
		);
		return { facts, printed: String(captured.text), end: JSON.stringify(captured) };
	},
	start_background_process: async (at, command, more) => {
		const facts = await call(at, "start_background_process", { command, ...more });
		const { process_id } = facts;
		const shown = await until(
			() => call(at, "get_process_output", { process_id }),
			({ is_running }) => is_running === false,
		);
		return { facts, printed: String(shown.output), end: JSON.stringify(shown) };
	},
};

async function answered({ caller, of }: At, tool: string, input: object, output: string): Promise<Shown> {
	const { facts, text } = await of.client.call(tool, input, { caller });
	return { facts: facts as Facts, printed: String((facts as Facts)[output]).trimEnd(), end: text };
}

test("no tool that starts a program is missing here", () => {
	// `run` and `run_bash` start a shell where there is none.
	const starting = Object.values(catalogue).flatMap((tools) => tools.filter(({ effect }) => effect === "starts"));
	const named = [...starting.map(({ name }) => name), "run", "run_bash"];
	expect(Object.keys(STARTS).sort()).toEqual(named.sort());
});

const PRINTED = 'echo "[$PLAIN:$SOME_API_KEY:$MORE] $(ulimit -n)"';

describe.each(Object.entries(STARTS))("%s", (_, start) => {
	test.each([
		["none", "[::]"],
		["safe", "[plain::]"],
		["all", "[plain:key:]"],
	])("D5: `inherit: %s` chooses", async (inherit, expected) => {
		expect((await start(newcomer(), PRINTED, { inherit })).printed).toContain(expected);
	});

	test("R2.10 D7: `limits` limits", async () => {
		expect((await start(newcomer(), PRINTED, { limits: { openFiles: 77 } })).printed).toMatch(/\] 77$/);
	});

	test("D5: `env` adds", async () => {
		expect((await start(newcomer(), PRINTED, { env: { MORE: "more" } })).printed).toContain("[plain::more]");
	});

	test("D5: what was withheld is told once to each caller", async () => {
		const at = newcomer();
		const [first, second] = [await start(at, PRINTED, {}), await start(at, PRINTED, {})];
		expect(first.facts.notices).toEqual([expect.stringMatching(/^not inherited: SOME_API_KEY; /)]);
		expect(second.facts.notices ?? []).toEqual([]);
	});

	test("R2.13 D5 D7: the options choose for all, and a call may ask for less", async () => {
		await using narrow = await Dialtone.open({ owner: "narrow", options: { inherit: "none", limitOpenFiles: 77 } });
		expect((await start(newcomer(narrow), PRINTED, {})).printed).toBe("[::] 77");
		expect((await start(newcomer(narrow), PRINTED, { limits: { openFiles: 50 } })).printed).toMatch(/\] 50$/);
		expect((await start(newcomer(narrow), PRINTED, { limits: { openFiles: 99 } })).printed).toMatch(/\] 77$/);
	});

	test.each([
		["", "echo begun; sleep 600"],
		[", also where its shell outlives it", "trap : TERM; echo begun; sleep 600"],
	])("R2.10 D7: the model is told that the wall-clock limit ended it%s", async (_title, command) => {
		const { end } = await start(newcomer(), command, { limits: { wallMs: 2500 } });
		expect(end).toContain("begun");
		expect(end).toContain("wall-clock limit");
		expect(end).not.toContain("the command ended the shell");
	});
});

test.each(["run", "run_bash"])(
	"D5: %s says that what is for a new shell has no effect on one that runs",
	async (tool) => {
		const at = { of: dialtone, caller: { ...stranger(), withheld: [] } };
		await call(at, tool, { command: "true" });
		const { notices } = await call(at, tool, { command: "true", inherit: "none", env: { MORE: "more" } });
		expect(notices).toEqual(["`env`, `inherit` had no effect: the shell was running already"]);
	},
);

test("D5: `run` says so, too, where another program is asked for than the shell is", async () => {
	const at = { of: dialtone, caller: { ...stranger(), withheld: [] } };
	await call(at, "run", { command: "true", program: "/bin/bash" });
	const told = async (program: string) => (await call(at, "run", { command: "true", program })).notices ?? [];
	expect(await told("bash")).toEqual([]);
	expect(await told("sh")).toEqual(["`program` had no effect: the shell was running already"]);
});

test("D5: Codex' text has it before the output, where it cannot be the program's", async () => {
	const { text } = await dialtone.client.call("exec_command", { cmd: "echo out", ...patient }, { caller: stranger() });
	expect(text).toMatch(/\nNote: not inherited: SOME_API_KEY; `env` adds what the program needs\nOutput:\nout$/);
});
