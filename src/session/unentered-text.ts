// Text that was typed and not entered: it stands in a line editor, or in the terminal's
// own line, until Enter is pressed, and what is typed next is joined to it.
//
// Known by what was typed alone. Only a program that reads lines leaves text standing, so
// whoever asks looks at what it waits for.

const KEYS =
	/(?<begin>\x1b\[200~)|(?<end>\x1b\[201~)|\x1b(?:[[O][0-?]*[ -/]*[@-~]|[^\x1b])?|(?<enter>[\r\n])|(?<drop>[\x03\x04\x07\x15\x1a\x1c])|(?<erase>[\x08\x7f])|[\x00-\x1f]|(?<text>[^\x00-\x1f\x7f]+)/g;

export class UnenteredText {
	#chars = 0;
	#inPaste = false;

	/** How many characters stand there. */
	get chars(): number {
		return this.#chars;
	}

	/** The program took them by itself. */
	clear(): void {
		this.#chars = 0;
	}

	/** Follows what is typed, as a keyboard sends it. */
	take(bytes: Uint8Array): void {
		for (const { groups = {} } of new TextDecoder().decode(bytes).matchAll(KEYS)) {
			const { begin, end, enter, drop, erase, text } = groups;
			if (begin !== undefined || end !== undefined) this.#inPaste = begin !== undefined;
			else if (text !== undefined) this.#chars += text.length;
			else if (erase !== undefined) this.#chars = Math.max(0, this.#chars - 1);
			// In a bracketed paste a line end is text. Otherwise it enters, and Ctrl+C, D, G, U, Z and \ drop.
			else if ((enter ?? drop) !== undefined) this.#chars = this.#inPaste ? this.#chars + 1 : 0;
		}
	}
}
