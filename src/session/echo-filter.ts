// Takes the echo of what was typed out of the output: it is not the program's answer.
//
// A line is echoed once: by the terminal, or by the program's line editor. One that was typed while the program was busy
// is echoed twice: by the terminal at once, and by the line editor behind its prompt when it reads the line.

import { asks, shapeOf } from "./last-line.ts";

/** Shorter lines of several are not worth looking for: what they would hide may be output. */
const MIN_ECHO_CHARS = 4;

/** What was typed, and when. */
export interface TypedText {
	readonly text: string;
	/** The program was not waiting for it. */
	readonly ahead: boolean;
	/** The terminal's own echo was seen before. */
	readonly echoed?: boolean;
}

/** Removes the echo of each line that was typed, even a partial one. */
export class EchoFilter {
	readonly #lines: readonly LineEchoFilter[];

	constructor(typed: readonly TypedText[]) {
		this.#lines = typed.flatMap(({ text, ahead, echoed = false }) => {
			const lines = text.trim().split(/[\r\n]+/);
			const looked = lines.length === 1 ? lines : lines.filter((line) => line.trim().length >= MIN_ECHO_CHARS);
			return looked.map((line) => new LineEchoFilter({ text: line.trim(), ahead, echoed }));
		});
	}

	/** The next piece without the echo, after what an earlier piece held back. */
	feed(text: string): string {
		return this.#lines.reduce((rest, line) => line.feed(rest), text);
	}

	/** A whole text without the echo. */
	without(text: string): string {
		return this.#lines.reduce((rest, line) => line.without(rest), text);
	}
}

class LineEchoFilter {
	readonly #typed: Required<TypedText>;
	/** Knuth-Morris-Pratt: the length of the longest border of each prefix. */
	readonly #borders: Uint32Array;
	/** How much of the echo the text so far ends in; that much is held back. */
	#held = 0;
	/** The echoes that are still to come. */
	#left: readonly ("any" | "behind a prompt")[];
	/** The line so far, where that matters. */
	#line = "";

	constructor(typed: Required<TypedText>, borders = bordersOf(typed.text)) {
		this.#typed = typed;
		this.#borders = borders;
		const { text, ahead, echoed } = typed;
		this.#left =
			text === "" ? [] : [...(echoed ? [] : ["any" as const]), ...(ahead ? ["behind a prompt" as const] : [])];
	}

	/** The next piece without the echo, after what an earlier piece held back. */
	feed(text: string): string {
		const { text: typed } = this.#typed;
		let passed = "";
		const pass = (part: string) => {
			passed += part;
			if (this.#typed.ahead) this.#line = (this.#line + part).slice(-MAX_LINE_CHARS).replace(/^[\s\S]*\n/, "");
		};
		for (let at = 0; at < text.length; ) {
			if (this.#left.length === 0) return passed + text.slice(at);
			if (this.#held === 0) {
				const begin = text.indexOf(typed.charAt(0), at);
				pass(text.slice(at, begin < 0 ? text.length : begin));
				if (begin < 0) break;
				at = begin;
			}
			const char = text.charAt(at++);
			while (this.#held > 0 && typed.charAt(this.#held) !== char) this.#release(this.#borders[this.#held - 1]!, pass);
			if (typed.charAt(this.#held) === char) this.#held++;
			else pass(char);
			if (this.#held < typed.length) continue;
			if (this.#left[0] === "any" || asks(shapeOf(this.#line))) {
				this.#left = this.#left.slice(1);
				this.#held = 0;
			} else this.#release(this.#borders[this.#held - 1]!, pass);
		}
		return passed;
	}

	/** A whole text without the echo. */
	without(text: string): string {
		return new LineEchoFilter(this.#typed, this.#borders).feed(text);
	}

	/** All but so much of what is held back is no echo. */
	#release(held: number, pass: (part: string) => void): void {
		pass(this.#typed.text.slice(0, this.#held - held));
		this.#held = held;
	}
}

/** No prompt is longer. */
const MAX_LINE_CHARS = 200;

function bordersOf(word: string): Uint32Array {
	const borders = new Uint32Array(word.length);
	for (let at = 1, border = 0; at < word.length; at++) {
		while (border > 0 && word.charCodeAt(border) !== word.charCodeAt(at)) border = borders[border - 1]!;
		if (word.charCodeAt(border) === word.charCodeAt(at)) border++;
		borders[at] = border;
	}
	return borders;
}
