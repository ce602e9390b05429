// One terminal, alive: where keystrokes and output pass each other.
//
// A session owns its parts and their order, and nothing else: what may happen
// when is in lifecycle.ts, whose turn it is in attention-tracker.ts, what bytes mean is in
// terminal/, who may ask is in tools/. Reading the constructor is reading the
// whole data path.

import type { Journal } from "../journal/journal.ts";
import type { PlaceRecord } from "../journal/records.ts";
import type { Attention, ExitFacts, Status } from "../protocol/answer.ts";
import { Fault, isFault } from "../protocol/fault.ts";
import type { HolderEvent } from "../protocol/frames.ts";
import type { KernelFacts } from "../protocol/kernel-facts.ts";
import { Listeners } from "../protocol/listeners.ts";
import type { OutputChunk } from "../protocol/output.ts";
import { deferred } from "../pty/deferred.ts";
import { PtyIoError } from "../pty/errors.ts";
import type { Limits } from "../pty/launch-block.ts";
import { canBeRead } from "../pty/process-stat.ts";
import {
	descendants,
	hasLiving,
	hasTerminal,
	listeningPorts,
	programIn,
	workingDirectory,
} from "../pty/process-tree.ts";
import type { Pty, PtyExit, Survivor } from "../pty/pty.ts";
import { type Condition, settled, wait } from "../pty/wait.ts";
import type { Screen, ScreenOptions, ScreenState } from "../terminal/screen.ts";
import type { Position, ScreenDiff } from "../terminal/screen-diff.ts";
import type { ScreenFacts } from "./attention.ts";
import { AttentionTracker } from "./attention-tracker.ts";
import {
	conditionsOf,
	ended,
	hasCondition,
	lateMatch,
	type Outcome,
	rested,
	taken,
	timeout,
	type Until,
} from "./conditions.ts";
import { Display, type Drawing } from "./display.ts";
import { DriverLease, type Writer } from "./driver-lease.ts";
import type { TypedText } from "./echo-filter.ts";
import { EndRequests } from "./end-requests.ts";
import type { PressOptions, Typed } from "./key-presses.ts";
import type { Keyframes } from "./keyframes.ts";
import type { Learnt } from "./learnt.ts";
import { endEvent, hasEnded, statusAfter } from "./lifecycle.ts";
import { limitOfCode, limitReached } from "./limit-reached.ts";
import { NoticeBoard, type Notices, type StandingFact } from "./notices.ts";
import { PendingQuestion, type Question } from "./pending-question.ts";
import { placedDirectory, toolFailure } from "./program-place.ts";
import type { SeenPositions } from "./seen-positions.ts";
import { SessionInput, type TypeOptions } from "./session-input.ts";
import { notLater, SessionUse } from "./session-use.ts";
import type { ShellCommands } from "./shell/commands.ts";
import { asFault, describeEnd, describeLeft } from "./terminal-faults.ts";
import { Transcript } from "./transcript.ts";
import { TurnLog } from "./turn-log.ts";

const NOTHING = new Uint8Array(0);
const TEXT = { highlights: false } as const;

/** Where the holder cannot be asked how the program ended. */
const BY_FORCE = "closed by force; its holder did not answer, so its exit code is unknown";

/** For a fault: whether something was typed is no question. */
const NOT_TYPING = { onlyRead: true } as const;
const isEnd = (error: unknown) => isFault(error, "session_ended");

