// The first line of an answer, which a model reads on every turn: whose turn it
// is, or how it ended, in at most 18 tokens (header.test.ts). Evidence is a note below the
// output, and only where there is doubt or something to do about it (render.ts).

import type { Certainty, RunFacts, SessionFacts } from "../protocol/answer.ts";
import { type CleanLine, safe } from "../protocol/clean.ts";

type HeaderFacts = Pick<
	SessionFacts,
	| "name"
	| "status"
	| "activity"
	| "waitingFor"
	| "certainty"
	| "because"
	| "returned"
	| "matched"
	| "exit"
	| "elapsedMs"
	| "limited"
>;

/** One word before what is not certain. */
const DOUBT = { certain: "", likely: "likely ", guess: "maybe " } as const satisfies Record<Certainty, string>;

const WAITING = {
	command: "waiting for a command",
	line: "waiting",
	key: "waiting for a key",
	screen: "waiting, full screen",
	secret: "waiting for a secret",
} as const;

const NOT_WAITING = {
	working: "working",
	listening: "running, may take input",
	serving: "serving",
	stopped: "stopped",
	unresponsive: "not responding",
} as const;

// Longer reasons are notes.
const MAX_REASON_CHARS = 26;
// Four tokens: a shorter time is no reason to do anything else.
const SHOWN_FROM_MS = 10_000;

export function sessionHeader(facts: HeaderFacts): CleanLine {
	const state = isOver(facts) ? howItEnded(facts) : doing(facts);
	return safe`[${facts.name}] ${outcome(facts)}${state}${elapsed(facts)}`;
}

export function runHeader(facts: RunFacts): CleanLine {
	const { name, exitCode, signal, timedOut, ok, durationMs } = facts;
	const code = safe`exit code ${exitCode ?? "unknown"}`;
	if (timedOut) return safe`[${name}] stopped at the timeout, ${code}`;
	if (signal !== null) return safe`[${name}] ${code} (${signal})`;
	// The code of a pipe is that of its last part: a failure before it would go unseen.
	const pipe = exitCode === 0 && ok === false ? ", pipe failed" : "";
	return safe`[${name}] ${code}${pipe}${time(durationMs)}`;
}

/** The header has room for it. */
export const isShort = (reason: string): boolean => reason.length <= MAX_REASON_CHARS;

/** What a program does, or waits for, in words. */
export function doing({ activity, waitingFor, certainty }: Pick<HeaderFacts, "activity" | "waitingFor" | "certainty">) {
	const doubt = DOUBT[certainty ?? "certain"];
	if (activity === "waiting") return safe`${doubt}${WAITING[waitingFor ?? "line"]}`;
	return safe`${doubt}${NOT_WAITING[activity ?? "working"]}`;
}

function outcome(facts: HeaderFacts) {
	const { matched, returned, limited } = facts;
	const isTimeout = returned === "timeout" && !isOver(facts);
	if (matched === true) return "matched, ";
	if (limited !== undefined && isTimeout) return matched === false ? "not matched yet, " : "";
	if (matched === false) return isTimeout ? "not matched: timed out, " : "not matched: ";
	return isTimeout ? "timed out, " : "";
}

const isOver = ({ status }: HeaderFacts): boolean => status !== "running" && status !== "starting";

function howItEnded({ status, because }: HeaderFacts): CleanLine {
	if (status === "succeeded") return safe`ended, exit code 0`;
	return isShort(because) ? safe`ended: ${because}` : safe`ended`;
}

/** Only where it is told nowhere else and long enough to matter: a timeout was asked for. */
function elapsed({ matched, returned, status, exit, elapsedMs }: HeaderFacts) {
	if (matched === false || returned === "timeout") return "";
	return status === "cancelled" || exit?.signal ? "" : time(elapsedMs);
}

const time = (ms: number) => (ms < SHOWN_FROM_MS ? "" : safe` · ${Math.round(ms / 1000)} s`);
