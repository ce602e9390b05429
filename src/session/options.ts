// Every number a person may want to change: default, bounds, meaning, and the
// reason for it. Resolution is one function: call → configuration →
// environment → default.

import { Fault } from "../protocol/fault.ts";
import type { EnvironmentRules, Inherit } from "../pty/environment.ts";

interface OptionRow {
	readonly default: number;
	readonly min: number;
	readonly max: number;
	readonly unit:
		| "ms"
		| "bytes"
		| "tokens"
		| "lines"
		| "cells"
		| "sessions"
		| "calls"
		| "events"
		| "callers"
		| "connections"
		| "requests"
		| "messages"
		| "seconds"
		| "days"
		| "processes"
		| "files"
		| "switch";
	readonly meaning: string;
}

const row = (fields: OptionRow): OptionRow => fields;

const HOUR_MS = 3_600_000;
const MIB = 1 << 20;

export const options = {
	maxSessions: row({ default: 64, min: 1, max: 10_000, unit: "sessions", meaning: "running sessions at once" }),
	idleMs: row({
		default: 4 * HOUR_MS,
		min: 0,
		max: 1000 * HOUR_MS,
		unit: "ms",
		meaning:
			"time without a call or output after which a running session is ended, unless started with keep; a wait, a command or an output stream in progress is a call; 0: never",
	}),
	execMaxSessions: row({
		default: 10,
		min: 1,
		max: 10_000,
		unit: "sessions",
		meaning: "running sessions per caller of the exec tools",
	}),
	execIdleMs: row({
		default: 300_000,
		min: 0,
		max: 1000 * HOUR_MS,
		unit: "ms",
		meaning: "idle time after which a session of the exec tools is ended; 0: never",
	}),
	execRaw: row({
		default: 0,
		min: 0,
		max: 1,
		unit: "switch",
		meaning: "1: the exec tools give output as it came, with its escape sequences, unless a call says otherwise",
	}),
	rememberEnded: row({ default: 100, min: 0, max: 10_000, unit: "sessions", meaning: "ended sessions in `list`" }),
	evictMs: row({
		default: 30_000,
		min: 0,
		max: HOUR_MS,
		unit: "ms",
		meaning: "time after which an ended session is evicted from memory; it stays on disk",
	}),
	// A drawn screen weighs a quarter of a megabyte when empty and 2 MB when its scrollback is full.
	awakeScreens: row({
		default: 64,
		min: 1,
		max: 10_000,
		unit: "sessions",
		meaning: "screens kept drawn in memory; others are compressed until read",
	}),
	hibernateMs: row({
		default: 30_000,
		min: 0,
		max: HOUR_MS,
		unit: "ms",
		meaning: "idle time after which a screen is compressed",
	}),
	ringBytes: row({ default: MIB, min: 4096, max: 64 * MIB, unit: "bytes", meaning: "newest output kept in memory" }),
	// A terminal of 1,000 full lines costs 2.3 MB; 64 sessions stay below 150 MB.
	scrollback: row({ default: 1000, min: 0, max: 100_000, unit: "lines", meaning: "lines kept above the screen" }),
	quotaBytes: row({
		default: 256 * MIB,
		min: 0,
		max: Number.MAX_SAFE_INTEGER,
		unit: "bytes",
		meaning: "output kept on disk for one session: its first segment and the newest; 0: all",
	}),
	totalBytes: row({
		default: 4096 * MIB,
		min: 0,
		max: Number.MAX_SAFE_INTEGER,
		unit: "bytes",
		meaning: "output kept on disk in total; the oldest ended sessions are removed first; 0: no limit",
	}),
	keepDays: row({
		default: 30,
		min: 0,
		max: 36_500,
		unit: "days",
		meaning: "time after which an ended session is removed with its recording; 0: never",
	}),
	// Over MCP an answer comes after 280 s at the latest, whatever was asked for: mcp/host-limits.ts.
	timeoutMs: row({ default: 30_000, min: 0, max: 86_400_000, unit: "ms", meaning: "default timeout of a call" }),
	// 4000 tokens of terminal text are about 9,200 characters: below what hosts cut or spill to a file.
	maxTokens: row({ default: 4000, min: 50, max: 100_000, unit: "tokens", meaning: "maximum length of an answer" }),
	// Nobody reads on through five answers: they look at the end, where failures and totals are, and search.
	excerptTokens: row({
		default: 1000,
		min: 50,
		max: 100_000,
		unit: "tokens",
		meaning:
			"what is shown of new output that is more than four times the maximum length, unless a call gives `maxTokens`",
	}),
	// Off: a limit that nobody asked for ends builds. Whoever runs agents for others sets them for all.
	limitCpuSeconds: row({
		default: 0,
		min: 0,
		max: Number.MAX_SAFE_INTEGER,
		unit: "seconds",
		meaning: "CPU time of a session; a call may ask for less; 0: no limit",
	}),
	limitMemoryBytes: row({
		default: 0,
		min: 0,
		max: Number.MAX_SAFE_INTEGER,
		unit: "bytes",
		meaning: "memory of a session, all its processes together; a call may ask for less; 0: no limit",
	}),
	limitProcesses: row({
		default: 0,
		min: 0,
		max: Number.MAX_SAFE_INTEGER,
		unit: "processes",
		meaning: "processes of a session at once; a call may ask for less; 0: no limit",
	}),
	limitOpenFiles: row({
		default: 0,
		min: 0,
		max: Number.MAX_SAFE_INTEGER,
		unit: "files",
		meaning: "open files of each process; a call may ask for less; 0: no limit",
	}),
	limitFileBytes: row({
		default: 0,
		min: 0,
		max: Number.MAX_SAFE_INTEGER,
		unit: "bytes",
		meaning: "size of a file that a program writes; a call may ask for less; 0: no limit",
	}),
	limitWallMs: row({
		default: 0,
		min: 0,
		max: Number.MAX_SAFE_INTEGER,
		unit: "ms",
		meaning: "time after which a session is ended; a call may ask for less; 0: no limit",
	}),
	limitOutputBytesPerSecond: row({
		default: 0,
		min: 0,
		max: Number.MAX_SAFE_INTEGER,
		unit: "bytes",
		meaning:
			"output of a session per second, sustained: a program that prints more is slowed; a call may ask for less; 0: no limit",
	}),
	cols: row({ default: 120, min: 2, max: 1000, unit: "cells", meaning: "width of a new terminal" }),
	rows: row({ default: 40, min: 1, max: 500, unit: "cells", meaning: "height of a new terminal" }),
	endGraceMs: row({ default: 2000, min: 0, max: 60_000, unit: "ms", meaning: "between TERM and KILL" }),
	// Each agent has one; beyond it the oldest silent one is closed, then the one idle longest.
	connections: row({
		default: 1024,
		min: 8,
		max: 100_000,
		unit: "connections",
		meaning: "clients of the daemon's socket at once; never more than a quarter of the process's descriptors",
	}),
	// Twenty agents behind one client may have a thousand waits open; each costs some kilobytes.
	callsPerConnection: row({
		default: 4096,
		min: 1,
		max: 100_000,
		unit: "calls",
		meaning: "calls and streams that one client may have open at once",
	}),
	eventsKept: row({
		default: 1000,
		min: 1,
		max: 100_000,
		unit: "events",
		meaning: "events kept for subscribers; one that lags further behind is told how many it missed",
	}),
	replayBytes: row({
		default: 4 * MIB,
		min: 64 * 1024,
		max: 64 * MIB,
		unit: "bytes",
		meaning: "newest output replayed to rebuild the screen after a restart",
	}),
	// Beyond it the oldest that showed no token is closed, then the oldest idle one: whoever connects next gets in.
	httpConnections: row({
		default: 512,
		min: 8,
		max: 100_000,
		unit: "connections",
		meaning: "connections over HTTP in total; never more than a quarter of the process's descriptors",
	}),
	httpStrangers: row({
		default: 128,
		min: 4,
		max: 100_000,
		unit: "connections",
		meaning: "connections over HTTP that have shown no token; beyond it the oldest is closed",
	}),
	httpHeadersMs: row({
		default: 5_000,
		min: 100,
		max: HOUR_MS,
		unit: "ms",
		meaning: "time for the headers of a request over HTTP to arrive",
	}),
	httpRequestMs: row({
		default: 30_000,
		min: 100,
		max: HOUR_MS,
		unit: "ms",
		meaning: "time for a whole request over HTTP to arrive",
	}),
	httpIdleMs: row({
		default: 15_000,
		min: 100,
		max: HOUR_MS,
		unit: "ms",
		meaning: "time after which a connection over HTTP without a request is closed",
	}),
	httpBodiesBytes: row({
		default: 32 * MIB,
		min: 4 * MIB,
		max: 4096 * MIB,
		unit: "bytes",
		meaning: "request bodies being received over HTTP, in total",
	}),
	httpPerToken: row({
		default: 128,
		min: 1,
		max: 100_000,
		unit: "requests",
		meaning: "requests and streams over HTTP at once with one token",
	}),
	httpBadTokens: row({
		default: 50,
		min: 1,
		max: 1_000_000,
		unit: "requests",
		meaning: "requests over HTTP with a token that is not valid, in 10 s from one address; beyond it they get 429",
	}),
	// They are answered one after the other; clients that send several at once send about ten.
	httpPipelined: row({
		default: 32,
		min: 1,
		max: 10_000,
		unit: "requests",
		meaning: "requests on one HTTP connection that wait for their answer; beyond it the connection is closed",
	}),
	streamBufferBytes: row({
		default: 256 * 1024,
		min: 4096,
		max: 64 * MIB,
		unit: "bytes",
		meaning: "bytes of a stream over HTTP that wait for their reader",
	}),
	streamStallMs: row({
		default: 120_000,
		min: 100,
		max: 24 * HOUR_MS,
		unit: "ms",
		meaning: "time after which a stream over HTTP whose reader takes nothing is closed; it can be resumed",
	}),
	webSocketMessages: row({
		default: 100,
		min: 1,
		max: 100_000,
		unit: "messages",
		meaning: "messages and pings per second from the client of a WebSocket",
	}),
	mcpConnections: row({
		default: 512,
		min: 1,
		max: 100_000,
		unit: "connections",
		meaning: "MCP connections of the 2025 era in total; beyond it the token that has most loses its oldest",
	}),
	mcpPerToken: row({
		default: 64,
		min: 1,
		max: 100_000,
		unit: "connections",
		meaning: "MCP connections of the 2025 era with one token; beyond it its own oldest is closed",
	}),
} as const;

