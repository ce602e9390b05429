// What an answer left out, and the call that shows it, in the words of the way in: a tool call of the set that was
// used, or a command line.

import { kebab, shellWord } from "../protocol/command-words.ts";
import { vocabularies } from "../protocol/vocabulary.ts";
import { ownWords } from "../session/own-words.ts";
import type { Session } from "../session/session.ts";
import type { ToolSet } from "./client.ts";
import { numberOnHost, onHost } from "./host-names.ts";
import { type Caller, ownerOf, type ToolContext } from "./tool.ts";

/** The fields of a call of `read`, beside its session. */
export interface ReadCall {
	readonly view?: "screen" | "raw";
	readonly search?: string | undefined;
	readonly pattern?: string | undefined;
	readonly from?: number | undefined;
	readonly to?: number | undefined;
	readonly column?: number | undefined;
	readonly lines?: number | undefined;
	readonly context?: number | undefined;
	readonly order?: "oldest" | undefined;
	/** Of the pty set, for a screen: its last `lines`, without so many after them. */
	readonly tail?: boolean | undefined;
	readonly skip?: number | undefined;
	readonly maxTokens?: number | undefined;
}

/** A part of an answer that is not there. */
export interface Cut {
	/** In words, such as `lines 3–9 of 20`. */
	readonly what: string;
	/** What shows it. */
	readonly call: ReadCall;
	/** For bytes: the line in which they begin, or one before it, for sets that read by line. */
	readonly line?: number;
}

/** What is written in its place; one line. */
export type CutMark = (cut: Cut) => string;

/** Who reads it, and what sessions there are. */
export type Reader = Pick<ToolContext, "caller" | "sessions">;

/**
 * What finds this session for this caller, now and later: its name while it is the caller's own and runs. Another's name may
 * mean one of the caller's, and that of an ended one the next one: then its id.
 */
const referenceTo = (session: Session, reader: Reader): string =>
	onHost(reader.caller, !session.ended && isOwn(session, reader) ? session.name : session.id);

const isOwn = (session: Session, { caller, sessions }: Reader): boolean =>
	sessions.ownerOf(session) === ownerOf(caller);

/** A mark with the call that its reader can make. */
export const markFor =
	(session: Session, reader: Reader): CutMark =>
	({ what, call }) =>
		ownWords(`${what} left out: ${callOn(session, call, reader)}`);

/** A call of `read` on a session. */
export const callOn = (session: Session, call: ReadCall, reader: Reader): string =>
	spelled(referenceTo(session, reader), call, reader.caller);

/** How the callers of another tool set ask for it: by which tool, what they call the session, and what `maxTokens`. */
interface SetRecall {
	readonly tool: string;
	readonly session: (session: Session, reader: Reader) => object;
	readonly maxTokens?: string;
}

const RECALLS = {
	exec: {
		tool: "write_stdin",
		session: ({ id }, { caller }) => ({ session_id: onHost(caller, id) }),
		maxTokens: "max_output_tokens",
	},
	codex: {
		tool: "write_stdin",
		session: ({ name }, { caller }) => ({ session_id: numberOnHost(caller, Number(name)) }),
		maxTokens: "max_output_tokens",
	},
	pty: { tool: "pty_capture", session: ({ id }, { caller }) => ({ terminal_id: onHost(caller, id) }) },
	// A number is not given twice. The shell of `run_bash` has a name that the next one has, too.
	terminal: {
		tool: "get_process_output",
		session: (session, reader) => {
			const isNumbered = isOwn(session, reader) && vocabularies.terminal.names.test(session.name);
			return { process_id: onHost(reader.caller, isNumbered ? session.name : session.id) };
		},
	},
} as const satisfies Partial<Record<ToolSet, SetRecall>>;

/** The same in another tool set, whose callers look for the word "truncated". */
export function markIn(set: keyof typeof RECALLS, session: Session, reader: Reader): CutMark {
	const { tool, session: naming, maxTokens: budget }: SetRecall = RECALLS[set];
	// What is new includes a screen that did not fit before: these sets have no view of it.
	return ({ what, call: { maxTokens, view, ...fields }, line = 1 }) => {
		// Nor of bytes: they read by line.
		const call = view === "raw" ? { from: line } : fields;
		const room = budget === undefined || maxTokens === undefined ? {} : { [budget]: maxTokens };
		return ownWords(`${what} truncated: ${tool} ${JSON.stringify({ ...naming(session, reader), ...call, ...room })}`);
	};
}

function spelled(session: string, call: ReadCall, { commandLine = false }: Pick<Caller, "commandLine">): string {
	if (!commandLine) return `read ${JSON.stringify({ session, ...call })}`;
	const flags = Object.entries(call)
		.filter(([, value]) => value !== undefined)
		// With `=` where the value would be taken for a flag.
		.map(([field, value]) => `--${kebab(field)}${/^-/.test(String(value)) ? "=" : " "}${shellWord(String(value))}`);
	return ["dialtone read", shellWord(session), ...flags].join(" ");
}
