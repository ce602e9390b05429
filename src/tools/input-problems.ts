// What is wrong with an input, in words that lead to the right one: the field, what it takes with an
// example, what was given, and the field that was perhaps meant.

import type { z } from "zod";
import { nearest } from "../protocol/nearest.ts";
import { limits } from "../session/options.ts";
import { bare, kindOf } from "./field-kinds.ts";
import { insteadOf, similarChoice, timeField } from "./other-names.ts";

const SHOWN_CHARS = 60;
/** A description longer than this is for the tool list, not for an error. */
const TOLD_CHARS = 100;
/** A bound beyond this is not a reason that a caller would see. */
const TOLD_BOUND = 1e12;

/** A value as the caller gave it, cut. */
function shown(value: unknown): string {
	const text = JSON.stringify(value) ?? String(value);
	return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text;
}

export function problemsOf(error: z.ZodError, root: z.ZodObject, given: unknown): string[] {
	const problems = error.issues.flatMap((issue) => problemOf(issue, root, given));
	return [...new Set(problems)];
}

function problemOf(issue: z.core.$ZodIssue, root: z.ZodObject, given: unknown): string[] {
	const path = issue.path.map(String);
	const value = valueAt(given, path);
	const schema = schemaAt(root, path);
	const name = nameOf(path);
	if (issue.code === "unrecognized_keys") {
		const fields = schema === null ? [] : fieldsOf(schema);
		return issue.keys.map((key) => unknownField([...path, key], fields, root).problem);
	}
	if (path.length === 0) return [`the input must be an object with the fields of the tool, not ${shown(given)}`];
	if (schema === null) return [`\`${name}\`: ${issue.message}`];
	if (value === undefined) return [`\`${name}\` is missing${told(schema)}`];
	if (issue.code === "too_small" && issue.origin === "string") {
		const optional = (schema as z.ZodType).safeParse(undefined).success;
		return [optional ? `\`${name}\` is empty: give it a value or leave it out` : `\`${name}\` is empty${told(schema)}`];
	}
	if (issue.code === "too_small" && issue.origin === "array")
		return [`\`${name}\` is empty: it must be ${expected(schema)}`];
	if (issue.code === "too_big" && (issue.origin === "string" || issue.origin === "array"))
		return [`\`${name}\` has more than ${issue.maximum} ${issue.origin === "string" ? "characters" : "values"}`];
	if (issue.code === "custom" || issue.code === "invalid_key") return [`\`${name}\`: ${wordsOf(issue)}`];
	if (issue.code === "invalid_format") return [`\`${name}\` must be ${issue.message}, not ${shown(value)}`];
	return [`\`${name}\` must be ${expected(schema)}, not ${shown(value)}${meant(schema, value, root)}`];
}

/** A key may be any text. */
const nameOf = (path: readonly string[]) =>
	path
		.reduce((name, key) => (/^\d+$/.test(key) ? `${name}[${key}]` : name === "" ? key : `${name}.${key}`), "")
		.slice(0, limits.lineChars);

const wordsOf = (issue: z.core.$ZodIssue) =>
	issue.code === "invalid_key" ? (issue.issues[0]?.message ?? issue.message) : issue.message;

/** What a field takes. */
function expected(schema: z.core.$ZodType): string {
	const inner = bare(schema);
	const { def } = inner._zod;
	const { example } = kindOf(inner);
	const such = example === undefined ? "" : ` such as ${example}`;
	switch (def.type) {
		case "number":
			return numbers(inner as z.ZodNumber);
		case "boolean":
			return "true or false";
		case "enum":
			return `one of ${Object.values(def.entries).join(", ")}`;
		case "array":
			return `a list${such}`;
		case "object":
			return `an object${such || ` with ${Object.keys(def.shape).join(", ")}`}`;
		case "record":
			return `an object${such}`;
		case "union":
			return def.options.map(expected).join(" or ");
		default:
			return `a string${such}`;
	}
}

