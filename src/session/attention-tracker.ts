// Whose turn it is, kept current while a caller waits.
//
// The holder pushes kernel facts, attention.ts decides; this file drops stale
// facts: those older than our own last write, and those whose output we have not
// received yet. Without a waiter nothing is probed.

import { setTimeout as delay } from "node:timers/promises";
import type { Attention } from "../protocol/answer.ts";
import type { KernelFacts } from "../protocol/kernel-facts.ts";
import { Listeners } from "../protocol/listeners.ts";
import { isStopped } from "../pty/process-tree.ts";
import type { Pty } from "../pty/pty.ts";
import { type Debounced, DOUBT_MS, debounce, decide, type ScreenFacts, type ShellFacts } from "./attention.ts";
import { PROMPTED_MS } from "./attention-rules.ts";
import { type EscapeTimer, escapeTimer, TYPED as TYPED_ESCAPE } from "./escape-timer.ts";
import { readerAmong } from "./evidence.ts";
import type { Learnt } from "./learnt.ts";
import { Lessons } from "./lessons.ts";
import { PromptFinder } from "./prompt-finder.ts";
import { disturbed, type Ticking, ticking } from "./ticking.ts";

const UNKNOWN: Attention = {
	activity: "working",
	waitingFor: null,
	certainty: "guess",
	because: "not probed yet",
};
const TYPED: Attention = {
	activity: "working",
	waitingFor: null,
	certainty: "likely",
	because: "it has not read what was typed yet",
};

const TAKES_LINE: readonly Attention["waitingFor"][] = ["line", "command"];
/** A timer may fire a millisecond before its time. */
const TIMER_MS = 2;
/** As long as an answer takes to be composed: what was readable then is not inside `execve` now. */
const RECENT_MS = 100;
const ESCAPE = 0x1b;
const CTRL_S = 0x13;
const CTRL_Q = 0x11;
const isText = (bytes: Uint8Array) => bytes.length > 0 && bytes.every((byte) => byte >= 0x20 && byte !== 0x7f);

/** The lesser one that is a time to come. */
function sooner(...times: readonly (number | null)[]): number | null {
	const due = times.filter((ms) => ms !== null && ms > 0) as number[];
	return due.length === 0 ? null : Math.min(...due);
}

const unresponsive = ({ holderPid, silentMs }: Pick<Pty, "holderPid" | "silentMs">): Attention => ({
	activity: "unresponsive",
	waitingFor: null,
	// One that is not stopped may answer the next moment: a disk or a machine can be as slow as that.
	certainty: isStopped(holderPid) ? "certain" : "likely",
	because: `its holder${holderPid > 0 ? ` (process ${holderPid})` : ""} has not answered for ${Math.round(silentMs / 1000)} s`,
});

export interface AttentionSource {
	readonly pty: Pick<
		Pty,
		"facts" | "onFacts" | "watch" | "responsive" | "silentMs" | "onResponsive" | "holderPid" | "inputOffset"
	>;
	/** The offset up to which output has reached the screen. */
	readonly seen: () => number;
	/** Little of it is left to draw; `drawn` is called when that is so again. */
	readonly isDrawn: () => boolean;
	readonly screen: () => ScreenFacts;
	readonly shell: () => ShellFacts;
	/** Its program runs one in another place (program-place.ts). */
	readonly relays?: boolean;
	/** Of its limits; null: none. */
	readonly outputLimit?: number | null;
	/** Null: nothing is learnt. */
	readonly learnt?: Learnt | null;
}

export class AttentionTracker implements Disposable {
	readonly #source: AttentionSource;
	readonly #decisions = new Listeners<Attention>("attention");
	readonly #taken = new Listeners<void>("input taken");
	readonly #rested = new Listeners<void>("at rest");
	readonly #undo: readonly (() => void)[];
	#attention = UNKNOWN;
	#decidedAt = 0;
	#facts: KernelFacts | null = null;
	#debounced: Debounced | null = null;
	/** A question to the holder, asked after the last disturbance and while somebody watches. */
	#asking: Promise<void> | null = null;
	#typing = 0;
	/** The newest facts since a write went out that is not acknowledged yet. */
	#unacknowledged: KernelFacts | null = null;
	#askAfter = false;
	/** Decided since the last disturbance, and watched ever since. */
	#isCurrent = false;
	/** Every process could be read for it. */
	#inspected = false;
	#reader: string | null = null;
	#escape: EscapeTimer | null = null;
	#midLine = false;
	readonly #prompts = new PromptFinder();
	/** The prompt of a line editor was shown since the last disturbance. */
	#prompted: { readonly pid: number; readonly at: number } | null = null;
	#ticking: Ticking | null = null;
	#stopTyped = false;
	/** Ctrl+S stopped output when the holder was last asked. */
	#stops = false;
	#watchers = 0;
	#watchedAt = 0;
	#unwatch: (() => void) | null = null;
	#recheck: NodeJS.Timeout | null = null;
	readonly #lessons: Lessons | null;

