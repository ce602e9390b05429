// What sequences cost, and how much work a program may request.
//
// A few bytes can request work on the whole screen (bare, the 14 bytes `a ESC[2147483647b` take
// 120 s and 8.7 GB; 64 KB of `ESC c` half a minute). So parameters are clamped to where a
// larger value changes nothing, and each such sequence has a price, paid from a budget that
// output earns. Normal programs never notice: a full-screen frame earns six times its cost.

import type { SequenceId } from "./xterm-core.ts";

interface Order {
	readonly id: SequenceId;
	/** The largest parameter with an effect. */
	readonly most: (cols: number, rows: number) => number;
	/** Roughly microseconds on a slow, busy machine. */
	readonly price: (times: number, cols: number, rows: number) => number;
}

const perCell = (cols: number, rows: number) => (cols * rows) / 40;
const rowByRow = (times: number, _cols: number, rows: number) => times * (2 + rows / 2);
const withinRow = (_times: number, cols: number) => 2 + cols / 50;
const everyRow = (_times: number, cols: number, rows: number) => perCell(cols, rows) * 2;

/** Sequences whose parameter is a repeat count. */
export const ORDERS: readonly Order[] = [
	{ id: { final: "b" }, most: (cols, rows) => cols * rows, price: (times) => times * 0.4 },
	{ id: { final: "I" }, most: (cols) => cols, price: (times) => times / 20 },
	{ id: { final: "Z" }, most: (cols) => cols, price: (times) => times / 20 },
	{ id: { final: "L" }, most: (_, rows) => rows, price: rowByRow },
	{ id: { final: "M" }, most: (_, rows) => rows, price: rowByRow },
	{ id: { final: "S" }, most: (_, rows) => rows, price: rowByRow },
	{ id: { final: "T" }, most: (_, rows) => rows, price: rowByRow },
	{ id: { final: "@" }, most: (cols) => cols, price: withinRow },
	{ id: { final: "P" }, most: (cols) => cols, price: withinRow },
	{ id: { final: "X" }, most: (cols) => cols, price: withinRow },
	{ id: { intermediates: " ", final: "@" }, most: (cols) => cols, price: everyRow },
	{ id: { intermediates: " ", final: "A" }, most: (cols) => cols, price: everyRow },
	{ id: { intermediates: "'", final: "}" }, most: (cols) => cols, price: everyRow },
	{ id: { intermediates: "'", final: "~" }, most: (cols) => cols, price: everyRow },
];

export const PRICE = {
	erase: perCell,
	alignment: perCell,
	/** Reverse index at the top: every row below moves. */
	scrollDown: (cols: number, rows: number) => rowByRow(1, cols, rows) + cols / 100,
	alternateScreen: (cols: number, rows: number) => 100 + perCell(cols, rows) * 2,
	reset: (cols: number, rows: number) => 400 + perCell(cols, rows) * 2,
};

/** Earned per byte; the most that can be saved up; the minimum budget of a feed. */
const EARNS = 0.75;
const SAVED = 50_000;
const EVERY_FEED = 8_000;

export class WorkBudget {
	#credit = SAVED;

	open(): void {
		this.#credit = Math.max(this.#credit, EVERY_FEED);
	}

	earn(bytes: number): void {
		this.#credit = Math.min(SAVED, this.#credit + bytes * EARNS);
	}

	/** False: reject the sequence. */
	spend(price: number): boolean {
		if (price > this.#credit) return false;
		this.#credit -= price;
		return true;
	}
}
