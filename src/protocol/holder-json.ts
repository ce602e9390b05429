// The JSON that a holder sends, checked field by field where it enters: facts,
// events, exits, welcomes, refusals and the answer to a launch.
//
// A holder may be older or newer than we are. Fields that we do not know are
// dropped, fields that a table marks as optional get a default, and anything of
// the wrong type is a BadFrame that names the field. Hand-written because zod
// takes 100 ms to import and this file is part of every start.

import {
	CREATION_STAGES,
	type HolderEvent,
	type HolderExit,
	type LaunchAnswer,
	LIMIT_REASONS,
	REFUSALS,
	type Refusal,
	type Welcome,
} from "./frames.ts";
import {
	DOUBTS,
	type InnerTerminal,
	type KernelFacts,
	RISKS,
	TERMINAL_FLAGS,
	type TerminalFlag,
	type ThreadFacts,
} from "./kernel-facts.ts";

/** The stream does not follow the protocol. */
export class BadFrame extends Error {
	override readonly name = "BadFrame";
}

/** Returns the checked value, or throws a BadFrame that names the field. */
type Check<T> = (value: unknown, field: string) => T;
type Fields<T> = { readonly [K in keyof T]-?: Check<T[K]> };

const is =
	<T>(expected: string, matches: (value: unknown) => value is T): Check<T> =>
	(value, field) => {
		if (matches(value)) return value;
		throw new BadFrame(`${field} is not ${expected}: ${JSON.stringify(value)?.slice(0, 100)}`);
	};

const number = is("a number", (value): value is number => typeof value === "number");
const text = is("a string", (value): value is string => typeof value === "string");
const flag = is("a boolean", (value): value is boolean => typeof value === "boolean");

const nullable =
	<T>(check: Check<T>): Check<T | null> =>
	(value, field) =>
		value === null ? null : check(value, field);

/** May be absent; then it is `fallback`. */
const optional =
	<T, F>(check: Check<T>, fallback: F): Check<T | F> =>
	(value, field) =>
		value === undefined ? fallback : check(value, field);

/** One of these words. A word that a newer holder has added becomes `unknown`; without that it is refused. */
const oneOf =
	<T extends string>(words: readonly T[], unknown?: T): Check<T> =>
	(value, field) => {
		const found = words.find((word) => word === text(value, field)) ?? unknown;
		if (found !== undefined) return found;
		throw new BadFrame(`${field} is ${JSON.stringify(value)}, not one of ${words.join(", ")}`);
	};

const list =
	<T>(check: Check<T>): Check<readonly T[]> =>
	(value, field) => {
		if (!Array.isArray(value)) throw new BadFrame(`${field} is not a list`);
		return value.map((item) => check(item, field));
	};

/** An object with these fields, and only these. */
function object<T>(fields: Fields<T>): Check<T> {
	const checks = Object.entries(fields) as [string, Check<unknown>][];
	return (value, field) => {
		if (typeof value !== "object" || value === null || Array.isArray(value))
			throw new BadFrame(`${field} is not an object`);
		const given = value as Readonly<Record<string, unknown>>;
		const checked: Record<string, unknown> = {};
		for (const [name, check] of checks) {
			const part = check(given[name], name);
			if (part !== undefined) checked[name] = part;
		}
		return checked as T;
	};
}

const survivors = list(
	object<HolderExit["survivors"][number]>({ pid: number, command: text, born: optional(text, undefined) }),
);

const holderExit = object<HolderExit>({
	code: nullable(number),
	signal: nullable(number),
	core: optional(flag, false),
	size: number,
	startedAt: optional(number, 0),
	endedAt: optional(number, 0),
	closed: flag,
	reason: oneOf(["exit", "end", ...LIMIT_REASONS], "exit"),
	rusage: optional(nullable(object({ userMs: number, systemMs: number, maxRssKb: number })), null),
	survivors: optional(survivors, []),
	released: optional(survivors, undefined),
	lost: optional(number, 0),
});

const welcome = object<Welcome>({
	version: number,
	shares: optional(flag, false),
	masks: optional(flag, false),
	holder: number,
	pid: number,
	pts: text,
	epoch: optional(number, 0),
	from: number,
	size: number,
	inputOffset: number,
	cols: number,
	rows: number,
	startedAt: optional(number, 0),
	exit: optional(nullable(holderExit), null),
});

const refusal = object<Refusal>({
	// The message still has the reason.
	code: oneOf(REFUSALS, "system"),
	message: optional(text, "refused"),
	errno: optional(number, undefined),
	free: optional(number, undefined),
	limit: optional(number, undefined),
	inputOffset: optional(number, undefined),
	lowest: optional(number, undefined),
	highest: optional(number, undefined),
});

