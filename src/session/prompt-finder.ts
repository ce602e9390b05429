// Finds the prompt of a line editor in what it prints after a line was typed: where something is printed over
// it at once (a timer of a REPL), no look at the screen or at the program would come in time.

import { PlainStream } from "./plain-stream.ts";

/** No prompt is longer. */
const MAX_CHARS = 200;

/** Some count their lines. */
const uncounted = (text: string) => text.slice(0, MAX_CHARS).replace(/\d+/g, "0");

export class PromptFinder {
	/** The last prompt that was seen, and who showed it. */
	#prompt: { readonly pid: number; readonly text: string } | null = null;
	#stream = new PlainStream();
	/** What the line has so far; null in the one that was typed into, which begins with the prompt. */
	#line: string | null = null;

	/** This process shows this prompt. */
	seen(pid: number, text: string): void {
		this.#prompt = { pid, text: uncounted(text.trimEnd()) };
	}

	/** Something was typed: what comes from here on may have the next prompt. */
	typed(): void {
		this.#stream = new PlainStream();
		this.#line = null;
	}

	/** The process whose prompt is in this output, at the beginning of a line. */
	feed(bytes: Uint8Array): number | null {
		const prompt = this.#prompt;
		if (prompt === null || prompt.text === "") return null;
		const [rest = "", ...lines] = this.#stream.feed(bytes).split("\n");
		const begun = this.#line === null ? [] : [this.#line + rest];
		this.#line = lines.at(-1) ?? begun[0]?.slice(0, MAX_CHARS) ?? null;
		return [...begun, ...lines].some((line) => uncounted(line).startsWith(prompt.text)) ? prompt.pid : null;
	}
}
