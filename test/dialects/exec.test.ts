// R2, row by row.

import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { needing } from "../programs.ts";
import { Dialect } from "./dialect.ts";

interface Result {
	success: boolean;
	session_id: string;
	output: string;
	running: boolean;
	exit_code: number | null;
	truncated: boolean;
	error?: { code: string; message: string };
}

let exec: Dialect;
beforeAll(async () => {
	exec = await Dialect.open();
});
afterAll(() => exec[Symbol.asyncDispose]());

const FIELDS = ["exit_code", "output", "running", "session_id", "success", "truncated"];
const start = (cmd: string, more: object = {}) =>
	exec.call<Result>("unified_exec", { cmd, shell: "/bin/bash", yield_time_ms: 10_000, ...more });
const type = (session_id: string, chars: string, more: object = {}) =>
	exec.call<Result>("write_stdin", { session_id, chars, yield_time_ms: 10_000, ...more });
/** Starts a command that says `ready` when its traps are set, and waits for that. */
async function ready(cmd: string): Promise<string> {
	const { session_id, output } = await start(cmd, { yield_time_ms: 50 });
	if (!output.includes("ready"))
		await exec.until<Result>("write_stdin", { session_id }, (result) => result.output.includes("ready"));
	return session_id;
}

describe("R2.1–R2.4 names, parameters and defaults", () => {
	test.each([
		[
			"unified_exec",
			["cmd"],
			{ workdir: undefined, shell: undefined, login: false, yield_time_ms: 100, max_output_tokens: 10_000 },
		],
		["write_stdin", ["session_id"], { chars: "", yield_time_ms: 100, max_output_tokens: 10_000 }],
		["close_pty_session", ["session_id"], { force: false }],
		["list_pty_sessions", undefined, {}],
	])("%s", async (tool, required, defaults) => {
		const schema = await exec.schema("exec", tool);
		expect(schema.required).toEqual(required);
		for (const [name, value] of Object.entries(defaults)) {
			expect(schema.properties).toHaveProperty(name);
			expect(schema.properties[name]?.default).toEqual(value);
		}
	});
});

test("R2.1 a command that ends at once answers with its output and code", async () => {
	const result = await start("echo hello; exit 3");
	expect(result).toMatchObject({ success: true, output: "hello", running: false, exit_code: 3, truncated: false });
	expect(Object.keys(result).sort()).toEqual(FIELDS);
});

test("R2.1 the shell, the directory and login are the caller's to choose", async () => {
	expect((await start("pwd", { workdir: "/usr" })).output).toBe("/usr");
	expect((await start("echo $0", { shell: "/bin/sh" })).output).toBe("/bin/sh");
	expect((await start("shopt -q login_shell && echo login", { login: true })).output).toBe("login");
	expect((await start("shopt -q login_shell || echo plain")).output).toBe("plain");
});

test("R2.1 yield_time_ms gives control back while the command goes on", async () => {
	const result = await start("echo one; sleep 1; echo two; sleep 600", { yield_time_ms: 200 });
	expect(result).toMatchObject({ success: true, running: true, exit_code: null, output: "one" });
	const more = await exec.until<Result>(
		"write_stdin",
		{ session_id: result.session_id },
		({ output }) => output !== "",
	);
	expect(more).toMatchObject({ output: "two", running: true });
	expect(await exec.call("close_pty_session", { session_id: result.session_id, force: true })).toMatchObject({
		success: true,
		running: false,
	});
});

test("R2.2 write_stdin converses with a program", needing("python3"), async () => {
	const { session_id, output } = await start("python3 -q");
	expect(output).toContain(">>>");
	expect((await type(session_id, "x = 6 * 7\n")).running).toBe(true);
	expect((await type(session_id, "print(x)\n")).output).toContain("42");
	const ended = await type(session_id, "import sys; sys.exit(5)\n");
	expect(ended).toMatchObject({ running: false, exit_code: 5 });
});

