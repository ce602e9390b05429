// One terminal, alive: where keystrokes and output pass each other.
//
// A session owns its parts and their order, and nothing else: what may happen
// when is in lifecycle.ts, whose turn it is in attention-tracker.ts, what bytes mean is in
// terminal/, who may ask is in tools/. Reading the constructor is reading the
// whole data path.

import type { Journal } from "../journal/journal.ts";
import type { Attention, ExitFacts, Status } from "../protocol/answer.ts";
import { Fault } from "../protocol/fault.ts";
import { Listeners } from "../protocol/listeners.ts";
import type { OutputChunk } from "../protocol/output.ts";
import { PtyIoError } from "../pty/errors.ts";
import { descendants, listeningPorts, workingDirectory } from "../pty/process-tree.ts";
import type { Pty, PtyExit, WriteOptions } from "../pty/pty.ts";
import type { Screen } from "../terminal/screen.ts";
import type { Position, ScreenDiff } from "../terminal/screen-diff.ts";
import { AttentionTracker } from "./attention-tracker.ts";
import type { Keyframe, Keyframes } from "./keyframes.ts";
import { hasEnded, statusAfter } from "./lifecycle.ts";
import type { ShellCommands } from "./shell/commands.ts";
import { type Outcome, type Until, waitFor } from "./wait.ts";

const ESCAPE = 0x1b;
// Agents come and go under new names; one that is forgotten sees everything as new, which is safe.
const REMEMBERED_OWNERS = 64;

// A caller repeats a write within seconds; the holder remembers 1024 for the time after a restart.
const REMEMBERED_IDS = 256;

export interface Typed {
	/** A write with this id was typed before, so nothing was typed now. */
	readonly repeated: boolean;
}

export interface SessionParts {
	readonly id: string;
	readonly name: string;
	readonly cwd: string;
	readonly pty: Pty;
	readonly journal: Journal;
	readonly screen: Screen;
	/** The status on record, where the session had ended before. */
	readonly resolved: Status | null;
	/** Output below this was seen by an earlier daemon, which answered what the program asked in it. */
	readonly replayedUntil: number;
	/** The commands of a shell with marks; null for any other program. */
	readonly commands?: ShellCommands | null;
	readonly keyframes: Keyframes | null;
	/** What each caller had seen before a restart. */
	readonly seen: Keyframe["seen"];
}

export interface SessionWait {
	readonly until: Until;
	readonly timeoutMs: number;
	readonly signal: AbortSignal;
	/** Output from this offset on counts as new, also what came before the wait began, as far as memory holds it. */
	readonly from?: number | undefined;
	/** Output below `from` that counts as new, too: read from disk. */
	readonly earlier?: Uint8Array | undefined;
	readonly typed?: string | undefined;
}

// Patterns look at 64 KiB of text; escape sequences and wide characters make that a few times as many bytes.
export const MOST_ALREADY_BYTES = 256 * 1024;

export class Session implements AsyncDisposable {
	readonly id: string;
	readonly name: string;
	readonly journal: Journal;
	readonly screen: Screen;
	/** Null unless it is a shell that `run` uses. */
	readonly commands: ShellCommands | null;
	readonly #pty: Pty;
	readonly #cwd: string;
	readonly #tracker: AttentionTracker;
	readonly #seen: Map<string, Position>;
	readonly #keyframes: Keyframes | null;
	readonly #outputs = new Listeners<OutputChunk>("session output");
	readonly #endings = new Listeners<void>("session ended");
	#status: Status = "running";
	#cancelled = false;
	#writing: Promise<unknown> = Promise.resolve();
	/** The newest ids of writes that were typed, the oldest first. */
	readonly #typedIds = new Set<string>();
	#lastOutputAt = Date.now();

