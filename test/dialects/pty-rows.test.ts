// R4.10 and R4.13, field by field: the facts, and the same in what MCP shows a model.

import { chmodSync } from "node:fs";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CommandLine, MAIN } from "../cli/command-line.ts";
import { until, WAYS, type Way } from "./ways.ts";

interface Captured {
	terminal_id: string;
	text: string;
	bytes_out: number;
	lines_out: number;
	truncated: boolean;
	state: string;
	exit_code: number | null;
}
interface Failed {
	error: string;
	code: string;
}

describe.each(Object.entries(WAYS))("%s", (way, open) => {
	let pty: Way;
	beforeAll(async () => {
		pty = await open("pty", { DIALTONE_PARENT: "conversation-7" });
	});
	afterAll(() => pty[Symbol.asyncDispose]());

	const create = async (cmd: string, more: object = {}) =>
		(await pty.call<{ terminal_id: string }>("pty_create", { cmd, ...more })).terminal_id;
	const capture = (terminal_id: string, isRight: (captured: Captured) => boolean, more: object = {}) =>
		until(() => pty.call<Captured>("pty_capture", { terminal_id, ...more }), isRight);
	const ended = (terminal_id: string, more: object = {}) =>
		capture(terminal_id, ({ state }) => state !== "running" && state !== "starting", more);

	test("R4.13 D2 pty_create → {terminal_id, pid, started_at, cmd}", async () => {
		const before = Date.now();
		const made = await pty.call("pty_create", { cmd: "exec sleep 600", cwd: "/usr" });
		expect(made).toMatchObject({ terminal_id: expect.any(String), pid: expect.any(Number), cmd: "exec sleep 600" });
		expect(made.started_at).toBeGreaterThanOrEqual(before);
		expect(made.started_at).toBeLessThanOrEqual(Date.now());
		await pty.call("pty_kill", { terminal_id: made.terminal_id, signal: "KILL" });
	});

	test.each([
		["an empty command", "pty_create", { cmd: "" }, "bad_input"],
		["a blank command", "pty_create", { cmd: "  \t" }, "bad_input"],
		["no command", "pty_create", {}, "bad_input"],
		["a directory that is not there", "pty_create", { cmd: "true", cwd: "/no/such" }, "spawn_failed"],
		["keys for an unknown terminal", "pty_send_keys", { terminal_id: "nobody", keys: "x" }, "session_not_found"],
		["a key that does not exist", "pty_send_keys", { terminal_id: "nobody", keys: ["nokey"] }, "session_not_found"],
		["a look at an unknown terminal", "pty_capture", { terminal_id: "nobody" }, "session_not_found"],
		["a signal that is not one of the three", "pty_kill", { terminal_id: "nobody", signal: "HUP" }, "bad_input"],
		["killing an unknown terminal", "pty_kill", { terminal_id: "nobody" }, "session_not_found"],
		["a state that does not exist", "pty_list", { state: "asleep" }, "bad_input"],
	])("R4.13 failure → {error}: %s", async (_, tool, input, code) => {
		const failed = await pty.call<Failed>(tool, input);
		expect(failed).toEqual({ error: expect.any(String), code });
		// Other sets' tools; `signal` is a field of pty_kill.
		expect(failed.error).not.toMatch(/`(start|send|read|wait|close)`|`signal` (?!must)/);
	});

	test("R4.13 D2 pty_send_keys → {terminal_id, bytes_written}, 0 when it ended", async () => {
		const terminal_id = await create("cat");
		const send = (input: object) => pty.call("pty_send_keys", { terminal_id, ...input });
		expect(await send({ keys: "héllo" })).toEqual({ terminal_id, bytes_written: 7 });
		// On a busy machine cat would read the next line, too, before it has answered this one.
		await capture(terminal_id, ({ text }) => text === "héllo\nhéllo");
		expect(await send({ keys: "ab", enter: false })).toEqual({ terminal_id, bytes_written: 2 });
		expect(await send({ keys: ["enter"], enter: false })).toEqual({ terminal_id, bytes_written: 1 });
		await capture(terminal_id, ({ text }) => text === "héllo\nhéllo\nab\nab");
		expect(await send({ keys: ["ctrl+d"], enter: false })).toEqual({ terminal_id, bytes_written: 1 });
		await ended(terminal_id);
		expect(await send({ keys: "x" })).toEqual({ terminal_id, bytes_written: 0 });
	});

	test("R4.13 D2 pty_capture → text and figures; lines: 0 gives none, tail: false the first", async () => {
		const terminal_id = await create("seq 1 60; exit 3");
		const figures = { bytes_out: 231, lines_out: 60, truncated: false, state: "failed", exit_code: 3 };
		const all = Array.from({ length: 60 }, (_, i) => String(i + 1));
		expect(await ended(terminal_id)).toEqual({ terminal_id, text: all.slice(-50).join("\n"), ...figures });
		for (const [more, lines] of [
			[{ lines: 3 }, all.slice(-3)],
			[{ lines: 3, tail: false }, all.slice(0, 3)],
			[{ lines: 0 }, []],
			[{ lines: 0, tail: false }, []],
			[{ lines: 1000 }, all],
		] as const)
			expect(await ended(terminal_id, more)).toEqual({ terminal_id, text: lines.join("\n"), ...figures });
	});

	test("R4.13 D2 pty_capture of a full-screen program shows rows of its screen", async () => {
		const terminal_id = await create("printf '\\033[?1049h\\033[Htop\\033[5;1Hfive'; exec sleep 600", { rows: 6 });
		await capture(terminal_id, ({ text }) => text.includes("five"));
		expect((await capture(terminal_id, () => true, { lines: 1, tail: false })).text).toBe("top");
		expect((await capture(terminal_id, () => true, { lines: 0 })).text).toBe("");
		await pty.call("pty_kill", { terminal_id, signal: "KILL" });
	});

	test.each([
		["TERM", "term", 143],
		["TERM", "SIGTERM", 143],
		["TERM", undefined, 143],
		["KILL", "Kill", 137],
	])(
		"R4.13 D2 pty_kill → {terminal_id, state, exit_code, signal}: %s as %s, safe to repeat",
		async (signal, given, code) => {
			const terminal_id = await create("exec sleep 600");
			const kill = () => pty.call("pty_kill", given === undefined ? { terminal_id } : { terminal_id, signal: given });
			const killed = { terminal_id, state: "cancelled", exit_code: code, signal };
			expect(await kill()).toEqual(killed);
			expect(await kill()).toEqual(killed);
		},
	);

	test("R4.10 INT is a Ctrl+C for the program in front, in any case, and the terminal stays", async () => {
		const terminal_id = await create("PS1='> ' exec bash --norc");
		await capture(terminal_id, ({ text }) => /^>/m.test(text));
		await pty.call("pty_send_keys", { terminal_id, keys: "sh -c 'echo go; exec sleep 600'" });
		await capture(terminal_id, ({ text }) => /^go$/m.test(text));
		expect(await pty.call("pty_kill", { terminal_id, signal: "sigint" })).toEqual({
			terminal_id,
			state: "running",
			exit_code: null,
			signal: "INT",
		});
		await pty.call("pty_send_keys", { terminal_id, keys: "echo status $?" });
		await capture(terminal_id, ({ text }) => /^status 130$/m.test(text));
		await pty.call("pty_kill", { terminal_id, signal: "KILL" });
	});

	test("R4.13 D2 pty_list → a list of cards with parent_session_id; a failed spawn says why in last_line", async () => {
		const terminal_id = await create("echo last words; exit 3", { name: `card-${way}` });
		await ended(terminal_id);
		await pty.call("pty_create", { cmd: "true", cwd: "/no/such", name: "unborn" });
		const cards = await pty.call<Record<string, unknown>[]>("pty_list", { state: "failed" });
		expect(Array.isArray(cards)).toBe(true);
		expect(cards.find((card) => card.terminal_id === terminal_id)).toEqual({
			terminal_id,
			name: `card-${way}`,
			cmd: "echo last words; exit 3",
			cwd: expect.any(String),
			state: "failed",
			is_running: false,
			pid: expect.any(Number),
			exit_code: 3,
			created_at: expect.any(Number),
			updated_at: expect.any(Number),
			resolved_at: expect.any(Number),
			bytes_out: 12,
			lines_out: 1,
			last_line: "last words",
			truncated: false,
			parent_session_id: way === "MCP" ? "conversation-7" : null,
			owner: expect.stringMatching(/./),
		});
		const unborn = cards.find((card) => card.name === "unborn");
		expect(unborn).toMatchObject({ state: "failed", pid: null, exit_code: null });
		expect(unborn?.last_line).toMatch(/No such file|no such|not exist/i);
		expect(await pty.call("pty_list", { state: "succeeded" })).not.toContainEqual(
			expect.objectContaining({ terminal_id }),
		);
	});
});

test("R4.10 where no daemon can be reached the answer is a friendly {error}", async () => {
	await using line = new CommandLine();
	// Refused as a home: others could have written in it.
	chmodSync(line.home, 0o777);
	const client = new Client({ name: "sets", version: "1" });
	const args = [MAIN, "mcp", "--tools", "pty"];
	await client.connect(new StdioClientTransport({ command: process.execPath, args, env: { ...line.env } }));
	try {
		for (const [name, input] of [
			["pty_create", { cmd: "true" }],
			["pty_list", {}],
		] as const) {
			const { content } = await client.callTool({ name, arguments: input });
			const failed = JSON.parse((content as { text: string }[])[0]!.text) as Failed;
			expect(failed).toEqual({ error: expect.stringContaining(line.home), code: "unsafe_home" });
		}
	} finally {
		await client.close();
		chmodSync(line.home, 0o700);
	}
});
