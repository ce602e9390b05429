// May a line be put after this text without becoming part of it?
//
// A command gets a last line that reports its status. Text that would swallow that
// line (a here-document that never ends, a pipe with nothing behind it) goes without:
// then the shell's own complaint is the answer, and its prompt reports the status.

const HEREDOC = /(?<!<)<<(-?)[ \t]*(?:'([^'\n]+)'|"([^"\n]+)"|\\?([^\s'"<>|&;()\\]+))/g;
const CONTINUES = /(&&|\|\|?&?)\s*$/;

/** False when in doubt, which costs only the status of the individual parts of a pipe. */
export function isClosed(text: string): boolean {
	if (CONTINUES.test(text.slice(-200))) return false;
	for (const { 1: dash, 2: single, 3: double, 4: bare, index } of text.matchAll(HEREDOC)) {
		const word = single ?? double ?? bare;
		const lines = text.slice(text.indexOf("\n", index) + 1 || text.length).split("\n");
		if (!lines.some((line) => (dash ? line.replace(/^\t+/, "") : line) === word)) return false;
	}
	return true;
}
