// Hyperlinks (OSC 8): where they are on the screen, and their targets.
//
// The emulator would keep a marker for every row of every link and walk them for each
// character; one link that is never closed makes it ten times slower. So links are
// kept here, by absolute row, the newest of them only.

import type { Emulator } from "./emulator.ts";

export interface Link {
	/** On the screen, from 0; `to` is exclusive. A link over several rows is several of these. */
	readonly row: number;
	readonly from: number;
	readonly to: number;
	readonly uri: string;
}

interface Span {
	readonly alternate: boolean;
	readonly row: number;
	readonly column: number;
	endRow: number;
	endColumn: number;
	readonly uri: string;
}

const MAX_LINKS = 256;

export class Links {
	readonly #emulator: Emulator;
	#spans: Span[] = [];
	#open: Span | null = null;

	constructor(emulator: Emulator) {
		this.#emulator = emulator;
		emulator.onOsc(8, (payload) => {
			const uri = payload.slice(payload.indexOf(";") + 1);
			this.#close();
			if (uri === "" || /[\p{Cc}\p{Cf}]/u.test(uri)) return;
			const { row, column } = this.#here();
			this.#open = { alternate: emulator.alternate, row, column, endRow: row, endColumn: column, uri };
		});
	}

	/** The links on the screen now. */
	onScreen(): Link[] {
		const { alternate, cols, rows, active } = this.#emulator;
		const top = this.#top() + active.ybase;
		const found: Link[] = [];
		for (const span of this.#open ? [...this.#spans, this.#ended(this.#open)] : this.#spans) {
			if (span.alternate !== alternate) continue;
			for (let row = Math.max(span.row, top); row <= Math.min(span.endRow, top + rows - 1); row++) {
				const from = row === span.row ? span.column : 0;
				const to = row === span.endRow ? span.endColumn : cols;
				if (from < to) found.push({ row: row - top, from, to, uri: span.uri });
			}
		}
		return found;
	}

	/** A reflow changes the rows; a reset removes them. */
	forget(): void {
		this.#spans = [];
		this.#open = null;
	}

	#top(): number {
		return this.#emulator.alternate ? 0 : this.#emulator.droppedRows;
	}

	#here(): { row: number; column: number } {
		const { active } = this.#emulator;
		return { row: this.#top() + active.ybase + active.y, column: active.x };
	}

	#ended(span: Span): Span {
		const { row, column } = this.#here();
		return { ...span, endRow: row, endColumn: column };
	}

	#close(): void {
		if (this.#open && this.#open.alternate === this.#emulator.alternate) {
			this.#spans.push(this.#ended(this.#open));
			if (this.#spans.length > MAX_LINKS) this.#spans.shift();
		}
		this.#open = null;
	}
}
