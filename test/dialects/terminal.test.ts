// R5, row by row.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialect } from "./dialect.ts";

interface Ran {
	stdout: string;
	stderr: string;
	exit_code: number;
	timed_out: boolean;
	note?: string;
}

let terminal: Dialect;
beforeAll(async () => {
	terminal = await Dialect.open();
});
afterAll(() => terminal[Symbol.asyncDispose]());

const bash = (command: string, more: object = {}) => terminal.call<Ran>("run_bash", { command, ...more });

test.each([
	["run_bash", ["command"], { timeout_seconds: 30, env: undefined, inherit: undefined, limits: undefined }],
	["start_background_process", ["command"], { env: undefined, inherit: undefined, limits: undefined }],
	["get_process_output", ["process_id"], { lines: 100, from: undefined, to: undefined, column: undefined }],
	["stop_background_process", ["process_id"], {}],
])("R5 %s has its parameters and defaults", async (tool, required, defaults) => {
	const schema = await terminal.schema("terminal", tool);
	expect(schema.required).toEqual(required);
	expect(Object.keys(schema.properties)).toEqual([...required, ...Object.keys(defaults)]);
	for (const [name, value] of Object.entries(defaults)) expect(schema.properties[name]?.default).toEqual(value);
});

describe("R5.1 run_bash", () => {
	test.each([
		["stdout", "echo out", { stdout: "out\n", stderr: "", exit_code: 0, timed_out: false }],
		[
			"stderr apart",
			"echo err >&2; exit_code() { return 4; }; exit_code",
			{ stdout: "", stderr: "err\n", exit_code: 4, timed_out: false },
		],
		[
			"a missing command",
			"no_such_command",
			{ stdout: "", stderr: "bash: no_such_command: command not found\n", exit_code: 127, timed_out: false },
		],
		["no newline is added", "printf x", { stdout: "x", stderr: "", exit_code: 0, timed_out: false }],
	])("%s", async (_, command, expected) => {
		expect(await bash(command)).toEqual(expected);
	});

	test("cd, export, functions and aliases last", async () => {
		await bash("cd /usr; export WORD=kept; greet() { echo hello $1; }; alias ll='echo listed'");
		expect((await bash("pwd; sh -c 'echo $WORD'; greet you; ll")).stdout).toBe("/usr\nkept\nhello you\nlisted\n");
	});

	test("a command past its timeout is killed and the shell is usable again", async () => {
		const slow = await bash("kept=1; echo begun; sleep 600; echo never", { timeout_seconds: 0.5 });
		expect(slow).toMatchObject({ stdout: "begun\n", timed_out: true });
		expect((await bash("echo $kept")).stdout).toBe("1\n");
	});

	test("a command that asks runs into its timeout, since nobody can answer", async () => {
		expect(await bash("read -p 'name? ' x", { timeout_seconds: 0.5 })).toMatchObject({ timed_out: true });
		expect((await bash("echo on")).stdout).toBe("on\n");
	});

	test("`exit` ends the shell and says so; the next command has a new one", async () => {
		expect(await bash("exit 3")).toMatchObject({ exit_code: 3, note: expect.stringContaining("new shell") });
		expect(await bash("echo [$kept]")).toMatchObject({ stdout: "[]\n", note: expect.stringContaining("new shell") });
	});
});

describe("R5.2 R5.3 R5.4 background processes", () => {
	test("one is started, read and stopped", async () => {
		await bash("cd /usr");
		expect(await terminal.call("start_background_process", { command: "pwd; seq 1 200; sleep 600" })).toEqual({
			process_id: "bg_001",
			status: "started",
		});
		const output = await terminal.until<{ output: string }>(
			"get_process_output",
			{ process_id: "bg_001", lines: 3 },
			(it) => it.output.includes("200"),
		);
		expect(output).toEqual({ output: "198\n199\n200", is_running: true, process_id: "bg_001" });
		expect(
			(await terminal.call<{ output: string }>("get_process_output", { process_id: "bg_001", lines: 1000 })).output,
		).toMatch(/^\/usr\n1\n/);
		expect(await terminal.call("stop_background_process", { process_id: "bg_001" })).toEqual({
			status: "stopped",
			process_id: "bg_001",
		});
		expect(await terminal.call("get_process_output", { process_id: "bg_001", lines: 1 })).toMatchObject({
			output: "200",
			is_running: false,
		});
		expect(await terminal.call("stop_background_process", { process_id: "bg_001" })).toEqual({
			status: "stopped",
			process_id: "bg_001",
		});
	});

	test("numbers go on, also for many at once", async () => {
		const started = await Promise.all(
			Array.from({ length: 5 }, () =>
				terminal.call<{ process_id: string }>("start_background_process", { command: "sleep 600" }),
			),
		);
		expect(started.map(({ process_id }) => process_id).sort()).toEqual([
			"bg_002",
			"bg_003",
			"bg_004",
			"bg_005",
			"bg_006",
		]);
	});

	test("the end of one is told, with its last lines", async () => {
		const done = new AbortController();
		const events = terminal.shells.dialtone.events(done.signal)[Symbol.asyncIterator]();
		const next = events.next();
		await terminal.call("start_background_process", { command: "echo going; echo gone; exit 6" });
		for (let { value } = await next; ; { value } = await events.next()) {
			if (value?.event !== "ended") continue;
			expect(value).toMatchObject({ name: "bg_007", exit: { code: 6 }, lastLines: "going\ngone" });
			break;
		}
		done.abort();
		await events.return?.();
	});

	test("an unknown one is a fault", async () => {
		await expect(terminal.call("get_process_output", { process_id: "bg_999" })).rejects.toMatchObject({
			code: "session_not_found",
		});
	});
});