interface TextRow {
	readonly default: string;
	/** What it may be. */
	readonly form: RegExp;
	readonly meaning: string;
}

const text = (fields: TextRow): TextRow => fields;

const NAMES = /^[\w*]*(?:[\s,]+[\w*]+)*$/;

/** The options that are words: names are separated by commas or spaces. */
export const textOptions = {
	inherit: text({
		default: "safe",
		form: /^(?:none|safe|all)$/,
		meaning: "what programs inherit of their caller's environment: none, safe (all but credentials) or all",
	}),
	pass: text({
		default: "",
		form: NAMES,
		meaning: "variables that programs inherit although they look like credentials; a star is any text",
	}),
	signals: text({
		default: "INT TERM KILL HUP QUIT USR1 USR2 WINCH TSTP CONT",
		form: NAMES,
		meaning: "the signals that callers may send; ending a session is not sending one",
	}),
	withhold: text({ default: "", form: NAMES, meaning: "more variables that programs do not inherit" }),
} as const;

/**
 * Bounds of what a caller may send or receive at once. Not configurable: they are part of the interface, and together
 * they keep every call below 200 ms of the event loop and 50 MB of memory.
 */
export const limits = {
	/** One message on the daemon's socket, either way. */
	frameBytes: 8 * MIB,
	/** Values (numbers, strings, arrays…; a field is two) in one request: parsing a megabyte of `[[[[` takes 50 MB. */
	frameValues: 200_000,
	/** The same in one answer, which a daemon makes: a session in a list has 50, and those of 8 MiB are 900,000. */
	answerValues: 1_000_000,
	/** The same in a request over HTTP or an MCP message, counted before parsing: what `inputValues` need, three marks each. */
	bodyValues: 64_000,
	/** The caller's name for itself. */
	ownerChars: 1000,
	/** Callers whose position in a session is remembered; an evicted one sees everything as new, which is safe. */
	ownersSeen: 64,
	pathChars: 4096,
	/** One argument of a program: the kernel takes 128 KiB, with its final NUL. */
	argumentChars: 131_071,
	/** All arguments, and all variables that a call adds to the environment, in total. */
	argumentsChars: MIB,
	/** Variables that a call adds to the environment. */
	envEntries: 1000,
	/** A command for a shell of `run`, which gets it as a file. */
	scriptChars: 2_000_000,
	/** What is typed in one call. */
	textChars: 1_000_000,
	/** Output of a command that is looked at to answer a call: its beginning and its end. */
	headBytes: 64 * 1024,
	tailBytes: 192 * 1024,
	/** Of an answer in another system's tool set, where the call does not say how many. */
	answerTokens: 10_000,
	/** Values (numbers, strings, arrays…) in the input of a call. */
	inputValues: 20_000,
	/** Of one line in an event or a list: a program may print a megabyte without a line end. */
	lineChars: 400,
	/** Of one stream, sent beyond what its reader has taken. */
	streamBytes: 256 * 1024,
	/** Responses that a client has not read: above this, no more of its requests are read. */
	unreadBytes: MIB,
	/** A client that reads none of them for this long is disconnected. */
	unreadMs: 10_000,
	/** Requests at once that wait for no program, over all clients, beside one for each: each may have an answer of a megabyte. */
	quickRequests: 16,
	/** Calls and streams of all clients together, in times of what one may have: above it each has an equal part. 160,000 waits took 700 MB, and the collector's time. */
	openClients: 2,
	/** … but this many in any case. */
	openLeast: 16,
	/** Messages of which only a part has arrived, of all clients: above it the largest is dropped with its connection. */
	heldBytes: 32 * MIB,
	/** Time for a message to be complete once it has begun. */
	messageMs: 30_000,
} as const;

