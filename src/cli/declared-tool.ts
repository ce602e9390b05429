// A tool's declaration as far as the command line needs it: plain data, so that no
// command loads zod. `npm run generate` writes tool-fields.ts in this form.

import { kebab } from "../protocol/command-words.ts";
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

/** What a flag is called, where its field's name does not say it, and its letter. */
const SPELLINGS: Readonly<Record<string, Partial<Pick<Flag, "short" | "value" | "summary">> & { name?: string }>> = {
	"until.text": { name: "until", short: "u" },
	"until.pattern": { value: "REGEX" },
	pattern: { value: "REGEX" },
	keys: { name: "key", short: "k", value: "KEY" },
	timeoutMs: { short: "t" },
	name: { short: "n", value: "NAME" },
	env: { short: "e" },
	shell: { short: "s", value: "NAME" },
	signal: { short: "s" },
	force: { short: "f" },
	view: { short: "v" },
	lines: { short: "l" },
	cwd: { value: "DIR", summary: "Where it runs (default: here)" },
	cols: { summary: "Width of its terminal (default: that of yours)" },
	rows: { summary: "Height of its terminal (default: that of yours)" },
	"limits.cpuSeconds": { summary: "Processor time it may use" },
	"limits.memoryBytes": { summary: "Memory it may use" },
	"limits.processes": { summary: "Processes this user may have" },
	"limits.openFiles": { summary: "Files it may have open" },
	"limits.fileBytes": { summary: "Size of a file it may write" },
	"limits.wallMs": { summary: "Time it may run" },
	again: { value: "SESSION" },
	id: { value: "ID" },
	program: { value: "SHELL" },
	parent: { value: "ID" },
};

/** Fields of a nested object are flags of their own: how these begin, and their explanation. */
const OBJECTS: Readonly<Record<string, { readonly prefix: string; readonly about: string }>> = {
	until: { prefix: "", about: "Return when: " },
	limits: { prefix: "limit-", about: "" },
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
	const [object, own = object!] = path.split(".") as [string, string?];
	const { name, ...spelling } = SPELLINGS[path] ?? {};
	const unit = field.type === "integer" ? UNITS.find(([suffix]) => suffix.test(own)) : undefined;
	const bare = unit === undefined ? own : own.replace(unit[0], "");
	const given = field.default;
	const about = field.about ?? spelling.summary ?? kebab(path).replaceAll(/[-.]/g, " ");
	const nested = object === own ? undefined : OBJECTS[object!];
	return {
		path,
		name: name ?? `${nested?.prefix ?? ""}${kebab(bare)}`,
		kind: field.choices ? "choice" : (unit?.[1] ?? KIND_OF_TYPE[field.type]),
		...spelling,
		...(field.choices && { choices: field.choices }),
		...((field.type === "strings" || field.type === "record") && { multiple: true as const }),
		...(field.least !== undefined && { least: field.least }),
		// A switch that is off needs no mention.
		...(given !== undefined &&
			given !== false && { default: unit?.[1] === "duration" ? spellMs(Number(given)) : String(given) }),
		summary:
			nested && field.type !== "boolean" ? `${nested.about}${nested.about ? decapitalized(about) : about}` : about,
	};
}

const spellMs = (ms: number) => (ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`);
const decapitalized = (text: string) =>
	(/^[A-Z]{2}/.test(text) ? text : text.charAt(0).toLowerCase() + text.slice(1)).replace("this many ms", "this time");
