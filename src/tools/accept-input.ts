// The one place where the input of a call is parsed, for every way in. What is certainly meant
// is accepted: numbers and booleans as strings, one value for a list, other names of a
// field. What is too big is reduced to the bound and told. Anything else is a fault that says what
// would be right, before anything is typed, started or changed.
//
// The schemas say everything (with field-kinds.ts); no tool has a list of its own here.

import { isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { z } from "zod";
import { type CleanLine, oneLine, safe } from "../protocol/clean.ts";
import { Fault } from "../protocol/fault.ts";
import { signalName, signalNumber } from "../pty/signals.ts";
import { limits, type OptionName, options } from "../session/options.ts";
import { isKey } from "../terminal/key-names.ts";
import { bare, kindOf } from "./field-kinds.ts";
import { problemsOf, unknownField } from "./input-problems.ts";
import { isRemark, meantChoice, meantField, type OtherName, timeField } from "./other-names.ts";
import type { Caller, Tool } from "./tool.ts";

interface Accepted<I> {
	readonly input: I;
	/** What was changed or ignored and may not be what the caller wanted. */
	readonly notices: readonly CleanLine[];
}

/** JSON in a string is parsed up to this size: more would be a cost that its sender decides on. */
const MAX_JSON_CHARS = 20_000;
const MAX_PROBLEMS = 10;

export function acceptInput<I extends z.ZodObject>(
	{ input: schema, name }: Pick<Tool<string, I>, "input" | "name">,
	given: unknown,
	caller: Caller,
	usual: Readonly<Partial<Record<OptionName, number>>> = {},
): Accepted<z.output<I>> {
	if (!hasFewValues(given)) throw new Fault("bad_input", { problems: [`more than ${limits.inputValues} values`] });
	const repair = new InputRepair(name, caller, schema);
	const repaired = withOptions(schema, repair.value(schema, given === undefined ? {} : given, []), usual);
	const parsed = schema.safeParse(repaired);
	const problems = [...repair.problems, ...(parsed.success ? [] : problemsOf(parsed.error, schema, repaired))];
	if (!parsed.success || problems.length > 0)
		throw new Fault("bad_input", { problems: problems.slice(0, MAX_PROBLEMS) });
	return { input: parsed.data, notices: repair.notices };
}

/** What the call leaves out and an option says, unless the tool has a default of its own. */
function withOptions(
	schema: z.ZodObject,
	input: unknown,
	usual: Readonly<Partial<Record<OptionName, number>>>,
): unknown {
	if (!isObject(input)) return input;
	const left = Object.entries(schema.shape).flatMap(([name, field]) => {
		const { option } = kindOf(bare(field));
		const { def } = (field as z.core.$ZodTypes)._zod;
		const isUsual = option !== undefined && def.type === "default" && def.defaultValue === options[option].default;
		return isUsual && usual[option] !== undefined && input[name] === undefined ? [[name, usual[option]] as const] : [];
	});
	return left.length === 0 ? input : { ...input, ...Object.fromEntries(left) };
}

type Path = readonly string[];

const TRUE = new Set(["true", "yes", "on", "1"]);
const FALSE = new Set(["false", "no", "off", "0"]);
const NUMBER = /^\s*[+-]?\d+(?:\.\d+)?\s*$/;
const DURATION =
	/^\s*(\d+(?:\.\d+)?)\s*(?:(ms|msecs?|millis(?:econds?)?)|(s|secs?|seconds?)|(m|mins?|minutes?)|(?:h|hrs?|hours?))\s*$/i;

class InputRepair {
	readonly notices: CleanLine[] = [];
	readonly problems: string[] = [];
	readonly #tool: string;
	readonly #caller: Caller;
	readonly #root: z.ZodObject;

	constructor(tool: string, caller: Caller, root: z.ZodObject) {
		this.#tool = tool;
		this.#caller = caller;
		this.#root = root;
	}

	/** What the schema would take for what was meant; unchanged where that is not certain. */
	value(schema: z.core.$ZodType, given: unknown, path: Path): unknown {
		if (given === undefined) return undefined;
		// Models send null for what they leave out.
		if (given === null) return takesNothing(schema) ? undefined : null;
		const inner = bare(schema);
		const { def } = inner._zod;
		switch (def.type) {
			case "object":
				return this.#object(inner as z.ZodObject, given, path);
			case "array":
				return this.#list(inner as z.ZodArray, given, path);
			case "record":
				return this.#record(inner as z.ZodRecord, given, path);
			case "number":
				return this.#number(inner as z.ZodNumber, given, path);
			case "boolean":
				return asBoolean(given);
			case "string":
				return this.#string(inner, given);
			case "enum":
				if (typeof given === "string" && given.trim().toLowerCase() === kindOf(inner).any) return undefined;
				return asChoice(Object.values(def.entries).map(String), given);
			case "union":
				return this.#either(inner as z.ZodUnion, given, path);
			default:
				return given;
		}
	}

	#object(schema: z.ZodObject, given: unknown, path: Path): unknown {
		const { shorthand } = kindOf(schema);
		const parsed = typeof given === "string" ? (fromJson(given, isObject) ?? given) : given;
		if (typeof parsed === "string" && shorthand !== undefined) return { [shorthand]: parsed };
		if (!isObject(parsed)) return parsed;
		const fields = Object.keys(schema.shape);
		const named = this.#renamed(parsed, fields, path);
		return Object.fromEntries(
			Object.entries(named).flatMap(([name, value]) => {
				const field = Object.hasOwn(schema.shape, name) ? schema.shape[name] : undefined;
				if (field !== undefined) {
					const { unless } = kindOf(bare(field));
					if (unless !== undefined && named[unless] != null) return value === null ? [] : [[name, value]];
					const repaired = this.value(field, value, [...path, name]);
					return repaired === undefined ? [] : [[name, repaired]];
				}
				// A strict schema refuses it in the words of input-problems.ts; the others are those of systems that send more.
				if (schema._zod.def.catchall === undefined) this.#ignore([...path, name], fields);
				return [[name, value]];
			}),
		);
	}

	/** Under our names, those that are certainly another name of one of them included. */
	#renamed(given: Record<string, unknown>, fields: readonly string[], path: Path): Record<string, unknown> {
		const named: Record<string, unknown> = {};
		for (const [name, value] of Object.entries(given)) {
			const isTime = typeof value === "string" && DURATION.test(value);
			const meant: OtherName | null = fields.includes(name)
				? { field: name }
				: (meantField(name, fields) ?? (isTime ? timeField(name, fields) : null));
			if (meant === null && (value === null || (path.length === 0 && isRemark(name, fields)))) continue;
			const { field, times = 1 }: OtherName = meant ?? { field: name };
			if (field !== name && (Object.hasOwn(given, field) || Object.hasOwn(named, field))) {
				if (value !== null) this.problems.push(`give \`${[...path, field].join(".")}\` or \`${name}\`, not both`);
				continue;
			}
			const isAmount = typeof value === "number" || typeof value === "string";
			const amount = times === 1 || !isAmount ? Number.NaN : Number(value);
			Object.defineProperty(named, field, {
				value: Number.isNaN(amount) ? value : amount * times,
				enumerable: true,
			});
		}
		return named;
	}

	#ignore(path: Path, fields: readonly string[]): void {
		const { problem, isClose } = unknownField(path, fields, this.#root);
		if (isClose) this.problems.push(problem);
		else
			this.notices.push(
				safe`\`${oneLine(path.join("."), 60)}\` is not a field of ${oneLine(this.#tool)} and was ignored`,
			);
	}

	#list(schema: z.ZodArray, given: unknown, path: Path): unknown {
		const { kind } = kindOf(schema);
		const element = schema.element as z.core.$ZodType;
		const parsed = typeof given === "string" ? (fromJson(given, Array.isArray) ?? given) : given;
		if (Array.isArray(parsed)) return parsed.map((value, i) => this.value(element, value, [...path, String(i)]));
		if (typeof parsed !== "string" && typeof parsed !== "number") return parsed;
		const text = String(parsed);
		if (kind === "keys") return keysIn(text);
		// A command line is not a program of that name.
		if (kind === "words" && /\s/.test(text)) return parsed;
		return [text];
	}

	/** Variables: also as `NAME=value` lines, with numbers and booleans for values. */
	#record(schema: z.ZodRecord, given: unknown, path: Path): unknown {
		const parsed = typeof given === "string" ? (fromJson(given, isObject) ?? given) : given;
		const pairs = Array.isArray(parsed) ? parsed : typeof parsed === "string" ? [parsed] : null;
		if (pairs !== null) {
			if (!pairs.every((pair) => typeof pair === "string" && /^[^=]+=/.test(pair)) || pairs.length === 0) return parsed;
			return Object.fromEntries(pairs.map((pair: string) => splitAt(pair, "=")));
		}
		if (!isObject(parsed)) return parsed;
		const entries = Object.entries(parsed).filter(([, value]) => value !== null);
		return Object.fromEntries(
			entries.map(([name, value]) => [
				name,
				typeof value === "boolean" ? String(value) : this.value(schema.valueType, value, [...path, name]),
			]),
		);
	}

	#number(schema: z.ZodNumber, given: unknown, path: Path): unknown {
		const number = typeof given === "string" ? (asDuration(given, path.at(-1) ?? "") ?? asNumber(given)) : given;
		if (typeof number !== "number" || Number.isNaN(number) || kindOf(schema).kind === "reference") return number;
		const { minValue, maxValue, isInt } = schema;
		if (isInt && !Number.isInteger(number)) return number;
		if (maxValue !== null && number > maxValue) return this.#bounded(path, number, "more", maxValue);
		// Zero and less may mean "none" or "no limit"; a small amount means little.
		if (minValue !== null && number < minValue && number > 0) return this.#bounded(path, number, "less", minValue);
		return number;
	}

	#bounded(path: Path, number: number, than: "more" | "less", bound: number): number {
		this.notices.push(safe`\`${oneLine(path.join("."))}\`: ${number} is ${than} than ${bound}; ${bound} was used`);
		return bound;
	}

	#string(schema: z.core.$ZodType, given: unknown): unknown {
		if (typeof given === "number") return String(given);
		if (typeof given !== "string") return given;
		const { kind } = kindOf(schema);
		if (kind === "session") return given.trim().replace(/^\[(.+)\]$/, "$1");
		if (kind !== "directory") return given;
		if (/^file:\/\/(?:localhost)?\//i.test(given)) return pathOf(given);
		const { HOME: home = "" } = this.#caller.env;
		return /^~(?:\/|$)/.test(given) && isAbsolute(home) ? join(home, given.slice(1)) : given;
	}

	#either(schema: z.ZodUnion, given: unknown, path: Path): unknown {
		const options = schema.options as readonly z.ZodType[];
		if (options.some((option) => option.safeParse(given).success)) return given;
		for (const option of options) {
			const tried = new InputRepair(this.#tool, this.#caller, this.#root);
			const repaired = tried.value(option, given, path);
			if (tried.problems.length > 0 || !option.safeParse(repaired).success) continue;
			this.notices.push(...tried.notices);
			return repaired;
		}
		return given;
	}
}

