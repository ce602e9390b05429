// The commands of one shell session, from its marks: which one runs, how
// the last one ended, whether the shell is at its prompt.
//
// Read-only: run.ts types, waits and interrupts.

import { Listeners } from "../../protocol/listeners.ts";
import type { OutputChunk } from "../../protocol/output.ts";
import { type Mark, MarkScanner } from "../../terminal/marks.ts";
import { BackgroundJobs } from "./jobs.ts";
import type { ShellKind } from "./shells.ts";
import { StreamHelper } from "./streams.ts";

/** What makes a session a shell that `run` can use; kept in its directory. */
export interface ShellIdentity {
	readonly version: number;
	readonly kind: ShellKind;
	readonly program: string;
	/** The nonce of its marks. */
	readonly aid: string;
	/** The nonce of the marks that end its streams: they pass through pipes that programs have open. */
	readonly end: string;
	/** Its name. */
	readonly name: string;
	/** Where commands are delivered. */
	readonly dir: string;
}

/** A command between its first and its last mark. */
export interface Running {
	/** Null for what a person typed. */
	readonly run: string | null;
	/** Its text, where we know it. */
	readonly command: string | null;
	/** What of it is on the screen, where that was not typed there. */
	readonly shown: string | null;
	/** Where its output begins; null until it has been taken. */
	readonly from: number | null;
}

export interface Finished {
	readonly run: string | null;
	readonly from: number;
	/** Where its output ends. */
	readonly to: number;
	/** Null where a shell without hooks did not report it. */
	readonly exitCode: number | null;
	readonly pipeStatus: readonly number[];
	readonly cwd: string | null;
	/** Its text as it is on the screen; null where a person typed it, or before a restart. */
	readonly shown: string | null;
	/** It was told with different codes, of which one is not the shell's: so neither code nor directory is known. */
	readonly disputed: boolean;
}

/** When an end counts: not while another program has the terminal. Output before `from` is history. */
export interface Guard {
	readonly from: number;
	readonly isForeground: () => boolean;
}

export class ShellCommands {
	readonly identity: ShellIdentity;
	/** The newest run, until its call is answered with its end. */
	untold: string | null = null;
	readonly jobs = new BackgroundJobs();
	readonly streams: StreamHelper;
	readonly #scanner: MarkScanner;
	readonly #marks = new Listeners<void>("shell mark");
	readonly #ends = new Listeners<Finished>("shell command");
	#prompt: number | null = null;
	#promptFrom: number | null = null;
	#running: Running | null = null;
	#last: Finished | null = null;
	#streamsEnded = new Set<number>();
	#isOurs: boolean;
	#guard: Guard | null = null;
	/** The end that was told while another program had the terminal: that program forged it, or one of the prompt's runs already. */
	#claim: Mark | null = null;
	#disputed = false;

	/** `isOurs` unless it read start files of another version. */
	constructor(identity: ShellIdentity, { isOurs = true }: { isOurs?: boolean } = {}) {
		this.identity = identity;
		this.#isOurs = isOurs;
		this.streams = new StreamHelper(identity);
		this.#scanner = new MarkScanner(identity, (mark, isOld) => this.#counts(mark, isOld));
	}

	/** The shell has become another program, or is one of another version: its marks are no longer reliable. */
	get replaced(): boolean {
		return !this.#isOurs;
	}

	/** Whether the shell is still the program that we started. */
	programChecked({ isOurs }: { readonly isOurs: boolean }): void {
		this.#isOurs = isOurs;
	}

	/** From now on ends are checked. */
	guard(guard: Guard): void {
		this.#guard = guard;
	}

