// Whose turn is it? The decision, without a process, a clock or a screen of its own.
//
// Evidence comes in (kernel facts, what the screen shows, shell marks, how long it has been
// quiet), a verdict with its sentence goes out. The rules are in attention-rules.ts,
// what they look at is made once in evidence.ts. Who looks, and when, is the session's.

import type { Attention } from "../protocol/answer.ts";
import type { KernelFacts } from "../protocol/kernel-facts.ts";
import { rules } from "./attention-rules.ts";
import { evidenceOf } from "./evidence.ts";

export interface ScreenFacts {
	/** The alternate screen is shown: a full-screen program. */
	readonly alternate: boolean;
	readonly cursorVisible: boolean;
	readonly cursorColumn: number;
	/** The line under the cursor, without trailing blanks. */
	readonly lastLine: string;
}

export interface ShellFacts {
	/** OSC 133 says: prompt shown, no command running. Null: there are no marks. */
	readonly atPrompt: boolean | null;
}

/**
 * Everything that one decision looks at. All output below `facts.offset` has been fed to the screen; if that made the
 * emulator answer the program (a write), do not decide on these facts: newer ones follow.
 */
export interface AttentionInput {
	readonly facts: KernelFacts;
	readonly screen: ScreenFacts;
	readonly shell: ShellFacts;
	/** Our last write ended with Escape. */
	readonly escapeTyped?: boolean;
}

export interface Decision extends Attention {
	/** When more quiet alone could change the verdict: ask again in so many milliseconds, if no facts came before. */
	readonly recheckMs: number | null;
	/** The rule that spoke. */
	readonly rule: string;
}

export function decide(input: AttentionInput): Decision {
	const evidence = evidenceOf(input);
	for (const rule of rules) {
		const verdict = rule.says(evidence);
		if (verdict !== null) {
			return { waitingFor: null, recheckMs: null, ...verdict, rule: rule.name };
		}
	}
	throw new Error("the last rule of attention has no condition");
}

/** What was debounced, and since when it is in doubt. */
export interface Debounced {
	readonly decision: Decision;
	readonly facts: KernelFacts;
	/** When the facts began to say "working", though nothing was typed or printed. */
	readonly doubtedAt: number | null;
	/** When the job in the foreground was first seen stopped. */
	readonly stoppedAt: number | null;
}

// A program that wakes up to look around (Python's REPL does ten times a second) is back asleep within this time.
const DOUBT_MS = 60;
// A shell hears at once that its job was stopped, takes the terminal back and says so; this is for a busy machine.
const TAKEN_BACK_MS = 250;

/**
 * Keeps "waiting" through one look that hit a program between two sleeps. Only in that direction: that it became your
 * turn is debounced at once, and whatever was typed or printed ends it. A stopped job is debounced as such only when nobody
 * behind it has taken the terminal back.
 */
export function debounce(debounced: Debounced | null, decision: Decision, facts: KernelFacts): Debounced {
	const anew: Debounced = { decision, facts, doubtedAt: null, stoppedAt: null };
	if (decision.activity === "stopped" && !facts.mainForeground) {
		const stoppedAt = debounced?.stoppedAt ?? facts.at;
		const recheckMs = stoppedAt + TAKEN_BACK_MS - facts.at;
		if (recheckMs <= 0) return { ...anew, stoppedAt };
		const because = `${decision.because}; the shell behind it has not spoken yet`;
		return {
			...anew,
			stoppedAt,
			decision: { ...decision, activity: "working", certainty: "likely", because, recheckMs },
		};
	}
	if (debounced === null || debounced.decision.activity !== "waiting" || decision.activity !== "working") return anew;
	const printed = facts.offset !== debounced.facts.offset;
	const typed = facts.sinceInputMs !== null && facts.at - facts.sinceInputMs > debounced.facts.at;
	if (printed || typed || facts.queued > 0 || facts.unread) return anew;
	const doubtedAt = debounced.doubtedAt ?? facts.at;
	const left = doubtedAt + DOUBT_MS - facts.at;
	return left <= 0 ? anew : { ...debounced, doubtedAt, decision: { ...debounced.decision, recheckMs: left } };
}
