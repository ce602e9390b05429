// A closed terminal: its output, from disk, and how it ended. Lets the same code
// read ended and live sessions.

import { readLog } from "../journal/segments.ts";
import { Listeners } from "../protocol/listeners.ts";
import type { OutputChunk } from "../protocol/output.ts";
import { deferred } from "../pty/deferred.ts";
import { PtyIoError } from "../pty/errors.ts";
import { lostExit, readExit } from "../pty/exit-file.ts";
import { endProcesses, leftRunning } from "../pty/leftovers.ts";
import type { RunningProcess } from "../pty/process-stat.ts";
import type { Pty, PtyExit } from "../pty/pty.ts";

export class RecordedPty implements Pty {
	readonly pid = 0;
	readonly holderPid = 0;
	readonly exit: PtyExit;
	readonly inputOffset = 0;
	readonly held = false;
	readonly responsive = true;
	readonly silentMs = 0;
	readonly #directory: string;
	readonly #outputs = new Listeners<OutputChunk>("output");
	#at: number;
	readonly #played = deferred<PtyExit>();

	private constructor(directory: string, from: number, exit: PtyExit) {
		this.#directory = directory;
		this.#at = from;
		this.exit = exit;
	}

	/** The terminal as its holder left it; without an `exit` file it is lost. Of an earlier boot nothing is left running. */
	static async open(
		directory: string,
		{ from, startedAt, thisBoot }: { from: number; startedAt: number; thisBoot: boolean },
	): Promise<RecordedPty> {
		const exit = (await readExit(directory)) ?? (await lostExit(directory, startedAt));
		return new RecordedPty(directory, from, thisBoot ? exit : { ...exit, survivors: [] });
	}

	get ending(): PtyExit {
		return this.exit;
	}
	get exited(): Promise<PtyExit> {
		return this.#played.promise;
	}
	get closed(): Promise<PtyExit> {
		return this.#played.promise;
	}

	/** Delivers everything again, then ends. */
	async play(): Promise<void> {
		for await (const { from, to, bytes } of readLog(this.#directory, this.#at, endOf(this.exit))) {
			const start = Math.max(this.#at, from);
			if (start >= to) continue; // skipped meanwhile
			this.#at = to;
			this.#outputs.emit(
				bytes === null ? { gap: { from: start, to } } : { offset: start, bytes: bytes.subarray(start - from) },
			);
		}
		this.#played.resolve(this.exit);
		await this.exited;
	}

	// A caller waits for what is played, and it is at most what memory holds: it is never held back.
	pause = (): void => {};
	resume = (): void => {};
	giveWay = (): void => {};
	skipTo(offset: number): void {
		this.#at = Math.max(this.#at, offset);
	}

	onOutput(listener: (chunk: OutputChunk) => void): () => void {
		return this.#outputs.add(listener);
	}
	// No further events.
	onEnding = (): (() => void) => () => {};
	onResponsive = (): (() => void) => () => {};
	onEvent = (): (() => void) => () => {};
	onFenced = (): (() => void) => () => {};
	onFacts = (): (() => void) => () => {};
	watch = (): (() => void) => () => {};
	write = (): Promise<never> => refuse();
	resize = (): Promise<never> => refuse();
	signal = (): Promise<never> => refuse();
	facts = (): Promise<never> => refuse();
	left(): readonly RunningProcess[] {
		return leftRunning({ program: null, others: this.exit.survivors });
	}
	/** Ends what it left behind. */
	end(graceMs: number): Promise<readonly RunningProcess[]> {
		return endProcesses(() => this.left(), graceMs);
	}
	async [Symbol.asyncDispose](): Promise<void> {
		this.#outputs.clear();
	}
}

/** Where its log ends; what is beyond that is not the holder's. */
export const endOf = (exit: PtyExit | null): number =>
	exit === null || exit.reason === "lost" || !exit.closed ? Number.POSITIVE_INFINITY : exit.size;

const refuse = () => Promise.reject(new PtyIoError("ended", "this terminal has ended"));
