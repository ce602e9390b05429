// The simple commands in a shell command line, as far as they can be known without running it: quotes
// and escapes resolved, and what is inside substitutions, subshells, here-documents and loops included.
//
// For rules that ask or deny, so every doubt is kept: a part of a word that only the shell knows is `ANY`, and a
// line that cannot be followed is `unclear`. What a script or another interpreter does is not seen.

/** In a word: text that only the shell knows. */
export const ANY = "\0";

export interface SimpleCommand {
	/** The command word first. */
	readonly words: readonly string[];
	/** What it reads as its input, where the line says so; null: from a pipe or a file. */
	readonly stdin?: string | null;
}

/** While it is read. A here-document comes after the line of its command. */
interface Draft {
	words: string[];
	stdin?: string | null;
}

export interface CommandLine {
	readonly commands: readonly SimpleCommand[];
	/** It may run something that is not in `commands`. */
	readonly unclear: boolean;
}

const MAX_CHARS = 200_000;
const MAX_DEPTH = 12;
const BLANK = /[ \t\r]/;
const EXPANDED = /[A-Za-z0-9_@*#?$!-]/;
/** Words that a command may follow. */
const BEFORE_COMMAND = new Set([
	...["if", "then", "else", "elif", "while", "until", "do", "!", "{", "}", "fi", "done", "esac"],
	...["begin", "end", "and", "or", "not"],
]);
const ASSIGNMENT = /^[A-Za-z_]\w*(?:\[.*\])?\+?=/;
/** Variables whose value is run by a shell or by another program. */
const RUN_VARIABLE = new RegExp(
	`^(?:${[
		"(?:\\w+_)?(?:PAGER|EDITOR|VISUAL|BROWSER|ASKPASS)",
		...["GIT_SSH", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "GIT_CONFIG_VALUE_\\d+"],
		...["GIT_CONFIG_PARAMETERS", "LESSOPEN", "LESSCLOSE", "PROMPT_COMMAND", "RSYNC_RSH", "CVS_RSH", "TAR_OPTIONS"],
		"BASH_FUNC_.*",
	].join("|")})$`,
);
/** Variables whose value a shell expands: its prompts, and the names of its start files. */
const EXPANDED_VARIABLE = /^(?:PS\d|RPS\d|[RS]?PROMPT\d?|BASH_ENV|ENV)$/;
/** Variables whose value is arguments of a program. */
const ARGUMENTS: Readonly<Record<string, string>> = { GIT_CONFIG_PARAMETERS: "git -c", TAR_OPTIONS: "tar" };
/** What follows up to the next separator is no command. */
const NO_COMMAND = new Set(["for", "select", "case"]);

export function commandsIn(text: string): CommandLine {
	const parser = new Parser(0);
	parser.parse(text);
	return parser;
}

/** The commands in `NAME=value` where something runs or expands the value. */
export function commandsInVariable(assignment: string, depth = 0): CommandLine {
	const parser = new Parser(depth);
	const [, name = "", value = ""] = /^([A-Za-z_][^\s=[]*?)(?:\[[^\]]*\])?\+?=(.*)$/s.exec(assignment) ?? [];
	if (EXPANDED_VARIABLE.test(name)) parser.expand(value);
	if (RUN_VARIABLE.test(name)) parser.parse(commandInValue(name, value.replaceAll(ANY, "$x")));
	return parser;
}

function commandInValue(name: string, value: string): string {
	const program = ARGUMENTS[name];
	if (program !== undefined) return `${program} ${value}`;
	// A bar is for `less` and says how the command is read; with `!` an alias of git is a command, without it another git.
	const text = value.replace(/^[|!-]+/, "");
	return name.startsWith("GIT_CONFIG_") ? `${text}\ngit ${text}` : text;
}

/** The same line with the commands in these variables. */
export function withVariables(line: CommandLine, env: Readonly<Record<string, string>>): CommandLine {
	return joined([line, ...Object.entries(env).map(([name, value]) => commandsInVariable(`${name}=${value}`))]);
}

export const joined = (lines: readonly CommandLine[]): CommandLine => ({
	commands: lines.flatMap(({ commands }) => commands),
	unclear: lines.some(({ unclear }) => unclear),
});

/** A program and its arguments, with no shell between. */
export const commandOf = (argv: readonly string[]): CommandLine => ({ commands: [{ words: argv }], unclear: false });

/** Where a substitution begins inside the brackets of `name[…]`; -1: nowhere. */
function substitutionInSubscript(text: string): number {
	let depth = 0;
	for (let at = 1; at < text.length; at++) {
		const char = text[at]!;
		if (char === "[" && (depth > 0 || /\w/.test(text[at - 1]!))) depth++;
		else if (char === "]") depth = Math.max(0, depth - 1);
		else if (depth > 0 && (char === "`" || (char === "$" && /[({]/.test(text[at + 1] ?? "")))) return at;
	}
	return -1;
}

const ESCAPE = /\\(?:x([\da-f]{1,2})|u([\da-f]{1,4})|([0-7]{1,3})|(.))/gis;

/** Escapes of `$'…'` and of prompts resolved. */
const unescaped = (text: string): string =>
	text.replace(ESCAPE, (_, hex?: string, unicode?: string, octal?: string, char = "") => {
		const digits = hex ?? unicode ?? octal;
		if (digits !== undefined) return String.fromCharCode(Number.parseInt(digits, octal === undefined ? 16 : 8));
		return { n: "\n", t: "\t", r: "\r" }[char as string] ?? (char as string);
	});

interface Heredoc {
	readonly end: string;
	readonly quoted: boolean;
	readonly tabs: boolean;
	readonly of: Draft;
}

class Parser implements CommandLine {
	readonly commands: SimpleCommand[] = [];
	unclear = false;
	readonly #depth: number;
	#text = "";
	#at = 0;

	constructor(depth: number) {
		this.#depth = depth;
	}

	parse(text: string): void {
		this.#text = text.replaceAll("\\\r\n", "").replaceAll("\\\n", "");
		if (text.length > MAX_CHARS || this.#depth > MAX_DEPTH || text.includes(ANY)) this.unclear = true;
		else this.#list();
	}

	/** Text that the shell expands where it uses it, before or after it resolves escapes in it. */
	expand(text: string): void {
		for (const one of new Set([text, unescaped(text)])) this.#expanded(one);
	}

	/** Everything up to the end. */
	#list(): void {
		let command: Draft = { words: [] };
		let heredocs: Heredoc[] = [];
		let open = 0;
		const next = (piped: boolean) => {
			this.#add(command);
			command = { words: [], ...(piped && { stdin: null }) };
		};
		while (this.#at < this.#text.length) {
			const char = this.#text[this.#at]!;
			const two = this.#text.slice(this.#at, this.#at + 2);
			if (BLANK.test(char)) this.#at++;
			else if (char === "\n") {
				this.#at++;
				for (const heredoc of heredocs) this.#body(heredoc);
				heredocs = [];
				next(false);
			} else if (char === "#") this.#comment();
			else if (two === "((" && command.words.length === 0) this.#arithmetic(2);
			else if (two === "<(" || two === ">(") {
				this.#substituted();
				command.words.push(ANY);
			} else if (char === "(" || char === ")") {
				open += char === "(" ? 1 : -1;
				this.#at++;
				next(false);
			} else if (two === "&>" || char === "<" || char === ">") this.#redirect(command, heredocs);
			else if (";&|".includes(char)) {
				while (";&|".includes(this.#text[this.#at] ?? " ")) this.#at++;
				next(char === "|" && two !== "||");
			} else {
				const word = this.#word();
				// `2>`, `{fd}>`: this is part of the redirection.
				if (!(/^(?:\d+|\{\w+\})$/.test(word) && /[<>]/.test(this.#text[this.#at] ?? ""))) command.words.push(word);
			}
		}
		next(false);
		// In `case` a pattern ends with a parenthesis that nothing has opened.
		if (open > 0 || heredocs.length > 0) this.unclear = true;
	}

	#add(command: Draft): void {
		const { words } = command;
		while (words.length > 0 && (BEFORE_COMMAND.has(words[0]!) || ASSIGNMENT.test(words[0]!))) {
			this.#take(commandsInVariable(words.shift()!, this.#depth + 1));
		}
		// Its name follows, and then its body.
		if (words[0] === "function") words.splice(0, words[2] === "{" ? 3 : 2);
		const [first] = words;
		if (first === undefined || NO_COMMAND.has(first)) return;
		// `!!` and `^a^b` are commands from the history.
		if (first.includes(ANY) || /^[!^]./.test(first)) this.unclear = true;
		this.commands.push(command);
	}

	/** An interactive zsh takes it for words. Its apostrophes say nothing. */
	#comment(): void {
		const from = this.#at + 1;
		this.#at = this.#endOfLine();
		const inner = new Parser(this.#depth + 1);
		inner.parse(this.#text.slice(from, this.#at));
		this.commands.push(...inner.commands);
	}

	/** `<(…)` or `>(…)`: what is in the second reads what is written to it. */
	#substituted(): void {
		const reads = this.#text[this.#at++] === ">";
		const before = this.commands.length;
		this.#parenthesised();
		if (reads) this.commands.push(...this.commands.splice(before).map((one) => ({ stdin: null, ...one })));
	}

	#redirect(command: Draft, heredocs: Heredoc[]): void {
		const operator = /^(?:&>>?|<<<|<<-?|<>|<&|>>|>&|>\||<|>)/.exec(this.#text.slice(this.#at, this.#at + 3))![0];
		this.#at += operator.length;
		while (BLANK.test(this.#text[this.#at] ?? "")) this.#at++;
		if (/^[<>]\(/.test(this.#text.slice(this.#at, this.#at + 2))) {
			this.#substituted();
			command.stdin = null;
			return;
		}
		const from = this.#at;
		const target = this.#word();
		if (target === "" && from === this.#at) this.unclear = true;
		else if (operator.startsWith("<<") && operator !== "<<<") {
			const quoted = /['"\\]/.test(this.#text.slice(from, this.#at));
			heredocs.push({ end: target, quoted, tabs: operator === "<<-", of: command });
		} else if (operator.startsWith("<")) command.stdin = operator === "<<<" ? target : null;
	}

	#body({ end, quoted, tabs, of }: Heredoc): void {
		const lines: string[] = [];
		for (let line: string | null = null; line !== end; ) {
			if (this.#at >= this.#text.length) {
				this.unclear = true;
				break;
			}
			if (line !== null) lines.push(line);
			const to = this.#endOfLine();
			line = this.#text.slice(this.#at, to);
			if (tabs) line = line.replace(/^\t+/, "");
			this.#at = to + 1;
		}
		const body = lines.join("\n");
		of.stdin = quoted ? body : this.#expanded(body);
	}

	#endOfLine(): number {
		const at = this.#text.indexOf("\n", this.#at);
		return at < 0 ? this.#text.length : at;
	}

	#word(): string {
		let word = "";
		let hasBrace = false;
		let hasBracket = false;
		while (this.#at < this.#text.length) {
			const char = this.#text[this.#at]!;
			if (/[\s;&|()<>]/.test(char)) break;
			if (char === "\\") {
				word += this.#text[this.#at + 1] ?? "";
				this.#at += 2;
			} else if (char === "'") word += this.#until("'");
			else if (char === '"') word += this.#double();
			else if (char === "$" || char === "`") word += this.#expansion();
			else if (char === "!" && /[^\s=(]/.test(this.#text[this.#at + 1] ?? " ")) {
				word += ANY;
				this.#at++;
			} else {
				hasBrace ||= char === "{";
				hasBracket ||= char === "[";
				word += "*?[".includes(char) ? this.#glob(char) : char;
				this.#at++;
			}
		}
		this.#subscripts(hasBracket ? word.replaceAll(ANY, "[") : word);
		// `{rm,-rf,x}` is three words.
		return hasBrace && /\{[^}]*(?:,|\.\.)[^}]*\}/.test(word) ? ANY : word;
	}

	/** Bash expands a subscript also where it was quoted: `[[ -v 'a[$(…)]' ]]`, `x='a[$(…)]'; echo $((x))`. */
	#subscripts(word: string): void {
		const at = substitutionInSubscript(word);
		if (at >= 0) this.#expanded(word.slice(at));
	}

	/** `[` alone is a command. */
	#glob(char: string): string {
		const isTest = char === "[" && /[\s[]/.test(this.#text[this.#at + 1] ?? " ");
		return isTest || (char === "[" && this.#text[this.#at - 1] === "[") ? char : ANY;
	}

	/** Up to a closing quote, as it is. */
	#until(quote: string): string {
		const end = this.#text.indexOf(quote, this.#at + 1);
		if (end < 0) this.unclear = true;
		const inside = this.#text.slice(this.#at + 1, end < 0 ? undefined : end);
		this.#at = end < 0 ? this.#text.length : end + 1;
		return inside;
	}

	/** From an opening quote to the closing one; `toEnd`: text in which quotes are characters. */
	#double({ toEnd = false } = {}): string {
		if (!toEnd) this.#at++;
		let text = "";
		while (this.#at < this.#text.length) {
			const char = this.#text[this.#at]!;
			const next = this.#text[this.#at + 1] ?? "";
			if (char === '"' && !toEnd) {
				this.#at++;
				return text;
			}
			if (char === "\\") {
				text += '$`"\\'.includes(next) ? next : `\\${next}`;
				this.#at += 2;
			} else if (char === "`" || (char === "$" && next !== "'" && next !== '"')) text += this.#expansion();
			else {
				text += char === "!" && /[^\s="]/.test(next) ? ANY : char;
				this.#at++;
			}
		}
		this.unclear ||= !toEnd;
		return text;
	}

	/** At a `$` or a backtick. */
	#expansion(): string {
		const rest = this.#text.slice(this.#at, this.#at + 3);
		if (rest.startsWith("`")) {
			this.#backticks();
			return ANY;
		}
		if (rest.startsWith("$'")) {
			this.#ansiQuoted();
			return ANY;
		}
		if (rest.startsWith('$"')) {
			this.#at++;
			return this.#double();
		}
		if (rest.startsWith("$((")) this.#arithmetic(3);
		else if (rest.startsWith("$(")) {
			this.#at++;
			this.#parenthesised();
		} else if (/^\$\{[\s|]/.test(rest)) this.#nested(this.#balanced("{", "}").replace(/^\|/, ""));
		else if (rest.startsWith("${")) this.#parameter(this.#balanced("{", "}"));
		else if (EXPANDED.test(rest[1] ?? ""))
			this.#at += 1 + (/^\w+/.exec(this.#text.slice(this.#at + 1))?.[0].length ?? 1);
		else {
			this.#at++;
			return "$";
		}
		return ANY;
	}

	/** `${x@P}`, and `${(e)x}` of zsh, expand the value once more. */
	#parameter(inside: string): void {
		if (/@P$|^\([^)]*[e%]/.test(inside)) this.unclear = true;
		this.#expanded(inside);
	}

	#ansiQuoted(): void {
		const from = this.#at + 2;
		for (this.#at = from; this.#at < this.#text.length; this.#at++) {
			if (this.#text[this.#at] === "\\") this.#at++;
			else if (this.#text[this.#at] === "'") {
				this.#subscripts(unescaped(this.#text.slice(from, this.#at++)));
				return;
			}
		}
		this.unclear = true;
	}

	#backticks(): void {
		let inside = "";
		for (this.#at++; this.#at < this.#text.length; this.#at++) {
			const char = this.#text[this.#at]!;
			if (char === "`") {
				this.#at++;
				this.#nested(inside);
				return;
			}
			if (char === "\\" && '`\\$"'.includes(this.#text[this.#at + 1] ?? " ")) this.#at++;
			inside += this.#text[this.#at] ?? "";
		}
		this.unclear = true;
	}

	/** At a `(`. */
	#parenthesised(): void {
		this.#nested(this.#balanced("(", ")"));
	}

	/** `$((…))` and `((…))`: no command, but it may have substitutions. */
	#arithmetic(length: number): void {
		const from = this.#at;
		this.#at += length - 2;
		const inside = this.#balanced("(", ")");
		// `((a); b)` is a subshell in another.
		if (!inside.endsWith(")")) {
			this.#at = from + length - 2;
			this.#parenthesised();
		} else this.#expanded(inside);
	}

	/** What is between this bracket and its counterpart, quotes passed over. */
	#balanced(open: "(" | "{", close: ")" | "}"): string {
		this.#at = this.#text.indexOf(open, this.#at);
		const from = this.#at + 1;
		let depth = 0;
		for (; this.#at < this.#text.length; this.#at++) {
			const char = this.#text[this.#at]!;
			if (char === "\\") this.#at++;
			else if (char === "'" && open === "(") {
				const end = this.#text.indexOf("'", this.#at + 1);
				if (end < 0) break;
				this.#at = end;
			} else if (char === '"') {
				const skipped = new Parser(this.#depth + 1);
				skipped.#text = this.#text;
				skipped.#at = this.#at;
				skipped.#double();
				if (skipped.unclear && skipped.#at >= this.#text.length) break;
				this.#at = skipped.#at - 1;
			} else if (char === open) depth++;
			else if (char === close && --depth === 0) {
				this.#at++;
				return this.#text.slice(from, this.#at - 1);
			}
		}
		this.#at = this.#text.length;
		this.unclear = true;
		return this.#text.slice(from);
	}

	/** Text in which only expansions have a meaning, with those replaced. */
	#expanded(text: string): string {
		const inner = new Parser(this.#depth + 1);
		inner.#text = text;
		const expanded = inner.#double({ toEnd: true });
		this.#take(inner);
		return expanded;
	}

	#nested(text: string): void {
		const inner = new Parser(this.#depth + 1);
		inner.parse(text);
		this.#take(inner);
	}

	#take({ commands, unclear }: CommandLine): void {
		this.commands.push(...commands);
		this.unclear ||= unclear;
	}
}
