// What a set numbers belongs to the caller that opened it.

import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { limits, type Options } from "../../src/session/options.ts";

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
	expect(refused).toContain("None of them is yours to end; retry later. 2 belong to other callers.");
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

test("T13: in every set, what is done to another's session says whose it is", async () => {
	const { dialtone, first, second } = await twoAgents();
	await using _ = dialtone;
	const { session } = await first("start", { argv: ["cat"] });
	const told = (noun: string) => ({ notices: [`this ${noun} belongs to first`] });
	const calls = [
		["write_stdin", { session_id: session, chars: "x\n" }, "session"],
		["write_stdin", { session_id: session, from: 1 }, "session"],
		["pty_send_keys", { terminal_id: session, keys: "x" }, "terminal"],
		["pty_capture", { terminal_id: session }, "terminal"],
		["get_process_output", { process_id: session }, "process"],
		["pty_kill", { terminal_id: session, signal: "INT" }, "terminal"],
		["close_pty_session", { session_id: session }, "session"],
	] as const;
	for (const [tool, input, noun] of calls) expect(await second(tool, input), tool).toMatchObject(told(noun));
	for (const [tool, input] of calls) expect(await first(tool, input), tool).not.toHaveProperty("notices");
	const caller = { owner: "second", cwd: "/", env: {} };
	const { text } = await dialtone.client.call("pty_capture", { terminal_id: String(session) }, { caller });
	expect(text).toContain("this terminal belongs to first");
});

interface Card {
	readonly terminal_id: string;
	readonly owner: string;
	readonly is_running: boolean;
	readonly left_out?: number;
}

test("R4.13: pty_list shows what runs and the last of the caller's that ended, and says how many more there are", async () => {
	const { dialtone, first, second } = await twoAgents();
	await using _ = dialtone;
	const list = async (agent: typeof first, input: object = {}) =>
		(await agent("pty_list", input)) as unknown as readonly Card[];
	const server = await first("pty_create", { cmd: "exec sleep 600" });
	for (let i = 0; i < 8; i++) await first("start", { argv: ["true"] });
	const own = await second("start", { argv: ["true"] });
	const theirs = await list(second);
	expect(theirs.map(({ terminal_id, owner }) => [terminal_id, owner])).toEqual([
		[own.session, "second"],
		[server.terminal_id, "first"],
	]);
	expect(theirs.map(({ left_out }) => left_out)).toEqual([undefined, 8]);
	const firsts = await list(first);
	expect(firsts.map(({ is_running }) => is_running)).toEqual([false, false, false, false, false, true]);
	expect(firsts.at(-1)).toMatchObject({ terminal_id: server.terminal_id, left_out: 4 });
	const ended = await list(second, { state: "succeeded" });
	expect(ended).toHaveLength(9);
	expect(ended.at(-1)).not.toHaveProperty("left_out");
});

test("R4.13 T3: a list of many terminals is no longer than an answer, and has the caller's own first", async () => {
	const { dialtone, first, second } = await twoAgents({ maxSessions: 200 });
	await using _ = dialtone;
	const long = `: ${"word ".repeat(180)}`;
	const own = await second("start", { argv: ["true", long] });
	for (let i = 0; i < 40; i++) await first("start", { argv: ["true", long] });
	const caller = { owner: "second", cwd: "/", env: {} };
	const { facts, text } = await dialtone.client.call("pty_list", { state: "succeeded" }, { caller });
	const cards = facts as unknown as readonly Card[];
	expect(encode(text).length).toBeLessThan(limits.answerTokens);
	expect(cards.length).toBeGreaterThan(10);
	expect(cards.at(-1)).toMatchObject({ terminal_id: own.session, left_out: 41 - cards.length });
	const listed = await first("list_pty_sessions", {});
	expect(listed).toMatchObject({ left_out: 40 - (listed.sessions as readonly unknown[]).length });
});
