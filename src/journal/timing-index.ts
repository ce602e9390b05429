// When each byte of a session came, from its `timing` file: by time and by offset, without reading a
// long file more than once.
//
// The file only grows. Of what was read, a checkpoint every few thousand lines is kept; a question
// reads the lines of one checkpoint again.

import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { Slices } from "./slices.ts";
import { CorruptState, openRegular } from "./state-file.ts";
import { parseTimingLine } from "./timing.ts";

const READ_BYTES = 256 * 1024;
const LINES_PER_CHECKPOINT = 2048;
/** Checkpoints whose lines stay in memory: 32 KB each. */
const MAX_OPEN = 16;

/** Where a stretch of lines begins. */
interface Checkpoint {
	/** In the file. */
	readonly position: number;
	readonly us: number;
	readonly offset: number;
}

/** The lines of output in a stretch: when, and how much there was then. */
interface Stretch {
	readonly us: readonly number[];
	readonly offsets: readonly number[];
}

export interface SizeChange {
	readonly us: number;
	/** Output from here on is for this size. */
	readonly offset: number;
	readonly cols: number;
	readonly rows: number;
}

export class TimingIndex {
	readonly #path: string;
	#checkpoints: Checkpoint[] = [{ position: 0, us: 0, offset: 0 }];
	readonly #stretches = new Map<number, Stretch>();
	#resizes: SizeChange[] = [];
	#size: { cols: number; rows: number } | null = null;
	#startTimeMs: number | null = null;
	#exitUs: number | null = null;
	#position = 0;
	#lines = 0;
	#us = 0;
	#offset = 0;
	#reading: Promise<void> | null = null;

	constructor(directory: string) {
		this.#path = join(directory, "timing");
	}

