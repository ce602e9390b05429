// The text of a byte stream, for patterns: without escape sequences, but including
// what a later frame overwrote. What a person sees is on the screen; a pattern may
// also match what has scrolled by.

type State = "text" | "escape" | "csi" | "string" | "string-escape";

const CR = 0x0d;
const PLAIN = /^[^\p{Cc}]*$/u;

/** Turns raw output into searchable text, piece by piece, wherever it is split. */
export class PlainStream {
	#state: State = "text";
	#endsInCr = false;
	readonly #decoder = new TextDecoder();

	feed(bytes: Uint8Array): string {
		const decoded = this.#decoder.decode(bytes, { stream: true });
		// A trailing CR is held back: CRLF is one line end.
		const text =
			(this.#endsInCr ? "\r" : "") + (this.#state === "text" && PLAIN.test(decoded) ? decoded : this.#strip(decoded));
		let end = text.length;
		while (text.charCodeAt(end - 1) === CR) end--;
		this.#endsInCr = end < text.length;
		// A lone CR repaints the line, which for a pattern is a new line.
		return text.slice(0, end).replace(/\r+\n?/g, "\n");
	}

	#strip(decoded: string): string {
		let text = "";
		for (const char of decoded) {
			const code = char.codePointAt(0) ?? 0;
			switch (this.#state) {
				case "text":
					if (code === 0x1b) this.#state = "escape";
					else if (code === 0x0a || code === 0x09 || code === 0x0d || (code >= 0x20 && code !== 0x7f)) text += char;
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
		return text;
	}
}
