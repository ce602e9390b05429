// The `unified_exec` family, as R2 has it: names, parameters, defaults, result
// fields. Every result has the same shape, also a refusal.

import { z } from "zod";
import type { SessionRecord } from "../../journal/records.ts";
import { clean, cleanJson, oneLine } from "../../protocol/clean.ts";
import type { Fault } from "../../protocol/fault.ts";
import { exitStatus } from "../../pty/signals.ts";
import { hasEnded } from "../../session/lifecycle.ts";
import { limits } from "../../session/options.ts";
import type { Session } from "../../session/session.ts";
import { cleanLine, count } from "../facts.ts";
import { advanced, directory, environment, forProgram, lineRange, program, text } from "../fields.ts";
import { markIn } from "../recall.ts";
import { target, withOwnerNotice } from "../session-facts.ts";
import { dueAt, ownerOf, type RefusalContext, type ToolContext, tool, waitMs } from "../tool.ts";
import { withEnvironmentNotice } from "../withheld.ts";
import { cardsWithin, leftOut, leftOutOf } from "./cards-within.ts";
import { command } from "./command.ts";
import { confined, sandboxOf } from "./confined.ts";
import { reason } from "./end-reason.ts";
import { askedLines, dialectBudget, type Output, rawOutput, seenOutput, shownLines } from "./new-output.ts";

const error = z.strictObject({ code: z.string(), message: cleanLine, next: cleanLine });

const execFacts = z.strictObject({
	success: z.boolean(),
	session_id: z.string().nullable(),
	output: z.string(),
	running: z.boolean(),
	exit_code: z.int().nullable().describe("128 + n after signal n; null while it runs"),
	signal: z.exactOptional(cleanLine).describe("The signal that ended it, such as SIGKILL"),
	truncated: z.boolean(),
	lines: shownLines,
	...confined,
	error: z
		.exactOptional(error)
		.describe("Why `success` is false: it was refused, or the session was ended for a reason"),
});
type ExecFacts = z.output<typeof execFacts>;

const sessionId = z.string().min(1).max(200);
const yieldTime = z.int().min(0).max(280_000).default(100).describe("Longest wait, in ms");
const maxOutput = z.int().min(1).max(1_000_000).default(limits.answerTokens).describe("Maximum output, in tokens");
const raw = z.boolean().optional();

interface Answering {
	readonly yield_time_ms: number;
	readonly max_output_tokens: number;
	readonly raw?: boolean | undefined;
}

export const unifiedExec = tool({
	name: "unified_exec",
	title: "Run a command in a terminal",
	description:
		"Run a command on a terminal and return its output when it ends, waits for input, or `yield_time_ms` has passed. Go on with `write_stdin`.",
	effect: "starts",
	always: true,
	input: z.object({
		cmd: command.describe("Shell command line"),
		workdir: directory.optional(),
		shell: program.optional().describe("Default: $SHELL, else /bin/bash"),
		login: z.boolean().default(false).describe("As a login shell"),
		yield_time_ms: yieldTime,
		max_output_tokens: maxOutput,
		raw: raw.describe("Keep escape sequences, in later calls too"),
		env: environment.optional().describe("Added to the environment"),
		...forProgram,
	}),
	facts: execFacts,
	async run(input, context) {
		const { sessions, caller } = context;
		const shell = input.shell ?? (caller.env.SHELL || "/bin/bash");
		const session = await sessions.start({
			command: input.cmd,
			runBy: [shell, input.login ? "-lc" : "-c"],
			cwd: input.workdir,
			env: input.env,
			inherit: input.inherit,
			limits: input.limits,
			maxForOwner: sessions.options.execMaxSessions,
			idleMs: sessions.options.execIdleMs,
			caller,
		});
		const raw = input.raw ?? sessions.options.execRaw === 1;
		return withEnvironmentNotice(await answer(session, { ...input, raw }, context), context, input);
	},
	refuse,
	render: cleanJson,
});

export const writeStdin = tool({
	name: "write_stdin",
	title: "Type into a running command",
	description: "Type into a session and return its output. `\\n` is Enter, `\\u0003` Ctrl+C; empty `chars` only reads.",
	effect: "types",
	always: true,
	input: z.object({
		session_id: sessionId,
		chars: text.default(""),
		yield_time_ms: yieldTime,
		max_output_tokens: maxOutput,
		raw: raw.meta(advanced),
		...lineRange,
	}),
	facts: execFacts,
	async run(input, context) {
		const session = await target(context, input.session_id);
		const now = stateOf(session);
		const again = await askedLines(
			session,
			input,
			dialectBudget(markIn("exec", session, context), input.max_output_tokens),
		);
		if (again !== null) return withOwnerNotice(result(session, now, again), session, context);
		if (input.chars !== "")
			await session.type(new TextEncoder().encode(input.chars), { as: { agent: context.caller.owner } });
		return answer(session, input, context);
	},
	refuse,
	render: cleanJson,
});

