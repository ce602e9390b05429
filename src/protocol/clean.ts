// Text for a model: only what a person could see.
//
// Escape and control characters could act on a terminal downstream; bidi controls, tags
// and other invisible characters make a tokenizer read something else than a person does.
// The types below can only be made here, and renderers take nothing else: text from a
// program, a file name or a caller cannot reach a model unfiltered by mistake.

import { masked } from "./masking.ts";

declare const clean_: unique symbol;
declare const line_: unique symbol;

/** Filtered text of any number of lines. Belongs inside a fence. */
export type Clean = string & { readonly [clean_]: true };
/** Filtered text of exactly one line, bounded in length. May appear inside our own sentences. */
export type CleanLine = Clean & { readonly [line_]: true };

/** Controls, line separators, surrogates, noncharacters, and everything that is not drawn. */
const NOT_DRAWN = String.raw`[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]`;
const UNSEEN = new RegExp(String.raw`(?![\n\t]|\u200c|\u200d|[\ufe00-\ufe0f])${NOT_DRAWN}`, "gu");
const INVISIBLE = new RegExp(String.raw`(?![\n\t])${NOT_DRAWN}`, "gu");

/** Joiners and variation selectors: part of scripts and emoji, but several in a row, or one after ASCII, can hide a message. */
const CARRIERS = /(?:\u200c|\u200d|[\ufe00-\ufe0f])+/gu;
const EMOJI_JOIN = "\ufe0f\u200d"; // ❤️‍🔥 needs both
const PICTURE = /^\p{Extended_Pictographic}/u;
const KEYCAP = /[0-9#*]/;

const PLAIN = /^[\t\n\x20-\x7e]*$/;
const PLAIN_LINE = /^[\t\x20-\x7e]*$/;

export interface Cleaned {
	readonly text: Clean;
	/** Characters that were removed. */
	readonly removed: number;
}

/** Filters text of any number of lines. */
export function clean(shown: string): Cleaned {
	const text = masked(shown);
	if (PLAIN.test(text)) return { text: branded(text), removed: 0 };
	let removed = 0;
	const cleaned = filtered(text.replace(/\r\n/g, "\n"), (unseen) => {
		removed += [...unseen].length;
		return "";
	});
	return { text: branded(cleaned), removed };
}

function filtered(text: string, replace: (unseen: string) => string): string {
	return text.replace(UNSEEN, replace).replace(CARRIERS, (carriers, at: number, whole: string) => {
		const end = at + carriers.length;
		const kept = carriersToKeep(carriers, whole[at - 1] ?? "\n", whole.slice(end, end + 2));
		return kept.length === carriers.length ? kept : kept + replace(carriers.slice(kept.length));
	});
}

function carriersToKeep(carriers: string, before: string, after: string): string {
	if (before <= "\x7f") return KEYCAP.test(before) && carriers[0] === "\ufe0f" ? "\ufe0f" : "";
	return carriers === EMOJI_JOIN && PICTURE.test(after) ? carriers : carriers[0]!;
}

/** Text as a search compares it: without what is not drawn, joiners and variation selectors included, and composed. */
export function comparable(text: string): string {
	return PLAIN.test(text) ? text : text.replace(INVISIBLE, "").normalize("NFC");
}

const MAX_LINE_CHARS = 200;

/** Filters text into one line of bounded length: line breaks are shown as ↵, a cut as …. */
export function oneLine(shown: string, maxChars: number = MAX_LINE_CHARS): CleanLine {
	const text = masked(shown);
	if (text.length <= maxChars && PLAIN_LINE.test(text)) return branded(text);
	// The input is bounded too, so that a megabyte of removed characters costs nothing.
	const head = text.length > 8 * maxChars ? text.slice(0, 8 * maxChars) : text;
	const line = clean(head.replace(/\r\n|[\n\r\v\f\x85\u2028\u2029]/g, "↵")).text;
	if (line.length <= maxChars && head.length === text.length) return branded(line);
	return branded(`${clean(line.slice(0, maxChars - 1)).text}…`);
}

export const isClean = (value: unknown): value is Clean => typeof value === "string" && clean(value).text === value;

export const isCleanLine = (value: unknown): value is CleanLine => isClean(value) && !value.includes("\n");

/** A number, a filtered line, or text of ours: a literal of one line. A record of anything but literals may be empty. */
type Safe<T> = T extends number | CleanLine
	? T
	: T extends `${string}\n${string}`
		? never
		: T extends string
			? Record<never, never> extends Record<T, 1>
				? never
				: T
			: never;

/** A sentence around filtered values: the compiler refuses an unfiltered value. */
export function safe<V extends readonly (string | number)[]>(
	words: TemplateStringsArray,
	...values: V & { readonly [K in keyof V]: Safe<V[K]> }
): CleanLine {
	// Not String.raw, which takes four times as long: a list has thousands of these.
	let text = words[0]!;
	for (let i = 0; i < values.length; i++) text += `${values[i]}${words[i + 1]}`;
	return branded(text);
}

export function joined(
	lines: readonly (CleanLine | number)[],
	separator: " " | ", " | "; " | " · " | " | ",
): CleanLine {
	return branded(lines.join(separator));
}

/** So many of them, in words: one line, 2 lines. */
export const counted = (count: number, noun: "byte" | "character" | "key" | "line"): CleanLine =>
	branded(`${count} ${noun}${count === 1 ? "" : "s"}`);

/** One below the other. */
export function stacked(parts: readonly Clean[]): Clean {
	return branded(parts.join("\n"));
}

export function inQuotes(line: CleanLine): CleanLine {
	return branded(JSON.stringify(line));
}

/** A value that cannot be mistaken for our own words: in quotes unless it is plain. */
export function quoted(line: CleanLine): CleanLine {
	return /^[\w .,+:@%=~/-]+$/.test(line) ? line : inQuotes(line);
}

/** A value as JSON has it, with every text in it filtered, but for those of these fields. */
export function cleanValues(value: unknown, except: readonly string[] = []): unknown {
	return withTexts(value, (text) => clean(text).text, except);
}

/** The same where each text is one line. */
export function lineValues(value: unknown, maxChars: number, except: readonly string[] = []): unknown {
	return withTexts(value, (text) => oneLine(text, maxChars), except);
}

function withTexts(value: unknown, filter: (text: string) => string, except: readonly string[]): unknown {
	if (typeof value === "string") return filter(value);
	if (Array.isArray(value)) return value.map((each) => withTexts(each, filter, except));
	if (typeof value !== "object" || value === null) return value;
	return Object.fromEntries(
		Object.entries(value).map(([key, each]) => [
			filter(key),
			except.includes(key) ? each : withTexts(each, filter, except),
		]),
	);
}

/** JSON without invisible characters: they are escaped, so that no value changes. */
export function cleanJson(value: object): Clean {
	return branded(filtered(masked(JSON.stringify(value)), escaped));
}

function escaped(text: string): string {
	const units = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
	return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}

/** The only place that creates the types above. */
function branded(text: string): CleanLine {
	return text as CleanLine;
}
