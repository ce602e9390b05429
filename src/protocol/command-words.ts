// The words of a command line: as a POSIX shell reads them back, and as flags are called.

const PLAIN = /^[\w@%+=:,./-]+$/;

export const inShellQuotes = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

export const shellWord = (word: string): string => (PLAIN.test(word) ? word : inShellQuotes(word));

export const shellWords = (words: readonly string[]): string => words.map(shellWord).join(" ");

/** A field's name as that of a flag: `maxTokens` is `max-tokens`. */
export const kebab = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** Flags whose names are not those of their fields. */
const NAMES: Readonly<Record<string, string>> = { "until.text": "until", keys: "key" };
/** Fields of a nested object are flags of their own: how these begin. */
const PREFIXES: Readonly<Record<string, string>> = { limits: "limit-" };
/** Flags are given with a unit. */
const UNIT = /(?:Ms|Seconds|Bytes)$/;

/** What the flag of a field is called: `timeoutMs` is `timeout`, `limits.cpuSeconds` is `limit-cpu`. */
export function flagName(path: string): string {
	const [object = "", own] = path.split(".");
	if (own === undefined && object in PREFIXES) return `${PREFIXES[object]}…`;
	return (
		NAMES[path] ?? `${own === undefined ? "" : (PREFIXES[object] ?? "")}${kebab((own ?? object).replace(UNIT, ""))}`
	);
}

/** Words about a call, for a command line: the fields that they name in backticks are flags there. */
export const inFlags = (words: string, fields: Iterable<string>): string => {
	const known = new Set(fields);
	return words.replaceAll(/`([a-zA-Z]+(?:\.[a-zA-Z]+)?)`/g, (quoted, path: string) =>
		known.has(path) ? `\`--${flagName(path)}\`` : quoted,
	);
};
