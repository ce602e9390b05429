// The screen of one session, drawn on demand and hibernated when idle.
//
// Output waits in the journal's memory until the screen is read, the program may have
// sent a query, or there is enough to draw in one batch. An idle screen is kept as a
// compressed keyframe. The log has everything: nothing here is ever lost, at most drawn
// later. The draw scheduler decides when to draw.

import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { Journal } from "../journal/journal.ts";
import { newlinesIn } from "../journal/ring.ts";
import type { OutputChunk } from "../protocol/output.ts";
import { Screen, type ScreenOptions, type ScreenState } from "../terminal/screen.ts";

const ESC = 0x1b;
const ENQ = 0x05;

export interface LazyScreenParts {
	readonly journal: Journal;
	readonly options: Omit<ScreenOptions, "offset">;
	/** A saved screen, or the offset at which an empty one begins. */
	readonly from: ScreenState | number;
	/** The emulator's reply to a query of the program; `offset` is where the query was. */
	readonly onReply: (reply: Uint8Array, offset: number) => void;
	/** Output below this was answered by an earlier owner: it is never drawn together with newer output. */
	readonly answeredUntil: number;
	/** Offsets below `answeredUntil`, ascending, at which drawing stops for `onReplayed`. */
	readonly stops?: readonly number[];
	/** Called at each stop and at `answeredUntil`, when everything below is drawn and nothing above. */
	readonly onReplayed?: (screen: Screen) => void;
}

type Content =
	| { readonly kind: "drawn"; readonly screen: Screen }
	/** Not drawn on yet. */
	| { readonly kind: "blank"; readonly offset: number }
	| { readonly kind: "asleep"; readonly offset: number; readonly state: Uint8Array };

export class LazyScreen implements Disposable {
	readonly #parts: LazyScreenParts;
	#content: Content;
	#cols: number;
	#rows: number;
	#mayAsk = false;
	/** Sizes to come, each from an offset on. */
	readonly #sizes: { readonly cols: number; readonly rows: number; readonly at: number }[] = [];
	#disposed = false;

