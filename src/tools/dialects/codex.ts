// Codex's own exec tools: `exec_command` and `write_stdin`, with its numbers,
// its limits and the text that its models are used to.

import { z } from "zod";
import { type Clean, type CleanLine, clean, oneLine, safe, stacked } from "../../protocol/clean.ts";
import { exitStatus } from "../../pty/signals.ts";
import { limits } from "../../session/options.ts";
import type { Session } from "../../session/session.ts";
import { cleanLine, cleanText, count } from "../facts.ts";
import { directory, environment, forProgram, lineRange, program, text } from "../fields.ts";
import { markIn } from "../recall.ts";
import { withPeople } from "../session-facts.ts";
import { dueAt, notices, type ToolContext, tool, waitMs } from "../tool.ts";
import { withEnvironmentNotice } from "../withheld.ts";
import { command } from "./command.ts";
import { confined, sandboxOf } from "./confined.ts";
import { endReason } from "./end-reason.ts";
import { askedLines, dialectBudget, type Output, seenOutput, shownLines, tokensOf } from "./new-output.ts";
import { findNumbered, pickNumbered } from "./numbered.ts";

const codexFacts = z.strictObject({
	output: cleanText,
	wall_time_seconds: z.number(),
	original_token_count: count,
	session_id: z.exactOptional(count).describe("Only while it runs"),
	exit_code: z.exactOptional(z.int()).describe("Only when it has ended; 128 + n after signal n"),
	signal: z.exactOptional(cleanLine).describe("The signal that ended it, such as SIGKILL"),
	lines: shownLines,
	...confined,
	notices,
});
type CodexFacts = z.output<typeof codexFacts>;

interface Yield {
	readonly ms: number;
	readonly notices: readonly CleanLine[];
}

/** Codex clamps, it does not refuse; that it was done is told. */
const clamped =
	(usual: number, min: number, max: number) =>
	(asked: number = usual): Yield => {
		const ms = Math.min(max, Math.max(min, asked));
		const told = safe`\`yield_time_ms\`: ${asked} is ${asked < min ? "less than" : "more than"} ${ms}; ${ms} was used`;
		return { ms, notices: ms === asked ? [] : [told] };
	};
const forCommand = clamped(10_000, 250, 30_000);
const forWrite = clamped(250, 250, 30_000);
const forPoll = clamped(5000, 5000, 300_000);
// Its sessions have numbers; ours have names, and these are theirs.
const FIRST_NUMBER = 1000;

const maxOutput = z.number().min(1).max(1_000_000).default(limits.answerTokens).describe("Maximum output, in tokens");
const ms = (text: string) => z.number().optional().describe(text);

export const execCommand = tool({
	name: "exec_command",
	title: "Run a command",
	description:
		"Runs a command in a terminal, returning output or a session ID for ongoing interaction. Returns when it ends, waits for input, or after `yield_time_ms`.",
	effect: "starts",
	always: true,
	input: z.object({
		cmd: command.describe("Shell command"),
		workdir: directory.optional(),
		shell: program.optional().describe("Default: the user's shell"),
		login: z.boolean().default(true).describe("As a login shell"),
		tty: z.boolean().default(true).describe("Always a terminal"),
		yield_time_ms: ms("Longest wait, in ms: 250 to 30000, 10000 by default"),
		max_output_tokens: maxOutput,
		env: environment.optional().describe("Added to the environment"),
		...forProgram,
	}),
	facts: codexFacts,
	async run(input, context) {
		const { sessions, caller } = context;
		const shell = input.shell ?? (caller.env.SHELL || "/bin/bash");
		const session = await sessions.start({
			command: input.cmd,
			runBy: [shell, input.login ? "-lc" : "-c"],
			pickName: pickNumbered(FIRST_NUMBER, String),
			cwd: input.workdir,
			env: input.env,
			inherit: input.inherit,
			limits: input.limits,
			caller,
		});
		const asked = { yields: forCommand(input.yield_time_ms), maxTokens: input.max_output_tokens };
		return withEnvironmentNotice(await answer(session, asked, context), context, input);
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
		yield_time_ms: ms("Longest wait, in ms: 250 to 30000, without chars 5000 to 300000"),
		max_output_tokens: maxOutput,
		...lineRange,
	}),
	facts: codexFacts,
	// The exec set has a tool of this name, whose sessions are not numbers.
	takes: (input) => {
		const { session_id, session } = (input ?? {}) as Readonly<Record<string, unknown>>;
		return /^\d+$/.test(String(session_id ?? session));
	},
	async run(input, context) {
		const session = await findNumbered(context, String(input.session_id));
		const { chars, max_output_tokens: maxTokens } = input;
		const now = stateOf(session);
		const again = await askedLines(session, input, dialectBudget(markIn("codex", session, context), maxTokens));
		if (again !== null) return result(session, now, again, context);
		if (chars !== "") await session.type(new TextEncoder().encode(chars), { as: { agent: context.caller.owner } });
		const yields = (chars === "" ? forPoll : forWrite)(input.yield_time_ms);
		return answer(session, { yields, maxTokens }, context);
	},
	render,
});

interface Asked {
	readonly yields: Yield;
	readonly maxTokens: number;
}

async function answer(session: Session, { yields, maxTokens }: Asked, context: ToolContext): Promise<CodexFacts> {
	const { caller, signal } = context;
	await session.wait({ until: {}, timeoutMs: waitMs(context, yields.ms), signal, caller: caller.owner });
	// Before the output: one that has ended prints no more.
	const now = stateOf(session);
	const budget = { ...dialectBudget(markIn("codex", session, context), maxTokens), by: dueAt(context, yields.ms) };
	const news = await seenOutput(session, caller.owner, budget);
	const facts = withPeople(result(session, now, news, context), session, context);
	const notices = [...yields.notices, ...(facts.notices ?? [])];
	return notices.length === 0 ? facts : { ...facts, notices };
}

const stateOf = (session: Session) => ({ ended: session.ended, exit: session.exit, reason: endReason(session) });

function result(
	session: Session,
	{ ended, exit, reason }: ReturnType<typeof stateOf>,
	shown: Output,
	{ startedAt }: ToolContext,
): CodexFacts {
	return {
		output: clean(shown.text).text,
		wall_time_seconds: Math.round(performance.now() - startedAt) / 1000,
		original_token_count: tokensOf(shown),
		...(ended ? { exit_code: exitStatus(exit) ?? -1 } : { session_id: Number(session.name) }),
		...(exit?.signal == null ? {} : { signal: oneLine(exit.signal) }),
		...(shown.lines === undefined ? {} : { lines: shown.lines }),
		...sandboxOf(session),
		...(reason === null ? {} : { notices: [safe`it was ended: ${reason}`] }),
	};
}

/** Notes come before the output: after it they could be the program's. */
function render(facts: CodexFacts): Clean {
	const { wall_time_seconds, session_id, exit_code = -1, signal, original_token_count, lines, output } = facts;
	return stacked([
		safe`Wall time: ${oneLine(wall_time_seconds.toFixed(4))} seconds`,
		session_id === undefined
			? safe`Process exited with code ${exit_code}${signal === undefined ? "" : safe` (${signal})`}`
			: safe`Process running with session ID ${session_id}`,
		safe`Original token count: ${original_token_count}`,
		...(facts.sandbox === undefined ? [] : [safe`Sandbox: ${facts.sandbox}`]),
		...(facts.notices ?? []).map((notice) => safe`Note: ${notice}`),
		...(lines === undefined ? [] : [safe`Lines: ${lines.from}–${lines.to} of ${lines.total}`]),
		safe`Output:`,
		output,
	]);
}
