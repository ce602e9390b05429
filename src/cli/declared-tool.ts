// A tool's declaration as far as the command line needs it: plain data, so that no
// command loads zod. `npm run generate` writes tool-fields.ts in this form.

import { flagName, kebab } from "../protocol/command-words.ts";
import type { Flag } from "./command.ts";

export interface DeclaredField {
	readonly type: "string" | "boolean" | "integer" | "number" | "strings" | "record" | "scalar" | "json";
	readonly about?: string;
	readonly choices?: readonly string[];
	readonly default?: string | number | boolean;
	readonly least?: number;
}

export interface DeclaredTool {
	readonly title: string;
	/** By path: `text`, `until.text`. */
	readonly fields: Readonly<Record<string, DeclaredField>>;
}

interface Spelling extends Partial<Pick<Flag, "kind" | "short" | "value" | "unless">> {
	/** Where the field has no explanation. */
	readonly summary?: string;
	/** Instead of the field's explanation, which is written for a tool. */
	readonly about?: string;
}

/** A flag's letter, and what a person reads about it. */
const SPELLINGS: Readonly<Record<string, Spelling>> = {
	"until.text": { short: "u", about: "Return when this text appears in new output" },
	"until.pattern": { value: "REGEX", about: "Return when new output matches this regular expression" },
	"until.gone": { about: "Return when this text, once shown, disappears" },
	"until.stillMs": { about: "Return when there is no output for this long" },
	"until.port": { about: "Return when it listens on this TCP port" },
	"until.only": { about: "Do not return because the program waits for input" },
	pattern: { value: "REGEX" },
	keys: { short: "k", value: "KEY" },
	timeoutMs: { short: "t" },
	name: { short: "n", value: "NAME" },
	env: { short: "e" },
	shell: { short: "s", value: "NAME" },
	signal: { short: "s", summary: "Which signal" },
	force: { short: "f" },
	view: { short: "v", summary: "What to show" },
	lines: { short: "l" },
	in: { value: "PLACE" },
	cwd: { kind: "directory", value: "DIR", unless: "in", summary: "Where it runs (default: here)" },
	cols: { summary: "Width of its terminal (default: that of yours)" },
	rows: { summary: "Height of its terminal (default: that of yours)" },
	"limits.cpuSeconds": { summary: "Processor time it may use" },
	"limits.memoryBytes": { summary: "Memory it may use" },
	"limits.processes": { summary: "Processes it may have at once" },
	"limits.openFiles": { summary: "Files it may have open" },
	"limits.fileBytes": { summary: "Size of a file it may write" },
	"limits.wallMs": { summary: "Time it may run" },
	"limits.outputBytesPerSecond": { summary: "Bytes it may print per second, sustained" },
	again: { value: "SESSION" },
	sandbox: { kind: "text", value: "true|PROFILE|JSON" },
	id: { value: "ID" },
	program: { value: "SHELL" },
	parent: { value: "ID" },
};

/** Numbers whose field ends in a unit are given with one. */
const UNITS: readonly (readonly [suffix: RegExp, kind: Flag["kind"]])[] = [
	[/Ms$/, "duration"],
	[/Seconds$/, "seconds"],
	[/Bytes$/, "size"],
];

const KIND_OF_TYPE = {
	string: "text",
	strings: "text",
	boolean: "switch",
	integer: "integer",
	number: "number",
	record: "pair",
	scalar: "scalar",
	json: "json",
} as const satisfies Record<DeclaredField["type"], Flag["kind"]>;

export interface FieldFlag extends Flag {
	readonly name: string;
	/** Where its value goes in the tool's input. */
	readonly path: string;
}

export function flagOf(path: string, field: DeclaredField): FieldFlag {
	const own = path.split(".").at(-1)!;
	const { summary, about = field.about ?? summary, ...spelling } = SPELLINGS[path] ?? {};
	const unit = field.type === "integer" ? UNITS.find(([suffix]) => suffix.test(own)) : undefined;
	const given = field.default;
	return {
		path,
		name: flagName(path),
		kind: field.choices ? "choice" : (unit?.[1] ?? KIND_OF_TYPE[field.type]),
		...spelling,
		...(field.choices && { choices: field.choices }),
		...((field.type === "strings" || field.type === "record") && { multiple: true as const }),
		...(field.least !== undefined && { least: field.least }),
		// A switch that is off needs no mention.
		...(given !== undefined &&
			given !== false && { default: unit?.[1] === "duration" ? spellMs(Number(given)) : String(given) }),
		summary: withFlags(about ?? kebab(path).replaceAll(/[-.]/g, " ")),
	};
}

const spellMs = (ms: number) => (ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`);
/** Another field of the tool is a flag here. */
const withFlags = (about: string) => about.replaceAll(/`([a-z]+[A-Z]\w*)`/g, (_, other: string) => `--${kebab(other)}`);
