// Saved screens: after a restart a session's screen is the last saved one plus
// the output since, so little is replayed.
//
// A keyframe is a cache: without one the log is replayed.

import { join } from "node:path";
import { z } from "zod";
import {
	CorruptState,
	checked,
	FORMAT,
	MAX_BYTES,
	parseJson,
	readCache,
	replaceState,
	setAside,
} from "../journal/state-file.ts";
import type { ScreenState } from "../terminal/screen.ts";

const FILE = "keyframe.json";
/** Saving takes some 5 ms: a flood that is drawn at 100 MB/s would spend half its time on keyframes. */
const MIN_INTERVAL_MS = 5000;

export interface Keyframe {
	readonly screen: ScreenState;
	/** Lines printed so far; null where they are not known. */
	readonly lines: number | null;
}

const count = z.int().min(0);
const cells = z.int().min(0).max(100_000);
const words = z.record(z.string(), z.union([z.boolean(), z.number(), z.string()]));
const margins = z.object({ scrollTop: cells, scrollBottom: cells, savedX: cells, savedY: cells, x: cells });
const keyboard = z.array(z.int());

const screen = z
	.object({
		version: z.literal(1),
		cols: cells.min(1),
		rows: cells.min(1),
		content: z.string(),
		cursorLine: count,
		droppedRows: count,
		cursorHidden: z.boolean(),
		mouse: z.object({ protocol: z.string(), encoding: z.string() }),
		modes: words,
		privateModes: words,
		pen: z.object({ fg: z.int(), bg: z.int() }),
		normal: margins,
		alternate: margins,
		offset: count,
		clears: count,
		screenId: count,
		erasedBefore: count,
		erasures: z
			.array(
				z.object({
					clears: count,
					end: count,
					top: count,
					scrollback: z.boolean(),
					drawn: z.boolean(),
					last: z.string(),
				}),
			)
			.optional(),
		title: z.string(),
		cwd: z.string().nullable(),
		kitty: z.object({ normal: keyboard, alternate: keyboard }),
		checkpoints: z.array(z.object({ row: count, offset: count })),
	})
	.refine(
		({ rows, cols, normal, alternate }) =>
			[normal, alternate].every(
				({ scrollTop, scrollBottom, x }) => scrollTop <= scrollBottom && scrollBottom < rows && x <= cols,
			),
		"margins outside of the screen",
	);

const schema = z.object({ screen, lines: count.nullable() });

export class Keyframes {
	readonly #path: string;
	readonly #everyBytes: number;
	#savedAt: number;
	#savedMs = 0;
	#saving: Promise<void> | null = null;

	constructor(directory: string, { everyBytes, savedAt }: { everyBytes: number; savedAt: number }) {
		this.#path = join(directory, FILE);
		this.#everyBytes = everyBytes;
		this.#savedAt = savedAt;
	}

	static async load(directory: string): Promise<Keyframe | null> {
		const path = join(directory, FILE);
		return readCache<Keyframe>({
			path,
			maxBytes: MAX_BYTES.keyframe,
			parse: (text) => checked(schema, parseJson(text)) as Keyframe,
		});
	}

	/** One that looked right and could not be drawn. */
	static async setAside(directory: string, cause: unknown): Promise<void> {
		await setAside(join(directory, FILE), new CorruptState("bad-content", "it cannot be drawn", cause));
	}

	/** Saves when there was enough output since the last one. */
	advance(offset: number, take: () => Keyframe | null): void {
		if (offset - this.#savedAt < this.#everyBytes || this.#saving !== null) return;
		if (performance.now() - this.#savedMs >= MIN_INTERVAL_MS) void this.save(take);
	}

	async save(take: () => Keyframe | null): Promise<void> {
		await this.#saving;
		const keyframe = take();
		if (keyframe === null) return; // in the middle of a character: retried after the next output
		this.#savedAt = keyframe.screen.offset;
		this.#savedMs = performance.now();
		this.#saving = this.#write(keyframe);
		await this.#saving;
		this.#saving = null;
	}

	async #write(keyframe: Keyframe): Promise<void> {
		try {
			await replaceState(this.#path, JSON.stringify({ format: FORMAT, ...keyframe }));
		} catch {
			// A full disk, or the session was removed: the log has everything.
		}
	}
}
