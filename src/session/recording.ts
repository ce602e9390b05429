// The screen of any moment of a session, live or ended: its output up to that moment, drawn again with the
// resizes in their places.
//
// The last screen is kept, so that going forward goes on from there; going back begins at a keyframe, which is taken
// whenever drawing has taken a while, and kept only where it restores the same screen. Drawing happens in slices of the event loop.

import { deflateRawSync, inflateRawSync } from "node:zlib";
import { logBounds, readLog } from "../journal/segments.ts";
import { Slices } from "../journal/slices.ts";
import { TimingIndex } from "../journal/timing-index.ts";
import { Screen, type ScreenState } from "../terminal/screen.ts";
import { KeyedQueue } from "./keyed-queue.ts";

/** Taking and checking one is 15 to 30 ms of work: a quarter of what there is to draw for it. That is one to six megabytes of output. */
const KEYFRAME_MS = 80;
/** Some 10 KB each. Where there would be more, every other one goes, and the distance doubles. */
const MAX_KEYFRAMES = 128;
/** What one piece of drawing should take, and the bytes it begins with; a piece of plain lines takes a fraction of others. */
const PIECE_MS = 4;
const FIRST_PIECE_BYTES = 32 * 1024;
const PIECE_BYTES = { min: 2 * 1024, max: 256 * 1024 } as const;
/** As many rows as a terminal can have: a larger one shows rows from above again. More would make keyframes large. */
const ROWS_ABOVE = 500;

/** Milliseconds since the start, or an offset: then the last moment at which there was so much output. */
export type When = { readonly at: number } | { readonly offset: number };

export interface Gap {
	readonly from: number;
	readonly to: number;
}

/** A point of the recording: so much output, and so many of the resizes. */
interface Point {
	readonly offset: number;
	readonly resizes: number;
}

interface Keyframe extends Point {
	readonly state: Uint8Array;
	readonly unserialized: Screen["unserialized"];
	readonly gaps: readonly Gap[];
}

/** A moment of the recording. */
export interface Seen {
	readonly screen: Screen;
	/** Milliseconds since the start. */
	readonly at: number;
	/** What is missing of the output before it: the screen may lack it, too. */
	readonly gaps: readonly Gap[];
}

export interface RecordingParts {
	readonly directory: string;
	/** Lines above the screen, as the session itself has them: a resize may bring them back. */
	readonly scrollback: number;
	/** Its first size, where that is not recorded. */
	readonly cols?: number;
	readonly rows?: number;
	/** How much drawing there may be between two keyframes. */
	readonly keyframeMs?: number;
}

export class Recording implements Disposable {
	readonly directory: string;
	readonly index: TimingIndex;
	readonly #parts: RecordingParts;
	readonly #queue = new KeyedQueue();
	#current: Current | null = null;
	#keyframes: Keyframe[] = [];
	#keyframeMs: number;
	#disposed = false;

	constructor(parts: RecordingParts) {
		this.#parts = parts;
		this.directory = parts.directory;
		this.index = new TimingIndex(parts.directory);
		this.#keyframeMs = parts.keyframeMs ?? KEYFRAME_MS;
	}

