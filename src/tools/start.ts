import { z } from "zod";
import type { PlaceRecord, SessionRecord } from "../journal/records.ts";
import type { StartFacts } from "../protocol/answer.ts";
import { type CleanLine, inQuotes, oneLine, safe } from "../protocol/clean.ts";
import { Fault, isFault } from "../protocol/fault.ts";
import { checkUntil } from "../session/conditions.ts";
import { startedId } from "../session/identity.ts";
import { isPlace, PLACE_FORMS } from "../session/program-place.ts";
import type { SessionsInReach } from "../session/reach.ts";
import type { Session } from "../session/session.ts";
import type { StartSpec } from "../session/start-spec.ts";
import { IF_EXISTS } from "./client.ts";
import { startFactsSchema } from "./facts.ts";
import { fieldKinds } from "./field-kinds.ts";
import {
	advanced,
	argv,
	commandLine,
	directory,
	environment,
	forProgram,
	height,
	parent,
	sandbox,
	sessionName,
	timeout,
	untilToo,
	usualBudget,
	width,
} from "./fields.ts";
import { renderSession } from "./render.ts";
import { sessionFacts } from "./session-facts.ts";
import { ownerOf, type ToolContext, tool, waitMs } from "./tool.ts";
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
			.describe("Restart an ended session's command, in its directory, under its name")
			.meta(advanced),
		name: sessionName.optional().describe("Short name to call it by"),
		in: z
			.string()
			.max(400)
			.refine(isPlace, `one of ${PLACE_FORMS.join(", ")}`)
			.optional()
			.describe(`Run it there: ${PLACE_FORMS.join(", ")}`)
			.meta(advanced),
		cwd: directory.clone().register(fieldKinds, { kind: "directory", unless: "in" }).optional(),
		env: environment.optional().describe("Added to what it inherits"),
		inherit: forProgram.inherit,
		cols: width.optional().meta(advanced),
		rows: height.optional().meta(advanced),
		until: untilToo,
		timeoutMs: timeout,
		keep: z.boolean().optional().describe("Never end it for being idle"),
		limits: forProgram.limits,
		sandbox,
		ifExists: z
			.enum(IF_EXISTS)
			.default("fail")
			.describe("When a running session has this name: refuse, use it, or end it first")
			.meta(advanced),
		id: z.string().min(1).max(200).optional().describe("A repeated id is not started twice").meta(advanced),
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
		if (input.again !== undefined && input.in !== undefined)
			throw new Fault("bad_input", {
				problems: ["`again` starts it where it ran: give `in` with `command` or `argv`"],
			});
		const before = input.again === undefined ? null : await endedBefore(input.again, context);
		const place = placeOf(input, before);
		const isShell =
			place === undefined &&
			input.command === undefined &&
			input.argv === undefined &&
			(before === null || before.shell !== null);
		const env = { ...before?.env, ...(place === undefined ? input.env : {}) };
		const inherit = input.inherit ?? before?.inherit ?? undefined;
		const recorded = before === null ? null : asRecorded(before);
		const session = await sessions.start({
			id: input.id === undefined ? undefined : startedId(caller.owner, input.id),
			...(recorded ?? (place === undefined ? { command: input.command, argv: input.argv } : {})),
			place,
			// A shell of ours marks its prompt, and `run` can use it by its name.
			shell: isShell
				? {
						name: input.name ?? before?.shell ?? "shell",
						program: recorded?.shell?.program ?? (caller.env.SHELL || "bash"),
					}
				: undefined,
			name: input.name ?? recorded?.name,
			cwd: (place === undefined ? input.cwd : undefined) ?? recorded?.cwd,
			env,
			inherit,
			cols: input.cols ?? recorded?.cols,
			rows: input.rows ?? recorded?.rows,
			keep: input.keep ?? recorded?.keep,
			limits: input.limits ?? recorded?.limits,
			sandbox: input.sandbox,
			sandboxBefore: recorded?.sandboxBefore,
			parent: input.parent,
			ifExists: input.ifExists,
			caller,
		});
		// All of it where the session is new; where it is reused, what this caller has not seen.
		const from = session.seenBy(caller.owner);
		const timeoutMs = waitMs(context, input.timeoutMs);
		const outcome = await session.wait({ until: input.until ?? {}, timeoutMs, signal, from, caller: caller.owner });
		const { maxTokens } = input;
		const facts = await sessionFacts(session, context, {
			outcome,
			maxTokens,
			port: input.until?.port,
			askedMs: input.timeoutMs,
		});
		const chosen = { env, inherit };
		// Of what the tool did not inherit the program in its place would have got nothing.
		const told = place === undefined ? withEnvironmentNotice(facts, context, chosen) : facts;
		const reused = otherCommand(session, sessions, { ...input, begunAt });
		return {
			...told,
			...(reused !== null && { notices: [reused, ...(told.notices ?? [])] }),
			environment: environmentFacts(context, chosen),
		};
	},
	render: renderSession,
});

