// What a tool is: one declared record. MCP, HTTP, the command line, the library
// and the documentation are each derived from the list of these records.

import type { z } from "zod";
import type { Sessions } from "../session/sessions.ts";
import type { Caller } from "../session/start-spec.ts";

export type { Caller };

export interface ToolContext {
	readonly sessions: Sessions;
	readonly caller: Caller;
	/** Aborted when the caller goes away: ends the wait, never the session. */
	readonly signal: AbortSignal;
}

/** What a call does to the world, for annotations and permissions. */
export type Effect = "reads" | "types" | "starts" | "ends";

export interface Tool<I extends z.ZodObject = z.ZodObject, F extends object = object> {
	readonly name: string;
	readonly title: string;
	/** For a model that has never seen us. */
	readonly description: string;
	readonly effect: Effect;
	/** Put in front of the model from the start, where a host hides tools behind a search. */
	readonly always?: boolean;
	readonly input: I;
	run(input: z.output<I>, context: ToolContext): Promise<F>;
	/** The text a model reads. */
	render(facts: F): string;
}

/** Declares a tool with its types inferred. */
export function tool<I extends z.ZodObject, F extends object>(record: Tool<I, F>): Tool<I, F> {
	return record;
}

/** What a caller may say to a tool. */
export type InputOf<T> = T extends Tool<infer I, object> ? z.input<I> : never;
