// A session's screen, drawn on demand, and how far it is behind the log.
//
// Output of an unattended session that floods stays in the holder's log. Catching up
// receives the newest of it; the rest is skipped: its lines are counted and its marks
// and modes applied, but it is not drawn.

import { setImmediate } from "node:timers/promises";
import type { Journal } from "../journal/journal.ts";
import { logBounds, readLog } from "../journal/segments.ts";
import type { OutputChunk } from "../protocol/output.ts";
import type { Pty } from "../pty/pty.ts";
import { wait } from "../pty/wait.ts";
import type { Screen, ScreenOptions, ScreenState } from "../terminal/screen.ts";
import { type Outcome, received, timeout } from "./conditions.ts";
import type { Drawable, DrawScheduler } from "./draw-scheduler.ts";
import { type Floods, GivingWay } from "./giving-way.ts";
import type { Keyframes } from "./keyframes.ts";
import { LazyScreen } from "./lazy-screen.ts";
import type { Cached, ScreenCache } from "./screen-cache.ts";
import type { ShellCommands } from "./shell/commands.ts";
import type { Transcripts } from "./transcript.ts";

const CATCH_UP_MS = 2000;
/** What one piece of drawing takes, in bytes and in cells: a byte may cost a row of them, as a line end does. 20 to 80 ms. */
const PIECE_BYTES = 256 * 1024;
const PIECE_CELLS = 20_000_000;
/** Passed over in one piece: a millisecond or two, as much as it takes to be told of a read on a busy machine. */
const PASSED_BYTES = 1 << 20;

/** What all sessions share: when screens are drawn, and which stay drawn; the same for transcripts. */
export interface Drawing {
	readonly scheduler: DrawScheduler;
	readonly cache: ScreenCache;
	readonly transcripts: Transcripts;
	readonly floods: Floods;
}

export interface DisplayParts {
	readonly pty: Pick<Pty, "pause" | "resume" | "skipTo" | "giveWay">;
	readonly journal: Journal;
	readonly commands: ShellCommands | null;
	/** Its size, scrollback and clock; a saved screen, or the offset at which an empty one begins. */
	readonly screen: { readonly options: ScreenOptions; readonly from: ScreenState | number };
	/** Output below this was answered by an earlier daemon. */
	readonly answeredUntil: number;
	readonly drawing: Drawing;
	readonly keyframes: Keyframes | null;
	/** A caller waits on the session, watches it or has just typed. */
	readonly attended: () => boolean;
	readonly onOutput: (listener: (chunk: OutputChunk) => void) => () => void;
	/** What was much to draw is drawn, but for a last piece. */
	readonly onDrawn: () => void;
	/** The emulator's reply to a query of the program. */
	readonly onReply: (reply: Uint8Array) => void;
	/** Offsets in that output at which drawing stops for `onReplayed`. */
	readonly stops: readonly number[];
	/** The output up to a stop, or all of an earlier daemon's time, is drawn, and nothing newer. */
	readonly onReplayed: (screen: Screen) => void;
}

export class Display implements Drawable, Cached, AsyncDisposable {
	readonly #parts: DisplayParts;
	readonly #screen: LazyScreen;
	readonly #givingWay: GivingWay;
	#held = false;
	/** Log is being passed over: what the holder sends would come too early. */
	#passing = false;
	#heldAt = Number.NEGATIVE_INFINITY;
	#catchingUp: Promise<void> | null = null;

