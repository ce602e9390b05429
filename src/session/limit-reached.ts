// Which limit ended a session, in the words that a model reads: "ended: 512 MB memory limit".

import type { Limits } from "../pty/launch-block.ts";
import type { PtyExit } from "../pty/pty.ts";

type Reached = { readonly limit: keyof Limits; readonly words: (amount: number) => string };

const CPU: Reached = { limit: "cpuSeconds", words: (seconds) => `${time(seconds * 1000)} CPU limit` };
const FILE_SIZE: Reached = { limit: "fileBytes", words: (bytes) => `${size(bytes)} file size limit` };

/** What the holder ends a session for. */
const REASONS: Readonly<Partial<Record<PtyExit["reason"], Reached>>> = {
	cpu_time: CPU,
	memory: { limit: "memoryBytes", words: (bytes) => `${size(bytes)} memory limit` },
	processes: { limit: "processes", words: (count) => `${count} processes limit` },
	wall_clock: { limit: "wallMs", words: (ms) => `${time(ms)} wall-clock limit` },
};

/** What the kernel kills a single process for. */
const SIGNALS = [
	{ name: "SIGXCPU", number: 24, reached: CPU, without: "the CPU limit that it inherited" },
	{ name: "SIGXFSZ", number: 25, reached: FILE_SIZE, without: "the file size limit that it inherited" },
] as const;

/** Null: it was no limit. */
export function limitReached(exit: Pick<PtyExit, "signal" | "reason">, limits: Limits): string | null {
	const ending = REASONS[exit.reason];
	if (ending !== undefined) return `ended: ${inWords(ending, limits)}`;
	const killed = SIGNALS.find(({ name }) => name === exit.signal);
	return killed === undefined ? null : `ended: ${inWords(killed.reached, limits, killed.without)}`;
}

/** The limit that a command of a shell reached, by its exit code: shells report 128 + the signal's number. */
export function limitOfCode(code: number | null, limits: Limits): string | null {
	const killed = SIGNALS.find(({ number }) => code === 128 + number);
	// Without such a limit the code may be the program's own.
	if (killed === undefined || limits[killed.reached.limit] === undefined) return null;
	return `a process of it reached the ${inWords(killed.reached, limits)}`;
}

function inWords({ limit, words }: Reached, limits: Limits, without = "a limit"): string {
	const amount = limits[limit];
	return amount === undefined ? without : words(amount);
}

const UNITS = {
	bytes: [
		["GB", 2 ** 30],
		["MB", 2 ** 20],
		["KB", 2 ** 10],
		["bytes", 1],
	],
	ms: [
		["h", 3_600_000],
		["min", 60_000],
		["s", 1000],
		["ms", 1],
	],
} as const;

/** In the largest unit of which it is a whole number, or has one place behind the point. */
function inUnit(amount: number, units: readonly (readonly [unit: string, of: number])[]): string {
	const [unit, of] = units.find(([, each]) => amount >= each && (amount * 10) % each === 0) ?? units.at(-1)!;
	return `${amount / of} ${unit}`;
}

const size = (bytes: number) => inUnit(bytes, UNITS.bytes);
const time = (ms: number) => inUnit(ms, UNITS.ms);
