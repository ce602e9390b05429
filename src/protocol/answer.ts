// The result of every call on a session: facts, never prose.
//
// The same record goes to the library, over HTTP and to `--json`; the text that
// a model reads is made from it once, in tools/render.ts. Text from a program is
// already `Clean` here. The schemas are in tools/facts.ts: the command line must not load zod.

import { type Clean, type CleanLine, isCleanLine } from "./clean.ts";

export const STATUSES = ["starting", "running", "succeeded", "failed", "cancelled", "stream_lost"] as const;
export type Status = (typeof STATUSES)[number];
/** Whether a session is confined. */
export const SANDBOX_FACTS = ["enforced", "none"] as const;
export type SandboxFact = (typeof SANDBOX_FACTS)[number];

/** `unresponsive`: the session's holder does not answer, so nothing is known of the program. */
export const ACTIVITIES = ["working", "waiting", "listening", "serving", "stopped", "unresponsive"] as const;
export type Activity = (typeof ACTIVITIES)[number];
/**
 * What the caller can do: `command`: a shell at its prompt · `line`: type a line and Enter · `key`: one key is enough ·
 * `screen`: a full-screen program, keys as its screen says · `secret`: a line that is not shown.
 */
export const WAITING_FOR = ["command", "line", "key", "screen", "secret"] as const;
export type WaitingFor = (typeof WAITING_FOR)[number];
export const CERTAINTIES = ["certain", "likely", "guess"] as const;
export type Certainty = (typeof CERTAINTIES)[number];

/** Whose turn it is, and the evidence. */
export interface Attention {
	readonly activity: Activity;
	/** Set only when `activity` is `waiting`. */
	readonly waitingFor: WaitingFor | null;
	readonly certainty: Certainty;
	/** One sentence of evidence, for models and people. */
	readonly because: string;
}

/** Why a call returned. */
/** `handed_back`: a person drove, and does no longer. */
export const RETURNED = ["waiting", "ended", "matched", "still", "timeout", "now", "handed_back"] as const;
export type Returned = (typeof RETURNED)[number];

/** The conditions of `until`. */
export const MATCHED_BY = ["text", "pattern", "gone", "stillMs", "port"] as const;
export type MatchedBy = (typeof MATCHED_BY)[number];

export interface ExitFacts {
	readonly code: number | null;
	/** A name such as SIGTERM. */
	readonly signal: string | null;
}

/** The result of every call on a session. */
export interface SessionFacts {
	readonly session: string;
	readonly name: CleanLine;
	/** Whose it is, where it is not the caller's own. */
	readonly owner?: CleanLine;
	readonly status: Status;
	/** Null once the session has ended. */
	readonly activity: Activity | null;
	readonly waitingFor: WaitingFor | null;
	readonly certainty: Certainty | null;
	readonly because: CleanLine;
	readonly returned: Returned;
	/** Whether a condition of the caller's `until` came true; null where none was given. */
	readonly matched: boolean | null;
	/** Which one, where several were given. */
	readonly matchedBy?: MatchedBy;
	/** The line of the match, where that is not in `text`. */
	readonly matchedLine?: number;
	/** The wait was cut short for the caller's host; the program goes on, and so does `wait`. */
	readonly limited?: { readonly askedMs: number; readonly waitedMs: number };
	/** What is new since this caller's last read, clean and within the budget. */
	readonly text: Clean;
	/** The absolute byte offset up to which `text` covers the output. */
	readonly offset: number;
	readonly truncated: boolean;
	readonly exit: ExitFacts | null;
	/** Where it runs, if not on this system: `ssh:host`. Then `cwd` is a directory there. */
	readonly in?: CleanLine;
	readonly cwd: CleanLine;
	/** TCP ports on which the session's processes listen. */
	readonly ports: readonly number[];
	/** Who may type: the agent, or the person who took over. */
	readonly driver: "agent" | "human";
	/** Null where its record cannot be read. */
	readonly sandbox: SandboxFact | null;
	readonly elapsedMs: number;
	/** `lines`: line output · `screen`: the whole screen · `rows`: the rows of the screen that changed. */
	readonly view: "lines" | "screen" | "rows";
	/** Where the cursor is on the screen, from 1; null when it is hidden or the session has ended. */
	readonly cursor: { readonly row: number; readonly column: number } | null;
	/** Text that stands out by colour: how menus show the selected item. */
	readonly highlights: readonly { readonly row: number; readonly text: CleanLine }[];
	/** Lines that are not in `text`, by number: `read` shows them. */
	readonly missed: { readonly lines: number; readonly from: number; readonly to: number } | null;
	/** Bytes of output that are not in `text`, where there was no time to number their lines. */
	readonly passedOver?: { readonly from: number; readonly to: number };
	/** Where numbered lines are shown: which, of how many. Lines are counted from 1 over everything that was printed. */
	readonly lines?: { readonly from: number; readonly to: number; readonly total: number };
	/** In a shell of `run`: how the newest command ended. */
	readonly lastCommand?: { readonly exitCode: number | null; readonly pipeStatus: readonly number[] };
	/** Processes that a close could not end. */
	readonly survivors?: readonly ProcessFacts[];
	/** Of a session that has ended: what of it still runs. */
	readonly left?: readonly ProcessFacts[];
	/** What people did in this session since this caller's last answer: the answer begins with it. */
	readonly people?: readonly CleanLine[];
	/** What happened since this caller's last answer, said once; and which ports are open and how a command ended, when that has changed. */
	readonly notices?: readonly CleanLine[];
	/** How many characters were typed and stand there until Enter is pressed. */
	readonly unentered?: number;
	/** With `send`: how many such characters the text was joined to. */
	readonly joinedTo?: number;
	/** With `send`: a write with this id was typed before, so nothing was typed now. */
	readonly repeated?: true;
}

