// Numbered lines of a session's output, loaded page by page as they come into view.

import type { NumberedText } from "./numbered-lines.ts";

const PAGE_LINES = 200;
/** Pages kept: those that were read last. */
const MAX_PAGES = 60;

export class LinePages {
	readonly #load: (from: number, to: number) => Promise<NumberedText>;
	readonly #changed: () => void;
	readonly #pages = new Map<number, readonly string[]>();
	readonly #loading = new Set<number>();
	#total = 0;

	constructor(load: (from: number, to: number) => Promise<NumberedText>, changed: () => void) {
		this.#load = load;
		this.#changed = changed;
	}

	get total(): number {
		return this.#total;
	}

	/** The text of a line; undefined until it is loaded. */
	line(number: number): string | undefined {
		return this.#pages.get(pageOf(number))?.[(number - 1) % PAGE_LINES];
	}

	/** Loads what is missing of a range. */
	async want(from: number, to: number): Promise<void> {
		const pages: number[] = [];
		for (let page = pageOf(Math.max(1, from)); page <= pageOf(Math.max(1, to)); page++)
			if (!this.#loading.has(page) && !this.#isComplete(page)) pages.push(page);
		await Promise.all(pages.map((page) => this.#fetch(page)));
	}

	/** There are more lines now: the last page may have grown. */
	grown(total: number): void {
		if (total <= this.#total) return;
		this.#total = total;
		this.#changed();
	}

	#isComplete(page: number): boolean {
		const rows = this.#pages.get(page);
		return rows !== undefined && (rows.length === PAGE_LINES || page * PAGE_LINES + rows.length >= this.#total);
	}

	async #fetch(page: number): Promise<void> {
		this.#loading.add(page);
		try {
			const first = page * PAGE_LINES + 1;
			const { rows, total } = await this.#load(first, first + PAGE_LINES - 1);
			this.#pages.delete(page);
			this.#pages.set(page, rows);
			this.#total = total;
			const oldest = this.#pages.keys().next().value;
			if (this.#pages.size > MAX_PAGES && oldest !== undefined) this.#pages.delete(oldest);
			this.#changed();
		} finally {
			this.#loading.delete(page);
		}
	}
}

const pageOf = (number: number) => Math.floor((number - 1) / PAGE_LINES);
