// What a tool is: one declared record. MCP, HTTP, the command line, the library
// and the documentation are each derived from the list of these records.

import { z } from "zod";
import { type Clean, type CleanLine, isCleanLine } from "../protocol/clean.ts";
import type { Fault } from "../protocol/fault.ts";
import type { SessionsInReach } from "../session/reach.ts";
import type { Caller } from "../session/start-spec.ts";

export type { Caller };

export interface ToolContext {
	/** Those that the caller may use. */
	readonly sessions: SessionsInReach;
	readonly caller: Caller;
	/** Aborted when the caller disconnects: ends the wait, never the session. */
	readonly signal: AbortSignal;
	/** `performance.now()` when the call began. */
	readonly startedAt: number;
	/** The caller gives up after this. */
	readonly answerWithinMs?: number | undefined;
	/** Where the page for people is, if it is open. */
	readonly page?: string | null;
}

/** Whose sessions are the caller's own. */
export const ownerOf = ({ owner, sessionsOf }: Caller): string => sessionsOf ?? owner;

/** What is known where a call was refused. */
export type RefusalContext = Pick<ToolContext, "sessions" | "caller">;

/** When the caller gives up, of `performance.now()`. */
export function answerBy({ startedAt, answerWithinMs }: ToolContext): number {
	return answerWithinMs === undefined ? Number.POSITIVE_INFINITY : startedAt + answerWithinMs;
}

/** How long a call may wait: as long as was asked for, unless its caller gives up before. */
export function waitMs(context: ToolContext, askedMs: number): number {
	return Math.max(0, Math.min(askedMs, answerBy(context) - performance.now()));
}

/** The caller gives up before the time that was asked for. Not by the clock: a timer may fire a millisecond before its time. */
export const isLimited = ({ answerWithinMs }: Pick<ToolContext, "answerWithinMs">, askedMs: number): boolean =>
	answerWithinMs !== undefined && answerWithinMs < askedMs;

/** Beyond its timeout, for what is much to render. The rest of the answer takes as long again on a busy machine. */
const LATE_MS = 200;

/** When the answer has to be composed, of `performance.now()`: not before the call's timeout, nor long after it. */
export function dueAt(context: ToolContext, askedMs: number): number {
	return Math.max(performance.now(), Math.min(context.startedAt + askedMs, answerBy(context))) + LATE_MS;
}

/** What a call does to the world, for annotations and permissions. `asks`: nothing to a program, but a person is shown it. */
export type Effect = "reads" | "asks" | "types" | "starts" | "ends";

export interface Tool<
	N extends string = string,
	I extends z.ZodObject = z.ZodObject,
	F extends z.ZodType<object> = z.ZodType<object>,
> {
	readonly name: N;
	readonly title: string;
	/** For a model that has never seen us. */
	readonly description: string;
	readonly effect: Effect;
	/** Put in front of the model from the start, where a host hides tools behind a search. */
	readonly always?: boolean;
	readonly input: I;
	/** Documents and tests the answer; not parsed on the way to the caller. */
	readonly facts: F;
	/** Where two sets have a tool of this name: whether a call is meant for this one. */
	takes?(input: unknown): boolean;
	run(input: z.output<I>, context: ToolContext): Promise<z.output<F>>;
	/**
	 * A refusal in the shape of a result, for a set that has one; otherwise the fault is thrown. The input may be
	 * anything, and where no daemon was reached there is no context.
	 */
	refuse?(fault: Fault, input: unknown, context: RefusalContext | null): z.output<F>;
	/** The text a model reads. */
	render(facts: z.output<F>): Clean;
}

/** Declares a tool with its types inferred. */
export function tool<const N extends string, I extends z.ZodObject, F extends z.ZodType<object>>(
	record: Tool<N, I, F>,
): Tool<N, I, F> {
	return { ...record, facts: withNotices(record.facts) };
}

/** Any answer may have them: what was changed in the input. Declared by a tool that adds some of its own. */
export const notices = z
	.exactOptional(z.array(z.custom<CleanLine>(isCleanLine, "not one line that passed the filter")).readonly())
	.describe("What was changed in your input, or happened since your last answer; said once");

function withNotices<F extends z.ZodType<object>>(facts: F): F {
	if (facts instanceof z.ZodUnion)
		return z.union(facts.options.map((option) => withNotices(option as z.ZodType<object>))) as z.ZodType as F;
	return facts instanceof z.ZodObject && !("notices" in facts.shape)
		? (facts.extend({ notices }) as z.ZodType as F)
		: facts;
}
