// Everything a session printed as numbered lines of text, rendered once from the log and kept
// beside it (`text.<offset>`, text.json).
//
// It is a cache: what is missing or corrupt is rendered again. It is brought up to date when a
// call asks, and in the background once much is pending; between pieces of a few
// milliseconds the event loop runs. Nothing is opened for a session that nobody asks about.

import { setImmediate } from "node:timers/promises";
import type { Journal } from "../journal/journal.ts";
import { readLog, type Stretch } from "../journal/segments.ts";
import { CorruptState } from "../journal/state-file.ts";
import { TextLog } from "../journal/text-log.ts";
import { readTiming } from "../journal/timing.ts";
import { counted } from "../protocol/clean.ts";
import { type Condition, settled, wait } from "../pty/wait.ts";
import { type LineSink, TranscriptRenderer } from "../terminal/transcript-renderer.ts";
import { KeyedQueue } from "./keyed-queue.ts";
import { LineJoiner } from "./line-joiner.ts";
import type { RenderQueue } from "./render-queue.ts";
import type { Cached, ScreenCache } from "./screen-cache.ts";
import { storedLine, storedNotice } from "./stored-line.ts";
import { readState, type TranscriptState, writeState } from "./transcript-state.ts";
import { type OffsetLine, TranscriptView } from "./transcript-view.ts";

/** More than that is rendered before anyone asks. */
const PENDING_BYTES = 1 << 20;
/** Rendering this much again after a crash takes a moment; saving takes some milliseconds. */
const SAVE_BYTES = 8 << 20;
/** Less is rendered again faster than it is read. */
const WORTH_SAVING_BYTES = 256 * 1024;
/** Read from the log at once: plain lines are found in stretches of hundreds. */
const READ_BYTES = 1 << 20;
/** The loop is free again after this. */
const SLICE_MS = 4;
/** Rendered in the background before others have their turn. */
const TURN_MS = 20;
const MAX_MARKS = 256;
const MAX_SIZES = 1000;

/** What the transcripts of all sessions share. */
export interface Transcripts {
	readonly queue: RenderQueue;
	readonly cache: ScreenCache;
	/** Text on disk for one session; 0: no limit. */
	readonly maxBytes: number;
	/** There is more or less in the directory of a session that was measured when it ended. */
	readonly onWritten?: ((directory: string) => void) | undefined;
}

export interface TranscriptParts {
	readonly journal: Journal;
	/** The size that it began with, where the log does not tell. */
	readonly cols: number;
	readonly rows: number;
	readonly transcripts: Transcripts;
	/** Offsets at which somebody wants to know the line: what callers have seen, where commands begin. */
	readonly stops: () => readonly number[];
	/** No more output comes. */
	readonly isComplete: () => boolean;
}

interface Resize {
	readonly cols: number;
	readonly rows: number;
	readonly at: number;
}

/** While it is in memory. */
interface Open {
	readonly renderer: TranscriptRenderer;
	readonly log: TextLog;
	/** The line that was begun behind those of the log. */
	readonly joiner: LineJoiner;
	readonly sizes: Resize[];
	/** The lines at offsets of interest, the newest last. */
	readonly marks: Map<number, OffsetLine>;
	/** Rendered up to this offset of the log. */
	raw: number;
	savedRaw: number;
	/** Everything is committed: there is nothing to go on with. */
	sealed: boolean;
}

export interface ViewRequest {
	readonly signal?: AbortSignal | undefined;
	readonly at?: readonly number[];
}

export class Transcript implements Cached, AsyncDisposable {
	readonly #parts: TranscriptParts;
	readonly #turns = new KeyedQueue();
	#open: Open | null = null;
	/** Rendered before it was closed; until it is opened, at least nothing. */
	#knownRaw = 0;
	/** Sizes that the terminal was given; the log has them, too, where there is one. */
	#sizes: Resize[] = [];
	/** Of text on disk, as far as it was opened. */
	#keptBytes = 0;
	/** Offsets that the call in progress asks about. */
	#asked: readonly number[] = [];
	#users = 0;
	#disposed = false;

	constructor(parts: TranscriptParts) {
		this.#parts = parts;
	}

	get attended(): boolean {
		return this.#users > 0;
	}

