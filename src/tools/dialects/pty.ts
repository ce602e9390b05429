// The daemon's terminal tools, as R4.10 and R4.13 have them. A failure is
// `{ error }`, never an exception.

import { z } from "zod";
import type { SessionRecord } from "../../journal/records.ts";
import { STATUSES } from "../../protocol/answer.ts";
import { clean, cleanJson, oneLine, safe } from "../../protocol/clean.ts";
import type { Fault } from "../../protocol/fault.ts";
import { exitStatus } from "../../pty/signals.ts";
import { hasEnded } from "../../session/lifecycle.ts";
import type { Session } from "../../session/session.ts";
import { outputOf, type Sessions } from "../../session/sessions.ts";
import { compose } from "../../session/typing.ts";
import { numberedLines, outerLines, unasked } from "../excerpt.ts";
import { cleanLine, cleanText, count } from "../facts.ts";
import {
	directory,
	environment,
	forProgram,
	height,
	keys as keysField,
	lineRange,
	sessionName,
	text,
	width,
} from "../fields.ts";
import { markIn } from "../recall.ts";
import { target } from "../session-facts.ts";
import { tool } from "../tool.ts";
import { withEnvironmentNotice } from "../withheld.ts";
import { command } from "./command.ts";
import { numbered, type Output, shownLines } from "./new-output.ts";

/** Keys wait this long for a program that takes each only after the one before. */
const PACED_MS = 10_000;

const terminalId = z.string().min(1).max(200).describe("From pty_create or pty_list; a name works too");

/** What a failure is answered with. */
const failure = z.strictObject({ error: cleanLine, code: z.string() });
const refuse = ({ code, message, next }: Fault): z.output<typeof failure> => ({
	error: safe`${message} ${next}`,
	code,
});

const state = z.enum(STATUSES);
const exit_code = z.int().nullable().describe("128 + n after signal n; null while it runs");

/** A terminal's record, in the words of this dialect (R4.1, R4.6). */
const card = z.strictObject({
	terminal_id: z.string(),
	name: cleanLine,
	cmd: cleanLine,
	cwd: cleanLine,
	state,
	is_running: z.boolean(),
	pid: count.nullable(),
	exit_code,
	created_at: count,
	updated_at: count,
	resolved_at: count.nullable(),
	bytes_out: count,
	lines_out: count.nullable(),
	last_line: cleanLine.describe("Of one that could not be started: why"),
	truncated: z.boolean(),
	parent_session_id: z.string().nullable().describe("The conversation that opened it"),
});

export const ptyCreate = tool({
	name: "pty_create",
	title: "Open a terminal",
	description: "Start a command on a terminal that lives in the daemon. Returns its terminal_id at once.",
	effect: "starts",
	always: true,
	input: z.object({
		cmd: command,
		cwd: directory.optional(),
		env: environment.optional(),
		name: sessionName.optional(),
		cols: width.default(120),
		rows: height.default(40),
		...forProgram,
	}),
	facts: z.union([
		z.strictObject({
			terminal_id: z.string(),
			pid: count.nullable(),
			started_at: count.describe("In ms since 1970"),
			cmd: cleanLine,
			cwd: cleanLine,
			name: cleanLine,
			state,
		}),
		failure,
	]),
	async run({ cmd, ...input }, context) {
		const { sessions, caller } = context;
		const session = await sessions.start({ ...input, command: cmd, keep: true, caller });
		const { terminal_id, pid, created_at, cmd: shown, cwd, name, state } = await cardFor(sessions, session);
		const facts = { terminal_id, pid, started_at: created_at, cmd: shown, cwd, name, state };
		return withEnvironmentNotice(facts, context, input);
	},
	refuse,
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
	facts: z.union([
		z.strictObject({ terminal_id: z.string(), bytes_written: count.describe("0 when the terminal has ended") }),
		failure,
	]),
	async run({ terminal_id, keys, enter }, context) {
		const session = await target(context, terminal_id);
		if (session.ended) return { terminal_id: session.id, bytes_written: 0 };
		const typing =
			typeof keys === "string" ? { text: keys, submit: enter } : { keys: enter ? [...keys, "enter"] : keys };
		let bytes_written = 0;
		const parts = compose(typing, () => session.screen.modes).map((encode) => () => {
			const bytes = encode();
			bytes_written += bytes.length;
			return bytes;
		});
		await session.press(parts, { queuedBytes: keys.length, pacedMs: PACED_MS });
		return { terminal_id: session.id, bytes_written };
	},
	refuse,
	render: cleanJson,
});

