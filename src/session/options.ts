// Every number a person may want to change: default, bounds, meaning, and the
// reason for it. Resolution is one function: call → configuration →
// environment → default.

import { Fault } from "../protocol/fault.ts";

interface OptionRow {
	readonly default: number;
	readonly min: number;
	readonly max: number;
	readonly unit: "ms" | "bytes" | "tokens" | "lines" | "cells" | "sessions";
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
		meaning: "idle time after which a running session is ended, unless started with keep; 0: never",
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
	// Codex times out a call at 300 s, Claude Code waits longer: answering "still working" before that loses nothing.
	timeoutMs: row({ default: 30_000, min: 0, max: 280_000, unit: "ms", meaning: "default timeout of a call" }),
	// 4000 tokens of terminal text are about 9,200 characters: below what hosts cut or spill to a file.
	maxTokens: row({ default: 4000, min: 50, max: 100_000, unit: "tokens", meaning: "maximum length of an answer" }),
	cols: row({ default: 120, min: 2, max: 1000, unit: "cells", meaning: "width of a new terminal" }),
	rows: row({ default: 40, min: 1, max: 500, unit: "cells", meaning: "height of a new terminal" }),
	endGraceMs: row({ default: 2000, min: 0, max: 60_000, unit: "ms", meaning: "between TERM and KILL" }),
	replayBytes: row({
		default: 4 * MIB,
		min: 64 * 1024,
		max: 64 * MIB,
		unit: "bytes",
		meaning: "newest output replayed to rebuild the screen after a restart",
	}),
} as const;

export type OptionName = keyof typeof options;
export type Options = Readonly<Record<OptionName, number>>;

/** `maxSessions` is set by DIALTONE_MAX_SESSIONS, and so on. */
const environmentName = (name: string) => `DIALTONE_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;

/** The variables that set options. */
export const optionVariables = (): string[] => Object.keys(options).map(environmentName);

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
	if (problems.length > 0) throw new Fault("bad_input", { problems });
	return Object.fromEntries(entries) as Options;
}
