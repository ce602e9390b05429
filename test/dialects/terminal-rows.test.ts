// R5, field by field: the facts, and the same in what MCP shows a model.

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { CommandLine, MAIN } from "../cli/command-line.ts";
import { until, WAYS, type Way } from "./ways.ts";

interface Ran {
	stdout: string;
	stderr: string;
	exit_code: number | null;
	timed_out: boolean;
}
interface Output {
	output: string;
	is_running: boolean;
	process_id: string;
	exit_code?: number | null;
}

describe.each(Object.entries(WAYS))("%s", (_, open) => {
	let terminal: Way;
	beforeAll(async () => {
		terminal = await open("terminal");
	});
	afterAll(() => terminal[Symbol.asyncDispose]());

	const bash = (command: string, more: object = {}) => terminal.call<Ran>("run_bash", { command, ...more });
	const output = (process_id: string, more: object = {}) =>
		terminal.call<Output>("get_process_output", { process_id, ...more });

	test.each([
		["stdout", "echo out", { stdout: "out\n", stderr: "", exit_code: 0 }],
		["stderr apart", "echo err >&2; (exit 4)", { stdout: "", stderr: "err\n", exit_code: 4 }],
		["a signal is 128 + n", "sh -c 'kill -9 $$'", { stdout: "", stderr: "Killed\n", exit_code: 137 }],
		["a missing command", "no_such", { stdout: "", stderr: "bash: no_such: command not found\n", exit_code: 127 }],
	])("R5.1 run_bash → {stdout, stderr, exit_code, timed_out}: %s", async (_, command, expected) => {
		expect(await bash(command)).toEqual({ ...expected, timed_out: false });
	});

	test.each([
		["a command", "sleep 600"],
		["D6: select, after a command that failed", "(exit 7); select x in a b; do echo $x; done"],
		["D6: read, after a command that failed", "(exit 7); read x"],
		["one that handles the interrupt", "trap 'exit 0' INT; sleep 600"],
	])("R5.1 at the timeout the code is 124 and nothing stale: %s", async (_, command) => {
		await bash("(exit 7)");
		expect(await bash(`bash -c ${JSON.stringify(command)}`, { timeout_seconds: 0.5 })).toMatchObject({
			exit_code: 124,
			timed_out: true,
		});
		expect(await bash(command, { timeout_seconds: 0.5 })).toMatchObject({ exit_code: 124, timed_out: true });
		expect((await bash("trap - INT; echo usable")).stdout).toBe("usable\n");
	});

	test("R5.1 D4: the code after a signal that ended the shell is 128 + n", async () => {
		expect(await bash("kill -9 $$")).toMatchObject({ exit_code: 137, timed_out: false });
	});

	test("R5.1 D6: more than 280 seconds are accepted", async () => {
		expect(await bash("echo quick", { timeout_seconds: 3600 })).toMatchObject({ stdout: "quick\n", timed_out: false });
	});

	test.each(["for x in 1 2", "if then", "case x in", "echo )", "echo 'open"])(
		"R5.1 D6: a syntax error is bash's own words, without our paths and functions: %s",
		async (command) => {
			const { stderr, exit_code } = await bash(command);
			expect(exit_code).toBe(2);
			expect(stderr).toMatch(/^bash: /);
			expect(stderr).not.toMatch(/_dt|\/sessions\/|\/shell\//);
			expect((await bash("echo usable")).stdout).toBe("usable\n");
		},
	);

	test("R5.1: a here-document without its end comes back at once, has nothing of ours in it, and says how to end it", async () => {
		const { stdout, stderr, ...rest } = await bash("cat <<EOF\nhello\necho next");
		expect(stdout).toBe("hello\necho next\n");
		expect(stderr).toContain("(wanted `EOF')");
		expect(rest).toEqual({
			exit_code: 0,
			timed_out: false,
			note: 'the here-document has no end: everything after it was its text, and no command; end it with a line that is "EOF" alone',
		});
		expect(await bash("cat <<EOF\nhello\nEOF")).toEqual({
			stdout: "hello\n",
			stderr: "",
			exit_code: 0,
			timed_out: false,
		});
	});

	test("R5.1 D6: calls at the same time run in their order, in the one shell", async () => {
		await bash("seen=");
		const all = await Promise.all([1, 2, 3, 4, 5].map((i) => bash(`seen+=${i}; echo $seen`)));
		expect(all.map(({ stdout }) => stdout)).toEqual(["1\n", "12\n", "123\n", "1234\n", "12345\n"]);
	});

	test("R5.1: a command that exits has its exit code and nothing in stderr that it did not write", async () => {
		expect(await bash("echo out; echo err >&2; exit 4")).toEqual({
			stdout: "out\n",
			stderr: "err\n",
			exit_code: 4,
			timed_out: false,
			note: "the command ended the shell; the next one gets a new shell",
		});
		expect((await bash("exit 0")).stderr).toBe("");
		await bash("true");
	});

	test("R5.2 R5.3 R5.4 a background process is started, read and stopped", async () => {
		const started = await terminal.call("start_background_process", {
			command: "echo $WORD; seq 1 200; exec sleep 600",
			env: { WORD: "kept" },
		});
		expect(started).toEqual({ process_id: "bg_001", status: "started" });
		const lines = ["kept", ...Array.from({ length: 200 }, (_, i) => String(i + 1))];
		const shown = await until(
			() => output("bg_001"),
			(it) => it.output.endsWith("\n200"),
		);
		expect(shown).toEqual({ output: lines.slice(-100).join("\n"), is_running: true, process_id: "bg_001" });
		expect((await output("bg_001", { lines: 2 })).output).toBe("199\n200");
		expect((await output("bg_001", { lines: 0 })).output).toBe("");
		const stopped = { status: "stopped", process_id: "bg_001" };
		expect(await terminal.call("stop_background_process", { process_id: "bg_001" })).toEqual(stopped);
		expect(await output("bg_001", { lines: 1 })).toEqual({
			output: "200",
			is_running: false,
			process_id: "bg_001",
			exit_code: 143,
		});
		expect(await terminal.call("stop_background_process", { process_id: "bg_001" })).toEqual(stopped);
		// Its number alone, or without its zeros, can mean no other.
		for (const process_id of ["bg_1", "bg1", "1", 1, "BG_001"])
			expect(await terminal.call("get_process_output", { process_id })).toMatchObject({ process_id: "bg_001" });
		expect(await terminal.call("stop_background_process", { process_id: "bg_1" })).toEqual(stopped);
	});
});

test("R5.1 D6: a call that was given up while it waited for its turn is not run", async () => {
	await using dialtone = await Dialtone.open({ owner: "turns" });
	const bash = (command: string, signal?: AbortSignal) =>
		dialtone.client.call("run_bash", { command }, signal === undefined ? {} : { signal });
	const given = new AbortController();
	const first = bash("sleep 1; echo first");
	const second = bash("seen=second", given.signal);
	const third = bash("echo [$seen]");
	given.abort();
	await expect(second).rejects.toThrow();
	expect((await first).facts).toMatchObject({ stdout: "first\n" });
	expect((await third).facts).toMatchObject({ stdout: "[]\n" });
});

test("R5.1 D6: a command keeps to its timeout also when its caller has left, and the next call waits for that", async () => {
	await using dialtone = await Dialtone.open({ owner: "left" });
	const bash = (input: object, signal?: AbortSignal) =>
		dialtone.client.call("run_bash", { command: "", ...input }, signal === undefined ? {} : { signal });
	await bash({ command: "kept=1" });
	const leaving = new AbortController();
	const left = bash({ command: "echo begun >&2; sleep 600", timeout_seconds: 2 }, leaving.signal);
	await until(
		async () => (await dialtone.client.call("read", { session: "bash", view: "screen" })).facts.text,
		(screen) => /^begun$/m.test(screen),
	);
	leaving.abort();
	await expect(left).rejects.toThrow();
	const { facts } = await bash({ command: "echo $kept" });
	const before = { output: expect.stringMatching(/begun/), exit_code: 130 };
	expect(facts).toEqual({ stdout: "1\n", stderr: "", exit_code: 0, timed_out: false, before });
});

test("R5.1 T1: a host that gives up sooner gets an answer before that, the command goes on, and the next call waits for it", async () => {
	await using dialtone = await Dialtone.open({ owner: "hurried" });
	const bash = (input: object, answerWithinMs: number) =>
		dialtone.client.call("run_bash", { command: "", ...input }, { answerWithinMs });
	await bash({ command: "true" }, 60_000);
	const { facts } = await bash(
		{ command: "echo begun; read -t 3 < <(sleep 9); built=1; echo over; (exit 7)", timeout_seconds: 600 },
		1000,
	);
	expect(facts).toMatchObject({ stdout: "begun\n", exit_code: null, timed_out: false });
	expect(facts.note).toMatch(/^still running: this answer was limited to 1 s; the next run_bash waits /);
	expect((await bash({ command: "echo [$built]" }, 60_000)).facts).toMatchObject({
		stdout: "[1]\n",
		exit_code: 0,
		before: { output: expect.stringMatching(/begun\nover$/), exit_code: 7 },
	});
	expect((await bash({ command: "true" }, 60_000)).facts.before).toBe(undefined);
});

test("R5.1 D3: a call that lost its daemon says where its output is, and what the next call does; both are true", async () => {
	await using line = new CommandLine();
	const client = new Client({ name: "lost", version: "1" });
	const args = [MAIN, "mcp", "--tools", "terminal"];
	await client.connect(new StdioClientTransport({ command: process.execPath, args, env: { ...line.env } }));
	const text = async (name: string, input: Record<string, unknown>) => {
		const { content } = await client.callTool({ name, arguments: input });
		return (content as { text: string }[])[0]!.text;
	};
	const bash = (command: string) => text("run_bash", { command, timeout_seconds: 60 });
	const shown = async () => (JSON.parse(await text("get_process_output", { process_id: "bash" })) as Output).output;
	await bash("true");
	const lost = bash("echo begun; read -t 3 < <(sleep 9); echo over");
	await until(shown, (output) => /^begun$/m.test(output));
	process.kill((await line.json(["daemon", "status"])).pid as number, "SIGKILL");
	expect(await lost).toContain(
		'The command may have been run, and your bash goes on: `get_process_output` with process_id "bash" shows what it printed, and the next `run_bash` waits until it has ended.',
	);
	expect(await shown()).toMatch(/^begun$/m);
	expect(JSON.parse(await bash("echo after"))).toMatchObject({ stdout: "after\n" });
	expect(await shown()).toMatch(/^begun\nover\n/m);
	await client.close();
});
