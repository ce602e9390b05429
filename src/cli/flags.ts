// Parses a command line by the command's own record. A wrong flag is
// a fault like any other: it names the problem and the correct form.

import { parseArgs } from "node:util";
import { Fault } from "../protocol/fault.ts";
import type { Command, Flag } from "./command.ts";

/** Flags that every command has. */
export const COMMON_FLAGS: Readonly<Record<string, Flag>> = {
	json: { type: "boolean", summary: "answer with one JSON object" },
	help: { type: "boolean", short: "h", summary: "show this help" },
};

type Value = string | boolean | (string | boolean)[] | undefined;

const wrong = (problem: string) => new Fault("bad_input", { problems: [problem] });

/** Typed access to the given flags. */
export class Flags {
	readonly #values: Readonly<Record<string, Value>>;

	constructor(values: Readonly<Record<string, Value>>) {
		this.#values = values;
	}

	on(name: string): boolean {
		return this.#values[name] === true;
	}

	string(name: string): string | undefined {
		const value = this.#values[name];
		return typeof value === "string" ? value : undefined;
	}

	list(name: string): string[] {
		const value = this.#values[name];
		return Array.isArray(value) ? value.map(String) : typeof value === "string" ? [value] : [];
	}

	integer(name: string, least = 0): number | undefined {
		const text = this.string(name);
		if (text === undefined) return undefined;
		const value = Number(text);
		if (!Number.isSafeInteger(value) || value < least)
			throw wrong(`--${name} takes a whole number of at least ${least}, not "${text}"`);
		return value;
	}

	/** In milliseconds. The unit is required: a bare "5" is ambiguous. */
	duration(name: string): number | undefined {
		const text = this.string(name);
		if (text === undefined) return undefined;
		const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text);
		if (match === null) throw wrong(`--${name} takes a time with its unit such as 500ms, 30s or 2m, not "${text}"`);
		return Math.round(Number(match[1]) * { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[match[2] as "ms"]);
	}

	choice<C extends string>(name: string, choices: readonly C[]): C | undefined {
		const text = this.string(name);
		if (text === undefined) return undefined;
		if (!choices.includes(text as C)) throw wrong(`--${name} is one of ${choices.join(", ")}, not "${text}"`);
		return text as C;
	}
}

/** Where another program's command line begins: at the first word that is neither a flag of ours nor its value. */
function splitCommand(args: readonly string[], flags: Readonly<Record<string, Flag>>): [string[], string[]] {
	for (let i = 0; i < args.length; i++) {
		const arg = args[i]!;
		if (arg === "--") return [args.slice(0, i), args.slice(i + 1)];
		if (!arg.startsWith("-") || arg === "-") return [args.slice(0, i), args.slice(i)];
		const flag = arg.startsWith("--")
			? flags[arg.slice(2)]
			: Object.values(flags).find(({ short }) => short === arg.slice(1));
		if (flag?.type === "string") i++;
	}
	return [[...args], []];
}

export function parse(command: Command, args: readonly string[]): { words: string[]; flags: Flags } {
	const known = { ...COMMON_FLAGS, ...command.flags };
	const [ours, program] = command.takesCommand ? splitCommand(args, known) : [[...args], []];
	const options = Object.fromEntries(
		Object.entries(known).map(([name, { type, short, multiple }]) => [
			name,
			{ type, ...(short && { short }), ...(multiple && { multiple }) },
		]),
	);
	try {
		const { values, positionals } = parseArgs({ args: ours, options, allowPositionals: true, strict: true });
		return { words: [...positionals, ...program], flags: new Flags(values) };
	} catch (error) {
		// parseArgs says "Unknown option '--x'. To specify a positional …": only the first sentence is passed on.
		const problem = (error as Error).message.split(". ")[0]!.replace(/\.$/, "");
		throw new Fault("bad_input", { problems: [problem] }, { cause: error });
	}
}
