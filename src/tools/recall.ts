// What an answer left out, and the call that shows it, in the words of the way in: a tool call of the set that was
// used, or a command line.

import { kebab, shellWord } from "../protocol/command-words.ts";
import { vocabularies } from "../protocol/vocabulary.ts";
import type { Session } from "../session/session.ts";
import type { ToolSet } from "./client.ts";
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

/** How the callers of another tool set ask for it: by which tool, what they call the session, and what `maxTokens`. */
interface SetRecall {
	readonly tool: string;
	readonly session: (session: Pick<Session, "id" | "name">) => object;
	readonly maxTokens?: string;
}

const RECALLS = {
	exec: { tool: "write_stdin", session: ({ id }) => ({ session_id: id }), maxTokens: "max_output_tokens" },
	codex: { tool: "write_stdin", session: ({ name }) => ({ session_id: Number(name) }), maxTokens: "max_output_tokens" },
	pty: { tool: "pty_capture", session: ({ id }) => ({ terminal_id: id }) },
	// The shell of `run_bash` has a name that the next one has, too.
	terminal: {
		tool: "get_process_output",
		session: ({ id, name }) => ({ process_id: vocabularies.terminal.names.test(name) ? name : id }),
	},
} as const satisfies Partial<Record<ToolSet, SetRecall>>;

/** The same in another tool set, whose callers look for the word "truncated". */
export function markIn(set: keyof typeof RECALLS, session: Pick<Session, "id" | "name">): CutMark {
	const { tool, session: naming, maxTokens: budget }: SetRecall = RECALLS[set];
	// What is new includes a screen that did not fit before: these sets have no view of it.
	return ({ what, call: { maxTokens, view: _, ...call } }) => {
		const room = budget === undefined || maxTokens === undefined ? {} : { [budget]: maxTokens };
		return `[… ${what} truncated: ${tool} ${JSON.stringify({ ...naming(session), ...call, ...room })} …]`;
	};
}

export function spelled(session: string, call: ReadCall, { commandLine = false }: Pick<Caller, "commandLine">): string {
	if (!commandLine) return `read ${JSON.stringify({ session, ...call })}`;
	const flags = Object.entries(call)
		.filter(([, value]) => value !== undefined)
		// With `=` where the value would be taken for a flag.
		.map(([field, value]) => `--${kebab(field)}${/^-/.test(String(value)) ? "=" : " "}${shellWord(String(value))}`);
	return ["dialtone read", shellWord(session), ...flags].join(" ");
}
