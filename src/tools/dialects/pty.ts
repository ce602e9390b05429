// The daemon's terminal tools, as R4.10 has them.

import { z } from "zod";
import type { SessionRecord } from "../../journal/records.ts";
import { STATUSES } from "../../protocol/answer.ts";
import { clean, cleanJson, oneLine } from "../../protocol/clean.ts";
import { hasEnded } from "../../session/lifecycle.ts";
import type { Session } from "../../session/session.ts";
import { outputOf, type Sessions } from "../../session/sessions.ts";
import { compose } from "../../session/typing.ts";
import { cleanLine, cleanText, count } from "../facts.ts";
import { commandLine, directory, environment, height, keys as keysField, sessionName, text, width } from "../fields.ts";
import { target } from "../session-facts.ts";
import { tool } from "../tool.ts";

/** Keys wait this long for a program that takes each only after the one before. */
const PACED_MS = 10_000;

const terminalId = z.string().min(1).max(200).describe("From pty_create or pty_list; a name works too");

/** A terminal's record, in the words of this dialect (R4.1, R4.6). */
const card = {
	terminal_id: z.string(),
	name: cleanLine,
	cmd: cleanLine,
	cwd: cleanLine,
	state: z.enum(STATUSES),
	is_running: z.boolean(),
	pid: count.nullable(),
	exit_code: z.int().nullable(),
	created_at: count,
	updated_at: count,
	resolved_at: count.nullable(),
	bytes_out: count,
	lines_out: count.nullable(),
	last_line: cleanLine,
	truncated: z.boolean(),
	parent: z.string().nullable(),
};
const cardFacts = z.strictObject(card);

export const ptyCreate = tool({
	name: "pty_create",
	title: "Open a terminal",
	description: "Start a command on a terminal that lives in the daemon. Returns its terminal_id at once.",
	effect: "starts",
	always: true,
	input: z.object({
		cmd: commandLine,
		cwd: directory.optional(),
		env: environment.optional(),
		name: sessionName.optional(),
		cols: width.default(120),
		rows: height.default(40),
	}),
	facts: cardFacts,
	async run({ cmd, ...input }, { sessions, caller }) {
		const session = await sessions.start({ ...input, command: cmd, keep: true, caller });
		return cardFor(sessions, session);
	},
	render: cleanJson,
});

export const ptySendKeys = tool({
	name: "pty_send_keys",
	title: "Type into a terminal",
	description:
		'Type text and press Enter; `enter: false` leaves Enter out. A list is pressed as named keys: ["ctrl+c"], ["up", "enter"].',
	effect: "types",
	always: true,
	input: z.object({
		terminal_id: terminalId,
		keys: z.union([text, keysField]),
		enter: z.boolean().default(true),
	}),
	facts: z.strictObject({ terminal_id: z.string(), ok: z.boolean() }),
	async run({ terminal_id, keys, enter }, context) {
		const session = await target(context, terminal_id);
		const typing =
			typeof keys === "string" ? { text: keys, submit: enter } : { keys: enter ? [...keys, "enter"] : keys };
		const parts = compose(typing, () => session.screen.modes);
		await session.press(parts, { queuedBytes: keys.length, pacedMs: PACED_MS });
		return { terminal_id: session.id, ok: true };
	},
	render: cleanJson,
});

export const ptyCapture = tool({
	name: "pty_capture",
	title: "Read a terminal",
	description:
		"The last lines of a terminal as plain text, or its first ones with `tail: false`. Works after it has ended.",
	effect: "reads",
	always: true,
	input: z.object({
		terminal_id: terminalId,
		lines: z.int().min(1).max(100_000).default(50),
		tail: z.boolean().default(true),
	}),
	facts: z.strictObject({ ...card, output: cleanText }),
	async run({ terminal_id, lines, tail }, context) {
		const session = await target(context, terminal_id);
		const all = session.screen.lines(tail ? lines : Number.MAX_SAFE_INTEGER);
		const full = session.screen.modes.alternateScreen && !session.ended;
		const shown = full ? session.screen.snapshot().text.split("\n") : tail ? all : all.slice(0, lines);
		return { ...(await cardFor(context.sessions, session)), output: clean(shown.join("\n")).text };
	},
	render: ({ output }) => output,
});

export const ptyKill = tool({
	name: "pty_kill",
	title: "End or interrupt a terminal",
	description:
		"TERM ends the terminal and everything in it, after a grace of 2 s by force; KILL at once. INT is Ctrl+C for the program in front, and the terminal stays. Safe to repeat.",
	effect: "ends",
	input: z.object({ terminal_id: terminalId, signal: z.enum(["TERM", "KILL", "INT"]).default("TERM") }),
	facts: cardFacts,
	async run({ terminal_id, signal }, context) {
		const { sessions } = context;
		const session = await target(context, terminal_id);
		if (signal !== "INT") await sessions.close(session, { force: signal === "KILL", keep: false });
		else if (!session.ended) await session.signal("SIGINT");
		return cardFor(sessions, session);
	},
	render: cleanJson,
});

export const ptyList = tool({
	name: "pty_list",
	title: "List terminals",
	description: "All terminals, the newest first, or only those in one state.",
	effect: "reads",
	input: z.object({ state: z.enum(STATUSES).optional() }),
	facts: z.strictObject({ terminals: z.array(cardFacts) }),
	async run({ state }, { sessions }) {
		const terminals = sessions
			.list()
			.filter(({ record }) => state === undefined || record.state === state)
			.map(({ record, session }) => cardOf(record, session));
		return { terminals };
	},
	render: cleanJson,
});

const cardFor = async (sessions: Sessions, session: Session) => cardOf(await sessions.recordOf(session), session);

function cardOf(record: SessionRecord, session: Session | null): z.output<typeof cardFacts> {
	const { bytesOut, linesOut, lastLine, truncated } = outputOf({ record, session });
	const state = session?.status ?? record.state;
	return {
		terminal_id: record.id,
		name: oneLine(record.name),
		cmd: oneLine(record.command, 1000),
		cwd: oneLine(record.cwd, 4096),
		state,
		is_running: !hasEnded(state),
		pid: record.pid,
		exit_code: session?.exit?.code ?? record.exit?.code ?? null,
		created_at: record.createdAt,
		updated_at: record.updatedAt,
		resolved_at: record.resolvedAt,
		bytes_out: bytesOut,
		lines_out: linesOut,
		last_line: oneLine(lastLine),
		truncated,
		parent: record.parent,
	};
}