	/** The moment, for as long as the function runs: the screen is used for the next one. */
	see<T>(when: When, look: (seen: Seen) => T, signal?: AbortSignal): Promise<T> {
		// One after the other: a drag asks for many, of which each goes on from the last.
		return this.#queue.run("draw", async () => {
			signal?.throwIfAborted();
			// First: a resize is in the timing before the output that follows it is in the log.
			const { to: logged } = await logBounds(this.directory);
			await this.index.update();
			const { resizes, end } = this.index;
			const offset = await this.#offsetOf(when, logged);
			const isDue =
				"offset" in when
					? (resize: { offset: number }) => resize.offset <= when.offset
					: (resize: { us: number }) => resize.us <= when.at * 1000;
			const point = { offset, resizes: countWhile(resizes, isDue) };
			const current = await this.#drawn(point, signal);
			const { from: us } = await this.index.window(current.screen.offset);
			const at = "at" in when ? when.at : Math.ceil(Math.min(us, end.us) / 1000);
			try {
				return look({ ...current, at });
			} finally {
				if (this.#disposed) this.#forget();
			}
		});
	}

	/** Lets go of what is in memory; a moment that is being drawn is shown. */
	[Symbol.dispose](): void {
		this.#disposed = true;
		void this.#queue.run("draw", async () => this.#forget());
	}

	#forget(): void {
		this.#current?.screen.dispose();
		this.#current = null;
		this.#keyframes = [];
	}

	/** After the last line of the timing, all output there is: the newest may not have a line yet. */
	async #offsetOf(when: When, logged: number): Promise<number> {
		const { us, offset } = this.index.end;
		if ("offset" in when) return Math.min(when.offset, Math.max(logged, offset));
		return when.at * 1000 >= us ? logged : this.index.offsetAt(when.at * 1000);
	}

	async #drawn(point: Point, signal?: AbortSignal): Promise<Current> {
		const current = this.#nearest(point);
		const { resizes } = this.index;
		const slices = new Slices(signal);
		try {
			for (; current.resizes < point.resizes; current.resizes++) {
				const { offset, cols, rows } = resizes[current.resizes]!;
				await this.#drawTo(Math.min(offset, point.offset), current, slices);
				current.screen.resize(cols, rows);
				await slices.turn();
			}
			await this.#drawTo(point.offset, current, slices);
			return current;
		} catch (error) {
			if (!signal?.aborted) this.#drop();
			throw error;
		}
	}

	/** The last screen if that is before the point, else the newest keyframe that is. */
	#nearest(point: Point): Current {
		const isBefore = (one: Point) => one.offset <= point.offset && one.resizes <= point.resizes;
		const keyframe = this.#keyframes.findLast(isBefore);
		const current = this.#current;
		if (current !== null && isBefore(pointOf(current)) && pointOf(current).offset >= (keyframe?.offset ?? 0))
			return current;
		this.#drop();
		this.#current = keyframe === undefined ? this.#blank() : restored(keyframe, this.#parts);
		return this.#current;
	}

	#blank(): Current {
		const { scrollback, cols = 80, rows = 24 } = this.#parts;
		const size = this.index.size ?? { cols, rows };
		return { ...BEGINNING, screen: new Screen({ ...size, scrollback: rowsAbove(scrollback) }), resizes: 0, gaps: [] };
	}

	#drop(): void {
		this.#current?.screen.dispose();
		this.#current = null;
	}

	async #drawTo(offset: number, current: Current, slices: Slices): Promise<void> {
		const { screen } = current;
		if (screen.offset >= offset) return;
		for await (const { from, to, bytes } of readLog(this.directory, screen.offset, offset, PIECE_BYTES.max)) {
			if (bytes === null) {
				screen.take({ gap: { from, to } });
				current.gaps = [...current.gaps, { from, to }];
				continue;
			}
			for (let at = 0; at < bytes.length; ) {
				const piece = bytes.subarray(at, at + current.pieceBytes);
				const startedAt = performance.now();
				screen.feed(piece);
				at += piece.length;
				const ms = performance.now() - startedAt;
				current.pieceBytes = nextPiece(piece.length, ms, current.pieceBytes);
				current.sinceKeyframeMs += ms;
				await slices.turn();
				if (current.sinceKeyframeMs >= this.#keyframeMs) await this.#keep(current, slices);
			}
		}
		// A segment may have been removed since it was listed.
		if (screen.offset < offset && offset <= this.index.end.offset) {
			const gap = { from: screen.offset, to: offset };
			screen.take({ gap });
			current.gaps = [...current.gaps, gap];
		}
	}

	/** Takes a keyframe, unless one was taken here before. */
	async #keep(current: Current, slices: Slices): Promise<void> {
		const { screen, resizes, gaps } = current;
		const nearest = this.#keyframes.findLast(({ offset }) => offset <= screen.offset);
		if (nearest !== undefined && nearest.offset > current.keyframeAt) {
			current.keyframeAt = nearest.offset;
			current.sinceKeyframeMs = 0;
			return;
		}
		// Where none can be taken the next try is in a while.
		current.sinceKeyframeMs = this.#keyframeMs / 2;
		await slices.next();
		const state = screen.serialize();
		const { unserialized } = screen;
		await slices.next();
		if (state === null || !(await isSame(screen, state, slices))) return;
		current.keyframeAt = screen.offset;
		current.sinceKeyframeMs = 0;
		const keyframe = { offset: screen.offset, resizes, state: packed(state), unserialized, gaps };
		this.#keyframes = [...this.#keyframes, keyframe].sort((a, b) => a.offset - b.offset);
		if (this.#keyframes.length <= MAX_KEYFRAMES) return;
		this.#keyframes = this.#keyframes.filter((_, index) => index % 2 === 1);
		this.#keyframeMs *= 2;
	}
}