export type OptionName = keyof typeof options;
export type TextOptionName = keyof typeof textOptions;
export type Options = Readonly<Record<OptionName, number>> & Readonly<Record<TextOptionName, string>>;

/** `maxSessions` is set by DIALTONE_MAX_SESSIONS, and so on. */
export const environmentName = (name: string) =>
	`DIALTONE_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;

/** The variables that set options. */
export const optionVariables = (): string[] => Object.keys({ ...options, ...textOptions }).map(environmentName);

/** The options in force. A value out of bounds is a fault, not a surprise later. */
export function resolveOptions(
	given: Partial<Options> = {},
	environment: Readonly<Record<string, string | undefined>> = {},
): Options {
	const problems: string[] = [];
	const entries = Object.entries(options).map(([name, { default: fallback, min, max }]) => {
		const text = environment[environmentName(name)];
		const value = given[name as OptionName] ?? (text === undefined || text === "" ? fallback : Number(text));
		if (!(Number.isFinite(value) && value >= min && value <= max)) {
			problems.push(`${name} must be a number from ${min} to ${max}, not ${text ?? String(value)}`);
		}
		return [name, value] as const;
	});
	const words = Object.entries(textOptions).map(([name, { default: fallback, form }]) => {
		const value = given[name as TextOptionName] ?? environment[environmentName(name)] ?? fallback;
		if (!form.test(value)) problems.push(`${name} cannot be ${JSON.stringify(value.slice(0, limits.lineChars))}`);
		return [name, value] as const;
	});
	if (problems.length > 0) throw new Fault("bad_input", { problems });
	return Object.fromEntries([...entries, ...words]) as unknown as Options;
}

/** What the options say about the environment of programs. */
export function environmentRules({
	inherit,
	pass,
	withhold,
}: Pick<Options, "inherit" | "pass" | "withhold">): EnvironmentRules {
	return { inherit: inherit as Inherit, pass: namesIn(pass), withhold: namesIn(withhold) };
}

export const namesIn = (names: string): readonly string[] => names.split(/[\s,]+/).filter((name) => name !== "");
