// Text that was typed and not entered: it stands in a line editor, or in the terminal's
// own line, until Enter is pressed, and what is typed next is joined to it.
//
// Known by what was typed alone. Only a program that reads lines leaves text standing, so
// whoever asks looks at what it waits for.

const KEYS =
	/(?<begin>\x1b\[200~)|(?<end>\x1b\[201~)|\x1b(?:[[O][0-?]*[ -/]*[@-~]|[^\x1b])?|(?<enter>[\r\n])|(?<drop>[\x03\x04\x07\x15\x1a\x1c])|(?<erase>[\x08\x7f])|[\x00-\x1f]|(?<text>[^\x00-\x1f\x7f]+)/g;

/** As much of its end as is looked for on the screen. */
const TAIL_CHARS = 16;

export class UnenteredText {
	#chars = 0;
	#tail = "";
	#inPaste = false;

	/** How many characters stand there. */
	get chars(): number {
		return this.#chars;
	}

	/** Whether a line up to the cursor may end in them. */
	isSeenIn(line: string): boolean {
		return line.trimEnd().endsWith(this.#tail.trimEnd());
	}

	/** The program took them by itself. */
	clear(): void {
		this.#chars = 0;
		this.#tail = "";
	}

	/** Follows what is typed, as a keyboard sends it. */
	take(bytes: Uint8Array): void {
		for (const { groups = {} } of new TextDecoder().decode(bytes).matchAll(KEYS)) {
			const { begin, end, enter, drop, erase, text } = groups;
			if (begin !== undefined || end !== undefined) this.#inPaste = begin !== undefined;
			else if (text !== undefined) {
				this.#chars += text.length;
				this.#tail = (this.#tail + text).slice(-TAIL_CHARS);
			} else if (erase !== undefined) {
				this.#chars = Math.max(0, this.#chars - 1);
				this.#tail = this.#tail.slice(0, -1);
			} else if ((enter ?? drop) !== undefined) {
				// In a bracketed paste a line end is text. Otherwise it enters, and Ctrl+C, D, G, U, Z and \ drop.
				this.#chars = this.#inPaste ? this.#chars + 1 : 0;
				this.#tail = "";
			} else this.#tail = ""; // the cursor may have moved
		}
	}
}
