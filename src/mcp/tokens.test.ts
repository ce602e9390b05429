// What the tools cost before the first call: the list as MCP sends it, and the instructions.

import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, test } from "vitest";
import { toolCards } from "../tools/catalogue.ts";
import type { ToolSet } from "../tools/client.ts";
import { instructionsFor } from "./instructions.ts";
import { listing } from "./listing.ts";

interface Listed {
	readonly name: string;
	readonly description?: string | undefined;
	readonly inputSchema: object;
}

const tokens = (text: string) => encode(text).length;
const cost = (tools: readonly Listed[]) =>
	tools.reduce(
		(sum, { name, description, inputSchema }) => sum + tokens(JSON.stringify({ name, description, inputSchema })),
		0,
	);
const listed = (set: ToolSet) => toolCards([set]).map(listing);

type Field = readonly [name: string, type: string, description: string, fallback?: string | number | boolean];

/** A tool as its own system declares it: every parameter with its type, default and meaning. */
function original(name: string, description: string, fields: readonly Field[], required: readonly string[]): Listed {
	const properties = Object.fromEntries(
		fields.map(([field, type, meaning, fallback]) => [
			field,
			{ type, description: meaning, ...(fallback !== undefined && { default: fallback }) },
		]),
	);
	return { name, description, inputSchema: { type: "object", properties, required, additionalProperties: false } };
}

const SESSION_ID: Field = ["session_id", "string", "Identifier of the running session"];
const YIELD: Field = ["yield_time_ms", "number", "How long to wait (in milliseconds) for output before yielding", 100];
const MAX_OUTPUT: Field = [
	"max_output_tokens",
	"number",
	"Maximum number of tokens to return. Excess output will be truncated",
	10_000,
];
const TERMINAL_ID: Field = ["terminal_id", "string", "Identifier of the terminal, as returned by pty_create"];
const PROCESS_ID: Field = ["process_id", "string", "Identifier of the background process, such as bg_001"];

/** R2, R4.10 and R5 in the plainest declarations that say what their rows say. */
const ORIGINALS = {
	exec: [
		original(
			"unified_exec",
			"Runs a command in a PTY, returning output or a session ID for ongoing interaction",
			[
				["cmd", "string", "Shell command to execute"],
				["workdir", "string", "Working directory to run the command in; defaults to the current directory"],
				["shell", "string", "Shell binary to launch; defaults to $SHELL, else /bin/bash"],
				["login", "boolean", "Whether to run the shell with login semantics", false],
				YIELD,
				MAX_OUTPUT,
			],
			["cmd"],
		),
		original(
			"write_stdin",
			"Writes characters to an existing session and returns recent output",
			[SESSION_ID, ["chars", "string", "Characters to write to the terminal; may be empty to poll"], YIELD, MAX_OUTPUT],
			["session_id"],
		),
		original(
			"close_pty_session",
			"Closes a session and waits for its process to exit",
			[SESSION_ID, ["force", "boolean", "Send SIGKILL instead of SIGTERM", false]],
			["session_id"],
		),
		original("list_pty_sessions", "Lists all sessions with their commands and whether they are still running", [], []),
	],
	pty: [
		original(
			"pty_create",
			"Creates a terminal in the daemon, runs a command in it, and returns its terminal_id",
			[
				["cmd", "string", "Command to run in the terminal"],
				["cwd", "string", "Working directory of the command"],
				["env", "object", "Environment variables, merged on top of the caller's environment"],
				["name", "string", "Name shown for the terminal"],
				["cols", "integer", "Width of the terminal in columns", 120],
				["rows", "integer", "Height of the terminal in rows", 40],
			],
			["cmd"],
		),
		original(
			"pty_send_keys",
			"Types keys into a terminal, followed by Enter unless told otherwise",
			[
				TERMINAL_ID,
				["keys", "string", "Text to type into the terminal"],
				["enter", "boolean", "Whether to press Enter after the keys", true],
			],
			["terminal_id", "keys"],
		),
		original(
			"pty_capture",
			"Captures the output of a terminal as text, also after it has ended",
			[
				TERMINAL_ID,
				["lines", "integer", "How many lines to return", 50],
				["tail", "boolean", "Return the last lines; the first ones when false", true],
			],
			["terminal_id"],
		),
		original(
			"pty_kill",
			"Sends a signal to a terminal: TERM, then KILL after a grace of 2 seconds; INT is Ctrl+C for the foreground program",
			[TERMINAL_ID, ["signal", "string", "Signal to send: TERM, KILL or INT", "TERM"]],
			["terminal_id"],
		),
		original("pty_list", "Lists terminals with their state", [["state", "string", "Only terminals in this state"]], []),
	],
	terminal: [
		original(
			"run_bash",
			"Runs a command in a persistent bash shell and returns stdout, stderr and the exit code. A command that exceeds its timeout is killed",
			[
				["command", "string", "Command to execute"],
				["timeout_seconds", "number", "Maximum time in seconds that the command may take", 30],
			],
			["command"],
		),
		original(
			"start_background_process",
			"Starts a long-running command in the background and returns its process_id",
			[["command", "string", "Command to execute"]],
			["command"],
		),
		original(
			"get_process_output",
			"Returns the latest output of a background process and whether it is still running",
			[PROCESS_ID, ["lines", "integer", "How many lines of output to return", 100]],
			["process_id"],
		),
		original("stop_background_process", "Stops a background process", [PROCESS_ID], ["process_id"]),
	],
} as const satisfies Partial<Record<ToolSet, readonly Listed[]>>;

describe("T11 the tokens of the tool lists", () => {
	test("T11: the native list and its instructions are at most 1,700", () => {
		expect(cost(listed("native")) + tokens(instructionsFor(["native"]))).toBeLessThanOrEqual(1700);
	});

	test("T11: Codex' two tools are at most the 374 of their originals", () => {
		expect(cost(listed("codex"))).toBeLessThanOrEqual(374);
	});

	test.each(["exec", "pty", "terminal"] as const)(
		"T11: those of %s are at most what the plain declarations cost",
		(set) => {
			expect(cost(listed(set))).toBeLessThanOrEqual(cost(ORIGINALS[set]));
			expect(listed(set).map(({ name }) => name)).toEqual(ORIGINALS[set].map(({ name }) => name));
		},
	);

	test("T11: what is not listed is accepted, and in the schema that HTTP documents", () => {
		const hidden = (name: string) => {
			const card = toolCards().find((one) => one.name === name)!;
			const names = (schema: object) => Object.keys((schema as { properties: object }).properties);
			const shown = names(listing(card).inputSchema);
			return names(card.inputSchema).filter((field) => !shown.includes(field));
		};
		expect(hidden("send")).toEqual(["force", "ifOffset", "id", "maxTokens"]);
		expect(hidden("list")).toEqual(["since"]);
	});

	test("T11: a model that is told to use `env` has read of it", () => {
		const starting = toolCards(["native", "exec", "codex", "pty", "terminal"]).filter(
			({ effect }) => effect === "starts",
		);
		expect(starting).toHaveLength(5);
		for (const card of starting) expect(listing(card).inputSchema.properties, card.name).toHaveProperty("env");
	});

	test("T11: `until` is spelt out once", () => {
		const schemas = listed("native").map(({ inputSchema }) => JSON.stringify(inputSchema));
		expect(schemas.filter((schema) => schema.includes('"stillMs"'))).toHaveLength(1);
	});
});