/** The record of an ended session. Those that run are no answer to a wrong name: the list has the others. */
async function endedBefore(again: string, { sessions, caller }: ToolContext): Promise<SessionRecord> {
	try {
		return await sessions.endedRecord(again, { owner: ownerOf(caller) });
	} catch (error) {
		if (!isFault(error, "session_not_found")) throw error;
		const { open: _, ids: __, ...facts } = error.facts;
		throw new Fault("session_not_found", facts);
	}
}

interface Placing {
	readonly in?: string | undefined;
	readonly command?: string | undefined;
	readonly argv?: readonly string[] | undefined;
	readonly cwd?: string | undefined;
	readonly env?: Readonly<Record<string, string>> | undefined;
}

/** Where a call runs its program, and with what of it; undefined: here. */
function placeOf(input: Placing, before: SessionRecord | null): PlaceRecord | undefined {
	const { in: place, command = null, argv = null, cwd = null, env = {} } = input;
	if (place !== undefined) {
		if (command !== null && argv !== null)
			throw new Fault("bad_input", { problems: ["give `command` or `argv`, not both"] });
		return { in: place, command, argv, cwd, env };
	}
	if (!before?.place) return undefined;
	return { ...before.place, cwd: cwd ?? before.place.cwd, env: { ...before.place.env, ...env } };
}

/**
 * To start again what a record is of: its command, directory, size and limits, and what was added to its environment. What
 * it inherited from its caller is not recorded, and comes from whoever starts it now.
 */
export function asRecorded(record: SessionRecord): Omit<StartSpec, "caller"> {
	const { name, cwd, env, cols, rows, keep, limits, shell, argv } = record;
	return {
		...(record.place !== null
			? { place: record.place }
			: shell === null
				? whatRan(record)
				: { shell: { name: shell, program: argv[0] ?? "bash" } }),
		name,
		cwd,
		env,
		inherit: record.inherit ?? undefined,
		cols,
		rows,
		keep,
		limits,
		sandboxBefore: record.sandbox,
		idleMs: record.idleMs ?? undefined,
	};
}

/** As it was asked for: a command line, with the shell that ran it, or a program and its arguments. */
function whatRan({ command, argv }: SessionRecord): Pick<StartSpec, "command" | "runBy" | "argv"> {
	return argv.length > 1 && argv.at(-1) === command ? { command, runBy: argv.slice(0, -1) } : { argv };
}

interface AskedFor {
	readonly command?: string | undefined;
	readonly argv?: readonly string[] | undefined;
	readonly in?: string | undefined;
	readonly begunAt: number;
}

/** What runs under the name, where that was there before the call and is not what it asked for. */
function otherCommand(
	session: Session,
	sessions: SessionsInReach,
	{ command, argv, in: place, begunAt }: AskedFor,
): CleanLine | null {
	const asked = argv?.join(" ") ?? command;
	const record = sessions.list().find(({ record: { id } }) => id === session.id)?.record;
	if (record === undefined || record.createdAt >= begunAt) return null;
	const isThere = record.place?.in === place;
	if (isThere && (asked === undefined || record.command === asked)) return null;
	if (asked === undefined && place === undefined) return null;
	const where = isThere ? "" : record.place === null ? safe` here` : safe` in ${oneLine(record.place.in)}`;
	return safe`nothing was started: this runs ${inQuotes(oneLine(record.command, 80))}${where}`;
}
