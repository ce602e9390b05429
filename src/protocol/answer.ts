// What every call on a session answers: facts, never prose.
//
// The same record goes to the library, over HTTP and to `--json`; the text that
// a model reads is made from it once, in tools/render.ts.

export const STATUSES = ["starting", "running", "succeeded", "failed", "cancelled", "stream_lost"] as const;
export type Status = (typeof STATUSES)[number];

/** `unresponsive`: the session's holder does not answer, so nothing is known of the program. */
export type Activity = "working" | "waiting" | "listening" | "serving" | "stopped" | "unresponsive";
export type WaitingFor = "command" | "line" | "key" | "secret";
export type Certainty = "certain" | "likely" | "guess";

/** Whose turn it is, and the evidence. */
export interface Attention {
	readonly activity: Activity;
	/** Set only when `activity` is `waiting`. */
	readonly waitingFor: WaitingFor | null;
	readonly certainty: Certainty;
	/** One sentence of evidence, for the model and the person alike. */
	readonly because: string;
}

/** Why a call came back. */
export type Returned = "waiting" | "ended" | "matched" | "still" | "timeout" | "now";

export interface ExitFacts {
	readonly code: number | null;
	/** A name such as SIGTERM. */
	readonly signal: string | null;
}

/** What every call on a session answers. */
export interface SessionFacts {
	readonly session: string;
	readonly name: string;
	readonly status: Status;
	/** Null once the session has ended. */
	readonly activity: Activity | null;
	readonly waitingFor: WaitingFor | null;
	readonly certainty: Certainty | null;
	readonly because: string;
	readonly returned: Returned;
	/** What is new since this caller's last look, clean and within the budget. */
	readonly text: string;
	/** The absolute byte offset up to which `text` tells the story. */
	readonly offset: number;
	readonly truncated: boolean;
	readonly exit: ExitFacts | null;
	readonly cwd: string;
	/** TCP ports on which the session's processes listen. */
	readonly ports: readonly number[];
	/** Who may type: the agent, or the person who took over. */
	readonly driver: "agent" | "human";
	readonly sandbox: string | null;
	readonly elapsedMs: number;
	/** `lines`: line output · `screen`: the whole screen · `rows`: the rows of the screen that changed. */
	readonly view: "lines" | "screen" | "rows";
	/** Where the cursor is on the screen, from 1; null when it is hidden or the session has ended. */
	readonly cursor: { readonly row: number; readonly column: number } | null;
	/** What stands out by colour: how menus say which item is chosen. */
	readonly highlights: readonly { readonly row: number; readonly text: string }[];
	/** Output that went by and is not in `text`: read it raw by these offsets. */
	readonly missed: { readonly lines: number; readonly from: number; readonly to: number } | null;
	/** In a shell of `run`: how the newest command ended. */
	readonly lastCommand?: { readonly exitCode: number | null; readonly pipeStatus: readonly number[] };
	/** Processes that a close could not end. */
	readonly survivors?: readonly { readonly pid: number; readonly command: string }[];
}
