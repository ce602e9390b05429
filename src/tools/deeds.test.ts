import { expect, test } from "vitest";
import { catalogue } from "./catalogue.ts";
import { TOOL_SETS } from "./client.ts";
import { askedOf, DEEDS } from "./deeds.ts";
import type { Tool } from "./tool.ts";

const tools: readonly Tool[] = TOOL_SETS.flatMap((set): readonly Tool[] => catalogue[set]);
const acting = tools.filter(({ effect }) => effect !== "reads" && effect !== "asks");

test("every tool of every set that does more than read says what it does (R4.14)", () => {
	expect(Object.keys(DEEDS).sort()).toEqual([...new Set(acting.map(({ name }) => name))].sort());
});

test("a command is the same in every set (R4.14)", () => {
	const runs = { command: "git push", cmd: "git push" };
	const running = [
		"start",
		"run",
		"unified_exec",
		"exec_command",
		"pty_create",
		"run_bash",
		"start_background_process",
	];
	for (const name of running) {
		const found = acting.find((tool) => tool.name === name)!;
		expect(askedOf(found, runs)).toMatchObject({ command: "git push" });
	}
});

test("what is typed is the same in every set (R4.14)", () => {
	const of = (name: string, input: object) => askedOf(acting.find((tool) => tool.name === name)!, input)?.typed;
	expect(of("send", { session: "a", text: "x", submit: true })).toEqual({ text: "x", submit: true, keys: [] });
	expect(of("write_stdin", { session_id: 1000, chars: "x\n" })).toEqual({ text: "x\n", submit: false, keys: [] });
	expect(of("pty_send_keys", { terminal_id: "a", keys: "x", enter: true })).toMatchObject({ text: "x", submit: true });
	expect(of("pty_send_keys", { terminal_id: "a", keys: ["x"], enter: true })?.keys).toEqual(["x", "enter"]);
});