test("R3.4 a Ctrl+C byte interrupts the program in front", async () => {
	const session_id = await ready("trap 'echo interrupted; exit 9' INT; echo ready; sleep 600");
	expect(
		await exec.until<Result>("write_stdin", { session_id, chars: "\u0003" }, ({ running }) => !running),
	).toMatchObject({ exit_code: 9 });
});

test("R2.3 close asks with TERM, kills with force, and waits for the exit", async () => {
	const polite = await ready("trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done");
	expect(await exec.call("close_pty_session", { session_id: polite })).toMatchObject({
		success: true,
		running: false,
		exit_code: 0,
	});
	const rude = await ready("trap '' TERM; echo ready; while :; do sleep 0.05; done");
	expect(await exec.call("close_pty_session", { session_id: rude, force: true })).toMatchObject({
		success: true,
		running: false,
	});
});

test("R2.4 the list has what runs and what has ended", async () => {
	const running = await start("sleep 600", { yield_time_ms: 50 });
	const { success, sessions } = await exec.call<{
		success: boolean;
		sessions: { session_id: string; running: boolean }[];
	}>("list_pty_sessions");
	expect(success).toBe(true);
	expect(sessions.find(({ session_id }) => session_id === running.session_id)).toMatchObject({
		running: true,
		cmd: "sleep 600",
	});
	expect(sessions.some((it) => !it.running)).toBe(true);
	await exec.call("close_pty_session", { session_id: running.session_id, force: true });
});

describe("R2.5 errors are results", () => {
	test.each([
		["an unknown session", "write_stdin", { session_id: "nobody", chars: "x" }, "session_not_found"],
		["closing an unknown session", "close_pty_session", { session_id: "nobody" }, "session_not_found"],
		["a shell that is not there", "unified_exec", { cmd: "true", shell: "/no/such/shell" }, "spawn_failed"],
		["a directory that is not there", "unified_exec", { cmd: "true", workdir: "/no/such/place" }, "spawn_failed"],
	])("%s", async (_, tool, input, code) => {
		const result = await exec.call<Result>(tool, input);
		expect(result).toMatchObject({ success: false, output: "", running: false, exit_code: null, error: { code } });
		expect(Object.keys(result)).toEqual(expect.arrayContaining(FIELDS));
	});

	test("a process that has ended", async () => {
		const { session_id } = await start("exit 4");
		expect(await type(session_id, "more\n")).toMatchObject({ success: false, error: { code: "session_ended" } });
		expect(await type(session_id, "")).toMatchObject({ success: true, running: false, exit_code: 4 });
	});
});

test("R2.6 output is bounded by tokens, and the cut is visible", async () => {
	const result = await start("seq 1 20000", { max_output_tokens: 100 });
	expect(result.truncated).toBe(true);
	expect(result.output.length).toBeLessThanOrEqual(400);
	expect(result.output).toContain("truncated");
	expect(result.output).toMatch(/20000$/);
});

test("R2.7 at most 10 sessions, an error that says so, and stale ones are ended", async () => {
	await using small = await Dialtone.open({ owner: "stale", options: { execIdleMs: 1000 } });
	const call = async (cmd: string) =>
		(await small.client.call("unified_exec", { cmd, shell: "/bin/bash", yield_time_ms: 0 })).facts as Result;
	const all = await Promise.all(Array.from({ length: 11 }, () => call("sleep 600")));
	expect(all.filter(({ success }) => success)).toHaveLength(10);
	expect(all.find(({ success }) => !success)?.error).toMatchObject({
		code: "too_many_sessions",
		message: expect.stringContaining("10"),
	});
	const running = async () =>
		(await small.client.call("list_pty_sessions", {})).facts.sessions.filter((it) => it.running).length;
	while ((await running()) > 0) await new Promise((resolve) => setTimeout(resolve, 50));
	expect((await call("true")).success).toBe(true);
});

test("R2.8 escapes are there where raw output is asked for, and only there", async () => {
	expect((await start("printf '\\033[31mred\\033[0m\\n'", { raw: true })).output).toBe("\x1b[31mred\x1b[0m\r\n");
	expect((await start("printf '\\033[31mred\\033[0m\\n'")).output).toBe("red");
});