function numbers({ isInt, minValue, maxValue }: z.ZodNumber): string {
	const what = isInt ? "a whole number" : "a number";
	const from = minValue !== null && minValue > -TOLD_BOUND ? ` from ${minValue}` : "";
	return maxValue !== null && maxValue < TOLD_BOUND ? `${what}${from} to ${maxValue}` : `${what}${from}`;
}

/** The choice that a word is close to, or the field in which it would be right. */
function meant(schema: z.core.$ZodType, value: unknown, root: z.ZodObject): string {
	const { def } = bare(schema)._zod;
	if (def.type === "string" && Array.isArray(value)) {
		const words = Object.keys(root.shape).find((field) => kindOf(bare(root.shape[field]!)).kind === "words");
		return words === undefined ? "" : `; did you mean \`${words}\`?`;
	}
	if (typeof value !== "string") return "";
	if (def.type === "enum") {
		const choices = Object.values(def.entries).map(String);
		const similar = similarChoice(value, choices);
		const close = similar === undefined ? nearest(value, choices) : [similar];
		return close.length === 0 ? "" : `; did you mean ${close.map((choice) => `"${choice}"`).join(" or ")}?`;
	}
	if (kindOf(bare(schema)).kind === "words") return "; a command line goes in `command`";
	return "";
}

function told(schema: z.core.$ZodType): string {
	const { description = "" } = schema as z.ZodType;
	const { example } = kindOf(bare(schema));
	const words = description.length > TOLD_CHARS ? "" : description;
	const such = example === undefined ? "" : `e.g. ${example}`;
	const both = [words, such].filter((part) => part !== "").join(", ");
	if (both !== "") return ` (${both})`;
	const type = expected(schema);
	return type === "a string" ? "" : `: ${type}`;
}

/** A field that there is not, and the one that it may be. */
export function unknownField(
	path: readonly string[],
	fields: readonly string[],
	root: z.ZodObject,
): { readonly problem: string; readonly isClose: boolean } {
	const key = path.at(-1) ?? "";
	const name = nameOf(path);
	const time = timeField(key, fields) ?? timeField(key, Object.keys(root.shape));
	if (time !== null)
		return { problem: `there is no \`${name}\`; did you mean \`${time.field}\` (${time.unit})?`, isClose: true };
	const instead = insteadOf(key, fields);
	if (instead !== null) return { problem: `there is no \`${name}\`; did you mean ${instead}?`, isClose: true };
	const close = nearest(key, fields);
	if (close.length > 0) return { problem: `there is no \`${name}\`; did you mean ${fieldList(close)}?`, isClose: true };
	const inside = Object.entries(root.shape).find(([, field]) => fieldsOf(field).includes(key))?.[0];
	if (inside !== undefined)
		return {
			problem: `there is no \`${name}\` here; did you mean \`${inside}: {"${key.slice(0, limits.lineChars)}": …}\`?`,
			isClose: true,
		};
	const outside = !fields.includes(key) && Object.hasOwn(root.shape, key);
	if (outside) return { problem: `\`${key}\` goes beside \`${path[0]}\`, not inside it`, isClose: true };
	return { problem: `there is no \`${name}\`; the fields are ${fields.join(", ")}`, isClose: false };
}

const fieldList = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(" or ");

function fieldsOf(schema: z.core.$ZodType): readonly string[] {
	const { def } = bare(schema)._zod;
	return def.type === "object" ? Object.keys(def.shape) : [];
}

function schemaAt(root: z.core.$ZodType, path: readonly string[]): z.core.$ZodType | null {
	let at: z.core.$ZodType = root;
	for (const key of path) {
		const { def } = bare(at)._zod;
		const next =
			def.type === "object"
				? Object.hasOwn(def.shape, key)
					? def.shape[key]
					: null
				: def.type === "array"
					? def.element
					: def.type === "record"
						? def.valueType
						: null;
		if (next === undefined || next === null) return null;
		at = next;
	}
	return at;
}

function valueAt(given: unknown, path: readonly string[]): unknown {
	let at = given;
	for (const key of path) {
		if (typeof at !== "object" || at === null) return undefined;
		at = (at as Record<string, unknown>)[key];
	}
	return at;
}