	constructor(source: AttentionSource) {
		this.#source = source;
		const { pty, learnt = null } = source;
		const refresh = () => {
			if (this.#watchers > 0) void this.#refresh();
		};
		this.#lessons = learnt && new Lessons(learnt, refresh);
		this.#undo = [pty.onFacts((facts) => this.#take(facts)), pty.onResponsive(() => this.#responsiveChanged())];
	}

	get attention(): Attention {
		const { pty } = this.#source;
		if (!pty.responsive) return unresponsive(pty);
		// Somebody waits, and no probe has answered since: what was certain then may not be so now.
		const attention = this.#attention;
		if (attention.certainty !== "certain" || this.#decidedAt >= this.#watchedAt) return attention;
		return { ...attention, certainty: "likely", because: `before this call: ${attention.because}` };
	}

	/** The verdict where a new waiter need not ask for it: decided since the last disturbance, and watched ever since. */
	get current(): Attention | null {
		return this.#isCurrent && this.#source.pty.responsive ? this.#attention : null;
	}

	/** The program was at rest a moment ago, and every process of it could be read to know that. */
	get hasInspected(): boolean {
		const isRecent = Date.now() - this.#decidedAt < RECENT_MS;
		return isRecent && this.#inspected && this.attention.activity === "waiting";
	}

	/** The command of the process that reads the terminal; null where none was seen to. */
	get reader(): string | null {
		return this.#reader;
	}

	/** When that was decided; 0 if not since the last input. */
	get decidedAt(): number {
		return this.#decidedAt;
	}

	/** Called on every decision, also when the verdict stays the same. */
	onDecided(listener: (attention: Attention) => void): () => void {
		return this.#decisions.add(listener);
	}

	/** Called on every decision by which the program has taken all that was typed. */
	onTaken(listener: () => void): () => void {
		return this.#taken.add(listener);
	}

	/** Called on every decision by which the program is at rest. */
	onRested(listener: () => void): () => void {
		return this.#rested.add(listener);
	}

	/** The last write ended with Escape, which the program has not taken yet. */
	get escapePending(): boolean {
		return this.#escape !== null;
	}

	get watched(): boolean {
		return this.#watchers > 0;
	}

	/** The holder watches until the last waiter is gone. `ask`: not for one that is about to type, which is asked after that. */
	watch({ ask = true }: { readonly ask?: boolean } = {}): () => void {
		if (this.#watchers++ === 0) {
			this.#watchedAt = Date.now();
			this.#asking = null;
			// What it did since then was seen by nobody: nothing of that verdict holds over.
			this.#debounced = null;
		}
		this.#unwatch ??= this.#source.pty.watch();
		if (ask) void this.#refresh();
		let watching = true;
		return () => {
			if (!watching) return;
			watching = false;
			if (--this.#watchers > 0) return;
			this.#unwatch?.();
			this.#unwatch = null;
			this.#isCurrent = false;
			this.#forgetRecheck();
		};
	}

	/** A single probe, for a caller that does not wait. */
	async check(): Promise<Attention> {
		await this.#refresh();
		// It may have been at work for a while, or only for this moment. A watcher is told later which.
		if (this.#watchers === 0 && this.#debounced?.doubtedAt != null) {
			await delay(DOUBT_MS + TIMER_MS);
			await this.#refresh();
		}
		return this.attention;
	}

	/**
	 * A write goes out: facts from before it are stale. Returns the function to call when it is acknowledged.
	 */
	typing(bytes: Uint8Array): () => void {
		this.#escape = bytes.at(-1) === ESCAPE ? TYPED_ESCAPE : null;
		// Elsewhere Ctrl+S is a key.
		if (bytes.includes(CTRL_S)) this.#stopTyped = this.#stops;
		if (bytes.includes(CTRL_Q)) this.#stopTyped = false;
		this.#midLine = (this.#midLine || TAKES_LINE.includes(this.#attention.waitingFor)) && isText(bytes);
		const acknowledge = this.#disturb();
		this.#lessons?.typed();
		this.#prompts.typed();
		return acknowledge;
	}

	/** A write, a signal or another size goes out: facts from before it are stale. */
	disturb(): () => void {
		this.#askAfter = true; // only of input do facts tell whether they are from before it
		return this.#disturb();
	}

	#disturb(): () => void {
		this.#lessons?.disturbed();
		this.#prompted = null;
		this.#ticking = disturbed(this.#ticking);
		this.#asking = null;
		this.#typing++;
		this.#unacknowledged = null;
		this.#isCurrent = false;
		this.#facts = null;
		this.#debounced = null;
		this.#attention = TYPED;
		this.#decidedAt = 0;
		return () => {
			if (--this.#typing > 0) return;
			const asks = this.#askAfter;
			this.#askAfter = false;
			if (this.#watchers === 0) return;
			// A quick program has blocked again before we know that it was typed to.
			const facts = this.#unacknowledged;
			const isAfter = !asks && (facts?.inputOffset ?? -1) >= this.#source.pty.inputOffset;
			this.#unacknowledged = null;
			if (facts !== null && isAfter) this.#take(facts);
			else void this.#refresh();
		};
	}

	/** More output has reached the screen: facts held back for it may now count. */
	outputSeen(bytes: Uint8Array): void {
		this.#lessons?.printed(this.#source.seen());
		this.#findPrompt(bytes);
		if (this.#facts !== null) this.#decide();
	}

	/** The screen has caught up with the output: the same. */
	drawn(): void {
		if (this.#facts !== null) this.#decide();
	}

	[Symbol.dispose](): void {
		for (const undo of this.#undo) undo();
		this.#unwatch?.();
		this.#unwatch = null;
		this.#forgetRecheck();
		this.#decisions.clear();
		this.#taken.clear();
		this.#rested.clear();
	}

	/** The answer arrives through `onFacts`, in order with pushed facts. One is enough for all who ask before it comes. */
	#refresh(): Promise<void> {
		if (this.#asking !== null) return this.#asking;
		const asking = this.#ask().finally(() => {
			if (this.#asking === asking) this.#asking = null;
		});
		this.#asking = asking;
		return asking;
	}

	async #ask(): Promise<void> {
		try {
			await this.#source.pty.facts();
		} catch {
			// The end of a session is its own event. A holder that does not answer would keep a wait open for nothing.
			if (!this.#source.pty.responsive) this.#decisions.emit(this.attention);
		}
	}

	#responsiveChanged(): void {
		this.#facts = null;
		this.#debounced = null;
		this.#attention = UNKNOWN;
		if (!this.#source.pty.responsive) this.#decisions.emit(this.attention);
		else if (this.#watchers > 0) void this.#refresh();
	}

	#findPrompt(bytes: Uint8Array): void {
		if (this.#prompted !== null || this.#watchers === 0) return;
		const pid = this.#prompts.feed(bytes);
		if (pid === null) return;
		this.#prompted = { pid, at: Date.now() };
		this.#recheck ??= setTimeout(() => void this.#refresh(), PROMPTED_MS);
	}

	#take(facts: KernelFacts): void {
		if (this.#typing > 0) {
			this.#unacknowledged = facts;
			return;
		}
		this.#facts = facts;
		this.#decide();
	}

	#decide(): void {
		const facts = this.#facts;
		if (facts === null || this.#source.seen() < facts.offset || !this.#source.isDrawn()) return;
		// Drawing may reply to a query of the program; then newer facts follow.
		const screen = this.#source.screen();
		if (this.#facts !== facts) return;
		this.#facts = null;
		this.#stops = facts.flags?.includes("ixon") === true;
		this.#stopTyped &&= this.#stops;
		this.#ticking = ticking(this.#ticking, facts);
		this.#forgetRecheck();
		const reader = readerAmong(facts.threads)?.thread ?? null;
		this.#reader = reader?.command ?? null;
		if (this.#escape !== null) this.#escape = escapeTimer(this.#escape, reader, facts);
		const decision = decide({
			facts,
			screen,
			shell: this.#source.shell(),
			relays: this.#source.relays === true,
			outputLimit: this.#source.outputLimit ?? null,
			pendingEscape: this.#escape,
			midLine: this.#midLine,
			prompted: this.#prompted && { pid: this.#prompted.pid, sinceMs: facts.at - this.#prompted.at },
			stopTyped: this.#stopTyped,
			ticking: this.#ticking,
			learnt: this.#lessons?.known ?? null,
		});
		this.#lessons?.decided(decision, facts);
		if (decision.prompts !== null) {
			this.#prompts.seen(decision.prompts, screen.lastLine);
			this.#prompted ??= { pid: decision.prompts, at: facts.at };
		}
		this.#debounced = debounce(this.#debounced, decision, facts);
		const { activity, waitingFor, certainty, because } = this.#debounced.decision;
		const recheckMs = sooner(
			this.#debounced.decision.recheckMs,
			activity === "working" && this.#prompted !== null ? this.#prompted.at + PROMPTED_MS - facts.at : null,
			this.#taken.size > 0 ? decision.takenInMs : null,
			this.#rested.size > 0 ? decision.restsInMs : null,
		);
		const attention: Attention = { activity, waitingFor, certainty, because };
		this.#attention = attention;
		this.#inspected = facts.readable && facts.late !== true;
		this.#decidedAt = Date.now();
		this.#isCurrent = this.#watchers > 0;
		if (recheckMs !== null && this.#watchers > 0) {
			this.#recheck = setTimeout(() => void this.#refresh(), recheckMs);
		}
		this.#decisions.emit(attention);
		if (decision.takenInMs === 0) this.#taken.emit();
		if (decision.restsInMs === 0) this.#rested.emit();
	}

	#forgetRecheck(): void {
		if (this.#recheck !== null) clearTimeout(this.#recheck);
		this.#recheck = null;
	}
}
