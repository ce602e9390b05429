// What a set numbers belongs to the caller that opened it.

import { expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import type { Options } from "../../src/session/options.ts";

async function twoAgents(options: Partial<Options> = {}) {
	const dialtone = await Dialtone.open({ owner: "first", options });
	const { env } = process;
	const agent = (owner: string) => {
		const caller = { owner, cwd: "/", env: { PATH: env.PATH ?? "" } };
		return async (tool: string, input: object) =>
			(await dialtone.client.call(tool, input, { caller })).facts as Record<string, unknown>;
	};
	return { dialtone, first: agent("first"), second: agent("second") };
}

test("R5.2 D6: background processes are numbered for each agent, and another's cannot be read or stopped", async () => {
	const { dialtone, first, second } = await twoAgents();
	await using _ = dialtone;
	const start = { command: "echo $OWNER; exec sleep 600" };
	expect(await first("start_background_process", { ...start, env: { OWNER: "first" } })).toEqual({
		process_id: "bg_001",
		status: "started",
	});
	await expect(second("get_process_output", { process_id: "bg_001" })).rejects.toMatchObject({
		code: "session_not_found",
		next: "No process is open: call `start_background_process`.",
	});
	await expect(second("stop_background_process", { process_id: "bg_001" })).rejects.toMatchObject({
		code: "session_not_found",
	});
	expect(await second("start_background_process", { ...start, env: { OWNER: "second" } })).toEqual({
		process_id: "bg_001",
		status: "started",
	});
	expect(await second("stop_background_process", { process_id: "bg_001" })).toEqual({
		process_id: "bg_001",
		status: "stopped",
	});
	expect(await second("get_process_output", { process_id: "bg_001" })).toMatchObject({
		output: "second",
		is_running: false,
	});
	expect(await first("get_process_output", { process_id: "bg_001" })).toMatchObject({ is_running: true });
	expect(await first("start_background_process", start)).toMatchObject({ process_id: "bg_002" });
	await expect(first("get_process_output", { process_id: "bg_009" })).rejects.toMatchObject({
		next: expect.stringMatching(/^Open processes: bg_00[12], bg_00[12]\.$/),
	});
});

test("D6: Codex' session numbers are each agent's own, too", async () => {
	const { dialtone, first, second } = await twoAgents();
	await using _ = dialtone;
	const ask = { cmd: "read x; echo got $x", shell: "/bin/bash", login: false };
	expect(await first("exec_command", ask)).toMatchObject({ session_id: 1000 });
	await expect(second("write_stdin", { session_id: 1000, chars: "theirs\n" })).rejects.toMatchObject({
		code: "session_not_found",
	});
	expect(await second("exec_command", ask)).toMatchObject({ session_id: 1000 });
	const answer = async (agent: typeof first, chars: string) =>
		(await agent("write_stdin", { session_id: 1000, chars, yield_time_ms: 20_000 })).output;
	expect(await answer(first, "one\n")).toContain("got one");
	expect(await answer(second, "two\n")).toContain("got two");
});

const WAITS = { cmd: "exec sleep 600", shell: "/bin/bash", login: false, yield_time_ms: 250 };

/** Each set's start of something that stays, and the shape in which it refuses. */
const STARTS = [
	["start", { argv: ["sleep", "600"], timeoutMs: 10 }],
	["unified_exec", WAITS],
	["exec_command", WAITS],
	["pty_create", { cmd: "exec sleep 600" }],
	["start_background_process", { command: "exec sleep 600" }],
] as const;

const said = async (answer: Promise<Record<string, unknown>>): Promise<string> =>
	JSON.stringify(await answer.catch(({ code, message, next }) => ({ code, message, next })));

test.each(STARTS)("T13: at the limit of all, %s names no session of another owner", async (tool, input) => {
	const { dialtone, first, second } = await twoAgents({ maxSessions: 2 });
	await using _ = dialtone;
	const theirs = (await first("start", { argv: ["sleep", "600"], name: "private", timeoutMs: 10 })).session;
	await first("start", { argv: ["sleep", "600"], name: "hidden", timeoutMs: 10 });
	const refused = await said(second(tool, input));
	expect(refused).toContain("too_many_sessions");
	expect(refused).toContain(
		"You have none that you can end here: call again when one has ended. 2 belong to other callers.",
	);
	for (const name of ["private", "hidden", String(theirs)]) expect(refused).not.toContain(name);
});

test("T13 D3: a set names at the limit only what its callers can write", async () => {
	const { dialtone, first } = await twoAgents({ maxSessions: 3 });
	await using _ = dialtone;
	await first("start", { argv: ["sleep", "600"], name: "native-one", timeoutMs: 10 });
	expect(await first("exec_command", WAITS)).toMatchObject({ session_id: 1000 });
	await first("start_background_process", { command: "exec sleep 600" });
	const end = '`write_stdin` with "\\\\u0003"'.replaceAll('"', '\\"');
	expect(await said(first("exec_command", WAITS))).toContain(
		`End one you no longer need with ${end}. Open sessions: 1000.`,
	);
	expect(await said(first("start_background_process", { command: "true" }))).toContain("Open processes: bg_001.");
});

test("T13 D4: another owner's number is not found, and nothing of its state is told", async () => {
	const { dialtone, first, second } = await twoAgents();
	await using _ = dialtone;
	expect(await first("exec_command", { ...WAITS, cmd: "sleep 1", yield_time_ms: 250 })).toMatchObject({
		session_id: 1000,
	});
	expect(await first("write_stdin", { session_id: 1000, chars: "", yield_time_ms: 20_000 })).toMatchObject({
		exit_code: 0,
	});
	for (const chars of ["", "x"])
		await expect(second("write_stdin", { session_id: 1000, chars })).rejects.toMatchObject({
			code: "session_not_found",
			next: "No session is open: call `exec_command`.",
		});
	// In the set whose refusals are results.
	expect(await second("close_pty_session", { session_id: "1000" })).toMatchObject({
		success: false,
		running: false,
		exit_code: null,
		error: { code: "session_not_found" },
	});
});

test("T13: where it is not known who asks, nobody's sessions are named", async () => {
	const { dialtone, first } = await twoAgents();
	await using _ = dialtone;
	await first("start", { argv: ["sleep", "600"], name: "private", timeoutMs: 10 });
	await expect(dialtone.client.snapshot("nobody")).rejects.toMatchObject({
		code: "session_not_found",
		next: "`list` shows what there is.",
	});
});
