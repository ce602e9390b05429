import { z } from "zod";
import { IF_EXISTS } from "./client.ts";
import { sessionFactsSchema } from "./facts.ts";
import {
	argv,
	budget,
	commandLine,
	directory,
	environment,
	height,
	parent,
	sessionName,
	timeout,
	until,
	width,
} from "./fields.ts";
import { renderSession } from "./render.ts";
import { sessionFacts } from "./session-facts.ts";
import { tool } from "./tool.ts";

const count = z.int().min(1).max(Number.MAX_SAFE_INTEGER);

export const start = tool({
	name: "start",
	title: "Start a program",
	description:
		"Start a program on a real terminal and return when it first waits for input or ends. It stays alive: talk to it with `send`, under the name you give. Use it for anything interactive (REPLs, debuggers, database consoles, ssh, editors, installers) and for servers. Without `command` you get a shell.",
	effect: "starts",
	always: true,
	input: z.strictObject({
		command: commandLine.optional().describe("Shell command line"),
		argv: argv.optional().describe("Program and arguments, instead of `command`, with no shell between"),
		again: z
			.string()
			.min(1)
			.max(200)
			.optional()
			.describe("An ended session: start what it ran once more, in its directory, under its name"),
		name: sessionName.optional().describe("Short name to call it by; made from the command if left out"),
		cwd: directory.optional(),
		env: environment.optional().describe("Added to the usual environment"),
		cols: width.optional(),
		rows: height.optional(),
		until,
		timeoutMs: timeout,
		keep: z.boolean().optional().describe("Never end it for being idle"),
		limits: z
			.strictObject({
				cpuSeconds: count.optional(),
				memoryBytes: count.optional(),
				processes: count.optional(),
				openFiles: count.optional(),
				fileBytes: count.optional(),
				wallMs: count.optional(),
			})
			.optional()
			.describe("Resource limits"),
		ifExists: z
			.enum(IF_EXISTS)
			.default("fail")
			.describe("When a running session has this name: refuse, use it, or end it first"),
		parent: parent.optional().describe("The conversation it belongs to, if your host does not set it"),
		maxTokens: budget,
	}),
	facts: sessionFactsSchema,
	async run(input, context) {
		const { sessions, caller, signal } = context;
		const before = input.again === undefined ? null : await sessions.endedRecord(input.again);
		const isShell =
			input.command === undefined && input.argv === undefined && (before === null || before.shell !== null);
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
			env: { ...before?.env, ...input.env },
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
		const { until: wanted = {}, timeoutMs } = input;
		const outcome = await session.wait({ until: wanted, timeoutMs, signal, from, caller: caller.owner });
		return sessionFacts(session, context, { outcome, maxTokens: input.maxTokens });
	},
	render: renderSession,
});
