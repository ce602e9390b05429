// A session's past as it is told to a page or a program: its marks and what is missing.

import type { ExitFacts, Status } from "./answer.ts";

export type RecordedDriver = { readonly kind: "agent" } | { readonly kind: "person"; readonly who: string };

/** `at`: milliseconds since the start. */
export type Mark = { readonly at: number; readonly offset: number } & (
	| {
			readonly kind: "turn";
			readonly by: "agent" | "person";
			readonly who: string;
			readonly keys: number;
			readonly lines: number;
			readonly secret?: boolean;
			/** The name by which it was typed. */
			readonly named?: string;
			readonly returned: string | null;
			readonly tookMs: number | null;
	  }
	| {
			readonly kind: "command";
			readonly command?: string;
			readonly exitCode: number | null;
			readonly tookMs: number;
			readonly to: number;
	  }
	| { readonly kind: "state"; readonly state: string }
	| { readonly kind: "resize"; readonly cols: number; readonly rows: number }
	| { readonly kind: "driver"; readonly driver: RecordedDriver; readonly note?: string }
	| { readonly kind: "signal"; readonly signal: string; readonly who: string }
	/** What an agent wanted to do there. */
	| { readonly kind: "approval"; readonly approved: boolean; readonly who: string; readonly note?: string }
	| { readonly kind: "gap"; readonly to: number }
	| { readonly kind: "end"; readonly exit: ExitFacts | null; readonly status: Status; readonly because?: string }
);

interface Dropped {
	readonly from: number;
	readonly to: number;
	readonly because: string;
}

export interface Timeline {
	/** Milliseconds since the epoch. */
	readonly startedAt: number;
	readonly endedAt: number | null;
	readonly durationMs: number;
	/** All output so far. */
	readonly offset: number;
	/** Its size now, or at the end. */
	readonly cols: number;
	readonly rows: number;
	/** Output that is not kept. */
	readonly dropped: readonly Dropped[];
	readonly marks: readonly Mark[];
	/** Marks that are not kept or not shown. */
	readonly marksDropped: number;
}