	constructor(parts: SessionParts) {
		const { pty, journal, screen } = parts;
		this.id = parts.id;
		this.name = parts.name;
		this.#cwd = parts.cwd;
		this.#pty = pty;
		this.journal = journal;
		this.screen = screen;
		const commands = parts.commands ?? null;
		this.commands = commands;
		this.#seen = new Map(parts.seen);
		this.#keyframes = parts.keyframes;
		this.#tracker = new AttentionTracker({
			pty,
			seen: () => journal.end,
			screen: () => this.#screenFacts(),
			shell: () => ({ atPrompt: commands?.atPrompt ?? null }),
		});

		pty.onOutput((chunk) => {
			journal.take(chunk);
			screen.take(chunk);
			commands?.take(chunk);
			this.#lastOutputAt = Date.now();
			this.#outputs.emit(chunk);
			this.#tracker.outputSeen();
			this.#keyframes?.advance(journal.end, () => this.#keyframe());
		});
		// The one arrow that points back: the emulator answers what the program asked it.
		screen.onReply((bytes) => {
			if (journal.end > parts.replayedUntil) void this.#write(bytes).catch(() => {}); // it ended before it heard the answer
		});
		void pty.exited.then((exit) => this.#end(exit, parts.resolved));
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
	get ptyExit(): PtyExit | null {
		return this.#pty.exit;
	}
	get pid(): number {
		return this.#pty.pid;
	}
	get attention(): Attention {
		return this.#tracker.attention;
	}
	get lastOutputAt(): number {
		return this.#lastOutputAt;
	}

	onEnded(listener: () => void): () => void {
		return this.#endings.add(listener);
	}
	onOutput(listener: (chunk: OutputChunk) => void): () => void {
		return this.#outputs.add(listener);
	}
	/** A newer daemon has taken this session over. */
	onFenced(listener: () => void): () => void {
		return this.#pty.onFenced(listener);
	}
	onDecided(listener: (attention: Attention) => void): () => void {
		return this.#tracker.onDecided(listener);
	}

	/**
	 * Types bytes, whole and never between another call's. `refuse` runs when it is this write's turn, before anything
	 * is typed; not for a write whose id was typed before, which is only reported as such.
	 */
	type(bytes: Uint8Array, options: WriteOptions = {}, refuse?: () => void): Promise<Typed> {
		if (options.priority === true) {
			this.#mustRun();
			return this.#write(bytes, options);
		}
		const turn = this.#writing.then(async () => {
			this.#mustRun();
			if (options.id !== undefined && this.#typedIds.has(options.id)) return { repeated: true };
			refuse?.();
			const typed = await this.#write(bytes, options);
			if (options.id !== undefined) this.#rememberId(options.id);
			return typed;
		});
		this.#writing = turn.catch(() => {}); // the next write does not care how this one went; its caller does
		return turn;
	}

	/** Returns on the first of: waiting, ended, what `until` says, timeout. */
	wait({ until, timeoutMs, signal, from, earlier, typed }: SessionWait): Promise<Outcome> {
		// Taken only where it is asked for: a look at a full scrollback costs a millisecond.
		const since = until.text === undefined && until.pattern === undefined ? null : this.screen.diffSince(null).position;
		const { end } = this.journal;
		const recent =
			from === undefined || from >= end ? undefined : this.journal.recent(Math.max(from, end - MOST_ALREADY_BYTES));
		const already = earlier === undefined ? recent : Buffer.concat([earlier, recent ?? new Uint8Array(0)]);
		return waitFor(
			{
				ended: this.ended,
				lastOutputAt: () => this.#lastOutputAt,
				onOutput: (listener) => this.onOutput((chunk) => "bytes" in chunk && listener(chunk.bytes)),
				onEnded: (listener) => this.onEnded(listener),
				onDecided: (listener) => this.#tracker.onDecided(listener),
				watch: () => this.#tracker.watch(),
				visibleText: () => this.screen.snapshot().text,
				newOnScreen: () => (since === null ? "" : this.screen.diffSince(since).text),
				ports: () => this.ports(),
			},
			{ until, timeoutMs, signal, already, typed },
		);
	}

	/** The offset up to which this caller has been told everything. */
	seenBy(owner: string): number {
		return this.#seen.get(owner)?.offset ?? 0;
	}

	/** What is new to this caller, and remembers that it has been seen. */
	takeNew(owner: string): { diff: ScreenDiff; since: number } {
		const since = this.#seen.get(owner) ?? null;
		const diff = this.screen.diffSince(since);
		this.#seen.delete(owner); // the newest last, so that the first is the one to forget
		this.#seen.set(owner, diff.position);
		if (this.#seen.size > REMEMBERED_OWNERS) this.#seen.delete(this.#seen.keys().next().value!);
		return { diff, since: since?.offset ?? 0 };
	}

	/** One look at the kernel, for a caller that does not wait. */
	async refresh(): Promise<void> {
		if (!this.ended) await this.#tracker.check();
	}

	async resize(cols: number, rows: number): Promise<void> {
		this.#mustRun();
		await this.#pty.resize(cols, rows);
		this.screen.resize(cols, rows);
	}

	async signal(name: string): Promise<void> {
		this.#mustRun();
		// As a person would: the terminal turns Ctrl+C into INT for whoever is in the foreground, or hands it over in raw mode.
		if (name === "SIGINT") await this.type(Uint8Array.of(3), { priority: true });
		else await this.#tracker.typing(() => this.#pty.signal(name, "foreground"));
	}

	/** Signals whoever has the terminal, past the keyboard. */
	async signalForeground(name: string): Promise<void> {
		this.#mustRun();
		await this.#pty.signal(name, "foreground");
	}

	/** No job has the terminal: the main program does. */
	async mainIsForeground(): Promise<boolean> {
		return (await this.#pty.facts()).mainForeground;
	}

	/** Ends the whole tree; says what could not be ended. */
	async close(graceMs: number): Promise<readonly { pid: number; command: string }[]> {
		this.#cancelled ||= !this.ended;
		const survivors = await this.#pty.end(graceMs);
		// Whoever cannot be killed may be the main program itself: then there is no exit to wait for.
		if (survivors.length === 0) await this.#pty.exited;
		return survivors;
	}

	/** Ends the main program alone; what it left in the background lives on. */
	async closeMain(graceMs: number): Promise<void> {
		if (this.ended) return;
		this.#cancelled = true;
		await this.#pty.signal(graceMs === 0 ? "SIGKILL" : "SIGTERM", "main");
		const timer = setTimeout(() => void this.#pty.signal("SIGKILL", "main").catch(() => {}), graceMs); // it ended in time
		await this.#pty.exited;
		clearTimeout(timer);
	}

	/** Where the foreground program is, as far as anyone can tell. */
	async cwd(): Promise<string> {
		return (this.ended ? null : await workingDirectory(this.#pty.pid)) ?? this.screen.cwd ?? this.#cwd;
	}

	async ports(): Promise<readonly number[]> {
		return this.#pty.exit?.closed === true ? [] : listeningPorts(await descendants(this.#pty.holderPid));
	}

	/** Lets go; the program goes on. */
	async [Symbol.asyncDispose](): Promise<void> {
		this.#tracker[Symbol.dispose]();
		this.#outputs.clear();
		this.#endings.clear();
		await this.#pty[Symbol.asyncDispose]();
		await this.#keyframes?.save(() => this.#keyframe());
		this.screen.dispose();
	}

	#rememberId(id: string): void {
		this.#typedIds.add(id);
		if (this.#typedIds.size > REMEMBERED_IDS) this.#typedIds.delete(this.#typedIds.values().next().value!);
	}

	async #write(bytes: Uint8Array, options: WriteOptions = {}): Promise<Typed> {
		const before = this.#pty.inputOffset;
		const write = async () => {
			try {
				await this.#pty.write(bytes, options);
			} catch (error) {
				throw asFault(error, this);
			}
		};
		await this.#tracker.typing(write, { endsInEscape: bytes.at(-1) === ESCAPE });
		// An earlier daemon sent it: the holder knew the id and took nothing.
		return { repeated: options.id !== undefined && this.#pty.inputOffset === before };
	}

	#keyframe(): Keyframe | null {
		const screen = this.screen.serialize();
		return screen && { screen, lines: this.journal.stats.linesOut, seen: [...this.#seen] };
	}

	#mustRun(): void {
		if (this.ended) throw new Fault("session_ended", { id: this.name, how: describeEnd(this.#status, this.exit) });
	}

	#screenFacts() {
		const { modes, cursor } = this.screen;
		return {
			alternate: modes.alternateScreen,
			cursorVisible: cursor.visible,
			cursorColumn: cursor.column,
			lastLine: this.screen.lastLine(),
		};
	}

	#end(exit: PtyExit, resolved: Status | null): void {
		const happening =
			exit.reason === "lost"
				? "lost"
				: this.#cancelled
					? "cancelled"
					: exit.code === 0
						? "exited_well"
						: "exited_badly";
		this.#status = resolved ?? statusAfter(this.#status, happening);
		this.#endings.emit();
	}
}

/** How it ended, in a few words. */
export function describeEnd(status: Status, exit: ExitFacts | null): string {
	if (status === "stream_lost") return "its holder died, so how it ended is not known";
	if (exit === null) return status;
	const how = exit.signal !== null ? `killed by ${exit.signal}` : `exit code ${exit.code}`;
	return status === "cancelled" ? `closed, ${how}` : how;
}

/** A holder's refusal in the words of the product. */
function asFault(error: unknown, session: Session): unknown {
	if (!(error instanceof PtyIoError)) return error;
	const { code, facts } = error;
	if (code === "line_too_long") return new Fault("line_too_long", { limit: facts.limit ?? 4095 }, { cause: error });
	if (code === "queue_full") return new Fault("queue_full", { free: facts.free ?? 0 }, { cause: error });
	if (code === "ended") {
		return new Fault(
			"session_ended",
			{ id: session.name, how: describeEnd(session.status, session.exit) },
			{ cause: error },
		);
	}
	return error;
}
