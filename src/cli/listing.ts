// `ls`: one line for each session, fitted to the terminal.

import { type ListedSession, type ListFacts, noticesIn } from "../protocol/answer.ts";
import { oneLine } from "../protocol/clean.ts";
import type { Answer } from "../tools/client.ts";
import { coloured } from "./colour.ts";
import type { Invocation, Io } from "./command.ts";
import { stateColour } from "./show.ts";
import { fitted, table } from "./table.ts";

export function showList(invocation: Invocation, { facts }: Answer<ListFacts>): void {
	const { io, flags, dependencies } = invocation;
	const { sessions, now } = facts;
	for (const notice of noticesIn(facts)) io.err(`dialtone: ${notice}\n`);
	if (flags.on("quiet")) io.out(sessions.map(({ session }) => `${oneLine(session)}\n`).join(""));
	else if (sessions.length === 0) io.err(nothing(flags.on("all") || flags.string("status") !== undefined));
	else io.out(listing(sessions, { now, io, owner: dependencies.owner }));
}

function listing(
	sessions: readonly ListedSession[],
	{ now, io, owner }: { now: number; io: Io; owner: string },
): string {
	const paint = coloured(io);
	const foreign = sessions.some((one) => one.owner !== owner);
	const rows = sessions.map((one) => [
		oneLine(one.name),
		{ text: stateOf(one, now), paint: (text: string) => paint(stateColour(one), text) },
		age(now - one.createdAt),
		...(foreign ? [oneLine(one.owner ?? "-"), one.byName ? "" : oneLine(one.session)] : []),
		oneLine(one.command, one.command.length),
	]);
	const head = ["NAME", "STATE", "AGE", ...(foreign ? ["OWNER", "ID"] : []), "COMMAND"].map((text) => ({
		text,
		paint: (shown: string) => paint("bold", shown),
	}));
	return table([head, ...rows], io.stdout.isTTY ? fitted(io.stdout.columns) : undefined);
}

const nothing = (all: boolean) =>
	all
		? "No sessions.\n"
		: "No session is running. Start one: dialtone start python3. Those that ended: dialtone ls -a\n";

function stateOf({ status, activity, waitingFor, exit, left, unreachableSince }: ListedSession, now: number): string {
	// It may run on: its host is not heard of.
	if (unreachableSince === null) return "unreachable";
	if (unreachableSince !== undefined) return `unreachable for ${age(now - unreachableSince)}`;
	if (status === "running" || status === "starting")
		return activity === "waiting" && waitingFor ? `waiting (${waitingFor})` : (activity ?? status);
	const how = exit?.signal == null ? exit?.code || undefined : oneLine(exit.signal);
	return `${status}${how === undefined ? "" : ` (${how})`}${left === undefined ? "" : `, ${stillRunning(left)}`}`;
}

const stillRunning = (left: NonNullable<ListedSession["left"]>) =>
	`${left.length === 1 ? oneLine(left[0]!.command) : `${left.length} processes`} still running`;

const UNITS = [
	[86_400_000, "d"],
	[3_600_000, "h"],
	[60_000, "m"],
] as const;

function age(ms: number): string {
	const [unit, letter] = UNITS.find(([unit]) => ms >= unit) ?? [1000, "s"];
	return `${Math.max(0, Math.floor(ms / unit))}${letter}`;
}
