// The daemon's terminal tools, as R4.10 and R4.13 have them. A failure is
// `{ error }`, never an exception.

import { z } from "zod";
import type { SessionRecord } from "../../journal/records.ts";
import { STATUSES } from "../../protocol/answer.ts";
import { type CleanLine, clean, cleanJson, inQuotes, oneLine, safe } from "../../protocol/clean.ts";
import type { Fault } from "../../protocol/fault.ts";
import { exitStatus } from "../../pty/signals.ts";
import { hasEnded } from "../../session/lifecycle.ts";
import type { SessionsInReach } from "../../session/reach.ts";
import type { Session } from "../../session/session.ts";
import { outputOf } from "../../session/sessions.ts";
import { compose } from "../../session/typing.ts";
import { isKey } from "../../terminal/key-names.ts";
import { cleanLine, cleanText, count } from "../facts.ts";
import {
	advanced,
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
import { SHOWN_ENDED } from "../list.ts";
import { target, withOwnerNotice } from "../session-facts.ts";
import { ownerOf, tool } from "../tool.ts";
import { withEnvironmentNotice } from "../withheld.ts";
import { captured } from "./capture.ts";
import { cardsWithin, leftOut, leftOutOf } from "./cards-within.ts";
import { command } from "./command.ts";
import { confined, sandboxOf } from "./confined.ts";
import { endReason, reason } from "./end-reason.ts";
import { shownLines } from "./new-output.ts";

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
	reason,
	created_at: count,
	updated_at: count,
	resolved_at: count.nullable(),
	bytes_out: count,
	lines_out: count.nullable(),
	last_line: cleanLine.describe("Of one that could not be started: why"),
	truncated: z.boolean(),
	parent_session_id: z.string().nullable().describe("The conversation that opened it"),
	owner: z.string().nullable().describe("Who opened it: names are each owner's own"),
	left_out: leftOut,
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
			...confined,
		}),
		failure,
	]),
	async run({ cmd, ...input }, context) {
		const { sessions, caller } = context;
		const session = await sessions.start({ ...input, command: cmd, keep: true, caller });
		const { terminal_id, pid, created_at, cmd: shown, cwd, name, state } = await cardFor(sessions, session);
		const facts = { terminal_id, pid, started_at: created_at, cmd: shown, cwd, name, state, ...sandboxOf(session) };
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
		const notices = typeof keys === "string" && isNamedKey(keys.trim()) ? [typedAsText(keys.trim())] : [];
		const written = (bytes_written: number) => {
			const facts = { terminal_id: session.id, bytes_written, ...(notices.length > 0 && { notices }) };
			return withOwnerNotice(facts, session, context, "terminal");
		};
		if (session.ended) return written(0);
		const pressed = typeof keys === "string" ? listedKeys(keys) : keys;
		const typing =
			pressed === null ? { text: String(keys), submit: enter } : { keys: enter ? [...pressed, "enter"] : pressed };
		let bytes_written = 0;
		const parts = compose(typing, () => session.screen.modes).map((encode) => () => {
			const bytes = encode();
			bytes_written += bytes.length;
			return bytes;
		});
		await session.press(parts, { as: { agent: context.caller.owner }, queuedBytes: keys.length, pacedMs: PACED_MS });
		return written(bytes_written);
	},
	refuse,
	render: cleanJson,
});

/** A key by its name: no character, which is itself. */
const isNamedKey = (name: string): boolean => isKey(name) && [...name].length > 1;

const typedAsText = (key: string): CleanLine =>
	safe`${inQuotes(oneLine(key))} was typed as text; keys: [${inQuotes(oneLine(key))}] with enter: false presses the key`;

/** A list of keys that was written as JSON; null where it is text, which may be a list of anything. */
function listedKeys(text: string): readonly string[] | null {
	const named = z.array(z.string()).safeParse(jsonIn(text)).data ?? [];
	return named.every(isKey) && named.some(isNamedKey) ? named : null;
}

