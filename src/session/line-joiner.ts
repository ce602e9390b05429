// Makes lines of the pieces in which a terminal's emulator gives away a line that is longer than it can hold.

import type { TextLine } from "../terminal/transcript-renderer.ts";

/** A program that never ends its line would fill the memory: such a line counts as several. */
export const MAX_LINE_CHARS = 1 << 20;

export class LineJoiner {
	/** What is there of a line that goes on. */
	#begun: string;

	constructor(begun = "") {
		this.#begun = begun;
	}

	get begun(): string {
		return this.#begun;
	}

	/** The line that this piece ends; null where it goes on. */
	take({ text, continues }: TextLine): string | null {
		this.#begun += text;
		return continues && this.#begun.length < MAX_LINE_CHARS ? null : this.#end();
	}

	/** Nothing follows: the line that was begun, if there is one. */
	end(): string | null {
		return this.#begun === "" ? null : this.#end();
	}

	/** The lines that these pieces make with what was begun, which stays as it is. */
	with(pieces: readonly TextLine[]): string[] {
		const joiner = new LineJoiner(this.#begun);
		const lines = [...pieces.map((piece) => joiner.take(piece)), joiner.end()];
		return lines.filter((line) => line !== null);
	}

	#end(): string {
		const line = this.#begun;
		this.#begun = "";
		// Blanks at the end of a piece were in the middle of its line.
		return line.trimEnd();
	}
}
