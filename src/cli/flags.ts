// Parses a command line by the command's own record. A wrong flag is
// a fault like any other: it names the problem and the correct form.

import { statSync } from "node:fs";
import { constants } from "node:os";
import { parseArgs } from "node:util";
import { Fault } from "../protocol/fault.ts";
import { nearest } from "../protocol/nearest.ts";
import type { Command, Flag } from "./command.ts";

/** Flags that every command has. */
const COMMON_FLAGS: Readonly<Record<string, Flag>> = {
	json: { kind: "switch", summary: "Answer with one JSON object" },
	help: { kind: "switch", short: "h", summary: "Show this help" },
};

export const flagsOf = (command: Command): Readonly<Record<string, Flag>> => ({ ...command.flags, ...COMMON_FLAGS });

export const badInput = (problem: string) => new Fault("bad_input", { problems: [problem] });

/** What a flag's value becomes, and what a value is called in help. */
export interface Kind {
	readonly value: string;
	/** Undefined where the text is no such value. */
	read(text: string, flag: Flag): unknown;
	/** What it takes, for the refusal. */
	takes(flag: Flag): string;
}

const UNITS_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const UNITS_BYTES = { "": 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30, T: 2 ** 40 } as const;

function duration(text: string): number | undefined {
	const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|[smhd])$/.exec(text) ?? [];
	return unit === undefined ? undefined : Math.round(Number(amount) * UNITS_MS[unit as "ms"]);
}

function size(text: string): number | undefined {
	const [, amount, unit] = /^(\d+(?:\.\d+)?)([KMGT]?)(?:i?B)?$/i.exec(text) ?? [];
	return unit === undefined ? undefined : Math.round(Number(amount) * UNITS_BYTES[unit.toUpperCase() as "K"]);
}

function integer(text: string, { least = 0 }: Flag): number | undefined {
	const value = text.trim() === "" ? Number.NaN : Number(text);
	return Number.isSafeInteger(value) && value >= least ? value : undefined;
}

// A duration needs its unit, because a bare "5" is ambiguous.
const takesTime = () => "a time with its unit such as 500ms, 30s or 2m";

export const KINDS = {
	text: { value: "TEXT", read: (text: string) => text, takes: () => "a text" },
	choice: {
		value: "VALUE",
		read: (text: string, { choices = [] }: Flag) => choices.find((one) => one === text || one === canonical(text)),
		takes: ({ choices = [] }: Flag) => `one of ${choices.join(", ")}`,
	},
	integer: {
		value: "N",
		read: integer,
		takes: ({ least = 0 }: Flag) => `a whole number of at least ${least}`,
	},
	number: {
		value: "N",
		read: (text: string) => (Number(text) > 0 ? Number(text) : undefined),
		takes: () => "a number above 0",
	},
	/** In milliseconds. */
	duration: { value: "TIME", read: duration, takes: takesTime },
	/** A duration that the tool counts in seconds. */
	seconds: {
		value: "TIME",
		read: (text: string) => {
			const ms = duration(text);
			return ms === undefined ? undefined : Math.max(1, Math.round(ms / 1000));
		},
		takes: takesTime,
	},
	/** In bytes. */
	size: { value: "SIZE", read: size, takes: () => "a size such as 1048576, 512M or 2G" },
	pair: {
		value: "KEY=VALUE",
		read: (text: string) => (text.indexOf("=") < 1 ? undefined : text),
		takes: () => "KEY=VALUE",
	},
	directory: {
		value: "DIR",
		// `~` is the home of who calls, and resolved with the call.
		read: (text: string) => (text.startsWith("~") || isDirectory(text) ? text : undefined),
		takes: () => "a directory that exists",
	},
	/** For a field that takes several types. */
	scalar: {
		value: "VALUE",
		read: (text: string) => (/^\d+$/.test(text) ? Number(text) : text),
		takes: () => "a value",
	},
	json: {
		value: "JSON",
		read: (text: string) => {
			try {
				return JSON.parse(text) as unknown;
			} catch {
				return undefined; // refused with what it takes
			}
		},
		takes: () => "JSON",
	},
} as const satisfies Record<string, Kind>;

function isDirectory(path: string): boolean {
	try {
		return statSync(path).isDirectory();
	} catch {
		return false; // whatever the reason, no program can be started there
	}
}

/** `term`, `SIGTERM`, `TERM` and 15 are the same. */
function canonical(text: string): string {
	const numbered = Object.entries(constants.signals).find(([, number]) => String(number) === text)?.[0];
	return (numbered ?? text).toUpperCase().replace(/^SIG/, "");
}

/** The given flags, each converted by its kind. */
export class Flags {
	readonly #values: ReadonlyMap<string, unknown>;

