// What a person needs to know of a session at a glance: one word for what it does, and what it needs them for.
// Derived from the facts of a list, without a process or a clock; people-watch.ts gathers these.

import type { ListedSession } from "../protocol/answer.ts";
import { oneLine } from "../protocol/clean.ts";
import type { DriverFacts } from "../protocol/driver.ts";
import type { Need, PersonSession, PersonState } from "../protocol/person-session.ts";
import { hasEnded } from "../session/lifecycle.ts";
import type { Question } from "../session/pending-question.ts";

/** An agent that thinks takes a minute or two; after this it has probably left. */
export const UNANSWERED_MS = 5 * 60_000;

/** The owner of what people start on the page, whoever they are and however often they log in. */
export const PEOPLE = "web";

const MAX_QUESTION_CHARS = 2000;
const MAX_PROGRAM_CHARS = 64;

/** What is known of a session beside its row in a list. */
export interface PersonFacts {
	readonly cols: number;
	readonly rows: number;
	readonly ports: readonly number[];
	readonly driver: DriverFacts;
	/** What an agent has asked a person, until something is entered. */
	readonly asked: Question | null;
	/** What reads the terminal. */
	readonly reader: string | null;
	/** When a tool was last called on it, or it last printed, in ms since 1970. */
	readonly quietSince: number;
	/** Since when it waits for what it waits for. */
	readonly waitingSince: number;
	readonly now: number;
}

export function personSession(listed: ListedSession, facts: PersonFacts): PersonSession {
	const { cols, rows, ports, driver } = facts;
	const needs = needsOf(listed, facts);
	return { ...listed, state: stateOf(listed, needs), cols, rows, ports, driver, needs };
}

function stateOf({ status, activity }: ListedSession, needs: Need | null): PersonState {
	if (status === "stream_lost") return "lost";
	if (hasEnded(status)) return "ended";
	if (needs !== null) return needs.kind === "secret" ? "secret" : "needs-you";
	if (status === "starting" || activity === null) return "starting";
	return activity === "listening" ? "serving" : activity;
}

function needsOf(listed: ListedSession, facts: PersonFacts): Need | null {
	const { status, activity, waitingFor, lastLine, command } = listed;
	const { asked, driver, now, quietSince } = facts;
	if (hasEnded(status)) return null;
	const isPrompt = activity === "waiting" && lastLine.trim() !== "";
	const need = (kind: Need["kind"], since: number): Need => ({
		kind,
		since: Math.floor(since), // those of files have fractions
		question: asked?.question != null ? oneLine(asked.question, MAX_QUESTION_CHARS) : isPrompt ? lastLine : null,
		reason: asked?.reason == null ? null : oneLine(asked.reason, MAX_QUESTION_CHARS),
		program: oneLine(facts.reader ?? programIn(command), MAX_PROGRAM_CHARS),
		command,
		host: hostIn(lastLine, command),
	});
	if (activity === "waiting" && waitingFor === "secret") return need("secret", facts.waitingSince);
	if (asked !== null) return need("question", asked.since || facts.waitingSince);
	// Whoever has taken over is there already.
	if (driver.kind === "person" || activity !== "waiting" || (waitingFor !== "line" && waitingFor !== "key"))
		return null;
	return now - quietSince >= UNANSWERED_MS ? need("unanswered", quietSince) : null;
}

/** When the row changes by time alone; null where it does not. */
export function changesAt({ status, activity, waitingFor }: ListedSession, facts: PersonFacts): number | null {
	const waits = activity === "waiting" && (waitingFor === "line" || waitingFor === "key") && !hasEnded(status);
	const at = facts.quietSince + UNANSWERED_MS;
	return waits && at > facts.now ? at : null;
}

const programIn = (command: string) => /[^\s/]+(?=\s|$)/.exec(command)?.[0] ?? command;

/** As ssh and those that use it ask: `user@host's password:`; else the first word of their command that names one. */
function hostIn(prompt: string, command: string): Need["host"] {
	const asked = /(?:\S+@)([\w.:[\]-]+)'s password/.exec(prompt)?.[1];
	const [program = "", ...words] = command.split(/\s+/);
	const named = /(?:^|\/)(?:ssh|scp|sftp|mosh)$/.test(program)
		? words.map((word) => /^(?:[\w.-]+@)([\w.-]+)(?::.*)?$/.exec(word)?.[1]).find((host) => host !== undefined)
		: undefined;
	const host = asked ?? named;
	return host === undefined ? null : oneLine(host);
}