	/** When it was started, to the second; null where that is not recorded. */
	get startTimeMs(): number | null {
		return this.#startTimeMs;
	}
	/** Its size at the start. */
	get size(): { readonly cols: number; readonly rows: number } | null {
		return this.#size;
	}
	/** In the order in which they happened. */
	get resizes(): readonly SizeChange[] {
		return this.#resizes;
	}
	/** The time of the last line, and the output up to it. */
	get end(): { readonly us: number; readonly offset: number } {
		return { us: this.#us, offset: this.#offset };
	}
	/** When its program ended; null where that is not recorded. */
	get exitUs(): number | null {
		return this.#exitUs;
	}

	/** Reads what was written since. */
	update(): Promise<void> {
		this.#reading ??= this.#read().finally(() => {
			this.#reading = null;
		});
		return this.#reading;
	}

	/** How much output there was at a time. */
	async offsetAt(us: number): Promise<number> {
		const index = lastNotAbove(this.#checkpoints, (one) => one.us, us);
		const checkpoint = this.#checkpoints[index]!;
		const { us: times, offsets } = await this.#stretch(index);
		const at = lastNotAbove(times, (one) => one, us);
		return at < 0 ? checkpoint.offset : offsets[at]!;
	}

	/** From when to when there was exactly this much output: from the byte before it to the byte after it. */
	async window(offset: number): Promise<{ readonly from: number; readonly to: number }> {
		const from = offset === 0 ? 0 : await this.#timeOf(offset);
		return { from, to: await this.#timeOf(offset + 1) };
	}

	/** When there were at least so many bytes; infinite where there are not. */
	async #timeOf(count: number): Promise<number> {
		if (count > this.#offset) return Number.POSITIVE_INFINITY;
		// The first checkpoint that has them already begins after the stretch with that line.
		let index = lastNotAbove(this.#checkpoints, (one) => one.offset, count - 1);
		for (; index < this.#checkpoints.length; index++) {
			const { us, offsets } = await this.#stretch(index);
			const at = lastNotAbove(offsets, (one) => one, count - 1) + 1;
			if (at < us.length) return us[at]!;
		}
		return this.#us;
	}

	async #stretch(index: number): Promise<Stretch> {
		const known = this.#stretches.get(index);
		if (known !== undefined) return known;
		const { position, us: fromUs, offset: fromOffset } = this.#checkpoints[index]!;
		const end = this.#checkpoints[index + 1]?.position ?? this.#position;
		const us: number[] = [];
		const offsets: number[] = [];
		let [now, offset] = [fromUs, fromOffset];
		const file = await this.#open();
		if (file === null) return { us, offsets };
		try {
			const bytes = Buffer.allocUnsafe(end - position);
			const { bytesRead } = await file.read(bytes, 0, bytes.length, position);
			for (const line of bytes.toString("latin1", 0, bytesRead).split("\n")) {
				const entry = parseTimingLine(line);
				if (entry === null) continue;
				now += entry.afterUs;
				if (entry.kind !== "output") continue;
				offset += entry.bytes;
				us.push(now);
				offsets.push(offset);
			}
		} finally {
			await file.close();
		}
		// The last one still grows.
		if (index + 1 < this.#checkpoints.length) {
			this.#stretches.set(index, { us, offsets });
			const [oldest] = this.#stretches.keys();
			if (this.#stretches.size > MAX_OPEN && oldest !== undefined) this.#stretches.delete(oldest);
		}
		return { us, offsets };
	}

	async #read(): Promise<void> {
		const file = await this.#open();
		if (file === null) return;
		const slices = new Slices();
		try {
			const bytes = Buffer.allocUnsafe(READ_BYTES);
			for (;;) {
				const { bytesRead } = await file.read(bytes, 0, bytes.length, this.#position);
				const last = bytes.subarray(0, bytesRead).lastIndexOf(0x0a);
				// A line as long as the buffer is none of the holder's.
				if (last < 0 && bytesRead === bytes.length) this.#position += bytesRead;
				else if (last < 0) return;
				let from = 0;
				while (from <= last) {
					const end = bytes.indexOf(0x0a, from);
					this.#take(bytes.toString("latin1", from, end), end + 1 - from);
					from = end + 1;
					if (this.#lines % LINES_PER_CHECKPOINT === 0) await slices.turn();
				}
			}
		} finally {
			await file.close();
		}
	}

	/** Without a timing file there are no times; the output is shown all the same. */
	#open(): Promise<FileHandle | null> {
		return openRegular(this.#path).catch((error: unknown) => {
			if (error instanceof CorruptState) return null;
			throw error;
		});
	}

	#take(line: string, length: number): void {
		this.#position += length;
		const entry = parseTimingLine(line);
		if (entry !== null) {
			this.#us += entry.afterUs;
			if (entry.kind === "output") this.#offset += entry.bytes;
			else if (entry.kind === "resized") {
				const { cols, rows } = entry;
				this.#resizes.push({ us: this.#us, offset: this.#offset, cols, rows });
			} else this.#header(entry.name, entry.value);
		}
		if (++this.#lines % LINES_PER_CHECKPOINT === 0)
			this.#checkpoints.push({ position: this.#position, us: this.#us, offset: this.#offset });
	}

	#header(name: string, value: string): void {
		const number = Number(value);
		if (name === "START_TIME") {
			const ms = Date.parse(value.replace(" ", "T"));
			this.#startTimeMs = Number.isFinite(ms) ? ms : null;
		}
		if (name === "EXIT_CODE") this.#exitUs ??= this.#us;
		if (name === "COLUMNS" && number > 0) this.#size = { cols: number, rows: this.#size?.rows ?? 24 };
		if (name === "LINES" && number > 0) this.#size = { cols: this.#size?.cols ?? 80, rows: number };
	}
}

/** The last of ascending values that is not above this one; -1 where all are. */
function lastNotAbove<T>(values: readonly T[], of: (value: T) => number, limit: number): number {
	let [low, high] = [0, values.length];
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (of(values[middle]!) <= limit) low = middle + 1;
		else high = middle;
	}
	return low - 1;
}
