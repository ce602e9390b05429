// How a secret may appear in what a program prints: as it is, in base64, in a URL, in JSON, in HTML.

import { learn, MAX_SECRET_CHARS, MIN_SECRET_CHARS } from "../protocol/masking.ts";

/** What a program may print is masked from now on. Shorter than six characters it would be found in ordinary text. */
export function maskFromNowOn(value: string): void {
	if (value.length >= MIN_SECRET_CHARS && value.length <= MAX_SECRET_CHARS) learn(spellingsOf(value));
}

function spellingsOf(value: string): readonly string[] {
	const json = JSON.stringify(value).slice(1, -1);
	const encoded = encodeURIComponent(value).replace(/[!'()*]/g, percent);
	return [
		...new Set([
			value,
			...[0, 1, 2].flatMap((before) => base64(value, before)),
			encodeURIComponent(value),
			encoded,
			encoded.replaceAll("%20", "+"),
			encoded.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
			json,
			json.replaceAll("/", "\\/"),
			...html(value),
			json.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
		]),
	];
}

const percent = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;

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