export interface SessionParts {
	readonly id: string;
	readonly name: string;
	readonly cwd: string;
	/** Where its program runs; none: here. */
	readonly place?: PlaceRecord | null;
	readonly pty: Pty;
	readonly journal: Journal;
	/** Size, scrollback and clock; a saved screen, or the offset at which an empty one begins. */
	readonly screen: { readonly options: ScreenOptions; readonly from: ScreenState | number };
	readonly drawing: Drawing;
	/** `running`, or how it ended where that is on record. */
	readonly status: Status;
	/** What it may use. */
	readonly limits?: Limits;
	/** Why it ended, where that is on record. */
	readonly endedBecause?: string | null;
	/** Output below this was received by an earlier daemon, which replied to its queries. */
	readonly replayedUntil: number;
	/** When the last of that was printed, in ms since 1970. */
	readonly printedAt?: number | null;
	/** The commands of a shell with marks; null for any other program. */
	readonly commands?: ShellCommands | null;
	readonly keyframes: Keyframes | null;
	/** What each caller has seen. */
	readonly seen: SeenPositions;
	/** What a person was asked to type. */
	readonly question?: PendingQuestion;
	/** Who may type. */
	readonly driving?: DriverLease;
	/** How programs rest. */
	readonly learnt?: Learnt | null;
	/** Who types and what comes of it is kept beside the output. */
	readonly keepsTurns?: boolean;
	/** It runs in a sandbox. */
	readonly isConfined?: boolean;
}

export interface SessionWait {
	readonly until: Until;
	readonly timeoutMs: number;
	readonly signal: AbortSignal;
	/** Output from this offset on counts as new, including output from before the wait, as far as memory holds it. */
	readonly from?: number | undefined;
	/** Output below `from` that counts as new, too: read from disk. */
	readonly earlier?: Uint8Array | undefined;
	readonly typed?: readonly TypedText[] | undefined;
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
	readonly limits: Limits;
	readonly journal: Journal;
	/** Everything that it printed, as numbered lines. */
	readonly transcript: Transcript;
	/** Null unless it is a shell that `run` uses. */
	readonly commands: ShellCommands | null;
	/** Who may type. */
	readonly driving: DriverLease;
	/** What is recorded beside the output. */
	readonly turns: TurnLog;
	/** It runs in a sandbox. */
	readonly isConfined: boolean;
	readonly place: PlaceRecord | null;
	#programPid: number;
	readonly #stopRecording: (() => void) | undefined;
	readonly #pty: Pty;
	#name: string;
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
	readonly #input: SessionInput;
	readonly #use: SessionUse;
	readonly #question: PendingQuestion;
	/** As they were last known. */
	#ports: readonly number[] = [];
	#status: Status;
	#limitReached = false;
	/** Why what an ended program left running was ended; true once its terminal is closed. */
	#restEndedBecause: string | null = null;
	/** Calls that give it up with force, and whether one of them ended it. */
	#forcing = 0;
	#endedByForce = false;
	readonly #recordedReason: string | null;
	#lastOutputAt: number;
	#printedAt = performance.now();