interface Current {
	readonly screen: Screen;
	resizes: number;
	gaps: readonly Gap[];
	/** How much is drawn at once. */
	pieceBytes: number;
	/** Where the last keyframe before this screen is, and how long it took to draw from there. */
	keyframeAt: number;
	sinceKeyframeMs: number;
}

const BEGINNING = { pieceBytes: FIRST_PIECE_BYTES, keyframeAt: 0, sinceKeyframeMs: 0 } as const;
const rowsAbove = (scrollback: number) => Math.min(scrollback, ROWS_ABOVE);
const pointOf = ({ screen, resizes }: Current): Point => ({ offset: screen.offset, resizes });

function restored({ state, unserialized, resizes, gaps }: Keyframe, { scrollback }: RecordingParts): Current {
	const screen = Screen.restore(unpacked(state), { scrollback: rowsAbove(scrollback) }, unserialized);
	return { ...BEGINNING, keyframeAt: screen.offset, screen, resizes, gaps };
}

/** As many bytes as are drawn in the time of a piece, as the last one was; not much more at once. */
function nextPiece(bytes: number, ms: number, before: number): number {
	const fitting = (bytes * PIECE_MS) / Math.max(ms, 0.05);
	return Math.round(Math.min(Math.max(fitting, PIECE_BYTES.min), PIECE_BYTES.max, before * 2));
}

/** Some cells are lost when a screen is saved (terminal/keyframe.ts): then there is none for this place. */
async function isSame(screen: Screen, state: ScreenState, slices: Slices): Promise<boolean> {
	const copy = Screen.restore(state, { scrollback: ROWS_ABOVE });
	try {
		await slices.next();
		const sees = (one: Screen) => JSON.stringify([one.cursor, one.modes, one.styledRows()]);
		if (sees(copy) !== sees(screen)) return false;
		await slices.next();
		const above = screen.snapshot().scrollback;
		const kept = copy.snapshot().scrollback;
		if (kept < Math.min(above, ROWS_ABOVE)) return false;
		// The first line may be the rest of a longer one.
		const lines = copy.lines(ROWS_ABOVE).slice(1);
		return lines.join("\n") === screen.lines(ROWS_ABOVE).slice(-lines.length).join("\n") || lines.length === 0;
	} finally {
		copy.dispose();
	}
}

function countWhile<T>(values: readonly T[], isTrue: (value: T) => boolean): number {
	const end = values.findIndex((value) => !isTrue(value));
	return end < 0 ? values.length : end;
}

// Copied: zlib returns a view of a larger buffer, which would be retained.
const packed = (state: ScreenState) => new Uint8Array(deflateRawSync(JSON.stringify(state), { level: 1 }));
const unpacked = (state: Uint8Array) => JSON.parse(inflateRawSync(state).toString()) as ScreenState;
