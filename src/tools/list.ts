import { z } from "zod";
import type { ListedSession, ListFacts } from "../protocol/answer.ts";
import { type CleanLine, oneLine, safe, stacked } from "../protocol/clean.ts";
import { hasEnded } from "../session/lifecycle.ts";
import type { Session } from "../session/session.ts";
import { outputOf } from "../session/sessions.ts";
import { describeEnd } from "../session/terminal-faults.ts";
import { LISTED } from "./client.ts";
import { listFactsSchema } from "./facts.ts";
import { tool } from "./tool.ts";

const MAX_COMMAND_CHARS = 1000;
const MAX_PATH_CHARS = 4096;

export const list = tool({
	name: "list",
	title: "List sessions",
	description:
		"All sessions, the newest first: running ones with whose turn it is, ended ones with how they ended. Use it to find your sessions again; `since` shows only those in which something happened after that time.",
	effect: "reads",
	input: z.strictObject({
		status: z.enum(LISTED).optional().describe("Only these"),
		since: z
			.union([z.int().min(0).max(Number.MAX_SAFE_INTEGER), z.iso.datetime({ offset: true })])
			.optional()
			.describe("Only where something happened since: ms since 1970, or an ISO time"),
	}),
	facts: listFactsSchema,
	async run({ status, since }, { sessions }): Promise<ListFacts> {
		const after = since === undefined ? 0 : typeof since === "number" ? since : Date.parse(since);
		if (status !== "ended") await sessions.refresh();
		const wanted = sessions.list().filter(({ record }) => {
			if (status === undefined) return true;
			return status === "ended" ? hasEnded(record.state) : record.state === status;
		});
		const listed = wanted
			.map(({ record, session }): ListedSession => {
				const ended = hasEnded(record.state);
				const { bytesOut, linesOut, lastLine, truncated } = outputOf({ record, session });
				const attention = ended || session === null ? null : session.attention;
				return {
					session: record.id,
					name: oneLine(record.name),
					command: oneLine(record.command, MAX_COMMAND_CHARS),
					cwd: oneLine(record.cwd, MAX_PATH_CHARS),
					status: record.state,
					activity: attention?.activity ?? null,
					waitingFor: attention?.waitingFor ?? null,
					because: oneLine(
						attention === null
							? (record.reason ?? describeEnd(record.state, record.exit))
							: aged(attention.because, session),
					),
					exit: record.exit,
					pid: record.pid,
					createdAt: record.createdAt,
					updatedAt: Math.max(record.updatedAt, session?.lastOutputAt ?? 0),
					offset: bytesOut,
					lines: linesOut,
					lastLine: oneLine(lastLine),
					truncated,
					owner: record.owner,
					parent: record.parent,
					keep: record.keep,
				};
			})
			.filter(({ updatedAt }) => updatedAt >= after);
		return { sessions: listed, now: Date.now() };
	},
	render: ({ sessions }) =>
		sessions.length === 0 ? safe`No sessions. Call \`start\` to open one.` : stacked(sessions.map(line)),
});

/** Adds the age of a verdict that is not current. */
function aged(because: string, session: Session | null): string {
	const seconds = Math.round((Date.now() - (session?.attentionAt || Date.now())) / 1000);
	return seconds < 2 ? because : `${because} (${seconds} s ago)`;
}

function line(listed: ListedSession): CleanLine {
	const last = listed.lastLine === "" ? "" : safe` · ${oneLine(listed.lastLine, 80)}`;
	return safe`[${listed.name}] ${stateOf(listed)} · ${oneLine(listed.command, 60)}${last}`;
}

function stateOf({ status, activity, waitingFor, because }: ListedSession): CleanLine {
	if (status === "running")
		return activity === "waiting" ? safe`waiting for ${waitingFor ?? "line"}` : safe`${activity ?? "running"}`;
	return status === "succeeded" ? safe`ended, exit code 0` : safe`ended: ${because}`;
}