	constructor(parts: SessionParts) {
		const { pty, journal } = parts;
		this.id = parts.id;
		this.#name = parts.name;
		this.#cwd = parts.cwd;
		this.#pty = pty;
		this.#programPid = pty.pid;
		this.#status = parts.status;
		this.limits = parts.limits ?? {};
		this.#recordedReason = parts.endedBecause ?? null;
		this.isConfined = parts.isConfined ?? false;
		this.place = parts.place ?? null;
		this.journal = journal;
		const commands = parts.commands ?? null;
		this.commands = commands;
		commands?.guard({ from: parts.replayedUntil, isForeground: () => hasTerminal(this.programPid) });
		this.turns = new TurnLog({
			directory: parts.keepsTurns ? journal.directory : null,
			offset: () => journal.end,
		});
		this.#stopRecording = commands?.onFinished((finished) =>
			this.turns.command(finished, { replayed: finished.to <= parts.replayedUntil }),
		);
		this.#seen = parts.seen;
		this.#use = new SessionUse(parts.seen.savedAt);
		this.#lastOutputAt = Math.floor(notLater(parts.printedAt ?? null)); // of a file
		this.#question = parts.question ?? new PendingQuestion();
		this.driving = parts.driving ?? new DriverLease();
		this.#tracker = new AttentionTracker({
			pty,
			seen: () => journal.end,
			isDrawn: () => this.#display.isDrawn,
			screen: () => this.#screenFacts(),
			shell: () => ({ atPrompt: commands?.atPrompt ?? null, pid: this.programPid }),
			learnt: parts.learnt ?? null,
			relays: this.place !== null,
			outputLimit: this.limits.outputBytesPerSecond ?? null,
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
			onReply: (reply) => void this.#input.reply(reply).catch(() => {}), // it ended before it got the answer
		});

		this.#input = new SessionInput({
			pty,
			tracker: this.#tracker,
			driving: this.driving,
			turns: this.turns,
			question: this.#question,
			taken: taken(this.#tracker, this),
			screen: () => this.#screenFacts(),
			mustRun: () => this.#mustRun(),
			asking: (request) => this.#ask(request, { types: true }),
			onTyping: () => this.#display.attend(),
		});

		// A saved screen that cannot be drawn has thrown by now: what listens and has timers begins here.
		this.driving.begin({ id: parts.id, name: parts.name, isKnown: (owner) => parts.seen.get(owner) !== null });
		this.driving.onChange(({ driver, note }) => this.turns.driver(driver, note ?? undefined));
		pty.onOutput((chunk) => {
			this.#display.take(chunk);
			if (journal.end > parts.replayedUntil) this.#lastOutputAt = Date.now();
			this.#printedAt = performance.now();
			this.#outputs.emit(chunk);
			this.#tracker.outputSeen("bytes" in chunk ? chunk.bytes : NOTHING);
			this.transcript.grew();
		});
		// The exit comes after the last byte: do not leave any in the log.
		pty.onEnding(() => void this.catchUp());
		pty.onEvent((event) => {
			this.#notices.take(event);
			if (event.event === "ending") this.#limitReached = true;
			if (event.event === "resized") this.#resized(event.cols, event.rows, event.at ?? journal.end);
		});
		void pty.exited.then((exit) => this.#end(exit));
	}

	get name(): string {
		return this.#name;
	}
	/** Its record has another name now. */
	renamed(name: string): void {
		this.#name = name;
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
	/** It is being ended, by a caller or a limit. */
	get isEnding(): boolean {
		return !this.ended && (this.#limitReached || this.#endRequests.made);
	}
	/** Why it ended, where neither the program nor a caller decided it: idleness, a limit. */
	get endedBecause(): string | null {
		const { exit } = this.#pty;
		const limit = exit === null ? null : limitReached(exit, this.limits);
		if (limit !== null) return limit;
		if (exit?.closed && this.#restEndedBecause !== null) return this.#restEndedBecause;
		return this.#endRequests.because ?? (this.#endedByForce ? BY_FORCE : this.#recordedReason);
	}
	/** How it ended is not the program's own doing: a reason of ours, or nobody knows. */
	get endedFromOutside(): boolean {
		return this.ended && (this.exit === null || this.endedBecause !== null);
	}
	get howItEnded(): string {
		if (this.#status === "stream_lost" && this.#pty.exit?.closed === false) return describeLeft(this.pid, this.left());
		const how = describeEnd(this.#status, this.exit, this.endedBecause);
		const code = this.exit?.code ?? null;
		const inside = limitOfCode(code, this.limits) ?? (this.place === null ? null : toolFailure(this.place, code));
		return inside === null ? how : `${how}; ${inside}`;
	}
	/** What of it still runs although it has ended. */
	left(): readonly Survivor[] {
		return this.ended ? this.#pty.left() : [];
	}
	/** What it left running has left its terminal, too, as a daemon does that is meant to stay. */
	get leftAway(): boolean {
		return this.#pty.exit?.away === true;
	}
	/** For a caller that wanted it to run; `onlyRead`: it was not going to type anything. */
	endFault(more: { readonly onlyRead?: boolean } = {}): Fault<"session_ended"> {
		return new Fault("session_ended", { id: this.name, sessionId: this.id, how: this.howItEnded, ...more });
	}
	get ptyExit(): PtyExit | null {
		return this.#pty.exit;
	}
	/** Settles when nothing of it runs: later than its end where a background process goes on, on its terminal or not. */
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
	/** The program's own process: in a sandbox the main process is what makes the sandbox. */
	get programPid(): number {
		if (!this.isConfined) return this.pid;
		if (this.#programPid === this.pid) this.#programPid = programIn(this.pid);
		return this.#programPid;
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
	/** The program that the terminal's input is for, as far as the verdict has seen it. */
	get reader(): string | null {
		return this.#tracker.reader;
	}
	get lastOutputAt(): number {
		return this.#lastOutputAt;
	}
	/** When it last printed, as `usedAt`. */
	get printedAt(): number {
		return this.#printedAt;
	}
	/** When a call last used it, by performance.now(): now, while one waits, runs a command, reads its output as it comes, or types. */
	get usedAt(): number {
		return this.#use.usedAt;
	}

	/** When a tool was last called on it, in ms since 1970: now, while one waits. Whoever only watches does not count. */
	get calledAt(): number {
		return this.#use.calledAt;
	}

	/** A tool was called on it. */
	called(): void {
		this.#use.called();
	}

	/** It counts as used until the returned function is called. */
	use(): () => void {
		this.#display.attend();
		return this.#use.begin();
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
	takeNotices(owner: string, told: { tellsEnds: boolean }): Notices | null {
		return this.#notices.takeFor(owner, told);
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
	/** The verdict, where it is known to be that of this moment. */
	get currentAttention(): Attention | null {
		return this.#tracker.current;
	}
	onDecided(listener: (attention: Attention) => void): () => void {
		return this.#tracker.onDecided(listener);
	}

	/**
	 * Types bytes atomically. A function is called when this write is next in the queue: it encodes for the modes of that
	 * moment, and when it throws nothing is typed. A write whose id was typed before is not typed again.
	 */
	type(input: Uint8Array | (() => Uint8Array), options: TypeOptions): Promise<Typed> {
		return this.#input.type(input, options);
	}

	/** Types the parts of one call: the first at once, each other when the program has taken the one before. */
	press(parts: readonly (() => Uint8Array)[], options: PressOptions): Promise<Typed> {
		return this.#input.press(parts, options);
	}

	/** A caller types this, and has output up to an offset before it. Where the program is busy, it is echoed twice. */
	typing(text: string, offset: number): readonly TypedText[] {
		return this.#input.typing(text, offset);
	}

	/** What was typed ahead, for a caller to whom output from an offset on is new. */
	typedAhead(from: number): readonly TypedText[] {
		return this.#input.typedAhead(from);
	}

	/** How many characters were typed and not entered, to a program that reads lines. */
	get unentered(): number {
		return this.#input.unentered({ ended: this.ended });
	}

	/** A person was asked to type what the program waits for: until they have, that it waits is no news. */
	askPerson(asked: Pick<Question, "question" | "reason">): void {
		this.#question.ask(asked, this.attention);
	}

	/** What a person was asked and has not entered anything since. */
	get asked(): Question | null {
		return this.ended ? null : this.#question.pending(this.attention);
	}

	/** The person will not do it: whoever waits for them hears that the program still waits. */
	async declineQuestion(): Promise<void> {
		this.#question.answered();
		await this.refresh();
	}

	/** Nobody has entered anything since a person was asked, and the program waits for the same as then. */
	awaitsPerson(attention: Pick<Attention, "waitingFor"> = this.attention): boolean {
		return !this.ended && this.#question.isPending(attention);
	}

	/** A person has taken over. */
	get isDriven(): boolean {
		return this.driving.driver.kind === "person";
	}

	/** Asks the holder to watch the program until the returned function is called. */
	watch(options?: Parameters<AttentionTracker["watch"]>[0]): () => void {
		this.#display.attend();
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
		const waited = this.#use.beginWait();
		const turnEnds = caller === undefined ? () => {} : this.turns.waits(caller);
		let returned: string | null = null;
		try {
			// While a person drives, that the program waits is for them.
			const isOldNews = (verdict: Attention) => this.isDriven || this.awaitsPerson(verdict);
			const output = { already, typed, newOnScreen, caller };
			const conditions = conditionsOf(this, until, { timeoutMs, strict, isOldNews, ...output });
			const first = await wait<Outcome>(conditions, { signal });
			const outcome = (first.matched ? null : await lateMatch(conditions, signal)) ?? first;
			returned = outcome.returned;
			// Whose turn it is then is told as well, and had not been looked for.
			if (outcome.matched) await this.refresh();
			return hasCondition(until) ? outcome : { ...outcome, matched: null };
		} catch (error) {
			// Only the output shows that a pattern is slow: by then the program was started, or the text typed, which a fault would deny.
			if (strict || !(error instanceof Fault) || error.code !== "bad_pattern") throw error;
			return { returned: "still", attention: null, matched: false, gaveUp: error.message };
		} finally {
			turnEnds(returned);
			waited();
			done();
		}
	}

	/** Receives what was left in the log while unattended; draws no longer than until then, of `performance.now()`. */
	catchUp(by?: number): Promise<void> {
		return this.#display.catchUp(by);
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

	/** What the holder sees of its processes at this moment. */
	async facts(): Promise<KernelFacts> {
		this.#mustRun();
		return this.#ask(this.#pty.facts(), { types: true });
	}

	/** A single probe, for a caller that does not wait. */
	async refresh(): Promise<void> {
		if (!this.ended) await this.#tracker.check();
	}

	/** Settles when the program has redrawn: no thread of it is at work any more, and all that it drew is here. */
	async resize(cols: number, rows: number, { as, signal }: { as: Writer; signal?: AbortSignal }): Promise<void> {
		this.#mustRun(NOT_TYPING);
		this.driving.mayAct(as);
		const stale = this.#tracker.disturb();
		await this.#ask(this.#pty.resize(cols, rows)).finally(stale);
		await this.#display.keep();
		await wait<Outcome>([ended(this), rested(this.#tracker), timeout(REDRAW_MS)], { signal });
	}

	async signal(name: string, as: Writer): Promise<void> {
		this.#mustRun(NOT_TYPING);
		this.driving.mayAct(as);
		// As a person would: the terminal turns Ctrl+C into INT for the foreground group, or passes it through in raw mode.
		if (name === "SIGINT")
			await this.type(Uint8Array.of(3), { as, priority: true }).catch((error) => {
				if (!isEnd(error)) throw error;
				const { maybeTyped: _, ...facts } = error.facts;
				throw new Fault("session_ended", { ...facts, ...NOT_TYPING }, { cause: error });
			});
		else {
			const done = this.#tracker.disturb();
			await this.signalForeground(name).finally(done);
		}
	}

	/** Signals the foreground process group, bypassing the keyboard. */
	async signalForeground(name: string): Promise<void> {
		this.#mustRun(NOT_TYPING);
		await this.#ask(this.#pty.signal(name, "foreground"));
	}

	/** Signals the main program alone. */
	async signalMain(name: string): Promise<void> {
		this.#mustRun(NOT_TYPING);
		await this.#ask(this.#pty.signal(name, "main"));
	}

	/** A process of the foreground group has not ended; one that only has not been waited for has. */
	async hasForegroundJob(): Promise<boolean> {
		const { foregroundGroup } = await this.#ask(this.#pty.facts());
		return hasLiving(descendants(this.#pty.holderPid), foregroundGroup);
	}

	/** The main program is in the foreground, no other job. */
	async mainIsForeground(): Promise<boolean> {
		return (await this.#ask(this.#pty.facts())).mainForeground;
	}

	/** Ends the whole tree, for this reason where no caller asked for it; returns what could not be ended. */
	async close(graceMs: number, because: string | null = null): Promise<readonly Survivor[]> {
		if (this.ended && because !== null) this.#restEndedBecause = `what it left running was ended: ${because}`;
		if (graceMs === 0) this.#forcing++;
		const survivors = await this.#endRequests
			.track(this.#ask(this.#pty.end(graceMs)), this.ended ? undefined : because)
			.catch((error) => {
				this.#restEndedBecause = null;
				throw error;
			})
			.finally(() => {
				if (graceMs === 0) this.#forcing--;
			});
		// The survivor may be the main program itself: then there is no exit to wait for.
		if (survivors.length === 0) await this.#exited();
		return survivors;
	}

	/** Ends the main program alone; its background processes keep running. */
	async closeMain(graceMs: number): Promise<void> {
		if (this.ended) return;
		const request = this.#ask(this.#pty.signal(graceMs === 0 ? "SIGKILL" : "SIGTERM", "main"));
		await this.#endRequests.track(request).catch((error) => {
			if (!isEnd(error)) throw error; // it has ended by itself: that is what was wanted
		});
		await this.#exited(graceMs, () => void this.#pty.signal("SIGKILL", "main").catch(() => {})); // it ended in time
	}

	/** The working directory of the foreground program, as far as known. */
	async cwd(): Promise<string> {
		if (this.place !== null) return this.screen.cwd ?? placedDirectory(this.place);
		const pid = this.programPid;
		const isTold = !this.ended && (await this.#canBeRead([pid]));
		const link = isTold ? await workingDirectory(pid) : null;
		// A shell of ours has told it at its last prompt.
		return link ?? this.commands?.last?.cwd ?? this.screen.cwd ?? this.#cwd;
	}

	async ports(): Promise<readonly number[]> {
		const tree = this.ended ? this.left().map(({ pid }) => pid) : descendants(this.#pty.holderPid);
		if (await this.#canBeRead(tree)) this.#ports = await listeningPorts(tree);
		return this.#ports;
	}

	/** The look that the verdict rests on has read all of them. */
	async #canBeRead(pids: readonly number[]): Promise<boolean> {
		return (!this.ended && this.#tracker.hasInspected) || canBeRead(pids);
	}

	/** Detaches; the program keeps running. */
	async [Symbol.asyncDispose](): Promise<void> {
		this.#detached.resolve();
		this.#attached.abort();
		this.driving[Symbol.dispose]();
		this.#stopRecording?.();
		this.#tracker[Symbol.dispose]();
		this.#outputs.clear();
		this.#endings.clear();
		this.journal[Symbol.dispose]();
		await this.#pty[Symbol.asyncDispose]();
		this.#seen[Symbol.dispose]();
		await this.turns[Symbol.asyncDispose]();
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

	/** A request to the terminal; errors become faults. `types`: it is input. */
	async #ask<T>(request: Promise<T>, { types = false } = {}): Promise<T> {
		try {
			return await request;
		} catch (error) {
			throw asFault(error, this, { types });
		}
	}

	/** A caller waits on it, watches it, has just typed or is ending it. */
	get #attended(): boolean {
		return (
			this.#tracker.watched ||
			this.#use.isUsed ||
			this.commands?.awaited === true ||
			this.#endRequests.made ||
			performance.now() - this.#input.lastTypedAt < TYPED_MS
		);
	}

	#mustRun(more: { readonly onlyRead?: boolean } = {}): void {
		if (this.ended) throw this.endFault(more);
	}

	/** As it was last seen: a screen is not drawn only to know this. */
	get showsFullScreen(): boolean {
		return !this.ended && this.#knownFacts?.facts.alternate === true;
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
			blank: modes.alternateScreen && screen.isBlank,
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
		if (!this.ended) this.#endedByForce = exit.reason === "lost" && this.#forcing > 0;
		this.#question.answered();
		this.driving.end();
		if (!this.ended) this.#status = statusAfter(this.#status, endEvent(exit, this.#endRequests.made));
		this.#endings.emit();
	}
}