	/** Null until the first mark. */
	get atPrompt(): boolean | null {
		if (this.#running !== null) return false;
		return this.#prompt === null && this.#last === null ? null : true;
	}

	/** The prompt is complete and the line editor reads. */
	get ready(): boolean {
		return this.#running === null && this.#prompt !== null;
	}

	get running(): Running | null {
		return this.#running;
	}

	/** How the newest command ended. */
	get last(): Finished | null {
		return this.#last;
	}

	/** The end that no call was answered with, if it is that of the newest command. */
	get untoldEnd(): Finished | null {
		return this.untold !== null && this.#last?.run === this.untold ? this.#last : null;
	}

	/** Where the output of the newest commands begins and ends. */
	get offsets(): readonly number[] {
		const { from = null } = this.#running ?? {};
		return [...(from === null ? [] : [from]), ...(this.#last === null ? [] : [this.#last.from, this.#last.to])];
	}

	/** Both streams of the newest run that kept them apart have been copied to the end. */
	get streamsEnded(): boolean {
		return this.#streamsEnded.size === 2;
	}

	/** A caller waits for a mark. */
	get awaited(): boolean {
		return this.#marks.size > 0;
	}

	/** Called after every mark. */
	onMark(listener: () => void): () => void {
		return this.#marks.add(listener);
	}

	/** Called after each command that was seen to begin. */
	onFinished(listener: (finished: Finished) => void): () => void {
		return this.#ends.add(listener);
	}

	/** A command is about to be typed: from now on the shell is busy. */
	expect(run: string, command: string): void {
		this.#running = { run, command, shown: null, from: null };
		this.#claim = null;
		this.#disputed = false;
		this.#prompt = null;
		this.#streamsEnded.clear();
	}

	/** So much of the command is shown behind the prompt. */
	showing(run: string, shown: string): void {
		if (this.#running?.run === run) this.#running = { ...this.#running, shown };
	}

	/** It was not typed after all. */
	forget(run: string): void {
		if (this.#running?.run === run && this.#running.from === null) this.#running = null;
	}

	take(chunk: OutputChunk): void {
		// The scanner sees a gap by the offset after it.
		if ("gap" in chunk) return;
		for (const mark of this.#scanner.feed(chunk.bytes, chunk.offset)) {
			this.#apply(mark);
			this.#marks.emit();
		}
	}

	/**
	 * A shell tells the end of a command when it has the terminal back. What a program forges while it has it does not count,
	 * and its number is not used up: the shell's own mark has the same. One that is forged in the last moment is followed by the shell's.
	 */
	#counts(mark: Mark, isOld: boolean): boolean {
		if (mark.kind !== "D" && mark.kind !== "B") return true;
		if (isOld) {
			if (mark.kind === "D" && mark.run !== null && this.#last?.run === mark.run && !isSameEnd(this.#last, mark))
				this.#last = { ...this.#last, ...UNKNOWN };
			return false;
		}
		const running = this.#running;
		if (running === null || running.from === null || (mark.kind === "D" && mark.run !== running.run)) return true;
		if (this.#guard === null || mark.offset < this.#guard.from || this.#guard.isForeground()) return true;
		if (mark.kind === "D") {
			if (this.#claim !== null && !isSameEnd(this.#claim, mark)) this.#disputed = true;
			this.#claim ??= mark;
		}
		return false;
	}

	#apply(mark: Mark): void {
		switch (mark.kind) {
			case "A":
				this.#promptFrom = mark.offset;
				return;
			case "B":
				this.#promptSeen(mark);
				return;
			case "C":
				this.#begun(mark);
				return;
			case "D":
				this.#ended(mark);
				return;
			case "E":
				if (mark.run === (this.#running ?? this.#last)?.run && mark.stream !== null)
					this.#streamEnded(mark, mark.stream);
				return;
		}
	}

	/** The newest start counts: earlier output of traces or traps is not the command's. */
	#begun(mark: Mark): void {
		const running = this.#running;
		// The shell marks the line that we typed, too, like any other, before the command in it.
		if (running !== null && running.run !== null && running.run !== mark.run) return;
		const { command = null, shown = null } = running !== null && running.run === mark.run ? running : {};
		this.#running = { run: mark.run, command, shown, from: mark.end };
		this.#prompt = null;
		this.#promptFrom = null;
	}

	#ended(mark: Mark): void {
		const running = this.#running;
		if (running !== null && (running.run !== mark.run || running.from === null)) return;
		this.#disputed = false; // told with the terminal in its hands
		this.#finish(running, mark, mark.pipeStatus);
	}

	/** What is copied arrives later than the shell's own mark. */
	#streamEnded({ offset }: Mark, stream: number): void {
		this.#streamsEnded.add(stream);
		if (this.#running === null && this.#last !== null && this.#last.to < offset)
			this.#last = { ...this.#last, to: offset };
	}

	#promptSeen(mark: Mark): void {
		// A prompt while a command should run: a shell without hooks, or one that lost them. Its prompt has the code.
		const running = this.#running;
		const claim = this.#claim;
		if (running !== null && running.from !== null && claim !== null) {
			// 0 says nothing: it may be that of what told the end.
			this.#disputed ||= Boolean(mark.exitCode) && mark.exitCode !== claim.exitCode;
			this.#finish(running, claim, claim.pipeStatus);
		} else if (running !== null && running.from !== null) {
			const offset = this.#promptFrom ?? mark.offset;
			this.#finish(running, { ...mark, offset }, mark.exitCode === null ? [] : [mark.exitCode]);
		}
		if (this.#running !== null) return;
		this.#prompt = mark.end;
		this.streams.removeLeft();
	}

	#finish(running: Running | null, mark: Mark, pipeStatus: readonly number[]): void {
		this.#last = {
			run: running?.run ?? mark.run,
			from: running?.from ?? mark.offset,
			to: mark.offset,
			exitCode: mark.exitCode,
			pipeStatus,
			cwd: mark.cwd,
			shown: running?.shown ?? null,
			disputed: false,
			...(this.#disputed && UNKNOWN),
		};
		this.#claim = null;
		this.#disputed = false;
		this.#running = null;
		this.#prompt = null;
		if (running !== null) this.#ends.emit(this.#last);
	}
}

const UNKNOWN = { exitCode: null, pipeStatus: [], cwd: null, disputed: true } as const;

type End = Pick<Mark, "exitCode" | "pipeStatus">;

const isSameEnd = (a: End, b: End): boolean => a.exitCode === b.exitCode && `${a.pipeStatus}` === `${b.pipeStatus}`;