	/** Text on disk; 0 until it is opened. */
	get keptBytes(): number {
		return this.#open?.log.keptBytes ?? this.#keptBytes;
	}

	/** More output has arrived. */
	grew(): void {
		const { journal, transcripts } = this.#parts;
		if (journal.end - (this.#open?.raw ?? this.#knownRaw) > PENDING_BYTES) transcripts.queue.add(this);
	}

	/** Output from this offset on is for the new size. */
	resized(cols: number, rows: number, at: number): void {
		this.#sizes.push({ cols, rows, at });
		if (this.#sizes.length > MAX_SIZES) this.#sizes.shift();
		this.#open?.sizes.push({ cols, rows, at });
	}

	/** All lines of the output so far; `at`: offsets of which the line has to be known. */
	async view(request: ViewRequest = {}): Promise<TranscriptView> {
		const view = await this.#viewed(request);
		request.signal?.throwIfAborted();
		return view!;
	}

	/** The same; null where the signal came before it was rendered, unless a part of it will do. */
	#viewed({ signal, at = [] }: ViewRequest, { inPart = false } = {}): Promise<TranscriptView | null> {
		const { end } = this.#parts.journal;
		return this.#use(async (open) => {
			this.#asked = at;
			// What was rendered for a caller who left is there for the next one.
			while (open.raw < end && !signal?.aborted) await this.#render(open, end, { signal });
			if (signal?.aborted && !inPart) return null;
			this.#nextStop(open);
			const complete = this.#parts.isComplete() && open.raw >= this.#parts.journal.end;
			// A small one is rendered again faster than it is read.
			if (complete && !open.sealed && open.raw >= WORTH_SAVING_BYTES) {
				open.renderer.seal();
				open.sealed = true;
			}
			const tail = open.joiner.with(open.sealed ? [] : open.renderer.tail());
			if (open.raw >= WORTH_SAVING_BYTES) await open.log.flush();
			await this.#save(open, open.sealed && open.savedRaw < open.raw ? 0 : SAVE_BYTES);
			const { keptBytes } = open.log;
			if (complete && keptBytes !== this.#keptBytes) this.#parts.transcripts.onWritten?.(this.#parts.journal.directory);
			this.#keptBytes = keptBytes;
			return new TranscriptView({ text: open.log.snapshot(), tail, marks: new Map(open.marks), offset: open.raw });
		});
	}

	/** The same, or null where it is not rendered by then, of `performance.now()`; what was rendered is there for the next call. */
	async viewBy(by: number, { signal, ...request }: ViewRequest = {}): Promise<TranscriptView | null> {
		if (by === Number.POSITIVE_INFINITY) return this.view({ ...request, signal });
		const late = new AbortController();
		const deadline: Condition<null> = {
			start: ({ after, own, settle }) => {
				after(by - performance.now(), () => settle(null));
				own(() => late.abort());
			},
		};
		const view = this.view({ ...request, signal: late.signal });
		return wait<TranscriptView | null>([settled(view), deadline], { signal });
	}

	/** What is rendered by then, of `performance.now()`: its newest lines may be missing. */
	async viewSoFar(by: number): Promise<TranscriptView> {
		const view = await this.viewBy(by);
		if (view !== null) return view;
		await this.renderSome(); // also where others had the time
		return (await this.#viewed({ signal: AbortSignal.abort() }, { inPart: true }))!;
	}

	/** The line at an offset; where that is not known, one before it. */
	lineBefore(offset: number): number {
		const { marks, log } = this.#open ?? {};
		return marks?.get(offset)?.line ?? (log?.lineBefore(offset) ?? 0) + 1;
	}

	/** Renders in the background for a moment; false when little is left. */
	async renderSome(): Promise<boolean> {
		if (this.#disposed) return false;
		return this.#use(async (open) => {
			await this.#render(open, this.#parts.journal.end, { forMs: this.#disposed ? 0 : TURN_MS });
			return this.#parts.journal.end - open.raw > PENDING_BYTES;
		});
	}

	hibernate(): boolean {
		if (this.#users > 0) return false;
		void this.#turns.run("", () => this.#close());
		return true;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#disposed = true;
		this.#parts.transcripts.queue.forget(this);
		this.#parts.transcripts.cache.forget(this);
		await this.#turns.run("", () => this.#close());
	}

	/** One at a time, and in memory meanwhile. */
	async #use<T>(act: (open: Open) => Promise<T>): Promise<T> {
		this.#users++;
		try {
			return await this.#turns.run("", async () => {
				this.#open ??= await this.#load();
				if (!this.#disposed) this.#parts.transcripts.cache.use(this);
				try {
					return await act(this.#open);
				} catch (error) {
					// What is in memory may not be what is on disk.
					this.#open?.renderer.dispose();
					this.#open = null;
					throw error;
				}
			});
		} finally {
			this.#users--;
			if (this.#disposed && this.#users === 0) await this.#turns.run("", () => this.#close());
		}
	}

	async #load(): Promise<Open> {
		const { journal, transcripts } = this.#parts;
		const { directory } = journal;
		const saved = await readState(directory);
		const { first, sizes } = await sizesOf(directory);
		const begin = async (state: TranscriptState | null): Promise<Open> => {
			const log = await TextLog.open(directory, state?.log ?? null, transcripts.maxBytes);
			const joiner = new LineJoiner(state?.begun);
			const open = { log, joiner, raw: state?.raw ?? 0 };
			const append = (line: string | null) => {
				if (line !== null) log.append(storedLine(line), 1, open.raw);
			};
			const sink: LineSink = {
				line: (piece) => append(joiner.take(piece)),
				notice(words) {
					append(joiner.end());
					log.append(storedNotice(words), 1, open.raw);
				},
				lines(text, lines) {
					append(joiner.end());
					log.append(text.slice(), lines, open.raw);
				},
			};
			const { cols, rows } = first ?? this.#parts;
			const renderer =
				state === null
					? new TranscriptRenderer({ cols, rows, sink })
					: TranscriptRenderer.restore(state.screen, { sink });
			return Object.assign(open, {
				renderer,
				sizes: [...sizes, ...this.#sizes].filter(({ at }) => at >= open.raw).sort((a, b) => a.at - b.at),
				marks: new Map(state?.marks),
				savedRaw: open.raw,
				sealed: state?.sealed ?? false,
			});
		};
		// A log that is shorter than what was rendered is another one.
		const state = saved !== null && saved.raw <= journal.end ? saved : null;
		const open = await begin(state).catch(async (error: unknown) => {
			if (!(error instanceof CorruptState) || state === null) throw error;
			process.emitWarning(`the transcript in ${directory} is rendered again: ${error.message}`, "StateWarning");
			return begin(null);
		});
		this.#knownRaw = open.raw;
		return open;
	}

	/** Renders up to an offset, for a time, or until the caller leaves. */
	async #render(
		open: Open,
		to: number,
		{
			forMs = Number.POSITIVE_INFINITY,
			signal,
		}: { readonly forMs?: number; readonly signal?: AbortSignal | undefined },
	): Promise<void> {
		const startedAt = performance.now();
		let sliceAt = startedAt;
		/** The beginning of a line that is worth completing. */
		let rest: Uint8Array = NOTHING;
		for await (const { bytes, to: end } of this.#stretches(open.raw, to)) {
			const all = bytes === null ? rest : joined(rest, bytes);
			let at = 0;
			let stop = this.#nextStop(open);
			while (at < all.length) {
				if (open.raw === stop) stop = this.#nextStop(open);
				const limit = Math.min(all.length, at + stop - open.raw);
				const more = bytes !== null && limit === all.length && open.raw + limit - at < to;
				const rendered = open.renderer.feed(all.subarray(at, limit), { more });
				if (rendered === 0) break;
				at += rendered;
				open.raw += rendered;
				if (performance.now() - sliceAt < SLICE_MS) continue;
				await setImmediate();
				if (signal?.aborted) return;
				sliceAt = performance.now();
			}
			rest = all.subarray(at);
			if (bytes === null) {
				this.#nextStop(open);
				open.renderer.gap(
					`${counted(end - open.raw, "byte")} of output ${end - open.raw === 1 ? "is" : "are"} not kept`,
				);
				open.raw = end;
			}
			if (open.log.unwrittenBytes >= READ_BYTES) await open.log.flush();
			await this.#save(open, SAVE_BYTES);
			if (performance.now() - startedAt > forMs || signal?.aborted) return;
		}
	}

	/** The log from an offset on, from memory where that has it. */
	async *#stretches(from: number, to: number): AsyncGenerator<Stretch> {
		const { journal } = this.#parts;
		let at = from;
		while (at < to) {
			if (at >= journal.memoryFrom) {
				const bytes = journal.recent(at).subarray(0, to - at);
				yield { from: at, to: at + bytes.length, bytes };
				at += bytes.length;
				continue;
			}
			const before = at;
			const limit = Math.min(to, journal.memoryFrom);
			for await (const stretch of readLog(journal.directory, at, limit, READ_BYTES)) {
				yield stretch;
				at = stretch.to;
			}
			if (at === before || at < Math.min(limit, journal.memoryFrom)) {
				// The rest is in no file: a full disk, or it was removed.
				yield { from: at, to: limit, bytes: null };
				at = limit;
			}
		}
	}

