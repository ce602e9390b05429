// The terminal's replies to queries from the program.
//
// The emulator handles the classic queries (DA1, DA2, DSR, cursor position, DECRQM,
// DECRQSS); here are the others that programs block on: fish 4 takes 10 s to its prompt
// without them. No reply ever contains text that the program printed, so output cannot
// be turned into input: titles and capability names are not echoed.

import { hex16, PALETTE, THEME } from "./colors.ts";
import type { Emulator } from "./emulator.ts";
import type { KittyKeyboard } from "./kitty-keyboard.ts";

/** The cell size in pixels that we report; the picture uses the same. */
export const CELL = { width: 9, height: 18 } as const;

/**
 * A program sends a handful of queries at its start and a few per prompt. A file full
 * of queries shown by `cat` must not cause a flood of replies.
 */
const RATE = { burst: 128, perSecond: 128, bytesPerFeed: 4096 } as const;

/** Replies to the program's queries through `answer`. */
export function answerQuestions(emulator: Emulator, kitty: KittyKeyboard, answer: (text: string) => void): void {
	emulator.onData(answer);
	emulator.onCsi({ prefix: ">", final: "q" }, () => {
		answer("\x1bP>|dialtone\x1b\\");
		return true;
	});
	emulator.onCsi({ prefix: "?", final: "u" }, () => {
		answer(`\x1b[?${kitty.flags(emulator.alternate)}u`);
		return true;
	});
	// Colour scheme query: our theme is dark.
	emulator.onCsi({ prefix: "?", final: "n" }, ({ params }) => {
		if (params[0] !== 996) return false;
		answer("\x1b[?997;1n");
		return true;
	});
	// DA3: a unit id of zeros.
	emulator.onCsi({ prefix: "=", final: "c" }, () => {
		answer("\x1bP!|00000000\x1b\\");
		return true;
	});
	emulator.onCsi({ final: "t" }, ({ params }) => {
		const { cols, rows } = emulator;
		if (params[0] === 14) answer(`\x1b[4;${rows * CELL.height};${cols * CELL.width}t`);
		if (params[0] === 16) answer(`\x1b[6;${CELL.height};${CELL.width}t`);
		if (params[0] === 18) answer(`\x1b[8;${rows};${cols}t`);
		return true;
	});
	// XTGETTCAP: always "unknown capability", without echoing the name.
	emulator.onDcs({ intermediates: "+", final: "q" }, () => answer("\x1bP0+r\x1b\\"));
	const ask = (osc: number, color: string) =>
		emulator.onOsc(osc, (payload) => {
			if (payload === "?") answer(`\x1b]${osc};${hex16(color)}\x1b\\`);
		});
	ask(10, THEME.foreground);
	ask(11, THEME.background);
	ask(12, THEME.cursor);
	emulator.onOsc(4, (payload) => {
		const parts = payload.split(";");
		for (let i = 0; i + 1 < parts.length; i += 2) {
			const color = /^\d{1,3}$/.test(parts[i]!) ? PALETTE[Number(parts[i])] : undefined;
			if (parts[i + 1] === "?" && color) answer(`\x1b]4;${Number(parts[i])};${hex16(color)}\x1b\\`);
		}
	});
}

/** Rate limit on replies; without a clock it is per feed. */
export class ReplyGate {
	readonly #now: (() => number) | undefined;
	#tokens: number = RATE.burst;
	#at: number;
	#bytes = 0;

	constructor(now?: () => number) {
		this.#now = now;
		this.#at = now?.() ?? 0;
	}

	open(): void {
		this.#bytes = 0;
		if (!this.#now) {
			this.#tokens = RATE.burst;
			return;
		}
		const at = this.#now();
		this.#tokens = Math.min(RATE.burst, this.#tokens + ((at - this.#at) / 1000) * RATE.perSecond);
		this.#at = at;
	}

	admits(reply: string): boolean {
		if (this.#tokens < 1 || this.#bytes + reply.length > RATE.bytesPerFeed) return false;
		this.#tokens--;
		this.#bytes += reply.length;
		return true;
	}
}
