import { z } from "zod";
import type { StartFacts } from "../protocol/answer.ts";
import { type CleanLine, inQuotes, oneLine, safe } from "../protocol/clean.ts";
import { Fault } from "../protocol/fault.ts";
import { checkUntil } from "../session/conditions.ts";
import type { Session } from "../session/session.ts";
import type { Sessions } from "../session/sessions.ts";
import { IF_EXISTS } from "./client.ts";
import { startFactsSchema } from "./facts.ts";
import {
	advanced,
	argv,
	commandLine,
	directory,
	environment,
	forProgram,
	height,
	parent,
	sessionName,
	timeout,
	untilToo,
	usualBudget,
	width,
} from "./fields.ts";
import { renderSession } from "./render.ts";
import { ownerOf, sessionFacts } from "./session-facts.ts";
import { tool, waitMs } from "./tool.ts";
import { environmentFacts, withEnvironmentNotice } from "./withheld.ts";

export const start = tool({
	name: "start",
	title: "Start a program",
	description:
		"Start anything interactive (REPL, debugger, ssh, editor, installer) or a server on a real terminal; returns when it first waits for input or ends. It stays: talk to it with `send`. Without `command`: a shell.",
	effect: "starts",
	always: true,
	input: z.strictObject({
		command: commandLine.optional().describe("Shell command line"),
		argv: argv.optional().describe("Program and arguments, instead of `command`, with no shell between").meta(advanced),
		again: z
			.string()
			.min(1)
			.max(200)
			.optional()
			.describe("An ended session: start what it ran once more, in its directory, under its name")
			.meta(advanced),
		name: sessionName.optional().describe("Short name to call it by"),
		cwd: directory.optional(),
		env: environment.optional().describe("Added to what it inherits"),
		inherit: forProgram.inherit,
		cols: width.optional().meta(advanced),
		rows: height.optional().meta(advanced),
		until: untilToo,
		timeoutMs: timeout,
		keep: z.boolean().optional().describe("Never end it for being idle"),
		limits: forProgram.limits,
		ifExists: z
			.enum(IF_EXISTS)
			.default("fail")
			.describe("When a running session has this name: refuse, use it, or end it first")
			.meta(advanced),
		parent: parent.optional().describe("The conversation it belongs to, if your host does not set it").meta(advanced),
		maxTokens: usualBudget,
	}),
	facts: startFactsSchema,
	async run(input, context): Promise<StartFacts> {
		const { sessions, caller, signal } = context;
		const begunAt = Date.now();
		checkUntil(input.until);
		if (input.again !== undefined && (input.command ?? input.argv) !== undefined) {
			const problem = `give \`again\` alone (it starts what "${input.again}" ran) or \`${input.argv === undefined ? "command" : "argv"}\`, not both`;
			throw new Fault("bad_input", { problems: [problem] });
		}
		const before =
			input.again === undefined ? null : await sessions.endedRecord(input.again, { owner: ownerOf(caller) });
		const isShell =
			input.command === undefined && input.argv === undefined && (before === null || before.shell !== null);
		const env = { ...before?.env, ...input.env };
		const inherit = input.inherit ?? before?.inherit ?? undefined;
		const session = await sessions.start({
			command: input.command,
			argv: input.argv ?? before?.argv,
			// A shell of ours marks its prompt, and `run` can use it by its name.
			shell: isShell
				? {
						name: input.name ?? before?.shell ?? "shell",
						program: before?.argv[0] ?? (caller.env.SHELL || "bash"),
					}
				: undefined,
			name: input.name ?? before?.name,
			cwd: input.cwd ?? before?.cwd,
			env,
			inherit,
			cols: input.cols ?? before?.cols,
			rows: input.rows ?? before?.rows,
			keep: input.keep ?? before?.keep,
			limits: input.limits ?? before?.limits,
			idleMs: before?.idleMs ?? undefined,
			parent: input.parent,
			ifExists: input.ifExists,
			caller,
		});
		// All of it where the session is new; where it is reused, what this caller has not seen.
		const from = session.seenBy(caller.owner);
		const timeoutMs = waitMs(context, input.timeoutMs);
		const outcome = await session.wait({ until: input.until ?? {}, timeoutMs, signal, from, caller: caller.owner });
		const { maxTokens } = input;
		const facts = await sessionFacts(session, context, { outcome, maxTokens, askedMs: input.timeoutMs });
		const chosen = { env, inherit };
		const told = withEnvironmentNotice(facts, context, chosen);
		const reused = otherCommand(session, sessions, { ...input, begunAt });
		return {
			...told,
			...(reused !== null && { notices: [reused, ...(told.notices ?? [])] }),
			environment: environmentFacts(context, chosen),
		};
	},
	render: renderSession,
});

interface AskedFor {
	readonly command?: string | undefined;
	readonly argv?: readonly string[] | undefined;
	readonly begunAt: number;
}

/** What runs under the name, where that was there before the call and is not what it asked for. */
function otherCommand(session: Session, sessions: Sessions, { command, argv, begunAt }: AskedFor): CleanLine | null {
	const asked = argv?.join(" ") ?? command;
	const record = sessions.list().find(({ record: { id } }) => id === session.id)?.record;
	if (asked === undefined || record === undefined || record.createdAt >= begunAt || record.command === asked)
		return null;
	return safe`nothing was started: this runs ${inQuotes(oneLine(record.command, 80))}`;
}
