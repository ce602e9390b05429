// What the line under the cursor looks like: a question, a prompt, a pager, progress.
//
// Only used where the kernel is not readable, or to refine what it shows. A table, first
// match wins. Each pattern is anchored at the end of the line, so a question with an
// answer already typed after it does not match, and each is linear, because the line is
// untrusted.

export type LineShape =
	| "empty"
	| "progress"
	| "secret"
	| "choice"
	| "question"
	| "keypress"
	| "completions"
	| "pager"
	| "menu"
	| "prompt"
	| "text";

interface Row {
	readonly shape: LineShape;
	readonly pattern: RegExp;
}

// Longer lines are output: no prompt has 400 characters, and no pattern should scan them.
const MAX_CHARS = 400;

const rows: readonly Row[] = [
	{ shape: "empty", pattern: /^\s*$/ },
	{ shape: "pager", pattern: /^-{2} ?more ?-{2}(?:\s?\(?(?:next file: .*|\d+%)\)?)?$/i },
	{ shape: "pager", pattern: /^(?:\(END\)|:|lines \d+-\d+.*|Manual page .* line \d+.*|.{0,200} \(END\)|~)$/ },
	{ shape: "prompt", pattern: /^(?:\.{3}|In \[\d+\]:)$/ },
	// BusyBox in the root directory, as in most containers: no spinner, which has a word behind it.
	{ shape: "prompt", pattern: /^\/ [#$]$/ },
	{ shape: "keypress", pattern: /\b(?:press|hit|type) (?:any key|<?enter>?|<?return>?|\[enter\]|a key|q)\b.{0,60}$/i },
	// A shell's line editor, before it lists very many.
	{ shape: "completions", pattern: /\ball \d+ possibilities\b.{0,40}\?(?: \(y or n\))?$/i },
	{ shape: "keypress", pattern: /^\W*(?:(?:any|a|which) )?keys?\s*[?:]$/i },
	// Work that names itself, before the patterns that its colon or question mark would match.
	{ shape: "progress", pattern: /\b\d{1,3}(?:\.\d+)?\s?%\s*\S{0,12}\s*$/ },
	{ shape: "progress", pattern: /(?:\.{3}|…)\s*[|/\\-]?$/ },
	{ shape: "progress", pattern: /^[⠀-⣿|/\\◐◓◑◒-]\s+\S/ },
	{ shape: "progress", pattern: /^\s*[\w-]*ing\b[^?]*:?$/i },
	{
		shape: "secret",
		pattern: /\b(?:password|passphrase|passcode|pin|secret|token|verification code|otp)\b[^:?]{0,80}[:?]$/i,
	},
	{ shape: "secret", pattern: /\b(?:input|typing) is (?:masked|hidden|not shown)\W{0,3}$/i },
	// One of several letters: [Y/n], (yes/no), [y,n,q,a,d,e,?]
	{ shape: "choice", pattern: /[[(<]\s*y(?:es)?\s*[/|,]\s*n(?:o)?(?:\s*[/|,][^\])>]{0,40})?\s*[\])>]\s*[:?>]?$/i },
	{ shape: "choice", pattern: /\(\[?y\]?\/\[?n\]?\)\s*[:?]?$/i },
	{ shape: "question", pattern: /\?\s*(?:\([^()]{0,60}\)|\[[^[\]]{0,60}\])?\s*[:>›»]?$/ },
	{ shape: "menu", pattern: /^\s*[?◆◇❯›»]\s+\S/ },
	// (gdb)
	{ shape: "prompt", pattern: /^\s*\([\w:.-]{1,20}\)$/ },
	// a shell, a database console, irb: short, and ending in the sign that has meant "your turn" since the teletype
	{ shape: "prompt", pattern: /^.{0,120}[$#%>❯➜λ]$/ },
	// package name: (dialtone)
	{ shape: "question", pattern: /:\s*\([^()]{0,80}\)$/ },
	{ shape: "question", pattern: /^.{1,160}(?:\[[^[\]]{0,60}\])?:$/ },
];

export function shapeOf(line: string): LineShape {
	if (line.length > MAX_CHARS) return "text";
	const trimmed = line.trimEnd();
	return rows.find((row) => row.pattern.test(trimmed))?.shape ?? "text";
}

/** A prompt's sign with something behind it: what is on the line was typed at that prompt, for all that it looks like. */
export function isBehindPrompt(line: string): boolean {
	return /[$#%>❯➜λ]\s+\S/.test(line.slice(0, MAX_CHARS));
}

/** Shapes that ask for something. */
export function asks(shape: LineShape): boolean {
	return shape !== "empty" && shape !== "progress" && shape !== "text";
}
