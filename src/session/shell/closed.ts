// May a line be put after this text without becoming part of it?
//
// A command gets a last line that reports its status. Text that would swallow that
// line (a here-document that never ends, a pipe with nothing behind it) goes without:
// then the shell's own complaint is the answer, and its prompt reports the status.

const HEREDOC = /(?<!<)<<(-?)[ \t]*(?:'([^'\n]+)'|"([^"\n]+)"|\\?([^\s'"<>|&;()\\]+))/g;
const CONTINUES = /(&&|\|\|?&?)\s*$/;
// `for x in a b` takes a `{` after it for its body.
const LOOP_HEADER = /(?:^|[\n;&|({]|\b(?:do|then|else))[ \t]*(?:for|select)\b(?:(?!\bdo\b)[^\n])*\s*$/;
const CASES = /(?<![\w-])case(?![\w-])/g;
const ESACS = /(?<![\w-])esac(?![\w-])/g;

/** False when in doubt, which costs only the status of the individual parts of a pipe. */
export function isClosed(text: string): boolean {
	const end = text.slice(-1000);
	if (CONTINUES.test(end) || LOOP_HEADER.test(end)) return false;
	if (count(text, CASES) > count(text, ESACS)) return false;
	return openHeredoc(text) === null;
}

/** The word that would end a here-document and is not there, as far as one can see without being the shell. */
export function openHeredoc(text: string): string | null {
	for (const { 1: dash, 2: single, 3: double, 4: bare, index } of text.matchAll(HEREDOC)) {
		const word = (single ?? double ?? bare)!;
		const lines = text.slice(text.indexOf("\n", index) + 1 || text.length).split("\n");
		if (!lines.some((line) => (dash ? line.replace(/^\t+/, "") : line) === word)) return word;
	}
	return null;
}

const count = (text: string, words: RegExp): number => text.match(words)?.length ?? 0;
