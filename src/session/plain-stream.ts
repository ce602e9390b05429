// The words in a byte stream, for patterns: escape sequences left out, the rest
// as it came, including what a later frame painted over. What a person *sees*
// is the screen's business; a pattern may ask for what went by.

type State = "text" | "escape" | "csi" | "string" | "string-escape";

/** Turns raw output into searchable text, a chunk at a time, however it is split. */
export class PlainStream {
	#state: State = "text";
	readonly #decoder = new TextDecoder();

	feed(bytes: Uint8Array): string {
		let text = "";
		for (const char of this.#decoder.decode(bytes, { stream: true })) {
			const code = char.codePointAt(0) ?? 0;
			switch (this.#state) {
				case "text":
					if (code === 0x1b) this.#state = "escape";
					else if (code === 0x0a || code === 0x09 || (code >= 0x20 && code !== 0x7f)) text += char;
					else if (code === 0x0d) text += "\r";
					break;
				case "escape":
					if (char === "[") this.#state = "csi";
					else if (char === "]" || char === "P" || char === "X" || char === "^" || char === "_") this.#state = "string";
					else if (code < 0x20 || code > 0x2f) this.#state = "text";
					break;
				case "csi":
					if (code >= 0x40 && code <= 0x7e) this.#state = "text";
					else if (code === 0x1b) this.#state = "escape";
					break;
				case "string":
					if (code === 0x07) this.#state = "text";
					else if (code === 0x1b) this.#state = "string-escape";
					break;
				case "string-escape":
					this.#state = char === "\\" ? "text" : "string";
					break;
			}
		}
		// A program's CRLF is one line end; a lone CR repaints the line, which for a pattern is a new line.
		return text.replace(/\r+\n/g, "\n").replace(/\r+/g, "\n");
	}
}