	constructor(parts: DisplayParts) {
		this.#parts = parts;
		const { journal, answeredUntil, stops, pty } = parts;
		this.#givingWay = new GivingWay(parts.drawing.floods, (nice) => pty.giveWay(nice));
		this.#screen = new LazyScreen({
			...parts.screen,
			journal,
			answeredUntil,
			stops,
			onReplayed: parts.onReplayed,
			onReply: (reply, offset) => {
				if (offset > answeredUntil) parts.onReply(reply);
			},
		});
	}

	/** What a person would see now. */
	get screen(): Screen {
		this.#parts.drawing.cache.use(this);
		return this.#screen.current;
	}
	/** Output of an earlier daemon's time has not been received again yet. */
	get isBehind(): boolean {
		return this.#parts.journal.end < this.#parts.answeredUntil;
	}
	get attended(): boolean {
		return this.#catchingUp !== null || this.#parts.attended();
	}
	get pendingBytes(): number {
		return this.#screen.pendingBytes;
	}
	get pieceBytes(): number {
		return Math.min(PIECE_BYTES, Math.ceil(PIECE_CELLS / this.#screen.cols));
	}
	/** No more is pending than is drawn at once. */
	get isDrawn(): boolean {
		return this.pendingBytes <= this.pieceBytes;
	}
	get mayAsk(): boolean {
		return this.#screen.mayAsk;
	}

	/** The next output, through the journal and the shell's marks to the screen. */
	take(chunk: OutputChunk): void {
		const { journal, commands, drawing } = this.#parts;
		this.#screen.before(chunk);
		journal.take(chunk);
		commands?.take(chunk);
		this.#screen.after(chunk);
		drawing.scheduler.changed(this);
	}

	draw(): void {
		const { journal, drawing, keyframes } = this.#parts;
		this.#drawPiece();
		drawing.cache.use(this);
		// A keyframe needs everything drawn.
		if (this.isDrawn) keyframes?.advance(journal.end, () => this.#keyframe());
	}

	hibernate(): boolean {
		return this.#screen.sleep();
	}

	hold(held: boolean): void {
		if (held === this.#held || (this.#passing && !held)) return;
		this.#held = held;
		this.#heldAt = performance.now();
		if (held) this.#parts.pty.pause();
		else this.#parts.pty.resume();
		this.#givingWay.held(held && !this.attended);
	}

	/** A caller begins to wait on the session or to watch it, or types. */
	attend(): void {
		this.#givingWay.attended();
	}

	/**
	 * Receives what was left in the log and draws it in pieces, but for a last one, between which other calls have their turn.
	 * What is not drawn by then, of `performance.now()`, is passed over, but for the newest.
	 */
	async catchUp(by = performance.now() + CATCH_UP_MS): Promise<void> {
		// One that was held a moment ago, or has just been adopted, is still behind.
		if (this.#held || this.isBehind || performance.now() - this.#heldAt <= CATCH_UP_MS) {
			this.#catchingUp ??= this.#receiveRest(by).finally(() => {
				this.#catchingUp = null;
			});
			await this.#catchingUp;
		}
		await this.#drawInPieces(by);
	}

	/** For the output of what has ended, before it is received: passes over all but the newest that memory holds. */
	async passOverOld(): Promise<void> {
		const { journal, answeredUntil } = this.#parts;
		const newest = answeredUntil - journal.memoryBytes;
		if (newest > journal.end) await this.#passOver(newest, performance.now() + CATCH_UP_MS);
	}

	/** Output from this offset on is for the new size. */
	resize(cols: number, rows: number, at: number): void {
		this.#screen.resize(cols, rows, at);
	}

	/** Settles when the screen would survive a restart: what is drawn after a change of size must be drawn for it. */
	async keep(): Promise<void> {
		await this.#save();
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#givingWay[Symbol.dispose]();
		this.#parts.drawing.scheduler.forget(this);
		this.#parts.drawing.cache.forget(this);
		await this.#save();
		this.#screen[Symbol.dispose]();
	}

	#drawPiece({ late = false } = {}): void {
		const wasDrawn = this.isDrawn;
		if (late) this.#screen.passOver(this.pieceBytes);
		else this.#screen.draw(this.pieceBytes);
		if (!wasDrawn && this.isDrawn) this.#parts.onDrawn();
	}

	/** Leaves no more than one piece to draw. */
	async #drawInPieces(by = Number.POSITIVE_INFINITY): Promise<void> {
		if (this.isDrawn) return;
		while (!this.isDrawn) {
			// A flood would never be caught up with: what it prints from now on is for the next look.
			this.hold(true);
			this.#drawPiece({ late: performance.now() > by });
			await setImmediate();
		}
		this.hold(false);
	}

	async #receiveRest(by: number): Promise<void> {
		const { journal, onOutput } = this.#parts;
		// The holder logs each byte before it sends it.
		const { to: offset } = await logBounds(journal.directory);
		const skipTo = offset - journal.memoryBytes;
		if (skipTo > journal.end) {
			// Nothing may arrive from behind what is passed over.
			this.hold(true);
			await this.#passOver(skipTo, by);
		}
		this.hold(false);
		await wait<Outcome>([received({ journal, onOutput }, offset), timeout(CATCH_UP_MS)]);
	}

	async #passOver(to: number, by: number): Promise<void> {
		const { pty, journal, commands } = this.#parts;
		this.#passing = true;
		try {
			await this.#drawInPieces(by);
			this.#screen.draw();
			const before = journal.linesTaken;
			pty.skipTo(to);
			for await (const { from, to: end, bytes } of readLog(journal.directory, journal.end, to, PASSED_BYTES)) {
				if (bytes === null) {
					journal.take({ gap: { from, to: end } });
					continue;
				}
				journal.pass(bytes);
				commands?.take({ offset: from, bytes });
				this.#screen.skim(bytes);
			}
			this.#screen.jump(to, journal.linesTaken - before);
		} finally {
			this.#passing = false;
		}
		// Line numbers restart here, also after a restart.
		await this.#save();
	}

	async #save(): Promise<void> {
		if (this.#parts.keyframes !== null) await this.#drawInPieces();
		await this.#parts.keyframes?.save(() => this.#keyframe());
	}

	/** Null in the middle of an escape sequence or character. */
	#keyframe() {
		const screen = this.#screen.serialize();
		return screen && { screen, lines: this.#parts.journal.stats.linesOut };
	}
}
