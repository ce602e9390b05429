// R4.10, R4.4 and R4.6, through the daemon's terminal tools.

import { afterAll, beforeAll, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { until } from "../condition.ts";
import { Dialect } from "./dialect.ts";

interface Card {
	terminal_id: string;
	name: string;
	cmd: string;
	cwd: string;
	state: string;
	pid: number;
	exit_code: number | null;
	bytes_out: number;
	lines_out: number;
	last_line: string;
	text: string;
}

let pty: Dialect;
beforeAll(async () => {
	pty = await Dialect.open();
});
afterAll(() => pty[Symbol.asyncDispose]());

const capture = (terminal_id: string, isRight: (card: Card) => boolean, more: object = {}) =>
	pty.until<Card>("pty_capture", { terminal_id, ...more }, isRight);

test.each([
	[
		"pty_create",
		["cmd"],
		{ cwd: undefined, env: undefined, name: undefined, cols: 120, rows: 40, inherit: undefined, limits: undefined },
	],
	["pty_send_keys", ["terminal_id", "keys"], { enter: true }],
	[
		"pty_capture",
		["terminal_id"],
		{ lines: 50, tail: true, skip: undefined, from: undefined, to: undefined, column: undefined },
	],
	["pty_kill", ["terminal_id"], { signal: "TERM" }],
	["pty_list", undefined, { state: undefined }],
])("R4.10 %s has its parameters and defaults", async (tool, required, defaults) => {
	const schema = await pty.schema("pty", tool);
	expect(schema.required).toEqual(required);
	expect(Object.keys(schema.properties).sort()).toEqual([...(required ?? []), ...Object.keys(defaults)].sort());
	for (const [name, value] of Object.entries(defaults)) expect(schema.properties[name]?.default).toEqual(value);
});

test("R4.10 keys: a list in a string is pressed, a key's name alone is typed, with a word about it", async () => {
	const { terminal_id } = await pty.call("pty_create", {
		cmd: "trap 'echo interrupted' INT; while read -r x; do echo got $x; done; cat",
	});
	const send = (keys: string | string[], enter: boolean) => pty.call("pty_send_keys", { terminal_id, keys, enter });
	const shows = (text: string) => pty.until("pty_capture", { terminal_id }, (card) => String(card.text).includes(text));
	expect(await send('["a", "b"]', true)).toEqual({ terminal_id, bytes_written: 11 });
	await shows('got ["a", "b"]');
	expect(await send("ctrl+c", true)).toEqual({
		terminal_id,
		bytes_written: 7,
		notices: ['"ctrl+c" was typed as text; keys: ["ctrl+c"] with enter: false presses the key'],
	});
	await shows("got ctrl+c");
	expect(await send('["ctrl+c"]', false)).toEqual({ terminal_id, bytes_written: 1 });
	await shows("interrupted");
	expect(await send("[unclosed", true)).toEqual({ terminal_id, bytes_written: 10 });
	await pty.call("pty_kill", { terminal_id, signal: "KILL" });
});

test("R4.10 a terminal is created, typed into, read and killed", async () => {
	const made = await pty.call<Card>("pty_create", {
		cmd: "PS1='> ' bash --norc",
		cwd: "/usr",
		env: { WORD: "kept" },
		name: "mine",
	});
	expect(made).toMatchObject({
		name: "mine",
		cmd: "PS1='> ' bash --norc",
		cwd: "/usr",
		state: "running",
	});
	const { terminal_id } = made;
	await capture(terminal_id, ({ text }) => /^>/m.test(text));
	await pty.call("pty_send_keys", { terminal_id, keys: "echo $WORD $PWD $(stty size)" });
	expect((await capture(terminal_id, ({ text }) => /^kept/m.test(text))).text).toContain("kept /usr 40 120");
	await pty.call("pty_send_keys", { terminal_id, keys: "echo no enter", enter: false });
	await pty.call("pty_send_keys", { terminal_id, keys: ["ctrl+u"], enter: false });
	await pty.call("pty_send_keys", { terminal_id, keys: "seq 1 200" });
	expect((await capture(terminal_id, ({ text }) => /^200\n>/m.test(text), { lines: 3 })).text).toMatch(
		/^199\n200\n> ?$/,
	);
	expect((await pty.call<Card>("pty_capture", { terminal_id, lines: 1, tail: false })).text).toMatch(/^> echo/);
	const killed = await pty.call<Card>("pty_kill", { terminal_id });
	expect(killed.state).toBe("cancelled");
	expect(await pty.call("pty_kill", { terminal_id })).toMatchObject({ state: "cancelled" });
	expect((await pty.call<Card>("pty_capture", { terminal_id })).text).toContain("200");
});

test("R4.10 INT is a Ctrl+C for the program in front, and the terminal stays", async () => {
	const { terminal_id } = await pty.call<Card>("pty_create", { cmd: "PS1='> ' bash --norc" });
	await capture(terminal_id, ({ text }) => /^>/m.test(text));
	await pty.call("pty_send_keys", { terminal_id, keys: "sh -c 'echo go; exec sleep 600'" });
	await capture(terminal_id, ({ text }) => /^go$/m.test(text));
	await pty.call("pty_kill", { terminal_id, signal: "INT" });
	await pty.call("pty_send_keys", { terminal_id, keys: "echo status $?" });
	await capture(terminal_id, ({ text }) => /^status 130$/m.test(text));
	expect(await pty.call("pty_kill", { terminal_id, signal: "KILL" })).toMatchObject({ state: "cancelled" });
});

test("R4.5 R4.6 states and records", async () => {
	const well = await pty.call<Card>("pty_create", { cmd: "echo last words" });
	const badly = await pty.call<Card>("pty_create", { cmd: "exit 3" });
	expect(await capture(well.terminal_id, ({ state }) => state !== "running")).toMatchObject({
		state: "succeeded",
		exit_code: 0,
		lines_out: 1,
		bytes_out: 12,
	});
	expect(await capture(badly.terminal_id, ({ state }) => state !== "running")).toMatchObject({
		state: "failed",
		exit_code: 3,
	});
	const terminals = await pty.call<Card[]>("pty_list", { state: "failed" });
	expect(terminals.map(({ terminal_id }) => terminal_id)).toContain(badly.terminal_id);
	expect(terminals.map(({ terminal_id }) => terminal_id)).not.toContain(well.terminal_id);
	expect((await pty.call<Card[]>("pty_list")).length).toBeGreaterThanOrEqual(4);
});

test("S15: a terminal that ended long ago is read and ended again like any other", async () => {
	await using small = await Dialtone.open({ options: { rememberEnded: 1, evictMs: 1 } });
	const call = async (tool: string, input: object) => (await small.client.call(tool, input)).facts as unknown as Card;
	const { terminal_id } = await call("pty_create", { cmd: "echo old" });
	const isListed = async () => (await small.list()).sessions.some(({ session }) => session === terminal_id);
	for (const _ of [1, 2]) await small.start({ argv: ["true"], timeoutMs: 30_000 });
	await until("it is not listed any more", async () => !(await isListed()));
	expect(await call("pty_capture", { terminal_id })).toMatchObject({ terminal_id, text: "old", state: "succeeded" });
	expect(await call("pty_kill", { terminal_id })).toMatchObject({ terminal_id, state: "succeeded" });
});
