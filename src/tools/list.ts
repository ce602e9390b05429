import { z } from "zod";
import type { SessionRecord } from "../journal/records.ts";
import type { ListedSession, ListFacts } from "../protocol/answer.ts";
import { type CleanLine, oneLine, quoted, safe, stacked } from "../protocol/clean.ts";
import { processNames } from "../protocol/process-names.ts";
import { hasEnded } from "../session/lifecycle.ts";
import { placedDirectory } from "../session/program-place.ts";
import type { Session } from "../session/session.ts";
import { type ListedSession as Listed, outputOf } from "../session/sessions.ts";
import { describeEnd } from "../session/terminal-faults.ts";
import { LISTED } from "./client.ts";
import { listFactsSchema } from "./facts.ts";
import { fieldKinds } from "./field-kinds.ts";
import { advanced } from "./fields.ts";
import { doing } from "./header.ts";
import { processFacts } from "./session-facts.ts";
import { ownerOf, tool } from "./tool.ts";

const MAX_COMMAND_CHARS = 1000;
const MAX_PATH_CHARS = 4096;
/** Of the line of a session, which has about 20 tokens. */
const MAX_SHOWN_CHARS = 24;
const MAX_PROMPT_CHARS = 16;
const MAX_OWNER_CHARS = 32;
const MAX_PLACE_CHARS = 40;
/** Unless they are asked for. */
export const SHOWN_ENDED = 5;

export const list = tool({
	name: "list",
	title: "List sessions",
	description: "Find sessions again: those that run, with whose turn it is, and the last that ended.",
	effect: "reads",
	input: z.strictObject({
		status: z.enum(LISTED).register(fieldKinds, { any: "all" }).optional().describe("Only sessions with this status"),
		since: z
			.union([z.int().min(0).max(Number.MAX_SAFE_INTEGER), z.iso.datetime({ offset: true })])
			.optional()
			.describe("Only where something happened since: ms since 1970, or an ISO time")
			.meta(advanced),
	}),
	facts: listFactsSchema,
	async run({ status, since }, { sessions, caller }): Promise<ListFacts> {
		const after = since === undefined ? 0 : typeof since === "number" ? since : Date.parse(since);
		if (status !== "ended") await sessions.refresh();
		const all = sessions.list();
		const isMine = ({ owner }: SessionRecord) => owner === ownerOf(caller);
		const meant = namesOf(all.map(({ record }) => record).filter(isMine));
		const wanted = all.filter((one) => {
			const { state } = one.record;
			if (status === undefined) return true;
			if (status === "running" && leftBy(one).length > 0) return true;
			return status === "ended" ? hasEnded(state) : state === status;
		});
		const listed = wanted
			.map((one) => ({
				...listedSession(one, { mine: isMine(one.record), byName: meant.get(one.record.name) === one.record.id }),
				because: becauseOf(one, aged),
			}))
			.filter(({ updatedAt }) => updatedAt >= after);
		return { sessions: listed, now: Date.now(), status: status ?? null };
	},
	render({ sessions, now, status }) {
		if (sessions.length === 0) return safe`No sessions. Call \`start\` to open one.`;
		const ended = sessions.filter((session) => hasEnded(session.status));
		const left = status === null ? ended.slice(SHOWN_ENDED) : [];
		const shown = sessions.filter((session) => !left.includes(session)).map((session) => line(session, now));
		const more = left.length === 0 ? [] : [safe`and ${left.length} more ended: status "ended"`];
		return stacked([...shown, ...more]);
	},
});

/** A session as a list shows it, to a caller whose own it is or not. */
export function listedSession(one: Listed, to: Pick<ListedSession, "mine" | "byName">): ListedSession {
	const { record, session } = one;
	const ended = hasEnded(record.state);
	const { bytesOut, linesOut, lastLine, truncated } = outputOf(one);
	const attention = ended || session === null ? null : session.attention;
	const left = leftBy(one);
	const unreachable = !ended && session === null && record.reason !== null;
	return {
		session: record.id,
		name: oneLine(record.name),
		command: oneLine(record.command, MAX_COMMAND_CHARS),
		...(record.place !== null && { in: oneLine(record.place.in) }),
		cwd: oneLine(record.place === null ? record.cwd : placedDirectory(record.place), MAX_PATH_CHARS),
		status: record.state,
		activity: attention?.activity ?? (unreachable ? "unresponsive" : null),
		waitingFor: attention?.waitingFor ?? null,
		because: becauseOf(one),
		exit: record.exit,
		pid: record.pid,
		createdAt: record.createdAt,
		updatedAt: Math.floor(Math.max(record.updatedAt, session?.lastOutputAt ?? 0)), // those of files have fractions
		offset: bytesOut,
		lines: linesOut,
		lastLine: oneLine(lastLine),
		truncated,
		owner: record.owner,
		...to,
		parent: record.parent,
		keep: record.keep,
		inherit: record.inherit,
		sandbox: unreachable ? null : record.sandbox === null ? "none" : "enforced",
		...(left.length > 0 && { left: left.map(processFacts) }),
	};
}

