// The regular expressions that a caller may give: those of JavaScript, with flags at the beginning as most others have them.
// What another dialect writes and JavaScript reads as something else is refused in words, instead of never matching.

import { Fault } from "../protocol/fault.ts";

const MAX_PATTERN_LENGTH = 512;

/** What belongs together in a pattern: an escape, a class, or a character. */
export const ATOM = /\\(?:x[\da-f]{2}|u[\da-f]{4}|c[a-z]|\d+|k<[^>]*>|[\s\S])|\[(?:\\[\s\S]|[^\]\\])*\]|[\s\S]/gi;

const FLAGS = /^\(\?([A-Za-z]+)\)/;
const KNOWN_FLAGS = /^[ims]+$/;

/** Escapes of letters that mean something in JavaScript. */
const KNOWN_ESCAPE = /^\\[dDwWsSbBnrtvfxuck]/;
/** What to write for those of other dialects. */
const INSTEAD: Readonly<Record<string, string>> = {
	"\\A": "use ^",
	"\\Z": "use $",
	"\\z": "use $",
	"\\h": "use [ \\t]",
	"\\R": "use \\n",
	"\\p": "list the characters in [ ]",
	"\\P": "list the characters in [^ ]",
	"\\Q": "escape each character by itself",
	"\\E": "escape each character by itself",
};

export interface CallerPattern {
	/** Without the flags. */
	readonly source: string;
	/** `i`, `s`, both or none; `m` always holds. */
	readonly flags: string;
}

/** Refuses what is not an expression, too long for one, or of another dialect. */
export function parsePattern(pattern: string): CallerPattern {
	const refuse = (problem: string, cause?: unknown): never => {
		const shown = pattern.length > MAX_PATTERN_LENGTH ? `${pattern.slice(0, 40)}…` : pattern;
		throw new Fault("bad_pattern", { pattern: shown, problem }, { cause });
	};
	if (pattern.length > MAX_PATTERN_LENGTH) refuse(`it is longer than ${MAX_PATTERN_LENGTH} characters`);
	const [, inner = "", after = ""] = /^\/(.+)\/([dgimsuvy]*)$/s.exec(pattern) ?? [];
	// Without flags it may be the path of a directory.
	if (inner !== "" && (after !== "" || !/^[\w./ -]*$/.test(inner))) {
		const known = [...after].filter((flag) => "is".includes(flag)).join("");
		const meant = `${known === "" ? "" : `(?${known})`}${inner}`;
		refuse(`a pattern is written without slashes around it: ${meant}; a slash that is in the output is written [/]`);
	}
	const [prefix = "", given = ""] = FLAGS.exec(pattern) ?? [];
	if (given !== "" && !KNOWN_FLAGS.test(given)) refuse(`of the flags ${prefix} only i, m and s are known`);
	const source = pattern.slice(prefix.length);
	if (/(?<!\\)\(\?P[<=>]/.test(source)) refuse("a named group is written (?<name>…)");
	if (/(?<!\\)\(\?[a-z-]+[:)]/i.test(source)) refuse("flags such as (?i) can only be at the beginning, for all of it");
	for (const [atom] of source.matchAll(ATOM)) {
		if (/^\\[A-Za-z]/.test(atom) && !KNOWN_ESCAPE.test(atom))
			refuse(`${atom} is not known in JavaScript's regular expressions${INSTEAD[atom] ? `: ${INSTEAD[atom]}` : ""}`);
		if (/^\[.*\[:\^?[a-z]+:/.test(atom))
			refuse("classes such as [:space:] are not known in JavaScript's regular expressions: use \\s, \\d, \\w or [a-z]");
	}
	const flags = ["i", "s"].filter((flag) => given.includes(flag)).join("");
	try {
		new RegExp(source, `m${flags}`);
	} catch (cause) {
		refuse(syntaxProblem(cause as Error), cause);
	}
	return { source, flags };
}

/** Without the pattern, which is told anyway. */
const syntaxProblem = ({ message }: Error): string =>
	message.replace(/^Invalid regular expression: .*: (?=[^:]*$)/s, "");

/** What is written to match more than one line. */
const SPANS_LINES = /^(?:\n|\\[nr]|\[\^\]|\[(?:\\s\\S|\\S\\s|\\d\\D|\\D\\d|\\w\\W|\\W\\w)\])$/;

/** Refuses a pattern that a search of single lines could not find. */
export function checkLinePattern(pattern: string): void {
	const { source, flags } = parsePattern(pattern);
	const spans = flags.includes("s") ? "(?s)" : [...source.matchAll(ATOM)].find(([atom]) => SPANS_LINES.test(atom))?.[0];
	if (spans === undefined) return;
	const problem = `lines are searched one by one, so that ${JSON.stringify(spans)} cannot match; \`context\` shows the lines around a match`;
	throw new Fault("bad_pattern", { pattern, problem });
}