const EVENTS: { readonly [E in HolderEvent as E["event"]]: Check<E> } = {
	resized: object({ event: oneOf(["resized"]), cols: number, rows: number, at: optional(number, null) }),
	log_lost: object({ event: oneOf(["log_lost"]), from: number, to: number, errno: number }),
	log_back: object({ event: oneOf(["log_back"]), at: number }),
	disk_stalled: object({ event: oneOf(["disk_stalled"]), at: number }),
	disk_back: object({ event: oneOf(["disk_back"]), at: number }),
	exit_not_saved: object({ event: oneOf(["exit_not_saved"]), errno: number }),
	ending: object({ event: oneOf(["ending"]), reason: oneOf(LIMIT_REASONS) }),
	main_exited: object({ event: oneOf(["main_exited"]), code: nullable(number), signal: nullable(number) }),
	input_dropped: object({ event: oneOf(["input_dropped"]), bytes: number }),
	input_held: object({ event: oneOf(["input_held"]), bytes: number, limit: number }),
	input_refused: object({ event: oneOf(["input_refused"]), typed: number, bytes: number, line: number, limit: number }),
	input_room: object({ event: oneOf(["input_room"]), free: number }),
	survivors: object({ event: oneOf(["survivors"]), survivors: optional(survivors, []) }),
};

/** Those that we know. */
const flags: Check<readonly TerminalFlag[]> = (value, field) => {
	const given = list(text)(value, field);
	return TERMINAL_FLAGS.filter((known) => given.includes(known));
};

const innerTerminal: Check<InnerTerminal> = object<InnerTerminal>({
	pts: number,
	canonical: nullable(flag),
	echo: nullable(flag),
	signals: nullable(flag),
	vmin: optional(number, 1),
	vtime: optional(number, 0),
	unread: nullable(number),
	flags: optional(flags, undefined),
	threads: (value, field) => list(thread)(value, field),
});

const thread: Check<ThreadFacts> = object<ThreadFacts>({
	pid: number,
	tid: number,
	command: text,
	foreground: flag,
	doing: oneOf(
		[
			"running",
			"disk",
			"stopped",
			"opaque",
			"tty-read",
			"tty-write",
			"tty-poll",
			"timer",
			"child-wait",
			"accept",
			"other",
			"unknown",
		],
		"unknown",
	),
	call: optional(text, undefined),
	fd: optional(number, undefined),
	main: flag,
	switches: number,
	fresh: flag,
	others: optional(number, undefined),
	timeoutMs: optional(number, undefined),
	listens: optional(flag, undefined),
	elsewhere: optional(flag, undefined),
	local: optional(flag, undefined),
	nonblocking: optional(flag, undefined),
	peeks: optional(flag, undefined),
	wakes: optional(flag, undefined),
	workers: optional(flag, undefined),
	// One that a newer holder has added is one all the same.
	risks: optional(list(oneOf(RISKS, "mixed")), undefined),
	outside: optional(flag, undefined),
	inner: optional(list(innerTerminal), undefined),
});

const kernelFacts = object<KernelFacts>({
	at: number,
	readable: flag,
	late: optional(flag, undefined),
	foregroundGroup: number,
	foregroundLives: flag,
	mainForeground: flag,
	canonical: flag,
	echo: flag,
	signals: flag,
	vmin: optional(number, 1),
	vtime: optional(number, 0),
	inputOffset: optional(number, undefined),
	queued: number,
	unread: nullable(number),
	flags: optional(flags, undefined),
	offset: number,
	quietMs: number,
	sinceInputMs: nullable(number),
	threads: list(thread),
	more: optional(number, 0),
	// A doubt that a newer holder has added is one all the same.
	doubts: optional(nullable(list(oneOf(DOUBTS, "list"))), null),
	wakesMs: optional(number, undefined),
});

const launched = object<Extract<LaunchAnswer, { ok: true }>>({
	ok: is("true", (value): value is true => value === true),
	holder: number,
	pid: number,
	pts: text,
});
const launchFailed = object<Extract<LaunchAnswer, { ok: false }>>({
	ok: is("false", (value): value is false => value === false),
	stage: oneOf(CREATION_STAGES, "launch"),
	errno: number,
	code: text,
	message: text,
});

function parsed(json: string): unknown {
	try {
		return JSON.parse(json);
	} catch (cause) {
		throw new BadFrame("not JSON", { cause });
	}
}

export const parseExit = (json: string): HolderExit => holderExit(parsed(json), "the exit");
export const parseWelcome = (json: string): Welcome => welcome(parsed(json), "the welcome");
export const parseRefusal = (json: string): Refusal => refusal(parsed(json), "the refusal");
export const parseFacts = (json: string): KernelFacts => kernelFacts(parsed(json), "the facts");

/** Null for an event that a newer holder has added. */
export function parseEvent(json: string): HolderEvent | null {
	const value = parsed(json);
	const { event } = object<{ event: string }>({ event: text })(value, "the event");
	return Object.hasOwn(EVENTS, event) ? EVENTS[event as HolderEvent["event"]](value, event) : null;
}

export function parseLaunchAnswer(json: string): LaunchAnswer {
	const value = parsed(json);
	const { ok } = object<{ ok: boolean }>({ ok: flag })(value, "the launch answer");
	return ok ? launched(value, "the launch answer") : launchFailed(value, "the launch answer");
}
