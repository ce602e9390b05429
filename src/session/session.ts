// One terminal, alive: where keystrokes and output pass each other.
//
// A session owns its parts and their order, and nothing else: what may happen
// when is in lifecycle.ts, whose turn it is in attention-tracker.ts, what bytes mean is in
// terminal/, who may ask is in tools/. Reading the constructor is reading the
// whole data path.

import type { Journal } from "../journal/journal.ts";
import type { Attention, ExitFacts, Status } from "../protocol/answer.ts";
import { Fault } from "../protocol/fault.ts";
import type { HolderEvent } from "../protocol/frames.ts";
import { Listeners } from "../protocol/listeners.ts";
import type { OutputChunk } from "../protocol/output.ts";
import { deferred } from "../pty/deferred.ts";
import { PtyIoError } from "../pty/errors.ts";
import { descendants, hasLiving, listeningPorts, workingDirectory } from "../pty/process-tree.ts";
import type { Pty, PtyExit, WriteOptions } from "../pty/pty.ts";
import { type Condition, settled, wait } from "../pty/wait.ts";
import type { Screen, ScreenOptions, ScreenState } from "../terminal/screen.ts";
import type { Position, ScreenDiff } from "../terminal/screen-diff.ts";
import type { ScreenFacts } from "./attention.ts";
import { AttentionTracker } from "./attention-tracker.ts";
import { conditionsOf, ended, hasCondition, type Outcome, rested, taken, timeout, type Until } from "./conditions.ts";
import { Display, type Drawing } from "./display.ts";
import { EndRequests } from "./end-requests.ts";
import { KeyPresses, type PressOptions, type Typed } from "./key-presses.ts";
import type { Keyframes } from "./keyframes.ts";
import type { Learnt } from "./learnt.ts";
import { hasEnded, type LifecycleEvent, statusAfter } from "./lifecycle.ts";
import { NoticeBoard, type Notices, type StandingFact } from "./notices.ts";
import type { SeenPositions } from "./seen-positions.ts";
import type { ShellCommands } from "./shell/commands.ts";
import { asFault, describeEnd } from "./terminal-faults.ts";
import { Transcript } from "./transcript.ts";
import { UnenteredText } from "./unentered-text.ts";

// A caller repeats a write within seconds; the holder remembers 1024 for the time after a restart.
const REMEMBERED_IDS = 256;
const NOTHING = new Uint8Array(0);
const TEXT = { highlights: false } as const;

export interface SessionParts {
	readonly id: string;
	readonly name: string;
	readonly cwd: string;
	readonly pty: Pty;
	readonly journal: Journal;
	/** Size, scrollback and clock; a saved screen, or the offset at which an empty one begins. */
	readonly screen: { readonly options: ScreenOptions; readonly from: ScreenState | number };
	readonly drawing: Drawing;
	/** `running`, or how it ended where that is on record. */
	readonly status: Status;
	/** Why it ended, where that is on record. */
	readonly endedBecause?: string | null;
	/** Output below this was received by an earlier daemon, which replied to its queries. */
	readonly replayedUntil: number;
	/** The commands of a shell with marks; null for any other program. */
	readonly commands?: ShellCommands | null;
	readonly keyframes: Keyframes | null;
	/** What each caller has seen. */
	readonly seen: SeenPositions;
	/** How programs rest. */
	readonly learnt?: Learnt | null;
}

export interface SessionWait {
	readonly until: Until;
	readonly timeoutMs: number;
	readonly signal: AbortSignal;
	/** Output from this offset on counts as new, including output from before the wait, as far as memory holds it. */
	readonly from?: number | undefined;
	/** Output below `from` that counts as new, too: read from disk. */
	readonly earlier?: Uint8Array | undefined;
	readonly typed?: string | undefined;
	/** A condition in `until` is what is waited for: that the program waits for input does not end it. */
	readonly strict?: boolean | undefined;
	/** Who waits: each caller has a share of the loop for its patterns. */
	readonly caller?: string | undefined;
}

// Patterns look at 64 KiB of text; escape sequences and wide characters make that a few times as many bytes.
export const MOST_ALREADY_BYTES = 256 * 1024;

