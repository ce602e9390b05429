import { z } from "zod";
import type { Activity, ExitFacts, Status, WaitingFor } from "../protocol/answer.ts";
import { STATUSES } from "../protocol/answer.ts";
import { hasEnded } from "../session/lifecycle.ts";
import { describeEnd, type Session } from "../session/session.ts";
import { clean } from "../terminal/clean.ts";
import { tool } from "./tool.ts";

/** A session in a list: enough to decide which one to look at. */
interface Listed {
	readonly session: string;
	readonly name: string;
	readonly command: string;
	readonly cwd: string;
	readonly status: Status;
	readonly activity: Activity | null;
	readonly waitingFor: WaitingFor | null;
	readonly because: string;
	readonly exit: ExitFacts | null;
	readonly pid: number | null;
	readonly createdAt: number;
	readonly updatedAt: number;
	readonly offset: number;
	readonly lines: number;
	readonly lastLine: string;
	readonly truncated: boolean;
	readonly owner: string | null;
	readonly parent: string | null;
	readonly keep: boolean;
}

export const list = tool({
	name: "list",
	title: "List sessions",
	description:
		"All sessions, the newest first: running ones with whose turn it is, ended ones with how they ended. Use it to find your sessions again; `since` shows only those in which something happened after that time.",
	effect: "reads",
	input: z.strictObject({
		status: z
			.enum(["running", "ended", ...STATUSES.filter((it) => it !== "running")])
			.optional()
			.describe("Only these"),
		since: z
			.union([z.int().min(0).max(Number.MAX_SAFE_INTEGER), z.iso.datetime({ offset: true })])
			.optional()
			.describe("Only where something happened since: ms since 1970, or an ISO time"),
	}),
	async run({ status, since }, { sessions }) {
		const after = since === undefined ? 0 : typeof since === "number" ? since : Date.parse(since);
		if (status !== "ended") await sessions.refresh();
		const wanted = sessions.list().filter(({ record }) => {
			if (status === undefined) return true;
			return status === "ended" ? hasEnded(record.state) : record.state === status;
		});
		const listed = wanted
			.map(({ record, session }): Listed => {
				const ended = hasEnded(record.state);
				const { bytesOut, linesOut, lastLine, truncated } = session?.journal.stats ?? { ...record, truncated: false };
				const attention = ended || session === null ? null : session.attention;
				return {
					session: record.id,
					name: record.name,
					command: record.command,
					cwd: record.cwd,
					status: record.state,
					activity: attention?.activity ?? null,
					waitingFor: attention?.waitingFor ?? null,
					because:
						attention === null
							? (record.reason ?? describeEnd(record.state, record.exit))
							: aged(attention.because, session),
					exit: record.exit,
					pid: record.pid,
					createdAt: record.createdAt,
					updatedAt: Math.max(record.updatedAt, session?.lastOutputAt ?? 0),
					offset: bytesOut,
					lines: linesOut,
					lastLine: clean(lastLine).text,
					truncated,
					owner: record.owner,
					parent: record.parent,
					keep: record.keep,
				};
			})
			.filter(({ updatedAt }) => updatedAt >= after);
		return { sessions: listed, now: Date.now() };
	},
	render(facts) {
		const { sessions } = facts as { sessions: readonly Listed[] };
		if (sessions.length === 0) return "No sessions. Call `start` to open one.";
		return sessions.map(line).join("\n");
	},
});

/** A verdict that is not of this moment says so. */
function aged(because: string, session: Session | null): string {
	const seconds = Math.round((Date.now() - (session?.attentionAt || Date.now())) / 1000);
	return seconds < 2 ? because : `${because} (${seconds} s ago)`;
}

function line(it: Listed): string {
	const state =
		it.status === "running"
			? it.activity === "waiting"
				? `waiting for ${it.waitingFor}`
				: (it.activity ?? "running")
			: it.status === "succeeded"
				? "ended, exit code 0"
				: `ended: ${it.because}`;
	const last = it.lastLine === "" ? "" : ` · ${it.lastLine.slice(0, 80)}`;
	return `[${it.name}] ${state} · ${it.command.split("\n", 1)[0]?.slice(0, 60)}${last}`;
}