/** The evidence for what it does, or how it ended. */
function becauseOf({ record, session }: Listed, told = (because: string, _: Session) => because): CleanLine {
	if (session !== null && !hasEnded(record.state)) return oneLine(told(session.attention.because, session));
	return oneLine(session?.howItEnded ?? describeEnd(record.state, record.exit, record.reason));
}

/** The id that each name of an owner means: what runs, or the newest. */
function namesOf(newestFirst: readonly SessionRecord[]): ReadonlyMap<string, string> {
	const running = newestFirst.filter(({ state }) => !hasEnded(state));
	return new Map([...newestFirst.toReversed(), ...running].map(({ name, id }) => [name, id]));
}

/** What one that has ended left running. */
const leftBy = ({ record, session }: Listed) => (record.terminalOpen ? (session?.left() ?? []) : []);

/** Adds the age of a verdict that is not current. */
function aged(because: string, session: Session): string {
	const seconds = Math.round((Date.now() - (session.attentionAt || Date.now())) / 1000);
	return seconds < 2 ? because : `${because} (${seconds} s ago)`;
}

function line(listed: ListedSession, now: number): CleanLine {
	const { name, status, updatedAt, createdAt, command, owner, mine, byName } = listed;
	const { unreachableSince: since } = listed;
	const lost =
		since === undefined ? "" : safe`unreachable${since === null ? "" : safe` for ${ageOf(now - since)}`}, was `;
	const age = ageOf(now - (hasEnded(status) ? updatedAt : createdAt));
	const prompt = hasPrompt(listed) ? safe` · ${quoted(oneLine(listed.lastLine.trim(), MAX_PROMPT_CHARS))}` : "";
	const left = listed.left === undefined ? "" : safe` · still running: ${processNames(listed.left)}`;
	const whose = mine || owner === null ? "" : safe` · of ${quoted(oneLine(owner, MAX_OWNER_CHARS))}`;
	const id = byName ? "" : safe` · id ${oneLine(listed.session)}`;
	const confined = listed.sandbox === "enforced" ? safe` · sandboxed` : "";
	const place = listed.in === undefined ? "" : safe` · in ${oneLine(listed.in, MAX_PLACE_CHARS)}`;
	return safe`[${name}] ${lost}${stateOf(listed)} · ${age} · ${oneLine(command, MAX_SHOWN_CHARS)}${place}${prompt}${left}${confined}${id}${whose}`;
}

/** The last line is what it asks. On a full screen, or while it works, it is any line. */
const hasPrompt = ({ activity, waitingFor, lastLine }: ListedSession): boolean =>
	activity === "waiting" && (waitingFor === "line" || waitingFor === "secret") && lastLine.trim() !== "";

function ageOf(ms: number): CleanLine {
	const minutes = Math.floor(ms / 60_000);
	if (minutes < 1) return safe`${Math.max(0, Math.floor(ms / 1000))} s`;
	if (minutes < 120) return safe`${minutes} min`;
	return minutes < 48 * 60 ? safe`${Math.floor(minutes / 60)} h` : safe`${Math.floor(minutes / (24 * 60))} days`;
}

function stateOf(listed: ListedSession): CleanLine {
	const { waitingFor } = listed;
	const activity = listed.unreachableSince === undefined ? listed.activity : null;
	if (!hasEnded(listed.status))
		return activity === null ? safe`running` : doing({ activity, waitingFor, certainty: null });
	return listed.status === "succeeded"
		? safe`ended, exit code 0`
		: safe`${listed.status === "stream_lost" ? "stream lost" : "ended"}: ${oneLine(listed.because, MAX_SHOWN_CHARS)}`;
}
