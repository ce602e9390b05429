// Decides whose turn it is. Pure: no process, clock or screen.
//
// Evidence comes in (kernel facts, what the screen shows, shell marks, how long it has been
// quiet), a verdict with its sentence goes out. The rules are in attention-rules.ts,
// what they look at is made once in evidence.ts. The session decides when to probe.

import type { Attention, Certainty } from "../protocol/answer.ts";
import type { KernelFacts } from "../protocol/kernel-facts.ts";
import { rules } from "./attention-rules.ts";
import type { EscapeTimer } from "./escape-timer.ts";
import { type AtRest, atRest, evidenceOf, prompter, restsInMs, takenInMs } from "./evidence.ts";
import type { Rest } from "./learnt.ts";
import type { Ticking } from "./ticking.ts";

export interface ScreenFacts {
	/** The alternate screen is shown: a full-screen program. */
	readonly alternate: boolean;
	readonly cursorVisible: boolean;
	readonly cursorColumn: number;
	/** The line under the cursor, without trailing blanks. */
	readonly lastLine: string;
	/** The program takes a paste as one: line editors and editors. */
	readonly bracketedPaste: boolean;
	/** Arrow keys or the keypad send their application sequences: full-screen programs. */
	readonly applicationKeys: boolean;
	/** How many rows below the cursor the last row is, where there is text on it; otherwise 0. */
	readonly footerBelow: number;
	/** Nothing is drawn below the cursor, unless on the last row, and the cursor is above that. */
	readonly endsAtCursor: boolean;
	/** A full screen on which nothing is drawn. */
	readonly blank: boolean;
	/** The cursor is hidden, and a single cell in reverse video stands for it. */
	readonly drawnCursor: boolean;
}

export interface ShellFacts {
	/** By OSC 133: prompt shown, no command running. Null: there are no marks. */
	readonly atPrompt: boolean | null;
	/** The shell that sends the marks. */
	readonly pid: number;
}

/**
 * Everything that one decision looks at. All output below `facts.offset` has been fed to the screen; if that made the
 * emulator reply to the program (a write), do not decide on these facts: newer ones follow.
 */
export interface AttentionInput {
	readonly facts: KernelFacts;
	readonly screen: ScreenFacts;
	readonly shell: ShellFacts;
	/** The program at this terminal runs another one in another place: what is shown is of that one. */
	readonly relays?: boolean;
	/** At most so many bytes of its output are taken in a second. */
	readonly outputLimit?: number | null;
	/** Our last write ended with Escape, and the program has not taken it yet. */
	readonly pendingEscape?: EscapeTimer | null;
	/** We typed Ctrl+S, and no Ctrl+Q since. */
	readonly stopTyped?: boolean;
	/** It waited for a line, and since then only text was typed: no Enter, no other key. */
	readonly midLine?: boolean;
	/** This process has shown the prompt of a line editor since anything was typed, so long ago. */
	readonly prompted?: { readonly pid: number; readonly sinceMs: number } | null;
	/** This process polls the terminal again and again, with a timeout. */
	readonly ticking?: Ticking | null;
	/** How this process rests, as it did under this user before. Makes nothing certain. */
	readonly learnt?: { readonly pid: number; readonly rests: readonly Rest[] } | null;
}

export interface Decision extends Attention {
	/** If silence alone could change the verdict: recheck after this many milliseconds, unless facts arrive first. */
	readonly recheckMs: number | null;
	/** The rule that decided. */
	readonly rule: string;
	/** The program has taken all that was typed and sleeps again: 0, or in how many milliseconds that may be so. Null: it has not. */
	readonly takenInMs: number | null;
	/** No thread of it is at work, and it has printed nothing for a moment: 0, or in how many milliseconds that may be so. */
	readonly restsInMs: number | null;
	/** The process that shows the prompt of a line editor and would take a line. */
	readonly prompts: number | null;
	/** It may rest in a way that the rules take for work, or for a turn only after a long silence. */
	readonly rest: AtRest | null;
}

export function decide(input: AttentionInput): Decision {
	const evidence = evidenceOf(input);
	for (const rule of rules) {
		const verdict = rule.verdict(evidence);
		if (verdict !== null) {
			return {
				waitingFor: null,
				recheckMs: null,
				...verdict,
				rule: rule.name,
				takenInMs: takenInMs(evidence),
				restsInMs: restsInMs(evidence),
				prompts: prompter(evidence),
				rest: atRest(evidence),
			};
		}
	}
	throw new Error("the last rule of attention has no condition");
}

/** The debounced decision, and since when it is in doubt. */
export interface Debounced {
	readonly decision: Decision;
	readonly facts: KernelFacts;
	/** When the facts changed to "working", though nothing was typed or printed. */
	readonly doubtedAt: number | null;
	/** When the job in the foreground was first seen stopped. */
	readonly stoppedAt: number | null;
}

// A program that wakes up periodically (Python's REPL, ten times a second) is asleep again within this time.
export const DOUBT_MS = 60;
// A shell notices at once that its job was stopped and takes the terminal back; this is for a busy machine.
const TAKEN_BACK_MS = 250;

/** What it was before is not certain any more. */
const least = (certainty: Certainty): Certainty => (certainty === "certain" ? "likely" : certainty);

/**
 * Keeps "waiting" through one probe that hit a program between two sleeps. Only in that direction: a change to
 * "waiting" is accepted at once, and any input or output ends it. A stopped job is accepted as such only when no
 * shell has taken the terminal back.
 */
export function debounce(debounced: Debounced | null, decision: Decision, facts: KernelFacts): Debounced {
	const anew: Debounced = { decision, facts, doubtedAt: null, stoppedAt: null };
	if (decision.rule === "stopped" && !facts.mainForeground) {
		const stoppedAt = debounced?.stoppedAt ?? facts.at;
		const recheckMs = stoppedAt + TAKEN_BACK_MS - facts.at;
		if (recheckMs <= 0) return { ...anew, stoppedAt };
		const because = `${decision.because}; its shell has not reacted yet`;
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
	if (left <= 0) return anew;
	const because =
		debounced.doubtedAt === null ? `${debounced.decision.because}, until it ran just now` : debounced.decision.because;
	return {
		...debounced,
		doubtedAt,
		decision: { ...debounced.decision, certainty: least(debounced.decision.certainty), because, recheckMs: left },
	};
}
