// Live thumbnails of many sessions with little work: only those that are visible and
// have printed something are fetched, one at a time, and all are parsed by one terminal
// that is never shown. The more there are, the less often each is drawn.

import type { Terminal } from "@xterm/xterm";
import type { ScreenContent } from "../live/daemon-client.ts";
import type { Grid } from "./fit.ts";
import { drawScreen } from "./inert-terminal.ts";

const LEAST_MS = 1_000;
/** Times the number of visible thumbnails: 50 of them are drawn each 4 s, some 12 in a second. */
const EACH_MS = 80;
/** A session that cannot be read now may be readable later. */
const RETRY_MS = 10_000;

interface Wanted {
	/** How far the session's output is. */
	offset: number;
	drawnOffset: number;
	drawnAt: number;
	readonly draw: (terminal: Terminal, grid: Grid) => void;
}

interface ThumbnailParts {
	readonly terminal: Terminal;
	fetch(id: string, signal: AbortSignal): Promise<ScreenContent>;
	now?(): number;
}

export class Thumbnails {
	readonly #parts: ThumbnailParts;
	readonly #visible = new Map<string, Wanted>();
	readonly #stop = new AbortController();
	#timer: ReturnType<typeof setTimeout> | undefined;
	#isDrawing = false;

	constructor(parts: ThumbnailParts) {
		this.#parts = parts;
	}

	/** Draws it now and after each change until the returned function is called. */
	show(id: string, offset: number, draw: Wanted["draw"]): () => void {
		const wanted: Wanted = { offset, drawnOffset: -1, drawnAt: Number.NEGATIVE_INFINITY, draw };
		this.#visible.set(id, wanted);
		this.#next();
		return () => {
			if (this.#visible.get(id) === wanted) this.#visible.delete(id);
		};
	}

	/** Its output has come so far. */
	changed(id: string, offset: number): void {
		const wanted = this.#visible.get(id);
		if (wanted === undefined || wanted.offset === offset) return;
		wanted.offset = offset;
		this.#next();
	}

	dispose(): void {
		clearTimeout(this.#timer);
		this.#stop.abort();
		this.#visible.clear();
		this.#parts.terminal.dispose();
	}

	#now(): number {
		return this.#parts.now?.() ?? performance.now();
	}

	/** The one that has waited longest, as soon as it is due. */
	#next(): void {
		if (this.#isDrawing || this.#stop.signal.aborted) return;
		clearTimeout(this.#timer);
		const pauseMs = Math.max(LEAST_MS, this.#visible.size * EACH_MS);
		let first: [string, Wanted] | undefined;
		for (const entry of this.#visible)
			if (
				entry[1].offset !== entry[1].drawnOffset &&
				entry[1].drawnAt < (first?.[1].drawnAt ?? Number.POSITIVE_INFINITY)
			)
				first = entry;
		if (first === undefined) return;
		const [id, wanted] = first;
		const dueMs = Math.max(0, wanted.drawnAt + pauseMs - this.#now());
		this.#timer = setTimeout(() => void this.#draw(id, wanted), dueMs);
	}

	async #draw(id: string, wanted: Wanted): Promise<void> {
		if (this.#isDrawing) return;
		this.#isDrawing = true;
		const { offset } = wanted;
		const { terminal } = this.#parts;
		try {
			const screen = await this.#parts.fetch(id, this.#stop.signal);
			await new Promise<void>((drawn) => drawScreen(terminal, screen, screen.content, drawn));
			if (this.#visible.get(id) === wanted) wanted.draw(terminal, screen);
			wanted.drawnAt = this.#now();
			wanted.drawnOffset = offset;
		} catch {
			// Gone, or the daemon restarts: the list says so. Tried again later.
			wanted.drawnAt = this.#now() + RETRY_MS;
		}
		this.#isDrawing = false;
		this.#next();
	}
}
