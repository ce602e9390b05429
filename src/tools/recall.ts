// What an answer left out, and the call that shows it, in the words of the way in: a tool call, or a command line.

import { kebab, shellWord } from "../protocol/command-words.ts";
import type { Caller } from "./tool.ts";

/** The fields of a call of `read`, beside its session. */
export interface ReadCall {
	readonly view?: "screen" | "raw";
	readonly search?: string | undefined;
	readonly pattern?: string | undefined;
	readonly from?: number | undefined;
	readonly to?: number | undefined;
	readonly lines?: number | undefined;
	readonly context?: number | undefined;
	readonly order?: "oldest" | undefined;
	readonly maxTokens?: number | undefined;
}

/** A part of an answer that is not there. */
export interface Cut {
	/** In words, such as `lines 3–9 of 20`. */
	readonly what: string;
	/** What shows it. */
	readonly call: ReadCall;
}

/** What is written in its place; one line. */
export type CutMark = (cut: Cut) => string;

/** A mark with the call that its reader can make. */
export const markFor =
	(session: string, caller: Pick<Caller, "commandLine">): CutMark =>
	({ what, call }) =>
		`[… ${what} left out: ${spelled(session, call, caller)} …]`;

/** A mark for those who have no call for it. */
export const truncatedMark: CutMark = ({ what }) => `[… ${what} truncated …]`;

function spelled(session: string, call: ReadCall, { commandLine = false }: Pick<Caller, "commandLine">): string {
	if (!commandLine) return `read ${JSON.stringify({ session, ...call })}`;
	const flags = Object.entries(call)
		.filter(([, value]) => value !== undefined)
		// With `=` where the value would be taken for a flag.
		.map(([field, value]) => `--${kebab(field)}${/^-/.test(String(value)) ? "=" : " "}${shellWord(String(value))}`);
	return ["dialtone read", shellWord(session), ...flags].join(" ");
}