function jsonIn(text: string): unknown {
	try {
		return /^\s*\[/.test(text) ? JSON.parse(text) : undefined;
	} catch {
		return undefined; // text that begins with a bracket
	}
}

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
		skip: z
			.int()
			.min(0)
			.max(100_000)
			.optional()
			.describe("Of a full-screen program: so many rows at that end are passed over")
			.meta(advanced),
		...lineRange,
	}),
	facts: z.union([
		z.strictObject({
			terminal_id: z.string(),
			text: cleanText,
			bytes_out: count,
			lines_out: count.nullable(),
			truncated: z
				.boolean()
				.describe(
					"More was printed than memory holds, or than an answer has room for; `from` and `to` reach all that is on disk",
				),
			state,
			exit_code,
			reason,
			lines: shownLines,
		}),
		failure,
	]),
	async run({ terminal_id, ...asked }, context) {
		const session = await target(context, terminal_id);
		const { bytes_out, lines_out, truncated, state, exit_code, reason } = await cardFor(context.sessions, session);
		const { text, lines, truncated: isCut } = await captured(session, asked, context);
		const more = { ...(reason !== undefined && { reason }), ...(lines !== undefined && { lines }) };
		const facts = { bytes_out, lines_out, truncated: truncated || isCut, state, exit_code, ...more };
		return withOwnerNotice({ terminal_id: session.id, text: clean(text).text, ...facts }, session, context, "terminal");
	},
	refuse,
	render: cleanJson,
});

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
		else if (!session.ended) await sessions.signal(session, "INT", { agent: context.caller.owner });
		const { state, exit_code } = await cardFor(sessions, session);
		return withOwnerNotice({ terminal_id: session.id, state, exit_code, signal }, session, context, "terminal");
	},
	refuse,
	render: cleanJson,
});

export const ptyList = tool({
	name: "pty_list",
	title: "List terminals",
	description: "What runs and your last ended ones, newest first; or all in one state.",
	effect: "reads",
	input: z.object({ state: state.optional() }),
	// A bare list: facts are whatever JSON the row asks for.
	facts: z.union([z.array(card), failure]),
	async run({ state: wanted }, { sessions, caller }) {
		const isMine = ({ owner }: Pick<SessionRecord, "owner">) => owner === ownerOf(caller);
		const all = sessions.list().filter(({ record }) => wanted === undefined || record.state === wanted);
		const ended = all.filter(({ record }) => hasEnded(record.state));
		const lastEnded = ended.filter(({ record }) => isMine(record)).slice(0, SHOWN_ENDED);
		const cards = all
			.filter((one) => wanted !== undefined || !ended.includes(one) || lastEnded.includes(one))
			.map(({ record, session }) => cardOf(record, session));
		// Where there is no room for all, the caller's own.
		const shown = new Set(cardsWithin([...cards.filter(isMine), ...cards.filter((card) => !isMine(card))]));
		const listed = cards.filter((card) => shown.has(card));
		return listed.map((card, at) => (at < listed.length - 1 ? card : { ...card, ...leftOutOf(all, listed) }));
	},
	refuse,
	render: cleanJson,
});

const cardFor = async (sessions: SessionsInReach, session: Session) =>
	cardOf(await sessions.recordOf(session), session);

function cardOf(record: SessionRecord, session: Session | null): z.output<typeof card> {
	const { bytesOut, linesOut, lastLine, truncated } = outputOf({ record, session });
	const now = session?.status ?? record.state;
	const because = session === null ? hasEnded(now) && record.reason : endReason(session);
	return {
		terminal_id: record.id,
		name: oneLine(record.name),
		cmd: oneLine(record.command, 1000),
		cwd: oneLine(record.cwd, 4096),
		state: now,
		is_running: !hasEnded(now),
		pid: record.pid,
		exit_code: exitStatus(session?.exit ?? record.exit),
		...(because && { reason: oneLine(because) }),
		created_at: record.createdAt,
		updated_at: record.updatedAt,
		resolved_at: record.resolvedAt,
		bytes_out: bytesOut,
		lines_out: linesOut,
		// One that never ran has no other place to say why.
		last_line: oneLine(record.pid === null && record.reason !== null ? record.reason : lastLine),
		truncated,
		parent_session_id: record.parent,
		owner: record.owner,
	};
}