export const closePtySession = tool({
	name: "close_pty_session",
	title: "End a session",
	description: "End a session: SIGTERM, or SIGKILL with `force`; returns when it has ended, with what it printed last.",
	effect: "ends",
	input: z.object({
		session_id: sessionId,
		force: z.boolean().default(false),
		max_output_tokens: maxOutput.meta(advanced),
		raw: raw.meta(advanced),
	}),
	facts: execFacts,
	async run(input, context) {
		const session = await target(context, input.session_id);
		if (!input.force && !session.ended) await askToEnd(session, context);
		// Its background processes, and what ignored TERM.
		await context.sessions.close(session, { force: input.force, keep: false });
		// What ended it is this call.
		const { error: _, ...facts } = await answer(session, { ...input, yield_time_ms: 0 }, context);
		return { ...facts, success: true };
	},
	refuse,
	render: cleanJson,
});

export const listPtySessions = tool({
	name: "list_pty_sessions",
	title: "List sessions",
	description: "Your sessions: those that run, and those that have ended and can be read.",
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
				reason,
			}),
		),
		left_out: leftOut,
		error: z.exactOptional(error),
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
				exit_code: exitStatus(record.exit),
				pid: record.pid,
				created_at: record.createdAt,
				last_output_at: session?.lastOutputAt ?? record.updatedAt,
				...(hasEnded(record.state) && record.reason !== null ? { reason: oneLine(record.reason) } : {}),
			}));
		const shown = cardsWithin(mine);
		return { success: true, sessions: [...shown], ...leftOutOf(mine, shown) };
	},
	refuse: ({ code, message, next }) => ({ success: false, sessions: [], error: { code, message, next } }),
	render: cleanJson,
});

/** TERM to the program itself, which may print something before it ends. */
async function askToEnd(session: Session, { sessions, signal }: ToolContext): Promise<void> {
	session.closeMain(sessions.options.endGraceMs).catch(() => {}); // it ended meanwhile; the wait returns
	await session.wait({ until: { only: true }, timeoutMs: sessions.options.endGraceMs, signal });
}

async function answer(session: Session, input: Answering, context: ToolContext): Promise<ExecFacts> {
	const { caller, signal } = context;
	await session.wait({ until: {}, timeoutMs: waitMs(context, input.yield_time_ms), signal, caller: caller.owner });
	const isRaw = input.raw ?? session.readsRaw(caller.owner);
	const budget = {
		...dialectBudget(markIn("exec", session, context), input.max_output_tokens),
		by: dueAt(context, input.yield_time_ms),
	};
	// Before the output: one that has ended prints no more.
	const now = stateOf(session);
	const output = await (isRaw ? rawOutput : seenOutput)(session, caller.owner, budget);
	return withOwnerNotice(result(session, now, output, isRaw), session, context);
}

const stateOf = (session: Session) => ({
	running: !session.ended,
	exit: session.exit,
	fault: session.endedFromOutside ? session.endFault({ onlyRead: true }).in("exec") : null,
});

function result(
	session: Session,
	{ running, exit, fault }: ReturnType<typeof stateOf>,
	{ text: shown, truncated, lines }: Output,
	isRaw = false,
): ExecFacts {
	return {
		success: fault === null,
		session_id: session.id,
		output: isRaw ? shown : clean(shown).text,
		running,
		exit_code: exitStatus(exit),
		...(exit?.signal == null ? {} : { signal: oneLine(exit.signal) }),
		truncated,
		...(lines === undefined ? {} : { lines }),
		...sandboxOf(session),
		...(fault === null ? {} : { error: { code: fault.code, message: fault.message, next: fault.next } }),
	};
}

/** A refusal in the shape of a result: callers need not catch anything. What was not found has no state to tell. */
function refuse({ code, message, next }: Fault, input: unknown, context: RefusalContext | null): ExecFacts {
	const { session_id } = z.object({ session_id: z.string().nullable() }).catch({ session_id: null }).parse(input);
	const isMeant = ({ id, name, owner }: SessionRecord) =>
		id === session_id || (name === session_id && owner === ownerOf(context!.caller));
	const found =
		code === "session_not_found" ? undefined : context?.sessions.list().find(({ record }) => isMeant(record));
	return {
		success: false,
		session_id,
		output: "",
		running: found !== undefined && !hasEnded(found.record.state),
		exit_code: exitStatus(found?.record.exit ?? null),
		truncated: false,
		error: { code, message, next },
	};
}
