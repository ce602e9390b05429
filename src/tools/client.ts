// The boundary between the interfaces and everything else: a Client takes calls.
// It may be in this process (local-client.ts) or behind the daemon's socket
// (daemon/socket-client.ts); no interface depends on which.

import type { ExitFacts, Status } from "../protocol/answer.ts";
import type { Approval, Decision } from "../protocol/approval.ts";
import type { DriverView, PersonAct, PersonDone } from "../protocol/driver.ts";
import type { EventsDropped, SessionEvent } from "../protocol/events.ts";
import type { FaultCode } from "../protocol/fault.ts";
import type { OutputChunk } from "../protocol/output.ts";
import type { ListChange } from "../protocol/session-list.ts";
import type { Scope } from "../session/scope.ts";
import type { FactsOf, InputOf, ToolName } from "./catalogue.ts";
import type { Caller, Effect } from "./tool.ts";

export interface Answer<F extends object = object> {
	/** What `--json`, HTTP and the library give. */
	readonly facts: F;
	/** What a model reads. */
	readonly text: string;
	/** The code of the refusal that these facts describe, in a set whose refusals have the shape of a result. */
	readonly refused?: FaultCode;
}

export interface CallOptions {
	readonly signal?: AbortSignal;
	/** The caller, if it is not the client's own. */
	readonly caller?: Caller;
	/** The caller gives up after this: a longer wait is answered before, and what is waited for goes on. */
	readonly answerWithinMs?: number;
	/** What the caller was offered: says which tool is meant where two sets have one of this name. */
	readonly sets?: readonly ToolSet[];
}

/** A name from outside. The literal name of a tool is not one: its input is checked by the compiler. */
export type ForeignName<N extends string> = N & (N extends ToolName ? never : unknown);

/** A tool as the outside sees it: no code, only texts and JSON schemas. */
export interface ToolCard {
	readonly name: string;
	readonly title: string;
	readonly description: string;
	readonly effect: Effect;
	readonly always: boolean;
	/** JSON Schema 2020-12. */
	readonly inputSchema: Readonly<Record<string, unknown>>;
	readonly factsSchema: Readonly<Record<string, unknown>>;
}

/** Values that tools take. */
export const IF_EXISTS = ["fail", "use", "replace"] as const;
export const VIEWS = ["new", "screen", "lines", "raw", "picture", "why"] as const;
export const SIGNALS = ["INT", "TERM", "KILL", "HUP", "QUIT", "USR1", "USR2", "WINCH", "TSTP", "CONT"] as const;
export const LISTED = ["running", "ended", "starting", "succeeded", "failed", "cancelled", "stream_lost"] as const;

/** Begins the id of a `send` that its client made up, to repeat it safely: nobody is told of the repetition. */
export const AUTOMATIC_ID = "auto:";

/** A tool set: `native`, or a dialect of another system. */
export const TOOL_SETS = ["native", "exec", "codex", "pty", "terminal"] as const;
export type ToolSet = (typeof TOOL_SETS)[number];

/** What a token is for; tools/abilities.ts has what each may do. */
export const ROLES = ["admin", "drive", "view", "approve"] as const;
export type Role = (typeof ROLES)[number];

/** The tools that may start a program: only their calls carry what it inherits from its caller. */
export const STARTING_TOOLS: ReadonlySet<string> = new Set([
	...["start", "run", "unified_exec", "exec_command", "pty_create", "run_bash", "start_background_process"],
]);

export interface EventsOptions {
	/** Those after this number, as far as they are remembered; without it, from now on. */
	readonly afterSeq?: number | undefined;
	readonly signal: AbortSignal;
}

/** Of a stream of one session. */
export interface ReadingOptions {
	readonly signal: AbortSignal;
	/**
	 * Awaited before something large is read or drawn: a reader with many streams takes one after the other. The turn lasts
	 * until that is sent; where nothing is found, it has to be ended.
	 */
	readonly turn?: () => Promise<() => void>;
}

export interface OutputOptions extends ReadingOptions {
	/** An absolute offset. */
	readonly from: number;
}

export interface SnapshotOptions {
	/** Without the lines above it: to be looked at, not to go on from. */
	readonly screenOnly?: boolean;
}

export type ViewOptions = ReadingOptions;

/** A screen to begin with, or to begin anew; output that follows it; another size, from this offset on; the end, at last. */
export type ViewChunk =
	| { readonly snapshot: ScreenSnapshot }
	| { readonly ended: { readonly exit: ExitFacts | null; readonly status: Status } }
	| { readonly resized: { readonly cols: number; readonly rows: number }; readonly offset: number }
	| OutputChunk;

