// How a secret may appear in what a program prints: as it is, in base64, in a URL, in JSON, in HTML.

import { learn, MAX_SECRET_CHARS, MIN_SECRET_CHARS } from "../protocol/masking.ts";

/** As many as are kept of one value: letters and digits alone have seven at most, what is full of punctuation all of them. */
const MAX_SPELLINGS = 40;
/** Of all of them: room is left for other values (protocol/masking.ts). */
const MAX_CHARS = 16_000;
/** A holder takes no longer one (PATTERN_MOST in holder/patterns.h). */
const MAX_BYTES = 4096;

/** What a program may print is masked from now on. Shorter than six characters it would be found in ordinary text. */
export function maskFromNowOn(value: string): void {
	if (value.length >= MIN_SECRET_CHARS && value.length <= MAX_SECRET_CHARS) learn(spellingsOf(value));
}

/** The usual ones last: where there is no room, those that were learnt first are forgotten first. */
function spellingsOf(value: string): readonly string[] {
	const all = new Set([
		value,
		...urlEncoded(value),
		...JSON_WRITERS.map((write) => write(value)),
		...[0, 1, 2].flatMap((before) => base64(value, before)),
		...html(value),
		...JSON_WRITERS.map((write) => write(write(value))),
		...numbered(value),
	]);
	let chars = 0;
	const kept = [...all].filter((spelling) => {
		const fits = chars + spelling.length <= MAX_CHARS && Buffer.byteLength(spelling) <= MAX_BYTES;
		if (fits) chars += spelling.length;
		return fits;
	});
	return kept.slice(0, MAX_SPELLINGS).reverse();
}

/** With slashes encoded or kept, a space as %20 or as a plus, in capitals or small letters. */
function urlEncoded(value: string): readonly string[] {
	const usual = encodeURIComponent(value);
	const strict = usual.replace(/[!'()*]/g, percent);
	const capitals = [strict, strict.replaceAll("%2F", "/")].flatMap((text) => [text, text.replaceAll("%20", "+")]);
	return [usual, ...capitals, ...capitals.map((text) => text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()))];
}

const percent = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;

const json = (value: string) => JSON.stringify(value).slice(1, -1);
const slashes = (text: string) => text.replaceAll("/", "\\/");
const unit = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
const ascii = (text: string) => text.replace(/[^\x20-\x7e]/g, unit);

/** How libraries write a text in JSON: most; some for web pages; Python; PHP; Go. */
const JSON_WRITERS: readonly ((value: string) => string)[] = [
	json,
	(value) => slashes(json(value)),
	(value) => ascii(json(value)),
	(value) => ascii(slashes(json(value))),
	(value) => json(value).replace(/[<>&]/g, unit),
];

/** Numeric entities, for punctuation or for all but ASCII letters and digits. */
function numbered(value: string): readonly string[] {
	const code = (character: string, base: number) => character.codePointAt(0)!.toString(base);
	return [/[!-/:-@[-`{-~]/g, /[^A-Za-z0-9]/gu].flatMap((which) => [
		value.replace(which, (character) => `&#${code(character, 10)};`),
		value.replace(which, (character) => `&#x${code(character, 16)};`),
		value.replace(which, (character) => `&#x${code(character, 16).toUpperCase()};`),
	]);
}

/** How libraries escape a double and a single quote. */
const QUOTES = [
	['"', "'"],
	["&quot;", "'"],
	["&quot;", "&#39;"],
	["&quot;", "&#039;"],
	["&quot;", "&#x27;"],
	["&quot;", "&apos;"],
	["&#34;", "&#39;"],
] as const;

function html(value: string): readonly string[] {
	const text = value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
	return QUOTES.map(([double, single]) => text.replaceAll('"', double).replaceAll("'", single));
}

/** The characters that are the same whatever comes after so many bytes, and after the value: both alphabets. */
function base64(value: string, before: number): readonly string[] {
	const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)]);
	const [from, to] = [Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6)];
	return [bytes.toString("base64").slice(from, to), bytes.toString("base64url").slice(from, to)];
}
