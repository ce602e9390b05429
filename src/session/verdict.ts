// What a rule of attention says, and the words that its sentences share.

import type { Activity, Attention, Certainty, WaitingFor } from "../protocol/answer.ts";
import type { Evidence } from "./evidence.ts";

export type Verdict = Pick<Attention, "activity" | "certainty" | "because"> & {
	readonly waitingFor?: WaitingFor | null;
	readonly recheckMs?: number | null;
};

export const waiting = (waitingFor: WaitingFor, certainty: Certainty, because: string): Verdict => ({
	activity: "waiting",
	waitingFor,
	certainty,
	because,
});
export const not = (activity: Exclude<Activity, "waiting">, certainty: Certainty, because: string): Verdict => ({
	activity,
	certainty,
	because,
});
/** Working for now; recheck after enough silence. */
export const notYet = ({ restMs }: Evidence, neededMs: number, because: string): Verdict => ({
	...not("working", "likely", because),
	recheckMs: Math.max(1, Math.ceil(neededMs - restMs)),
});
export const bytes = (count: number) => (count === 1 ? "1 byte" : `${count} bytes`);
export const seconds = (ms: number) => (ms < 1000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 100) / 10} s`);
export const quiet = ({ restMs }: Evidence) => (Number.isFinite(restMs) ? `, quiet for ${seconds(restMs)}` : ", quiet");

/** Without a doubt it is certain; otherwise likely, and the doubt is told. */
export const unless = (doubt: string | null, verdict: Verdict): Verdict =>
	doubt === null || verdict.certainty !== "certain"
		? verdict
		: { ...verdict, certainty: "likely", because: `${verdict.because}; not certain: ${doubt}` };