// What was ended reports it in milliseconds; until then its last output may still have to be received.
const EXIT_MS = 60_000;

// Programs redraw within milliseconds; one that never comes to rest is answered after this.
const REDRAW_MS = 1000;

// Typing makes an answer likely: the session counts as attended for this long.
const TYPED_MS = 1000;

export class Session implements AsyncDisposable {
	readonly id: string;
	readonly name: string;
	readonly journal: Journal;
	/** Everything that it printed, as numbered lines. */
	readonly transcript: Transcript;
	/** Null unless it is a shell that `run` uses. */
	readonly commands: ShellCommands | null;
	readonly #pty: Pty;
	readonly #cwd: string;
	readonly #tracker: AttentionTracker;
	readonly #seen: SeenPositions;
	readonly #display: Display;
	readonly #outputs = new Listeners<OutputChunk>("session output");
	readonly #endings = new Listeners<void>("session ended");
	readonly #detached = deferred<void>();
	readonly #attached = new AbortController();
	readonly #notices = new NoticeBoard();
	/** The screen's part in a verdict, and the output that it is of. */
	#knownFacts: { readonly end: number; readonly facts: ScreenFacts } | null = null;
	readonly #endRequests = new EndRequests();
	readonly #presses: KeyPresses;
	readonly #unentered = new UnenteredText();
	#status: Status;
	#endedBecause: string | null;
	#users = 0;
	#usedAt = Date.now();
	/** The newest ids of writes that were typed, the oldest first. */
	readonly #typedIds = new Set<string>();
	#lastOutputAt = Date.now();
	#lastTypedAt = 0;

