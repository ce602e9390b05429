// Codex's own exec tools: `exec_command` and `write_stdin`, with its numbers,
// its limits and the text that its models are used to.

import { z } from "zod";
import { type Clean, oneLine, safe, stacked } from "../../protocol/clean.ts";
import { exitStatus } from "../../pty/signals.ts";
import type { Session } from "../../session/session.ts";
import { cleanText, count } from "../facts.ts";
import { directory, environment, program, text } from "../fields.ts";
import { type ToolContext, tool, waitMs } from "../tool.ts";
import { command } from "./command.ts";
import { seenOutput } from "./new-output.ts";
import { findNumbered, pickNumbered } from "./numbered.ts";

const codexFacts = z.strictObject({
	output: cleanText,
	wall_time_seconds: z.number(),
	original_token_count: count,
	session_id: z.exactOptional(count).describe("Only while it runs"),
	exit_code: z.exactOptional(z.int()).describe("Only when it has ended"),
});
type CodexFacts = z.output<typeof codexFacts>;

// Codex clamps, it does not refuse.
const clamped = (min: number, max: number) => (ms: number) => Math.min(max, Math.max(min, ms));
const forCommand = clamped(250, 30_000);
const forPoll = clamped(5000, 300_000);
// Its sessions have numbers; ours have names, and these are theirs.
const FIRST_NUMBER = 1000;

const maxOutput = z.number().min(1).max(1_000_000).default(10_000).describe("Maximum output, in tokens");
const ms = (text: string) => z.number().min(0).optional().describe(text);

export const execCommand = tool({
	name: "exec_command",
	title: "Run a command",
	description:
		"Runs a command in a terminal, returning output or a session ID for ongoing interaction. Returns when the command ends, waits for input, or `yield_time_ms` has passed.",
	effect: "starts",
	always: true,
	input: z.object({
		cmd: command.describe("Shell command to execute"),
		workdir: directory.optional(),
		shell: program.optional().describe("Default: the user's shell"),
		login: z.boolean().default(true).describe("As a login shell"),
		tty: z.boolean().default(true).describe("There is always a terminal"),
		yield_time_ms: ms("How long to wait for output, in ms: 250 to 30000, 10000 by default"),
		max_output_tokens: maxOutput,
		env: environment.optional().describe("Added to the environment"),
	}),
	facts: codexFacts,
	async run(input, context) {
		const { sessions, caller } = context;
		const shell = input.shell ?? (caller.env.SHELL || "/bin/bash");
		const session = await sessions.start({
			argv: [shell, input.login ? "-lc" : "-c", input.cmd],
			pickName: pickNumbered(FIRST_NUMBER, String),
			cwd: input.workdir,
			env: input.env,
			caller,
		});
		const yieldMs = forCommand(input.yield_time_ms ?? 10_000);
		return answer(session, { yieldMs, maxTokens: input.max_output_tokens }, context);
	},
	render,
});

export const codexWriteStdin = tool({
	name: "write_stdin",
	title: "Type into a running command",
	description: "Writes characters to an existing exec session and returns recent output. Empty `chars` only reads.",
	effect: "types",
	always: true,
	input: z.object({
		session_id: z.int().min(0),
		chars: text.default(""),
		yield_time_ms: ms("How long to wait for output, in ms: 250 to 30000, without chars 5000 to 300000"),
		max_output_tokens: maxOutput,
	}),
	facts: codexFacts,
	// The exec set has a tool of this name, whose sessions are not numbers.
	takes: (input) => {
		const { session_id, session } = (input ?? {}) as Readonly<Record<string, unknown>>;
		return /^\d+$/.test(String(session_id ?? session));
	},
	async run(input, context) {
		const session = await findNumbered(context, String(input.session_id));
		const { chars } = input;
		if (chars !== "") await session.type(new TextEncoder().encode(chars));
		const yieldMs = chars === "" ? forPoll(input.yield_time_ms ?? 5000) : forCommand(input.yield_time_ms ?? 250);
		return answer(session, { yieldMs, maxTokens: input.max_output_tokens }, context);
	},
	render,
});

interface Asked {
	readonly yieldMs: number;
	readonly maxTokens: number;
}

async function answer(session: Session, asked: Asked, context: ToolContext): Promise<CodexFacts> {
	const { caller, signal, startedAt } = context;
	await session.wait({ until: {}, timeoutMs: waitMs(context, asked.yieldMs), signal });
	const news = await seenOutput(session, caller.owner, asked.maxTokens);
	const { exit } = session;
	return {
		output: news.text,
		wall_time_seconds: Math.round(performance.now() - startedAt) / 1000,
		original_token_count: news.tokens,
		...(exit === null ? { session_id: Number(session.name) } : { exit_code: exitStatus(exit) ?? -1 }),
	};
}

function render({ wall_time_seconds, session_id, exit_code = -1, original_token_count, output }: CodexFacts): Clean {
	return stacked([
		safe`Wall time: ${oneLine(wall_time_seconds.toFixed(4))} seconds`,
		session_id === undefined
			? safe`Process exited with code ${exit_code}`
			: safe`Process running with session ID ${session_id}`,
		safe`Original token count: ${original_token_count}`,
		safe`Output:`,
		output,
	]);
}