	constructor(values: ReadonlyMap<string, unknown>) {
		this.#values = values;
	}

	on(name: string): boolean {
		return this.#values.get(name) === true;
	}

	string(name: string): string | undefined {
		return this.get(name) as string | undefined;
	}

	number(name: string): number | undefined {
		return this.get(name) as number | undefined;
	}

	list(name: string): readonly string[] {
		return (this.get(name) as readonly string[] | undefined) ?? [];
	}

	get(name: string): unknown {
		return this.#values.get(name);
	}

	without(name: string): Flags {
		return new Flags(new Map([...this.#values].filter(([given]) => given !== name)));
	}
}

function convert(name: string, flag: Flag, text: string): unknown {
	const kind: Kind = KINDS[flag.kind as keyof typeof KINDS];
	const value = kind.read(text, flag);
	if (value === undefined) throw badInput(`--${name} takes ${kind.takes(flag)}, not "${text}"`);
	return value;
}

/** The flag that a word such as `--name` or `-n` means. */
export const flagNamed = (flags: Readonly<Record<string, Flag>>, word: string): Flag | undefined =>
	word.startsWith("--")
		? flags[word.slice(2)]
		: Object.values(flags).find(({ short }) => short !== undefined && word === `-${short}`);

/** Where another program's command line begins: behind our words and flags. */
function splitCommand(command: Command, args: readonly string[]): [ours: string[], program: string[]] {
	const flags = flagsOf(command);
	let ours = command.words?.findIndex(({ rest }) => rest === "command") ?? -1;
	if (ours === -1) return [[...args], []];
	for (let i = 0; i < args.length; i++) {
		const arg = args[i]!;
		if (arg === "--") return [args.slice(0, i), args.slice(i + 1)];
		if (!arg.startsWith("-") || arg === "-") {
			if (ours-- > 0) continue;
			const program = args.slice(i);
			refuseFlagsAfterLine(program, (word) => flagNamed(flags, word) !== undefined);
			return [args.slice(0, i), program];
		}
		const flag = flagNamed(flags, arg);
		if (flag !== undefined && flag.kind !== "switch") i++; // its value
	}
	return [[...args], []];
}

/** `run 'sleep 5' -t 1s` would run a program called "sleep 5". */
function refuseFlagsAfterLine([line = "", ...after]: readonly string[], isOurs: (word: string) => boolean): void {
	const flag = /\s/.test(line) && !line.startsWith("/") ? after.find(isOurs) : undefined;
	if (flag !== undefined) throw badInput(`flags go before the command: ${flag} comes after "${line}"`);
}

/** Neither too few words nor too many. */
function checkWords({ name, words: declared = [] }: Command, words: readonly string[]): void {
	const missing = declared.filter(({ optional }) => !optional)[words.length];
	if (missing !== undefined) throw badInput(`${missing.name} is missing`);
	const extra = declared.at(-1)?.rest === undefined ? words[declared.length] : undefined;
	if (extra !== undefined) throw badInput(`\`${name}\` takes no word "${extra}" there`);
}

export function parse(command: Command, args: readonly string[]): { words: string[]; flags: Flags } {
	const known = flagsOf(command);
	const [ours, program] = splitCommand(command, args);
	const options = Object.fromEntries(
		Object.entries(known).map(([name, { kind, short, multiple }]) => [
			name,
			{
				type: kind === "switch" ? ("boolean" as const) : ("string" as const),
				...(short && { short }),
				...(multiple && { multiple }),
			},
		]),
	);
	try {
		const { values, positionals } = parseArgs({ args: ours, options, allowPositionals: true, allowNegative: true });
		const isForeign = (name: string) => values[known[name]!.unless ?? ""] !== undefined;
		const read = Object.entries(values).map(([name, value]): [string, unknown] => {
			const one = (given: string | boolean) =>
				typeof given === "boolean" || isForeign(name) ? given : convert(name, known[name]!, given);
			return [name, Array.isArray(value) ? value.map(one) : one(value!)];
		});
		const flags = new Flags(new Map(read));
		const words = [...positionals, ...program];
		if (!flags.on("help")) checkWords(command, words);
		return { words, flags };
	} catch (error) {
		if (error instanceof Fault) throw error;
		// parseArgs says "Unknown option '--x'. To specify a positional …": only the first sentence is passed on.
		const problem = (error as Error).message.split(". ")[0]!.replace(/\.$/, "");
		const unknown = /^Unknown option '--([^']+)'/.exec(problem)?.[1];
		const near = unknown === undefined ? [] : nearest(unknown, Object.keys(known)).map((name) => `--${name}`);
		const problems = [near.length > 0 ? `${problem}; did you mean ${near.join(" or ")}` : problem];
		throw new Fault("bad_input", { problems }, { cause: error });
	}
}
