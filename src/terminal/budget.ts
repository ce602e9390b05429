// Text within a number of tokens: the head and the tail stay, the cut is visible.
//
// Terminal text has about 2.3 characters to a token, not the 4 of prose; a better count
// may be plugged in. Cuts are made between lines where lines are short enough.

export const CHARS_PER_TOKEN = 2.3;

/** A rough token count. */
export const estimateTokens = (text: string): number => Math.ceil(text.length / CHARS_PER_TOKEN);

export interface Budget {
	/** A better count than characters. Called a few times per text, so it may be slow. */
	readonly count?: (text: string) => number;
	/** What is written in place of what was left out, such as `7 lines, 90 characters`. */
	readonly mark?: (what: string) => string;
	/** The share of the head; the end of output usually matters more. */
	readonly headShare?: number;
}

export interface Fitted {
	readonly text: string;
	readonly truncated: boolean;
	readonly leftOut: { readonly lines: number; readonly chars: number } | null;
}

export function fit(
	text: string,
	maxTokens: number,
	{ count = estimateTokens, mark = (what) => `[… ${what} left out …]`, headShare = 0.3 }: Budget = {},
): Fitted {
	const total = text.length <= maxTokens ? 0 : count(text);
	if (total <= maxTokens) return { text, truncated: false, leftOut: null };
	// The text's own density, so that a plugged-in count decides how many characters fit.
	let chars = Math.max(0, Math.floor((text.length / total) * maxTokens));
	for (;;) {
		const fitted = cut(text, chars, headShare, mark);
		if (chars === 0 || count(fitted.text) <= maxTokens) return fitted;
		chars = Math.floor(chars * 0.9) - 16;
		if (chars < 0) chars = 0;
	}
}

function cut(text: string, chars: number, headShare: number, mark: (what: string) => string): Fitted {
	const head = endOfHead(text, Math.floor(chars * headShare));
	const tail = Math.max(head, startOfTail(text, text.length - (chars - Math.floor(chars * headShare))));
	const gone = text.slice(head, tail);
	const leftOut = { lines: gone.split("\n").length - (gone.endsWith("\n") ? 1 : 0), chars: gone.length };
	const before = text.slice(0, head);
	const breakBefore = before === "" || before.endsWith("\n") ? "" : "\n";
	return {
		text: `${before}${breakBefore}${mark(`${leftOut.lines} lines, ${leftOut.chars} characters`)}\n${text.slice(tail)}`,
		truncated: true,
		leftOut,
	};
}

/** After the last whole line that fits, unless that would waste more than half; never inside a character. */
function endOfHead(text: string, limit: number): number {
	const line = text.lastIndexOf("\n", limit - 1) + 1;
	return line > limit / 2 ? line : wholeCharacter(text, limit);
}

function startOfTail(text: string, limit: number): number {
	const line = text.indexOf("\n", limit - 1) + 1;
	return line > 0 && line - limit < (text.length - limit) / 2 ? line : wholeCharacter(text, limit);
}

const wholeCharacter = (text: string, at: number) => {
	const code = text.charCodeAt(at);
	return code >= 0xdc00 && code <= 0xdfff ? at + 1 : at;
};