/** Leaving the field out is allowed, and null is no value of its own. */
function takesNothing(schema: z.core.$ZodType): boolean {
	const { def } = (schema as z.core.$ZodTypes)._zod;
	return def.type === "optional" || def.type === "default";
}

function asNumber(text: string): number | string {
	return NUMBER.test(text) ? Number(text) : text;
}

/** "30s" in a field whose name has the unit. */
function asDuration(text: string, field: string): number | null {
	const [, amount, isMs, isSeconds, isMinutes] = DURATION.exec(text) ?? [];
	if (amount === undefined) return null;
	const ms = Number(amount) * (isMs ? 1 : isSeconds ? 1000 : isMinutes ? 60_000 : 3_600_000);
	return /ms$/i.test(field) ? Math.round(ms) : /seconds$/i.test(field) ? ms / 1000 : null;
}

function asBoolean(given: unknown): unknown {
	if (typeof given !== "string" && typeof given !== "number") return given;
	const word = String(given).trim().toLowerCase();
	return TRUE.has(word) ? true : FALSE.has(word) ? false : given;
}

/** In any case; signals also with SIG or by number. */
function asChoice(choices: readonly string[], given: unknown): unknown {
	if (typeof given !== "string" && typeof given !== "number") return given;
	const word = String(given).trim().toLowerCase();
	const choice = choices.find((one) => one.toLowerCase() === word) ?? meantChoice(word, choices);
	if (choice !== undefined) return choice;
	if (!choices.every((one) => signalNumber(one) !== null)) return given;
	const name = /^\d+$/.test(word) ? signalName(Number(word)) : word.toUpperCase();
	return choices.find((one) => `SIG${one}` === name) ?? given;
}