	constructor(parts: LazyScreenParts) {
		this.#parts = parts;
		const { from, options } = parts;
		this.#cols = options.cols;
		this.#rows = options.rows;
		this.#content =
			typeof from === "number" ? { kind: "blank", offset: from } : { kind: "drawn", screen: this.#restore(from) };
	}

	get cols(): number {
		return this.#cols;
	}
	get rows(): number {
		return this.#rows;
	}
	/** Output that is not drawn yet. */
	get pendingBytes(): number {
		return this.#parts.journal.end - this.#offset;
	}
	/** The program may have sent a query and wait for the reply. */
	get mayAsk(): boolean {
		return this.#mayAsk;
	}
	get asleep(): boolean {
		return this.#content.kind !== "drawn";
	}

	/** The screen with all output drawn. */
	get current(): Screen {
		const screen = this.#awake();
		this.draw();
		return screen;
	}

	/** Makes room in memory for a chunk that the journal is about to take. */
	before(chunk: OutputChunk): void {
		if ("gap" in chunk) this.draw();
		else if (this.pendingBytes + chunk.bytes.length > this.#parts.journal.memoryBytes) this.draw();
	}

	/** The journal has taken a chunk. */
	after(chunk: OutputChunk): void {
		if ("bytes" in chunk) {
			// Earlier output was answered before: it is drawn when someone looks.
			const isNew = this.#parts.journal.end > this.#parts.answeredUntil;
			this.#mayAsk ||= isNew && (chunk.bytes.includes(ESC) || chunk.bytes.includes(ENQ));
			// More than memory holds arrived at once: drawn before it is dropped.
			if (this.#parts.journal.memoryFrom > this.#offset) this.#feed(this.#awake(), chunk.bytes);
			return;
		}
		const before = this.#offset;
		if (this.#content.kind === "blank") this.#content = { kind: "blank", offset: chunk.gap.to };
		else this.#awake().take(chunk);
		this.#skipped(before);
	}

	/** Draws pending output, all or the first bytes of it. */
	draw(maxBytes = Number.POSITIVE_INFINITY): void {
		if (this.pendingBytes > 0 || this.#sizeIsDue) {
			const screen = this.#awake();
			this.#feed(screen, this.#parts.journal.recent(screen.offset).subarray(0, maxBytes));
		}
		if (this.pendingBytes === 0) this.#mayAsk = false;
	}

	/** Output from this offset on is for the new size; what came before it was for the old one. */
	resize(cols: number, rows: number, at: number = this.#parts.journal.end): void {
		this.#sizes.push({ cols, rows, at });
		this.draw();
	}

	/** Null in the middle of an escape sequence or character. */
	serialize(): ScreenState | null {
		if (this.#content.kind === "asleep" && this.pendingBytes === 0 && !this.#sizeIsDue)
			return unpacked(this.#content.state);
		return this.current.serialize();
	}

	/** Keeps the screen as a keyframe until it is read; false in the middle of an escape sequence or character. */
	sleep(): boolean {
		if (this.#content.kind !== "drawn") return true;
		if (!this.current.fitsKeyframe) return false; // some of its lines would be lost
		const state = this.current.serialize();
		if (state === null) return false;
		this.#content.screen.dispose();
		this.#content = { kind: "asleep", offset: state.offset, state: packed(state) };
		return true;
	}

	/** Applies only the mode changes in this output; `jump` continues after it. */
	skim(bytes: Uint8Array): void {
		this.#awake().skim(bytes);
	}

	/** Continues at `to` on an empty screen, after `lines` undrawn lines. */
	jump(to: number, lines: number): void {
		const screen = this.#awake();
		const state = screen.jumped(to, lines);
		screen.dispose();
		this.#content = { kind: "drawn", screen: this.#restore(state) };
		this.#skipped(screen.offset);
	}

	/** Passes over pending output: draws none of it but the newest bytes. */
	passOver(newestBytes: number): void {
		const { journal } = this.#parts;
		const passed = journal.recent(this.#offset).subarray(0, -newestBytes);
		this.skim(passed);
		this.jump(journal.end - newestBytes, newlinesIn(passed));
		this.draw();
	}

	[Symbol.dispose](): void {
		this.#disposed = true;
		if (this.#content.kind === "drawn") this.#content.screen.dispose();
		this.#content = { kind: "blank", offset: this.#offset };
	}

	get #offset(): number {
		return this.#content.kind === "drawn" ? this.#content.screen.offset : this.#content.offset;
	}

	get #sizeIsDue(): boolean {
		const [next] = this.#sizes;
		return next !== undefined && next.at <= this.#parts.journal.end;
	}

	#feed(screen: Screen, bytes: Uint8Array): void {
		let rest = bytes;
		for (let [next] = this.#sizes; next !== undefined && next.at <= screen.offset + rest.length; [next] = this.#sizes) {
			const before = Math.max(0, next.at - screen.offset);
			this.#feedAtSize(screen, rest.subarray(0, before));
			rest = rest.subarray(before);
			screen.resize(next.cols, next.rows);
			this.#cols = next.cols;
			this.#rows = next.rows;
			this.#sizes.shift();
		}
		this.#feedAtSize(screen, rest);
	}

	#feedAtSize(screen: Screen, bytes: Uint8Array): void {
		const { answeredUntil, stops = [], onReplayed } = this.#parts;
		let rest = bytes;
		for (const stop of screen.offset < answeredUntil ? [...stops, answeredUntil] : []) {
			const before = stop - screen.offset;
			if (before <= 0) continue;
			screen.feed(rest.subarray(0, before));
			if (rest.length < before) return;
			rest = rest.subarray(before);
			onReplayed?.(screen);
		}
		if (rest.length > 0) screen.feed(rest);
	}

	/** The end of the replay was not drawn but lost or passed over. */
	#skipped(before: number): void {
		const { answeredUntil, onReplayed } = this.#parts;
		if (before < answeredUntil && this.#offset >= answeredUntil) onReplayed?.(this.#awake());
	}

	#awake(): Screen {
		const content = this.#content;
		if (content.kind === "drawn") return content.screen;
		const screen = content.kind === "asleep" ? this.#restore(unpacked(content.state)) : this.#blank(content.offset);
		this.#content = { kind: "drawn", screen };
		return screen;
	}

	#blank(offset: number): Screen {
		return this.#attached(new Screen({ ...this.#parts.options, cols: this.#cols, rows: this.#rows, offset }));
	}

	#restore(state: ScreenState): Screen {
		this.#cols = state.cols;
		this.#rows = state.rows;
		return this.#attached(Screen.restore(state, this.#parts.options));
	}

	#attached(screen: Screen): Screen {
		// A call that was under way may still look once this is disposed: nobody disposes of that screen.
		if (!this.#disposed) screen.onReply((reply) => this.#parts.onReply(reply, screen.offset));
		return screen;
	}
}

// Copied: zlib returns a view of a 16 KB buffer, which would be retained.
const packed = (state: ScreenState) => new Uint8Array(deflateRawSync(JSON.stringify(state), { level: 1 }));
const unpacked = (state: Uint8Array) => JSON.parse(inflateRawSync(state).toString()) as ScreenState;
