// R2, field by field: the facts, and the same in what MCP shows a model.

import { realpathSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { needing } from "../programs.ts";
import { until, WAYS, type Way } from "./ways.ts";

interface Result {
	success: boolean;
	session_id: string;
	output: string;
	running: boolean;
	exit_code: number | null;
	truncated: boolean;
	error?: { code: string; message: string; next: string };
}

const FIELDS = ["exit_code", "output", "running", "session_id", "success", "truncated"];

describe.each(Object.entries(WAYS))("%s", (_, open) => {
	let exec: Way;
	beforeAll(async () => {
		exec = await open("exec");
	});
	afterAll(() => exec[Symbol.asyncDispose]());

	const start = (cmd: string, more: object = {}) =>
		exec.call<Result>("unified_exec", { cmd, shell: "/bin/bash", yield_time_ms: 20_000, ...more });
	const type = (session_id: string, chars = "", more: object = {}) =>
		exec.call<Result>("write_stdin", { session_id, chars, yield_time_ms: 20_000, ...more });
	const close = (session_id: string, force = true) => exec.call<Result>("close_pty_session", { session_id, force });

	test.each([
		["R2.1 a command that ends", "echo hello; exit 3", { output: "hello", exit_code: 3 }],
		["R2.1 a command that prints nothing", "true", { output: "", exit_code: 0 }],
	])("%s has every field and no other", async (_, cmd, expected) => {
		const result = await start(cmd);
		expect(Object.keys(result).sort()).toEqual(FIELDS);
		expect(result).toEqual({
			success: true,
			session_id: expect.any(String),
			running: false,
			truncated: false,
			...expected,
		});
	});

	test("R2.1 yield_time_ms is 100 by default: a command that goes on is told as running", async () => {
		const startedAt = performance.now();
		const result = await exec.call<Result>("unified_exec", { cmd: "echo one; exec sleep 600", shell: "/bin/bash" });
		expect(result).toMatchObject({ success: true, running: true, exit_code: null });
		expect(performance.now() - startedAt).toBeLessThan(20_000);
		await close(result.session_id);
	});

	test("R2.1 R2.11 shell, login, workdir and env are the session's own", async () => {
		expect((await start("echo $0", { shell: "/bin/sh" })).output).toBe("/bin/sh");
		expect((await start("shopt -q login_shell && echo login", { login: true })).output).toBe("login");
		const cmd = 'pwd; echo "[$WORD]"';
		expect((await start(cmd, { workdir: "/tmp", env: { WORD: "mine" } })).output).toBe(
			`${realpathSync("/tmp")}\n[mine]`,
		);
		expect((await start(cmd, { workdir: "/usr" })).output).toBe("/usr\n[]");
	});

	test("R2.2 write_stdin types and returns what came back", needing("python3"), async () => {
		const { session_id } = await start("python3 -q");
		const answer = await type(session_id, "6 * 7\n");
		expect(Object.keys(answer).sort()).toEqual(FIELDS);
		expect(answer).toMatchObject({ success: true, session_id, running: true, exit_code: null });
		expect(answer.output).toContain("42");
		expect(await type(session_id, "exit(5)\n")).toMatchObject({ success: true, running: false, exit_code: 5 });
	});

	test.each([
		["R2.3 TERM by default", false, 143],
		["R2.3 KILL with force", true, 137],
	])("%s: 128 + the signal's number, after the exit", async (_, force, exit_code) => {
		const { session_id } = await start("echo ready; exec sleep 600", { yield_time_ms: 100 });
		const closed = await close(session_id, force);
		expect(closed).toMatchObject({ success: true, session_id, running: false, exit_code });
		expect(closed.error).toBeUndefined();
	});

	test("R2.4 the list has each session with its command as it was given", async () => {
		const { session_id } = await start("exec sleep 601", { yield_time_ms: 0, workdir: "/usr" });
		const { success, sessions } = await exec.call<{ success: boolean; sessions: Record<string, unknown>[] }>(
			"list_pty_sessions",
		);
		expect(success).toBe(true);
		expect(sessions.find((one) => one.session_id === session_id)).toEqual({
			session_id,
			cmd: "exec sleep 601",
			workdir: "/usr",
			running: true,
			exit_code: null,
			pid: expect.any(Number),
			created_at: expect.any(Number),
			last_output_at: expect.any(Number),
		});
		await close(session_id);
	});

	test.each([
		["R2.5 an empty command", "unified_exec", { cmd: "" }, "bad_input", null],
		["R2.5 a blank command", "unified_exec", { cmd: " \n" }, "bad_input", null],
		["R2.5 no command", "unified_exec", {}, "bad_input", null],
		["R2.5 a yield_time_ms that is none", "unified_exec", { cmd: "true", yield_time_ms: "soon" }, "bad_input", null],
		["R2.5 an unknown session", "write_stdin", { session_id: "nobody", chars: "x" }, "session_not_found", "nobody"],
		["R2.5 closing an unknown session", "close_pty_session", { session_id: "nobody" }, "session_not_found", "nobody"],
		["R2.5 a shell that is not there", "unified_exec", { cmd: "true", shell: "/no/such/shell" }, "spawn_failed", null],
		["R2.5 a directory that is not there", "unified_exec", { cmd: "true", workdir: "/no/such" }, "spawn_failed", null],
	])("%s is a result like any other", async (_, tool, input, code, session_id) => {
		const result = await exec.call<Result>(tool, input);
		expect(Object.keys(result).sort()).toEqual([...FIELDS, "error"].sort());
		expect(result).toMatchObject({
			success: false,
			session_id,
			output: "",
			running: false,
			exit_code: null,
			truncated: false,
			error: { code },
		});
		expect(`${result.error?.message} ${result.error?.next}`).not.toMatch(/`(start|send|read|wait|close|signal|cwd)`/);
	});

	test("R2.5 a refusal says one thing once, and names what is not there", async () => {
		expect((await start("")).error?.message).toBe("Invalid input: `cmd` is empty (Shell command line).");
		expect((await start("true", { shell: "/no/such/shell" })).error).toMatchObject({
			message: '"/no/such/shell" could not be started (exec: No such file or directory).',
		});
		expect((await start("true", { workdir: "/no/such" })).error).toMatchObject({
			message: '"true" could not be started (/no/such: No such file or directory).',
			next: "Give a `workdir` that exists.",
		});
	});

	test("R2.5 R2.12 a process that has ended: why, its code, and nothing is typed", async () => {
		const { session_id } = await start("exit 4");
		const refused = await type(session_id, "more\n");
		expect(refused).toMatchObject({ success: false, session_id, running: false, exit_code: 4 });
		expect(refused.error).toMatchObject({
			code: "session_ended",
			message: `Session "${session_id}" has ended (exit code 4); nothing was typed.`,
		});
		const read = await type(session_id);
		expect(read).toMatchObject({ success: true, running: false, exit_code: 4 });
		expect(read.error).toBeUndefined();
	});

	test("R2.12 D4: a process that was killed: 128 + n, the signal's name, and no error beside a success", async () => {
		const result = await start("echo before; kill -9 $$");
		expect(result).toEqual({
			success: true,
			session_id: expect.any(String),
			output: "before",
			running: false,
			exit_code: 137,
			signal: "SIGKILL",
			truncated: false,
		});
		const typed = await type(result.session_id, "x");
		expect(typed).toMatchObject({ success: false, exit_code: 137, error: { code: "session_ended" } });
		expect(typed.error?.message).toContain("killed by SIGKILL");
	});

	test("R2.6 R2.12 a cut is marked with words that contain “truncated”", async () => {
		const result = await start("seq 1 20000", { max_output_tokens: 100 });
		expect(result.truncated).toBe(true);
		expect(result.output).toContain("truncated");
		expect(result.output.length).toBeLessThanOrEqual(400);
		expect(result.output).toMatch(/20000$/);
	});

	test("R2.8 R2.12 `raw` is asked for once, and kept by later calls on the session", async () => {
		const red = "printf '\\033[31mred\\033[0m\\n'";
		expect((await start(red)).output).toBe("red");
		const { session_id, output } = await start(`${red}; read; ${red}`, { raw: true });
		expect(output).toBe("\x1b[31mred\x1b[0m\r\n");
		const answer = await until(
			() => type(session_id, "", { yield_time_ms: 100 }),
			({ running }) => running,
		);
		expect(answer.output).toBe("");
		expect((await type(session_id, "\n")).output).toContain("\x1b[31mred\x1b[0m\r\n");
	});

	test("R2.9 calls at the same time each get their answer", async () => {
		const many = await Promise.all(Array.from({ length: 6 }, (_, i) => start(`echo ${i}; exit ${i}`)));
		expect(many.map(({ output, exit_code }) => [output, exit_code])).toEqual(
			Array.from({ length: 6 }, (_, i) => [String(i), i]),
		);
	});
});

test("R2.7 at the limit the error names what to close, by the ids that callers know", async () => {
	await using small = await Dialtone.open({ owner: "few", options: { execMaxSessions: 2 } });
	const call = async (tool: string, input: object) => (await small.client.call(tool, input)).facts as unknown as Result;
	const run = () => call("unified_exec", { cmd: "exec sleep 600", shell: "/bin/bash", yield_time_ms: 0 });
	const [first, second] = [await run(), await run()];
	const refused = await run();
	expect(refused).toMatchObject({ success: false, session_id: null, error: { code: "too_many_sessions" } });
	expect(refused.error?.message).toContain("2");
	for (const { session_id } of [first, second]) expect(refused.error?.next).toContain(session_id);
	expect(refused.error?.next).toContain("`close_pty_session`");
	await call("close_pty_session", { session_id: first.session_id, force: true });
	expect((await run()).success).toBe(true);
});

test("R2.7 R2.12 D4: an idle session is ended and says why; one that prints, or is waited on, is not", async () => {
	await using small = await Dialtone.open({ owner: "idle", options: { execIdleMs: 1500 } });
	const call = async (tool: string, input: object) => (await small.client.call(tool, input)).facts as unknown as Result;
	const run = (cmd: string) => call("unified_exec", { cmd, shell: "/bin/bash", yield_time_ms: 0 });
	const silent = await run("exec sleep 600");
	const prints = await run("while :; do echo tick; sleep 0.2; done");
	const awaited = await run("exec sleep 600");
	const waiting = small.client.call("wait", { session: awaited.session_id, timeoutMs: 60_000 });
	const stillRuns = async () => {
		const { facts } = await small.client.call("list_pty_sessions", {});
		return facts.sessions.filter(({ running }) => running).map(({ session_id }) => session_id);
	};
	await until(stillRuns, (running) => !running.includes(silent.session_id));
	const why = await call("write_stdin", { session_id: silent.session_id });
	expect(why).toMatchObject({ success: false, running: false, exit_code: 143, error: { code: "session_ended" } });
	expect(why.error?.message).toBe(`Session "${silent.session_id}" has ended (idle for 2 s; killed by SIGTERM).`);
	const typed = await call("write_stdin", { session_id: silent.session_id, chars: "x" });
	expect(typed).toMatchObject({ success: false, exit_code: 143 });
	expect(typed.error?.message).toContain("idle for 2 s");
	// It has printed all the while, for longer than an idle session lives.
	const printed = await small.client.call("wait", {
		session: prints.session_id,
		until: { text: "tick\n".repeat(10) },
		timeoutMs: 60_000,
	});
	expect(printed.facts.returned).toBe("matched");
	expect(await stillRuns()).toEqual(expect.arrayContaining([prints.session_id, awaited.session_id]));
	await call("close_pty_session", { session_id: awaited.session_id, force: true });
	await waiting;
});

test("R2.12 DIALTONE_EXEC_RAW: escapes for every call that does not say otherwise", async () => {
	await using dialtone = await Dialtone.open({ owner: "raw", options: { execRaw: 1 } });
	const input = { cmd: "printf '\\033[31mred\\033[0m\\n'", shell: "/bin/bash", yield_time_ms: 20_000 };
	const run = async (more: object) => (await dialtone.client.call("unified_exec", { ...input, ...more })).facts.output;
	expect(await run({})).toBe("\x1b[31mred\x1b[0m\r\n");
	expect(await run({ raw: false })).toBe("red");
});
