// What a tool is: one declared record. MCP, HTTP, the command line, the library
// and the documentation are each derived from the list of these records.

import type { z } from "zod";
import type { Clean } from "../protocol/clean.ts";
import type { Sessions } from "../session/sessions.ts";
import type { Caller } from "../session/start-spec.ts";

export type { Caller };

export interface ToolContext {
	readonly sessions: Sessions;
	readonly caller: Caller;
	/** Aborted when the caller disconnects: ends the wait, never the session. */
	readonly signal: AbortSignal;
	/** `performance.now()` when the call began. */
	readonly startedAt: number;
}

/** What a call does to the world, for annotations and permissions. */
export type Effect = "reads" | "types" | "starts" | "ends";

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
	run(input: z.output<I>, context: ToolContext): Promise<z.output<F>>;
	/** The text a model reads. */
	render(facts: z.output<F>): Clean;
}

/** Declares a tool with its types inferred. */
export function tool<const N extends string, I extends z.ZodObject, F extends z.ZodType<object>>(
	record: Tool<N, I, F>,
): Tool<N, I, F> {
	return record;
}