/** Of a file's URL; what is not one is left for the fault that says so. */
function pathOf(url: string): string {
	try {
		return fileURLToPath(url);
	} catch {
		return url; // an escape in it is not valid: there is no such directory
	}
}

/** One key, or several with spaces between; what is no key is left for the fault that says so. */
function keysIn(text: string): readonly string[] {
	const parts = text.split(/[\s,]+/).filter((part) => part !== "");
	const isSeveral = parts.length > 1 && !isKey(text) && parts.every(isKey) && parts.some((part) => part.length > 1);
	return isSeveral ? parts : [text];
}

function fromJson<T>(text: string, is: (value: unknown) => value is T): T | null {
	if (text.length > MAX_JSON_CHARS || !/^\s*[[{]/.test(text)) return null;
	try {
		const value: unknown = JSON.parse(text);
		return is(value) && hasFewValues(value) ? value : null;
	} catch {
		return null; // it is not JSON, so it is what it says
	}
}

const isObject = (value: unknown): value is Record<string, unknown> =>
	typeof value === "object" && value !== null && !Array.isArray(value);

function splitAt(text: string, separator: string): [string, string] {
	const at = text.indexOf(separator);
	return [text.slice(0, at), text.slice(at + 1)];
}

/** Checked before each value is: a hundred thousand variables would take a quarter of a second. */
function hasFewValues(input: unknown): boolean {
	const rest: unknown[] = [input];
	for (let count = 0; rest.length > 0; count++) {
		const value = rest.pop();
		const inner = typeof value === "object" && value !== null ? Object.values(value) : [];
		if (count + rest.length + inner.length > limits.inputValues) return false;
		rest.push(...inner);
	}
	return true;
}
