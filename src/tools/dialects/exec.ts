// The `unified_exec` family, as R2 has it: names, parameters, defaults, result
// fields. Every result has the same shape, also a refusal.

import { z } from "zod";
import { cleanJson, oneLine } from "../../protocol/clean.ts";
import { Fault } from "../../protocol/fault.ts";
import { hasEnded } from "../../session/lifecycle.ts";
import type { Session } from "../../session/session.ts";
import { cleanLine, count } from "../facts.ts";
import { commandLine, directory, program, text } from "../fields.ts";
import { target } from "../session-facts.ts";
import { type ToolContext, tool } from "../tool.ts";
import { codexFacts, codexWriteStdin } from "./codex.ts";
import { rawOutput, seenOutput } from "./new-output.ts";

const execFacts = z.strictObject({
	success: z.boolean(),
	session_id: z.string().nullable(),
	output: z.string(),
	running: z.boolean(),
	exit_code: z.int().nullable(),
	truncated: z.boolean(),
	error: z
		.exactOptional(z.strictObject({ code: z.string(), message: cleanLine, next: cleanLine }))
		.describe("Only when it did not succeed"),
});
type ExecFacts = z.output<typeof execFacts>;

const yieldTime = z.int().min(0).max(280_000).default(100).describe("How long to wait for output, in ms");
const maxOutput = z.int().min(1).max(1_000_000).default(10_000).describe("Maximum output, in tokens");
const raw = z.boolean().default(false).describe("Output as it came, with its escape sequences");

interface Answering {
	readonly yield_time_ms: number;
	readonly max_output_tokens: number;
	readonly raw: boolean;
}

export const unifiedExec = tool({
	name: "unified_exec",
	title: "Run a command in a terminal",
	description:
		"Start a command on a terminal and return what it printed within `yield_time_ms`, sooner when it ends or waits for input. If it is still running, continue with `write_stdin`.",
	effect: "starts",
	always: true,
	input: z.object({
		cmd: commandLine.describe("Shell command line"),
		workdir: directory.optional(),
		shell: program.optional().describe("Default: $SHELL, else /bin/bash"),
		login: z.boolean().default(false).describe("As a login shell"),
		yield_time_ms: yieldTime,
		max_output_tokens: maxOutput,
		raw,
	}),
	facts: execFacts,
	run: (input, context) =>
		orRefusal(null, async () => {
			const { sessions, caller } = context;
			const shell = input.shell ?? (caller.env.SHELL || "/bin/bash");
			const session = await sessions.start({
				argv: [shell, input.login ? "-lc" : "-c", input.cmd],
				cwd: input.workdir,
				maxForOwner: sessions.options.execMaxSessions,
				idleMs: sessions.options.execIdleMs,
				caller,
			});
			return answer(session, input, context);
		}),
	render: cleanJson,
});

export const writeStdin = tool({
	name: "write_stdin",
	title: "Type into a running command",
	description:
		"Type characters into a session and return its output. `\\n` is Enter, `\\u0003` is Ctrl+C; empty `chars` only reads.",
	effect: "types",
	always: true,
	input: z.object({
		// A number is a session of Codex's `exec_command`, whose tool bears the same name.
		session_id: z.union([z.string().min(1).max(200), z.int().min(0).max(1e9)]),
		chars: text.default(""),
		yield_time_ms: z
			.int()
			.min(0)
			.max(300_000)
			.optional()
			.describe("How long to wait for output, in ms; 100 by default"),
		max_output_tokens: maxOutput,
		raw,
	}),
	facts: z.union([execFacts, codexFacts]),
	run: async (input, context) => {
		const { session_id } = input;
		if (typeof session_id === "number") return codexWriteStdin.run({ ...input, session_id }, context);
		return orRefusal(session_id, async () => {
			const session = await target(context, session_id);
			if (input.chars !== "") await session.type(new TextEncoder().encode(input.chars));
			return answer(session, { ...input, yield_time_ms: input.yield_time_ms ?? 100 }, context);
		});
	},
	render: (facts) => ("success" in facts ? cleanJson(facts) : codexWriteStdin.render(facts)),
});

export const closePtySession = tool({
	name: "close_pty_session",
	title: "End a session",
	description: "End a session: SIGTERM, or SIGKILL with `force`; returns when it has ended, with what it printed last.",
	effect: "ends",
	input: z.object({
		session_id: z.string().min(1).max(200),
		force: z.boolean().default(false),
		max_output_tokens: maxOutput,
		raw,
	}),
	facts: execFacts,
	run: (input, context) =>
		orRefusal(input.session_id, async () => {
			const session = await target(context, input.session_id);
			if (!input.force && !session.ended) await askToEnd(session, context);
			// Its background processes, and what ignored TERM.
			await context.sessions.close(session, { force: input.force, keep: false });
			return answer(session, { ...input, yield_time_ms: 0 }, context);
		}),
	render: cleanJson,
});

export const listPtySessions = tool({
	name: "list_pty_sessions",
	title: "List sessions",
	description: "Your sessions: those that run, and those that have ended and can still be read.",
	effect: "reads",
	input: z.object({}),
	facts: z.strictObject({
		success: z.boolean(),
		sessions: z.array(
			z.strictObject({
				session_id: z.string(),
				cmd: cleanLine,
				workdir: cleanLine,
				running: z.boolean(),
				exit_code: z.int().nullable(),
				pid: count.nullable(),
				created_at: count,
				last_output_at: count,
			}),
		),
	}),
	async run(_, { sessions, caller }) {
		const mine = sessions
			.list()
			.filter(({ record }) => record.owner === caller.owner)
			.map(({ record, session }) => ({
				session_id: record.id,
				cmd: oneLine(record.command, 1000),
				workdir: oneLine(record.cwd, 4096),
				running: !hasEnded(record.state),
				exit_code: record.exit?.code ?? null,
				pid: record.pid,
				created_at: record.createdAt,
				last_output_at: session?.lastOutputAt ?? record.updatedAt,
			}));
		return { success: true, sessions: mine };
	},
	render: cleanJson,
});

/** TERM to the program itself, which may print something before it ends. */
async function askToEnd(session: Session, { sessions, signal }: ToolContext): Promise<void> {
	session.closeMain(sessions.options.endGraceMs).catch(() => {}); // it ended meanwhile; the wait returns
	await session.wait({ until: { only: true }, timeoutMs: sessions.options.endGraceMs, signal });
}

async function answer(session: Session, input: Answering, { caller, signal }: ToolContext): Promise<ExecFacts> {
	await session.wait({ until: {}, timeoutMs: input.yield_time_ms, signal });
	const news = await (input.raw ? rawOutput : seenOutput)(session, caller.owner, input.max_output_tokens);
	return {
		success: true,
		session_id: session.id,
		output: news.text,
		running: !session.ended,
		exit_code: session.exit?.code ?? null,
		truncated: news.truncated,
	};
}

/** A refusal in the shape of a result: callers need not catch anything. */
async function orRefusal(session_id: string | null, act: () => Promise<ExecFacts>): Promise<ExecFacts> {
	try {
		return await act();
	} catch (error) {
		if (!(error instanceof Fault)) throw error;
		const { code, message, next } = error;
		return {
			success: false,
			session_id,
			output: "",
			running: false,
			exit_code: null,
			truncated: false,
			error: { code, message, next },
		};
	}
}