export const ptyCapture = tool({
	name: "pty_capture",
	title: "Read a terminal",
	description:
		"The last lines of a terminal as plain text, its first ones with `tail: false`, or any. Works after it has ended.",
	effect: "reads",
	always: true,
	input: z.object({
		terminal_id: terminalId,
		lines: z.int().min(0).max(100_000).default(50),
		tail: z.boolean().default(true),
		...lineRange,
	}),
	facts: z.union([
		z.strictObject({
			terminal_id: z.string(),
			text: cleanText,
			bytes_out: count,
			lines_out: count.nullable(),
			truncated: z.boolean().describe("More was printed than memory holds; `from` and `to` reach all that is on disk"),
			state,
			exit_code,
			lines: shownLines,
		}),
		failure,
	]),
	async run({ terminal_id, ...asked }, context) {
		const session = await target(context, terminal_id);
		const { bytes_out, lines_out, truncated, state, exit_code } = await cardFor(context.sessions, session);
		const { text, lines } = await captured(session, asked);
		const facts = { bytes_out, lines_out, truncated, state, exit_code, ...(lines !== undefined && { lines }) };
		return { terminal_id: session.id, text: clean(text).text, ...facts };
	},
	refuse,
	render: cleanJson,
});

interface Captured {
	readonly lines: number;
	readonly tail: boolean;
	readonly from?: number | undefined;
	readonly to?: number | undefined;
}

/** Of a full-screen program its screen; otherwise, and where they are asked for by number, lines of all that was printed. */
async function captured(session: Session, asked: Captured): Promise<Pick<Output, "text" | "lines">> {
	const { lines: count, tail, from, to } = asked;
	const mark = markIn("pty", session);
	if (from !== undefined || to !== undefined) {
		const fitted = await numberedLines(session, { from, to, count }, unasked(mark));
		return numbered(fitted);
	}
	if (count === 0) return { text: "" };
	const { screen } = session;
	if (screen.modes.alternateScreen && !session.ended) {
		const all = screen.snapshot().text.split("\n");
		return { text: (tail ? all.slice(-count) : all.slice(0, count)).join("\n") };
	}
	const { text } = await outerLines(session, { count, end: tail ? "last" : "first" }, mark);
	return { text };
}

const SIGNALS = ["TERM", "KILL", "INT"] as const;

export const ptyKill = tool({
	name: "pty_kill",
	title: "End or interrupt a terminal",
	description:
		"TERM ends the terminal and everything in it, after a grace of 2 s by force; KILL at once. INT is Ctrl+C for the program in front, and the terminal stays. Safe to repeat.",
	effect: "ends",
	input: z.object({ terminal_id: terminalId, signal: z.enum(SIGNALS).default("TERM") }),
	facts: z.union([
		z.strictObject({ terminal_id: z.string(), state, exit_code, signal: z.enum(SIGNALS).describe("What was sent") }),
		failure,
	]),
	async run({ terminal_id, signal }, context) {
		const { sessions } = context;
		const session = await target(context, terminal_id);
		if (signal !== "INT") await sessions.close(session, { force: signal === "KILL", keep: false });
		else if (!session.ended) await sessions.signal(session, "INT");
		const { state, exit_code } = await cardFor(sessions, session);
		return { terminal_id: session.id, state, exit_code, signal };
	},
	refuse,
	render: cleanJson,
});

export const ptyList = tool({
	name: "pty_list",
	title: "List terminals",
	description: "All terminals, the newest first, or only those in one state.",
	effect: "reads",
	input: z.object({ state: state.optional() }),
	// A bare list: facts are whatever JSON the row asks for.
	facts: z.union([z.array(card), failure]),
	async run({ state: wanted }, { sessions }) {
		return sessions
			.list()
			.filter(({ record }) => wanted === undefined || record.state === wanted)
			.map(({ record, session }) => cardOf(record, session));
	},
	refuse,
	render: cleanJson,
});

const cardFor = async (sessions: Sessions, session: Session) => cardOf(await sessions.recordOf(session), session);

function cardOf(record: SessionRecord, session: Session | null): z.output<typeof card> {
	const { bytesOut, linesOut, lastLine, truncated } = outputOf({ record, session });
	const now = session?.status ?? record.state;
	return {
		terminal_id: record.id,
		name: oneLine(record.name),
		cmd: oneLine(record.command, 1000),
		cwd: oneLine(record.cwd, 4096),
		state: now,
		is_running: !hasEnded(now),
		pid: record.pid,
		exit_code: exitStatus(session?.exit ?? record.exit),
		created_at: record.createdAt,
		updated_at: record.updatedAt,
		resolved_at: record.resolvedAt,
		bytes_out: bytesOut,
		lines_out: linesOut,
		// One that never ran has no other place to say why.
		last_line: oneLine(record.pid === null && record.reason !== null ? record.reason : lastLine),
		truncated,
		parent_session_id: record.parent,
	};
}