test("S18: raw output that was read is not given again by the next daemon", async () => {
	const home = await mkdtemp(join(tmpdir(), "dt-"));
	const call = async (tool: string, input: object) => {
		await using dialtone = await Dialtone.open({ home, owner: "raw" });
		return (await dialtone.client.call(tool, input)).facts as unknown as Result;
	};
	const raw = { raw: true, yield_time_ms: 10_000 };
	const { session_id, output } = await call("unified_exec", { cmd: "echo first; cat", shell: "/bin/bash", ...raw });
	expect(output).toBe("first\r\n");
	expect((await call("write_stdin", { session_id, ...raw })).output).toBe("");
	expect((await call("close_pty_session", { session_id, force: true, ...raw })).running).toBe(false);
	await rm(home, { recursive: true });
});

test("R2.9 many calls on one session and many sessions at once", async () => {
	const { session_id } = await start("cat", { yield_time_ms: 200 });
	const words = Array.from({ length: 30 }, (_, i) => `word-${i}`);
	const answers = await Promise.all(words.map((word) => type(session_id, `${word}\n`, { yield_time_ms: 500 })));
	expect(answers.every(({ success }) => success)).toBe(true);
	const all = await exec.shells.dialtone.client.call("read", { session: session_id, view: "lines", lines: 200 });
	for (const word of words)
		expect((all.facts as { text: string }).text.split("\n").filter((line) => line === word)).toHaveLength(2);
	await exec.call("close_pty_session", { session_id, force: true });
	const many = await Promise.all(Array.from({ length: 8 }, (_, i) => start(`echo ${i}; exit ${i}`)));
	expect(many.map(({ output, exit_code }) => [output, exit_code])).toEqual(
		Array.from({ length: 8 }, (_, i) => [String(i), i]),
	);
});

test("R2.11 each session has its own directory and environment", async () => {
	const [a, b] = await Promise.all([
		start("cd /usr; export X=1; pwd; echo $X"),
		start("pwd; echo [$X]", { workdir: "/tmp" }),
	]);
	expect(a.output).toBe("/usr\n1");
	expect(b.output).toBe(`${await realpath("/tmp")}\n[]`);
});

describe("Codex's own contract", () => {
	test("exec_command and write_stdin: numbers, clamped times, the text that its models know", async () => {
		const schema = await exec.schema("codex", "exec_command");
		expect(Object.keys(schema.properties)).toEqual([
			"cmd",
			"workdir",
			"shell",
			"login",
			"tty",
			"yield_time_ms",
			"max_output_tokens",
			"env",
			"inherit",
			"limits",
		]);
		expect(await exec.text("exec_command", { cmd: "echo hi; exit 2", shell: "/bin/bash" })).toMatch(
			/^Wall time: \d+\.\d{4} seconds\nProcess exited with code 2\nOriginal token count: 1\nOutput:\nhi$/,
		);
		const running = await exec.text("exec_command", { cmd: "read -p 'name? ' x; echo hello $x", shell: "/bin/bash" });
		expect(running).toMatch(/\nProcess running with session ID \d+\n[\s\S]*Output:\nname\? ?$/);
		const session_id = Number(/session ID (\d+)/.exec(running)?.[1]);
		expect(await exec.text("write_stdin", { session_id, chars: "Bob\n", yield_time_ms: 5000 })).toMatch(
			/\nProcess exited with code 0\n[\s\S]*hello Bob$/,
		);
	});

	test("commands that are started at the same time have a number each", async () => {
		const cmd = { cmd: "read x", shell: "/bin/bash", login: false, yield_time_ms: 250 };
		const started = await Promise.all([1, 2, 3, 4].map(() => exec.call<{ session_id: number }>("exec_command", cmd)));
		expect(new Set(started.map(({ session_id }) => session_id)).size).toBe(4);
		for (const { session_id } of started) await exec.text("write_stdin", { session_id, chars: "\n" });
	});

	test("an unknown number is a fault, not a crash", async () => {
		await expect(exec.call("write_stdin", { session_id: 4711, chars: "x" })).rejects.toMatchObject({
			code: "session_not_found",
		});
	});
});