	/** Applies what is due at the offset that is reached, and returns the next one. */
	#nextStop(open: Open): number {
		for (let [next] = open.sizes; next !== undefined && next.at <= open.raw; [next] = open.sizes) {
			open.renderer.resize(next.cols, next.rows);
			open.sizes.shift();
		}
		const after = this.#mark(open);
		return Math.min(after, open.sizes[0]?.at ?? Number.POSITIVE_INFINITY);
	}

	/** Notes the line at an offset of interest; returns the next such offset. */
	#mark(open: Open): number {
		let after = Number.POSITIVE_INFINITY;
		for (const stop of [...this.#parts.stops(), ...this.#asked]) {
			if (stop > open.raw) after = Math.min(after, stop);
			else if (stop === open.raw && !open.marks.has(stop) && !open.sealed) {
				// First: drawing may commit lines.
				const { line, blank } = open.renderer.cursor();
				open.marks.set(stop, { line: open.log.line + line + 1, blank });
				const [oldest] = open.marks.keys();
				if (open.marks.size > MAX_MARKS && oldest !== undefined) open.marks.delete(oldest);
			}
		}
		return after;
	}

	async #close(): Promise<void> {
		const open = this.#open;
		if (open === null) return;
		await this.#save(open, WORTH_SAVING_BYTES);
		this.#open = null;
		this.#knownRaw = open.raw;
		this.#keptBytes = open.log.keptBytes;
		open.renderer.dispose();
	}

	/** Saves where it is, if that is worth it and possible; otherwise it is rendered again from where it was saved last. */
	async #save(open: Open, everyBytes: number): Promise<void> {
		if (open.raw - open.savedRaw < Math.max(1, everyBytes) || open.raw < WORTH_SAVING_BYTES) return;
		// First: drawing may commit lines.
		const screen = open.renderer.serialize();
		if (screen === null) return; // in the middle of a sequence
		await open.log.flush();
		const log = open.log.state;
		if (log === null) return; // not all of it could be written
		const { raw, sealed, marks, joiner } = open;
		const state = { raw, sealed, log, marks: [...marks], begun: joiner.begun, screen };
		if (!(await writeState(this.#parts.journal.directory, state))) return;
		open.savedRaw = raw;
		await open.log.saved();
	}
}

const NOTHING = new Uint8Array(0);

const joined = (a: Uint8Array, b: Uint8Array): Uint8Array => (a.length === 0 ? b : Buffer.concat([a, b]));

/** The size that the terminal began with and those that it was given later, as the log tells. */
async function sizesOf(directory: string): Promise<{ first: { cols: number; rows: number } | null; sizes: Resize[] }> {
	const sizes: Resize[] = [];
	let [cols, rows, at] = [0, 0, 0];
	for await (const entry of readTiming(directory)) {
		if (entry.kind === "output") at += entry.bytes;
		else if (entry.kind === "resized") sizes.push({ cols: entry.cols, rows: entry.rows, at });
		else if (entry.name === "COLUMNS") cols = Number(entry.value);
		else if (entry.name === "LINES") rows = Number(entry.value);
	}
	return { first: cols > 0 && rows > 0 ? { cols, rows } : null, sizes };
}