/** The result of `start`: what the program got of its caller's environment. */
export interface StartFacts extends SessionFacts {
	readonly environment: {
		readonly inherit: "none" | "safe" | "all";
		/** Names that were left out because they look like credentials. */
		readonly withheld: readonly CleanLine[];
	};
}

export interface ProcessFacts {
	readonly pid: number;
	readonly command: CleanLine;
}

/** The result of `read`: with view `raw` the bytes, with view `picture` the picture. */
export interface ReadFacts extends SessionFacts {
	/** Of a search: how many lines match, and how many of them are shown. */
	readonly matches?: { readonly count: number; readonly shown: number };
	readonly base64?: string;
	readonly from?: number;
	readonly to?: number;
	readonly gaps?: readonly { readonly from: number; readonly to: number }[];
	readonly picture?: Picture;
	/** With view `why`: the evidence is shown, whatever the verdict. */
	readonly why?: true;
}

export interface Picture {
	readonly mimeType: "image/png";
	readonly base64: string;
}

/** For code that forwards results of any tool. */
export function hasPicture(facts: object): facts is { readonly picture: Picture } {
	return "picture" in facts;
}

/** The notices among the facts of any tool. */
export function noticesIn(facts: object): readonly CleanLine[] {
	return "notices" in facts && Array.isArray(facts.notices) ? facts.notices.filter(isCleanLine) : [];
}

/** The result of `run` beside the facts of its session. */
/** What was not told of a command whose own call was answered before its end. */
export interface CommandBefore {
	readonly text: Clean;
	readonly exitCode: number | null;
}

export interface RunFacts extends SessionFacts {
	/** Null while the command runs. */
	readonly exitCode: number | null;
	/** The exit code of each part of the last pipe; 141 is SIGPIPE (the reader stopped early), not a failure. */
	readonly pipeStatus: readonly number[];
	/** The signal that ended it, such as SIGKILL. */
	readonly signal: CleanLine | null;
	/** Exit code 0 and no part of a pipe failed; null while it runs. */
	readonly ok: boolean | null;
	/** With `separate`: as they were written, for programs. */
	readonly stdout?: string;
	readonly stderr?: string;
	readonly timedOut: boolean;
	readonly durationMs: number;
	readonly shell: CleanLine;
	/** What happened to the shell, where it matters. */
	readonly shellNote: CleanLine | null;
	/** Left running in the background. */
	readonly jobs: readonly ProcessFacts[];
	/** The command before, where there is something left to tell of it. */
	readonly before?: CommandBefore;
	/** Where its output begins and ends: `read` it raw for every byte. */
	readonly from: number;
	readonly to: number;
}

/** A session in a list: enough to decide which one to read. */
export interface ListedSession {
	readonly session: string;
	readonly name: CleanLine;
	readonly command: CleanLine;
	/** Where it runs, if not on this system. Then `cwd` is a directory there. */
	readonly in?: CleanLine;
	readonly cwd: CleanLine;
	readonly status: Status;
	readonly activity: Activity | null;
	readonly waitingFor: WaitingFor | null;
	readonly because: CleanLine;
	readonly exit: ExitFacts | null;
	readonly pid: number | null;
	readonly createdAt: number;
	readonly updatedAt: number;
	readonly offset: number;
	/** Null while they are being counted, and where some output is not kept. */
	readonly lines: number | null;
	readonly lastLine: CleanLine;
	readonly truncated: boolean;
	readonly owner: string | null;
	/** The caller's own: reached by name, prefix and `-`. */
	readonly mine: boolean;
	/** Its name means this one: it is the caller's own, and none of its others by that name runs or is newer. */
	readonly byName: boolean;
	readonly parent: string | null;
	readonly keep: boolean;
	/** What it was to inherit of its caller's environment; null: what the options say. */
	readonly inherit: "none" | "safe" | "all" | null;
	/** Null where its record cannot be read. */
	readonly sandbox: SandboxFact | null;
	/** Of one that has ended: what it left running. Then it counts as running, too. */
	readonly left?: readonly ProcessFacts[];
	/** Of one on another host of the fleet. */
	readonly host?: string;
	/** Its host is not heard of since then (ms since 1970; null: since before this was looked at), and the rest is what was known before. */
	readonly unreachableSince?: number | null;
}

export interface ListFacts {
	readonly sessions: readonly ListedSession[];
	readonly now: number;
	/** Which were asked for; null: all. */
	readonly status: string | null;
	/** In a fleet, where there are more: `after` of the call that lists them. */
	readonly next?: string;
}