export interface ActOptions {
	/** Whose environment a program gets that is started again; without it, the client's own. */
	readonly caller?: Caller;
}

export interface DriversOptions {
	readonly lease?: string | undefined;
	readonly signal: AbortSignal;
}

export interface PeopleOptions {
	/** What they may see; null or left out: all. */
	readonly scope?: Scope | null;
	/** Whether they are told what waits for approval. */
	readonly decides?: boolean;
	readonly signal: AbortSignal;
}

/**
 * How a recording is drawn: all of it as lines or, with a time, its rows; a picture; all of it as an asciicast; the facts of
 * a moment, or what happened when, as JSON; `replay`: its output with its times, to be played (journal/moment-lines.ts).
 */
export const DRAWINGS = ["text", "svg", "png", "cast", "moment", "timeline", "replay"] as const;

export interface DrawnOptions extends ReadingOptions {
	readonly as: (typeof DRAWINGS)[number];
	/** Milliseconds since the start; without it, the end. */
	readonly at?: number | undefined;
	/** The moment by the output that there was, instead of by a time. */
	readonly offset?: number | undefined;
}

/** What a stream or a page asks of one session. */
export type SessionClient = Pick<Client, "output" | "view" | "drawn" | "drivers" | "snapshot" | "act">;

export interface Client extends AsyncDisposable {
	/** Calls a tool by name. Refusals are thrown as `Fault`. */
	call<N extends ToolName>(tool: N, input: InputOf<N>, options?: CallOptions): Promise<Answer<FactsOf<N>>>;
	/** The same with a name and an input from outside: the tool checks both. */
	call<N extends string>(tool: ForeignName<N>, input: unknown, options?: CallOptions): Promise<Answer>;
	/** The tools of these sets, in a fixed order. */
	tools(sets?: readonly ToolSet[]): Promise<readonly ToolCard[]>;
	/** Ends when `signal` aborts. Slow readers miss some. */
	events(options: EventsOptions): AsyncIterable<SessionEvent | EventsDropped>;
	/** Raw output, live until the session ends or `signal` aborts. Slow readers delay no other. */
	output(session: string, options: OutputOptions): AsyncIterable<OutputChunk>;
	/** The screen as terminal output, to join a session: show it, then continue with `output` from its offset. */
	snapshot(session: string, options?: SnapshotOptions): Promise<ScreenSnapshot>;
	/** To watch a session: its screen first, then its output as it comes; the screen again for one who is far behind. */
	view(session: string, options: ViewOptions): AsyncIterable<ViewChunk>;
	/** What a recording shows, in pieces: drawn where the secrets are known, so that they are masked. */
	drawn(session: string, options: DrawnOptions): AsyncIterable<Uint8Array>;
	/**
	 * What a person does: takes over, types, hands back; renames, restarts, removes. A write whose id (32 hex digits) was
	 * typed before is not repeated.
	 */
	act(session: string, act: PersonAct, options?: ActOptions): Promise<PersonDone>;
	/** Who drives, now and at each change, until the session ends or `signal` aborts. Its `lease` is in use as long as this is open. */
	drivers(session: string, options: DriversOptions): AsyncIterable<DriverView>;
	/** One session of another machine, for a token that is limited to this owner: none of others, and none of this machine. */
	ofOwner?(owner: string): SessionClient;
	/** The list of sessions as people see it, then what changes in it. Slow readers get the newest state. Ends when `signal` aborts. */
	people(options: PeopleOptions): AsyncIterable<ListChange>;
	/** The calls that wait for a person, the oldest first. */
	approvals(): Promise<readonly Approval[]>;
	/** What a person decides of one. */
	decide(id: string, decision: Decision): Promise<Approval>;
	status(): Promise<DaemonStatus>;
}

/** What to write to a terminal of this size to have the same picture, colours and modes included. */
export interface ScreenSnapshot {
	readonly content: string;
	readonly cols: number;
	readonly rows: number;
	/** Of the first byte of output that is not in it yet. */
	readonly offset: number;
}

export interface DaemonStatus {
	readonly pid: number;
	readonly version: string;
	/** The daemon's socket, or null in-process. */
	readonly socket: string | null;
	/** How many sessions run. */
	readonly sessions: number;
	readonly startedAt: number;
	/** Where HTTP listens, if it does. */
	readonly http: string | null;
	/** Why the audit log is not complete. */
	readonly auditProblem?: string;
}
