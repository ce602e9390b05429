// The first line of an answer, which a model reads on every turn: whose turn it
// is, or how it ended, in at most 18 tokens (header.test.ts). Evidence is a note below the
// output, and only where there is doubt or something to do about it (render.ts).

import type { Certainty, MatchedBy, RunFacts, SessionFacts } from "../protocol/answer.ts";
import { type CleanLine, oneLine, safe } from "../protocol/clean.ts";
import { nameForms, nameOnHost, nameTokens } from "../protocol/short-name.ts";

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
	| "matchedBy"
	| "exit"
	| "elapsedMs"
	| "limited"
> &
	Partial<Pick<SessionFacts, "driver">>;

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
	listening: "running, takes input",
	serving: "serving",
	stopped: "stopped",
	unresponsive: "not responding",
} as const;

/** What came true, of several. */
const CONDITIONS = {
	text: "text",
	pattern: "pattern",
	gone: "gone",
	stillMs: "still",
	port: "port",
} as const satisfies Record<MatchedBy, string>;

// Longer reasons are notes.
const MAX_REASON_CHARS = { alone: 20, afterOutcome: 16 } as const;
// Four tokens: a shorter time is no reason to do anything else.
const SHOWN_FROM_MS = 10_000;

export function sessionHeader(facts: HeaderFacts): CleanLine {
	const state = isOver(facts) ? howItEnded(facts) : doing(facts);
	// Whatever the program waits for, it is not the caller's turn.
	const driven = facts.driver === "human" && !isOver(facts) ? safe`a person drives, ` : "";
	const said = safe`${outcome(facts)}${driven}${state}`;
	// That it timed out says that nothing matched.
	const shortest = oneLine(said.replace(/^not matched: (?=timed)/, ""));
	return headed(facts.name, [safe`${said}${elapsed(facts)}`, said], shortest);
}

/** With the bracket behind the name, and the fence at its longest: ` rows<<754`. */
const MOST_TOKENS = 18;
const AROUND = 5;

/** About how many tokens our own words have. A number has one for the space before it. */
const wordTokens = (words: string): number =>
	(words.match(/SIG\w+|[A-Za-z]+|\d+|[^\s\w]/g) ?? []).reduce(
		(sum, word) => sum + (/^SIG/.test(word) ? 4 : /^\d/.test(word) ? 2 : 1),
		0,
	);

/**
 * The name and what there is to say: as much of both as there is room for, the name being whole before all is said.
 * `shortest` is said where even the shortest name leaves no room.
 */
function headed(name: string, sayings: readonly CleanLine[], shortest = sayings.at(-1)!): CleanLine {
	// A host in the name comes on top: without it the name means nothing.
	const fits = (form: string, said: string) => nameTokens(nameOnHost(form)) + wordTokens(said) + AROUND <= MOST_TOKENS;
	const forms = nameForms(name);
	const all = [
		...forms.flatMap((form) => sayings.map((said) => ({ form, said }))),
		...forms.map((form) => ({ form, said: shortest })),
	];
	const { form, said } = all.find((one) => fits(one.form, one.said)) ?? all.at(-1)!;
	return safe`[${oneLine(form)}] ${said}`;
}

export function runHeader(facts: RunFacts): CleanLine {
	const { exitCode, signal, timedOut, ok, durationMs } = facts;
	const code = safe`exit code ${exitCode ?? "unknown"}`;
	if (timedOut) return headed(facts.name, [safe`stopped at the timeout, ${code}`]);
	if (signal !== null) return headed(facts.name, [safe`${code} (${signal})`]);
	// The code of a pipe is that of its last part: a failure before it would go unseen.
	const pipe = exitCode === 0 && ok === false ? ", pipe failed" : "";
	return headed(facts.name, [safe`${code}${pipe}${time(durationMs)}`, safe`${code}${pipe}`]);
}

/** The header has room for it. */
export const isShort = ({ because, matched }: Pick<HeaderFacts, "because" | "matched">): boolean =>
	because.length <= (matched === null ? MAX_REASON_CHARS.alone : MAX_REASON_CHARS.afterOutcome);

/** What a program does, or waits for, in words. */
export function doing({ activity, waitingFor, certainty }: Pick<HeaderFacts, "activity" | "waitingFor" | "certainty">) {
	const doubt = DOUBT[certainty ?? "certain"];
	if (activity === "waiting") return safe`${doubt}${WAITING[waitingFor ?? "line"]}`;
	return safe`${doubt}${NOT_WAITING[activity ?? "working"]}`;
}

function outcome(facts: HeaderFacts) {
	const { matched, matchedBy, returned, limited } = facts;
	const isTimeout = returned === "timeout" && !isOver(facts);
	if (matched === true) return matchedBy === undefined ? "matched, " : safe`matched ${CONDITIONS[matchedBy]}, `;
	if (limited !== undefined && isTimeout) return matched === false ? "not matched yet, " : "";
	if (matched === false) return isTimeout ? "not matched: timed out, " : "not matched: ";
	return isTimeout ? "timed out, " : "";
}

const isOver = ({ status }: HeaderFacts): boolean => status !== "running" && status !== "starting";

function howItEnded(facts: HeaderFacts): CleanLine {
	if (facts.status === "succeeded") return safe`ended, exit code 0`;
	if (facts.status === "stream_lost") return safe`stream lost`; // it may not have ended
	if (isShort(facts)) return safe`ended: ${facts.because}`;
	return facts.exit?.signal ? safe`ended: ${oneLine(facts.exit.signal)}` : safe`ended`;
}

/** Only where it is told nowhere else and long enough to matter: a timeout was asked for. */
function elapsed({ matched, returned, status, exit, elapsedMs }: HeaderFacts) {
	if (matched === false || returned === "timeout") return "";
	return status === "cancelled" || exit?.signal ? "" : time(elapsedMs);
}

const time = (ms: number) => (ms < SHOWN_FROM_MS ? "" : safe` · ${Math.round(ms / 1000)} s`);