	constructor(parts: SessionParts) {
		const { pty, journal } = parts;
		this.id = parts.id;
		this.name = parts.name;
		this.#cwd = parts.cwd;
		this.#pty = pty;
		this.#status = parts.status;
		this.#endedBecause = parts.endedBecause ?? null;
		this.journal = journal;
		const commands = parts.commands ?? null;
		this.commands = commands;
		this.#seen = parts.seen;
		this.#tracker = new AttentionTracker({
			pty,
			seen: () => journal.end,
			isDrawn: () => this.#display.isDrawn,
			screen: () => this.#screenFacts(),
			shell: () => ({ atPrompt: commands?.atPrompt ?? null }),
			learnt: parts.learnt ?? null,
		});

		this.transcript = new Transcript({
			journal,
			...parts.screen.options,
			transcripts: parts.drawing.transcripts,
			stops: () => [...parts.seen.offsets(), ...(commands?.offsets ?? [])],
			isComplete: () => pty.exit?.closed === true,
		});

		this.#display = new Display({
			...parts,
			commands,
			answeredUntil: parts.replayedUntil,
			attended: () => this.#attended,
			onOutput: (listener) => this.#outputs.add(listener),
			onDrawn: () => this.#tracker.drawn(),
			stops: parts.seen.toRelocate(parts.replayedUntil),
			onReplayed: (screen) =>
				parts.seen.relocate(screen.diffSince(null, TEXT).position, { last: screen.offset >= parts.replayedUntil }),
			// The one arrow that points back: the emulator answers what the program asked it.
			onReply: (reply) => void this.#write(reply).catch(() => {}), // it ended before it got the answer
		});

		const tracker = this.#tracker;
		this.#presses = new KeyPresses({
			type: (input, options) => this.type(input, options),
			taken: taken(tracker, this),
			get escapePending() {
				return tracker.escapePending;
			},
		});

		pty.onOutput((chunk) => {
			this.#display.take(chunk);
			this.#lastOutputAt = Date.now();
			this.#outputs.emit(chunk);
			this.#tracker.outputSeen();
			this.transcript.grew();
		});
		// The exit comes after the last byte: do not leave any in the log.
		pty.onEnding(() => void this.catchUp());
		pty.onEvent((event) => {
			this.#notices.take(event);
			if (event.event === "resized") this.#resized(event.cols, event.rows, event.at ?? journal.end);
		});
		void pty.exited.then((exit) => this.#end(exit));
	}

	/** What a person would see now. */
	get screen(): Screen {
		return this.#display.screen;
	}
	get status(): Status {
		return this.#status;
	}
	get ended(): boolean {
		return hasEnded(this.#status);
	}
	get exit(): ExitFacts | null {
		const exit = this.#pty.exit;
		return exit === null ? null : { code: exit.code, signal: exit.signal };
	}
	/** Why it ended, where neither the program nor a caller decided it: idleness, a limit. */
	get endedBecause(): string | null {
		const { exit } = this.#pty;
		if (exit?.reason === "wall_clock") return "the wall-clock limit was reached";
		return exit?.signal === "SIGXCPU" ? "the limit of processor time was reached" : this.#endedBecause;
	}
	/** How it ended is not the program's own doing: a reason of ours, or nobody knows. */
	get endedFromOutside(): boolean {
		return this.ended && (this.exit === null || this.endedBecause !== null);
	}
	get howItEnded(): string {
		return describeEnd(this.#status, this.exit, this.endedBecause);
	}
	/** For a caller that wanted it to run; `onlyRead`: it typed nothing. */
	endFault(more: { readonly onlyRead?: boolean } = {}): Fault<"session_ended"> {
		return new Fault("session_ended", { id: this.name, sessionId: this.id, how: this.howItEnded, ...more });
	}
	get ptyExit(): PtyExit | null {
		return this.#pty.exit;
	}
	/** Settles when nothing of it runs any more: later than its end where it left background processes. */
	get closed(): Promise<PtyExit> {
		return this.#pty.closed;
	}
	/** Aborted when this daemon lets go of the session. */
	get whileAttached(): AbortSignal {
		return this.#attached.signal;
	}
	get pid(): number {
		return this.#pty.pid;
	}
	get holderPid(): number {
		return this.#pty.holderPid;
	}
	get attention(): Attention {
		return this.#tracker.attention;
	}
	/** When that was decided; 0 if not since the last input. */
	get attentionAt(): number {
		return this.#tracker.decidedAt;
	}
	get lastOutputAt(): number {
		return this.#lastOutputAt;
	}
	/** When a call last used it: now, while one waits, runs a command, reads its output as it comes, or types. */
	get usedAt(): number {
		return this.#users > 0 ? Date.now() : this.#usedAt;
	}

	/** It counts as used until the returned function is called. */
	use(): () => void {
		this.#users++;
		let using = true;
		return () => {
			if (!using) return;
			using = false;
			this.#users--;
			this.#usedAt = Date.now();
		};
	}

	onEnded(listener: () => void): () => void {
		return this.#endings.add(listener);
	}
	onOutput(listener: (chunk: OutputChunk) => void): () => void {
		return this.#outputs.add(listener);
	}
	/** What the holder reports beside output: `log_lost` (a full disk: that output is gone), `input_dropped`. */
	onReported(listener: (event: HolderEvent) => void): () => void {
		return this.#pty.onEvent(listener);
	}
	/** What happened that this caller has not been told yet; it counts as told. */
	takeNotices(owner: string): Notices | null {
		return this.#notices.tell(owner);
	}
	/** Whether this is news to the caller; it counts as told. */
	tellStanding(owner: string, fact: StandingFact, value: string): boolean {
		return this.#notices.tellStanding(owner, fact, value);
	}
	/** A command of its shell is being stopped at its timeout, after its call has returned. */
	commandStopping(isOver: () => boolean): void {
		this.#notices.commandStopping(() => this.ended || isOver());
	}
	/** A newer daemon has taken this session over. */
	onFenced(listener: () => void): () => void {
		return this.#pty.onFenced(listener);
	}
	onDecided(listener: (attention: Attention) => void): () => void {
		return this.#tracker.onDecided(listener);
	}

	/**
	 * Types bytes atomically. A function is called when this write is next in the queue: it encodes for the modes of that
	 * moment, and when it throws nothing is typed. A write whose id was typed before is not typed again.
	 */
	type(input: Uint8Array | (() => Uint8Array), options: WriteOptions = {}): Promise<Typed> {
		return this.#write(input, options, (bytes) => {
			// One that reads keys has taken them.
			if (takesKeys(this.attention)) this.#unentered.clear();
			else this.#unentered.take(bytes);
		});
	}

	async #write(
		input: Uint8Array | (() => Uint8Array),
		options: WriteOptions = {},
		onTyping: (bytes: Uint8Array) => void = () => {},
	): Promise<Typed> {
		const { id } = options;
		let acknowledge = () => {};
		let acceptedBefore = -1;
		const encode = () => {
			this.#mustRun();
			if (id !== undefined && this.#typedIds.has(id)) return NOTHING;
			const bytes = typeof input === "function" ? input() : input;
			acceptedBefore = this.#pty.inputOffset;
			this.#lastTypedAt = Date.now();
			onTyping(bytes);
			acknowledge = this.#tracker.typing(bytes);
			return bytes;
		};
		try {
			const queuedBytes = typeof input === "function" ? 0 : input.length;
			await this.#ask(this.#pty.write(encode, { queuedBytes, ...options }));
		} finally {
			acknowledge();
		}
		if (id === undefined) return { repeated: false };
		// A duplicate: known here, or to the holder (sent by an earlier daemon), which then accepted nothing.
		const repeated = acceptedBefore < 0 || this.#pty.inputOffset === acceptedBefore;
		this.#typedIds.add(id);
		const [oldest] = this.#typedIds;
		if (this.#typedIds.size > REMEMBERED_IDS && oldest !== undefined) this.#typedIds.delete(oldest);
		return { repeated };
	}

	/** Types the parts of one call: the first at once, each other when the program has taken the one before. */
	press(parts: readonly (() => Uint8Array)[], options: PressOptions): Promise<Typed> {
		return this.#presses.press(parts, options);
	}

	/** How many characters were typed and not entered, to a program that reads lines. */
	get unentered(): number {
		if (this.ended || takesKeys(this.attention)) this.#unentered.clear();
		// A full-screen program may take keys for itself (tmux' prefix) while what it shows reads lines.
		const { alternate, lastLine } = this.#screenFacts();
		if (alternate && !this.#unentered.isSeenIn(lastLine)) this.#unentered.clear();
		return this.#unentered.chars;
	}

	/** Asks the holder to watch the program until the returned function is called. */
	watch(options?: Parameters<AttentionTracker["watch"]>[0]): () => void {
		return this.#tracker.watch(options);
	}

	/** Returns on the first of: waiting (unless `strict`, with a condition), ended, a condition of `until`, timeout. */
	async wait({ until, timeoutMs, signal, from, earlier, typed, strict, caller }: SessionWait): Promise<Outcome> {
		// Taken only where it is needed: a diff of a full scrollback costs a millisecond.
		const since =
			until.text === undefined && until.pattern === undefined ? null : this.screen.diffSince(null, TEXT).position;
		const { end } = this.journal;
		const recent =
			from === undefined || from >= end ? undefined : this.journal.recent(Math.max(from, end - MOST_ALREADY_BYTES));
		const already = earlier === undefined ? recent : Buffer.concat([earlier, recent ?? new Uint8Array(0)]);
		const newOnScreen = () => (since === null ? "" : this.screen.diffSince(since, TEXT).text);
		const done = this.use();
		try {
			const conditions = conditionsOf(this, until, { timeoutMs, already, typed, newOnScreen, strict, caller });
			const outcome = await wait(conditions, { signal });
			return hasCondition(until) ? outcome : { ...outcome, matched: null };
		} catch (error) {
			// Only the output shows that a pattern is slow: by then the program was started, or the text typed, which a fault would deny.
			if (strict || !(error instanceof Fault) || error.code !== "bad_pattern") throw error;
			return { returned: "still", attention: null, matched: false, gaveUp: error.message };
		} finally {
			done();
		}
	}

	/** Receives what was left in the log while unattended. */
	catchUp(): Promise<void> {
		return this.#display.catchUp();
	}

	/** For one that has ended: the output that memory cannot hold is not received again. */
	passOverOld(): Promise<void> {
		return this.#display.passOverOld();
	}

	/** The offset up to which this caller has seen everything. */
	seenBy(owner: string): number {
		return this.#seen.get(owner)?.offset ?? 0;
	}

	/** The end of the output when this caller was last answered. */
	answeredTo(owner: string): number {
		return this.#seen.answeredTo(owner);
	}

	answered(owner: string, offset: number): void {
		this.#seen.answered(owner, offset);
	}

	/**
	 * What is new to this caller, who has typed this line since; marks it as seen. `giveBack`: a screen did not fit into the
	 * answer, and the next one shows it whole.
	 */
	takeNew(owner: string, typed?: string): { diff: ScreenDiff; since: number; giveBack: () => void } {
		// Drawn first: what was seen before a restart is known when the replay is on the screen.
		const { screen } = this;
		const since = this.#seen.get(owner);
		const diff = screen.diffSince(since, { typed });
		// A holder that does not answer keeps from us what was there before: nothing of it has been seen anew.
		const see = (position: Position) => {
			if (!this.#display.isBehind) this.#seen.set(owner, position);
		};
		see(diff.position);
		const giveBack = () => see({ ...diff.position, screen: null, clears: since?.clears ?? 0 });
		return { diff, since: since?.offset ?? 0, giveBack };
	}

	/** This caller has read the output as it came before. */
	readsRaw(owner: string): boolean {
		return this.#seen.getRaw(owner) !== null;
	}

	/** Where the output begins and ends that this caller has not read as it came; marks it as read. */
	takeRaw(owner: string): { from: number; to: number } {
		const [before, to] = [this.#seen.getRaw(owner), this.journal.end];
		if (to !== before) this.#seen.setRaw(owner, to);
		return { from: before ?? 0, to };
	}

	/** A single probe, for a caller that does not wait. */
	async refresh(): Promise<void> {
		if (!this.ended) await this.#tracker.check();
	}

	/** Settles when the program has redrawn: no thread of it is at work any more, and all that it drew is here. */
	async resize(cols: number, rows: number, { signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
		this.#mustRun();
		const stale = this.#tracker.disturb();
		await this.#ask(this.#pty.resize(cols, rows)).finally(stale);
		await this.#display.keep();
		await wait<Outcome>([ended(this), rested(this.#tracker), timeout(REDRAW_MS)], { signal });
	}

	async signal(name: string): Promise<void> {
		this.#mustRun();
		// As a person would: the terminal turns Ctrl+C into INT for the foreground group, or passes it through in raw mode.
		if (name === "SIGINT") await this.type(Uint8Array.of(3), { priority: true });
		else {
			const done = this.#tracker.disturb();
			await this.signalForeground(name).finally(done);
		}
	}

	/** Signals the foreground process group, bypassing the keyboard. */
	async signalForeground(name: string): Promise<void> {
		this.#mustRun();
		await this.#ask(this.#pty.signal(name, "foreground"));
	}

	/** Signals the main program alone. */
	async signalMain(name: string): Promise<void> {
		this.#mustRun();
		await this.#ask(this.#pty.signal(name, "main"));
	}

	/** A process of the foreground group has not ended; one that only has not been waited for has. */
	async hasForegroundJob(): Promise<boolean> {
		const { foregroundGroup } = await this.#ask(this.#pty.facts());
		return hasLiving(await descendants(this.#pty.holderPid), foregroundGroup);
	}

	/** The main program is in the foreground, no other job. */
	async mainIsForeground(): Promise<boolean> {
		return (await this.#ask(this.#pty.facts())).mainForeground;
	}

	/** Ends the whole tree, for this reason where no caller asked for it; returns what could not be ended. */
	async close(graceMs: number, because: string | null = null): Promise<readonly { pid: number; command: string }[]> {
		if (!this.ended) this.#endedBecause = because;
		const survivors = await this.#endRequests.track(this.#ask(this.#pty.end(graceMs)));
		// The survivor may be the main program itself: then there is no exit to wait for.
		if (survivors.length === 0) await this.#exited();
		return survivors;
	}

	/** Ends the main program alone; its background processes keep running. */
	async closeMain(graceMs: number): Promise<void> {
		if (this.ended) return;
		await this.#endRequests.track(this.#ask(this.#pty.signal(graceMs === 0 ? "SIGKILL" : "SIGTERM", "main")));
		await this.#exited(graceMs, () => void this.#pty.signal("SIGKILL", "main").catch(() => {})); // it ended in time
	}

	/** The working directory of the foreground program, as far as known. */
	async cwd(): Promise<string> {
		return (this.ended ? null : await workingDirectory(this.#pty.pid)) ?? this.screen.cwd ?? this.#cwd;
	}

	async ports(): Promise<readonly number[]> {
		return this.#pty.exit?.closed === true ? [] : listeningPorts(await descendants(this.#pty.holderPid));
	}

	/** Detaches; the program keeps running. */
	async [Symbol.asyncDispose](): Promise<void> {
		this.#detached.resolve();
		this.#attached.abort();
		this.#tracker[Symbol.dispose]();
		this.#outputs.clear();
		this.#endings.clear();
		this.journal[Symbol.dispose]();
		await this.#pty[Symbol.asyncDispose]();
		this.#seen[Symbol.dispose]();
		await this.#display[Symbol.asyncDispose]();
		await this.transcript[Symbol.asyncDispose]();
	}

	/** `overdue` is called when it has not ended after `graceMs`. Rejects when the session is detached first: then its end is not reported here. */
	async #exited(graceMs = 0, overdue = () => {}): Promise<void> {
		const problem = "its end was not reported";
		const deadline: Condition<never> = {
			start({ after, fail }) {
				after(graceMs, overdue);
				after(graceMs + EXIT_MS, () => fail(new Fault("session_unreachable", { id: name, sessionId: id, problem })));
			},
		};
		const { name, id } = this;
		await wait<unknown>([settled(this.#pty.exited), settled(this.#detached.promise), deadline]);
		if (!this.ended) throw asFault(new PtyIoError("disconnected", "this session was detached", { sent: true }), this);
	}

	/** A request to the terminal; errors become faults. */
	async #ask<T>(request: Promise<T>): Promise<T> {
		try {
			return await request;
		} catch (error) {
			throw asFault(error, this);
		}
	}

	/** A caller waits on it, watches it, has just typed or is ending it. */
	get #attended(): boolean {
		return (
			this.#tracker.watched ||
			this.#users > 0 ||
			this.commands?.awaited === true ||
			this.#endRequests.made ||
			Date.now() - this.#lastTypedAt < TYPED_MS
		);
	}

	#mustRun(): void {
		if (this.ended) throw this.endFault();
	}

	/** Only output and a resize change them: a hibernated screen is not restored for a verdict. */
	#screenFacts(): ScreenFacts {
		const { end } = this.journal;
		if (this.#knownFacts?.end === end) return this.#knownFacts.facts;
		const { screen } = this;
		const { modes, cursor } = screen;
		const facts = {
			alternate: modes.alternateScreen,
			cursorVisible: cursor.visible,
			cursorColumn: cursor.column,
			lastLine: screen.lastLine(),
			bracketedPaste: modes.bracketedPaste,
			applicationKeys: modes.applicationKeypad || modes.applicationCursor,
			footerBelow: screen.footerBelow,
			endsAtCursor: screen.endsAtCursor,
			drawnCursor: !cursor.visible && screen.hasDrawnCursor,
		};
		this.#knownFacts = { end, facts };
		return facts;
	}

	#resized(cols: number, rows: number, at: number): void {
		this.#knownFacts = null;
		this.#display.resize(cols, rows, at);
		this.transcript.resized(cols, rows, at);
	}

	#end(exit: PtyExit): void {
		if (!this.ended) this.#status = statusAfter(this.#status, this.#endEvent(exit));
		this.#endings.emit();
	}

	#endEvent(exit: PtyExit): LifecycleEvent {
		if (exit.reason === "lost") return "lost";
		if (this.#endRequests.made) return "cancelled";
		return exit.code === 0 ? "exited_well" : "exited_badly";
	}
}

/** There is no line to enter: each key counts by itself. */
const takesKeys = ({ waitingFor }: Attention): boolean => waitingFor === "key" || waitingFor === "screen";
