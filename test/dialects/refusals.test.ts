// X2 for the tool sets: a refusal keeps its fault's code on every way in, in the shape of the set.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CommandLine } from "../cli/command-line.ts";
import { SURFACES, type Surface } from "../contract/surfaces.ts";
import { Refused, RefusedInShape } from "../contract/turn.ts";

const WITH_FACTS = ["in this process", "the daemon's socket", "the command line", "HTTP"];

/** Where each set has the code. */
const CODE: Readonly<Record<string, (facts: Record<string, unknown>) => unknown>> = {
	exec: ({ error }) => (error as { code: string }).code,
	pty: ({ code }) => code,
};

describe.each(WITH_FACTS)("%s", (name) => {
	let surface: Surface;
	beforeAll(async () => {
		surface = await SURFACES[name]!();
	});
	afterAll(() => surface.close());

	test.each([
		["exec", "unified_exec", { cmd: "" }, "bad_input"],
		["exec", "unified_exec", { cmd: "true", workdir: "/no/such" }, "spawn_failed"],
		["exec", "write_stdin", { session_id: "nobody" }, "session_not_found"],
		["exec", "close_pty_session", { session_id: "nobody" }, "session_not_found"],
		["pty", "pty_create", { cmd: "" }, "bad_input"],
		["pty", "pty_capture", { terminal_id: "nobody" }, "session_not_found"],
	])("X2: a refusal of %s is a result with its code: %s %j", async (set, tool, input, code) => {
		const refusal = await surface.call(tool, input).then(
			() => null,
			(error: unknown) => error,
		);
		expect(refusal).toBeInstanceOf(RefusedInShape);
		expect(CODE[set]!((refusal as RefusedInShape).facts as Record<string, unknown>)).toBe(code);
	});

	test.each([
		["codex", "exec_command", { cmd: "" }, "bad_input", /Correct/],
		["codex", "write_stdin", { session_id: 4711, chars: "x" }, "session_not_found", /`exec_command`/],
		["terminal", "run_bash", { command: "" }, "bad_input", /Correct/],
		["terminal", "get_process_output", { process_id: "bg_999" }, "session_not_found", /`start_background_process`/],
	])(
		"X2: a refusal of %s is a fault with its code, in the words of the set: %s %j",
		async (_, tool, input, code, next) => {
			const refusal = await surface.call(tool, input).then(
				() => null,
				(error: unknown) => error,
			);
			expect(refusal).toBeInstanceOf(Refused);
			expect((refusal as Refused).code).toBe(code);
			expect((refusal as Refused).next).toMatch(next);
		},
	);
});

test.each([
	["unified_exec", { cmd: "" }, 2],
	["write_stdin", { session_id: "nobody" }, 3],
	["pty_capture", { terminal_id: "nobody" }, 3],
	["pty_list", {}, 0],
])("`dialtone call` exits with the code of a refusal that is a result: %s %j", async (tool, input, code) => {
	await using line = new CommandLine();
	const called = await line.run(["call", tool, JSON.stringify(input)]);
	expect(called.code).toBe(code);
	expect(JSON.parse(called.out)).toBeTypeOf("object");
});
