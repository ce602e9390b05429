// Which rule of the policy a call falls under: the first that matches says whether it is allowed, needs a
// person, or is refused. No rule: allowed.

import { ANY, type CommandLine, commandsIn, commandsInVariable, type SimpleCommand } from "./command-line.ts";
import { commandsOfGit } from "./git-commands.ts";
import { commandsOfOptions } from "./option-commands.ts";
import { isAbout, matchesGlob, type Rule } from "./policy.ts";
import type { Caller } from "./start-spec.ts";

/** What a call does to the world, whichever tool set it is of. */
export interface Deed {
	readonly tool: string;
	readonly effect: "starts" | "types" | "ends";
	/** What is run, or entered at a shell's prompt. */
	readonly line?: CommandLine | undefined;
	/** By name, without SIG. */
	readonly signal?: string | undefined;
	/** Done to a session of another owner. */
	readonly othersSession: boolean;
}

export function ruleFor(rules: readonly Rule[], deed: Deed, caller: Caller): Rule | null {
	return rules.find((rule) => isAbout(rule, caller) && isAboutDeed(rule, deed)) ?? null;
}

function isAboutDeed({ tool, command, signal, othersSession, then }: Rule, deed: Deed): boolean {
	if (tool !== undefined && tool !== deed.effect && !matchesGlob(tool, deed.tool)) return false;
	if (signal !== undefined && (deed.signal === undefined || !matchesGlob(bareSignal(signal), deed.signal)))
		return false;
	if (othersSession && !deed.othersSession) return false;
	if (command === undefined) return true;
	return deed.line !== undefined && (then === "allow" ? isAll(command, deed.line) : mayRun(command, deed.line));
}

const bareSignal = (name: string) => name.toUpperCase().replace(/^SIG/, "");

/** Programs that run the command in their arguments. */
const RUNNERS = new Set([
	...["env", "sudo", "doas", "nohup", "time", "exec", "command", "builtin", "nice", "ionice", "timeout", "stdbuf"],
	...["setsid", "su", "runuser", "watch", "script", "flock", "find", "ssh", "chroot", "unshare", "nsenter", "bwrap"],
	...["systemd-run", "busybox", "toybox", "eval", "trap", "alias", "strace", "ltrace", "taskset", "chrt", "prlimit"],
	...["unbuffer", "fakeroot", "screen", "tmux", "sg", "pkexec", "coproc", "noglob", "nocorrect", "setarch", "gosu"],
	...["dbus-run-session", "firejail", "proot", "expect", "entr", "fd", "docker", "podman", "kubectl", "setpriv"],
	...["complete", "mapfile", "readarray", "npx", "pnpx", "bunx", "bind", "bindkey", "start-stop-daemon", "capsh"],
]);
/** Those that do so after one of these words. */
const RUNNING_COMMAND = new RegExp(
	`^(?:${[
		"(?:npm|pnpm|yarn|bun) (?:exec|x|dlx|explore)",
		"(?:bundle|direnv|mise|rbenv|opam) (?:exec|x)",
		"(?:uv|poetry|pipenv|pdm|conda) run",
		"history -s",
	].join("|")})$`,
);
/** The dynamic loader runs the program that it is given: `/lib64/ld-linux-x86-64.so.2`. */
const LOADER = /^ld(?:64)?(?:-[\w.-]+)?\.so(?:\.\d+)*$/;
/** Those that set variables for what comes later. */
const SETTING = new Set(["export", "declare", "typeset", "local", "readonly", "setenv"]);
/** Those that give a key a command, or text to enter. */
const BINDING = new Set(["bind", "bindkey"]);
/** Those that add arguments which are not in the command line. */
const ADDING = new Set(["xargs", "parallel"]);
const SHELLS = new Set(["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash", "csh", "tcsh"]);
/** Those that read commands from a file, which may be their input. */
const SOURCING = new Set([".", "source", "at", "batch", "crontab"]);
/** Those that give a command another name, under which a later line adds its arguments. */
const NAMING = new Set(["alias", "hash"]);
const MAX_WORDS = 1000;
/** `sudo sudo sudo …`: beyond so many comparisons a line counts as matching. */
const MAX_COMPARISONS = 5000;

export const isShell = (program: string): boolean => SHELLS.has(named(program).replace(/^-/, ""));

/** `/usr/bin/git` is git. */
const named = (word: string): string => word.slice(word.lastIndexOf("/") + 1).replace(/^=/, "");

/** `"\C-x": command`; the escapes of a text may enter it. */
const boundIn = (word: string): string =>
	word
		.replace(/^\s*(?:"(?:\\.|[^"\\])*"|[^\s:]+)\s*:/s, "")
		.trim()
		.replace(/^(["'])(.*)\1$/s, "$2")
		.replace(/\\(?:[CM]-)*./g, "\n")
		.replace(/\^[JM]/gi, "\n");

/** The command of an option in one word with it: `--exec=…`, `-c…`, `-oProxyCommand=…`. */
const withoutOption = (word: string): string =>
	word.replace(/^(?:--\w[\w-]*=|-\w)/, "").replace(/^(?:\w+=|\w+Command\s+)/i, "");

/** Whether any command of the line could be one of these: for rules that ask or deny. */
export function mayRun(pattern: string, line: CommandLine): boolean {
	return new Search(pattern).inLine(line);
}

class Search {
	readonly #pattern: string;
	#comparisons = 0;

	constructor(pattern: string) {
		this.#pattern = pattern;
	}

	inLine({ commands, unclear }: CommandLine): boolean {
		return unclear || commands.some((one) => this.#in(one));
	}

	#inText(text: string): boolean {
		return this.inLine(commandsIn(text.replaceAll(ANY, "$x")));
	}

	#inVariable(word: string): boolean {
		return this.inLine(commandsInVariable(word));
	}

	#in({ words, stdin }: SimpleCommand): boolean {
		this.#comparisons += words.length;
		if (words.length > MAX_WORDS || this.#comparisons > MAX_COMPARISONS) return true;
		const [first = "", ...rest] = words;
		const program = named(first);
		// Options may be between a program and what it does: `git -C there push`.
		const texts = [words.join(" "), ...rest.map((_, at) => [program, ...rest.slice(at)].join(" ")), program];
		if (texts.some((text) => possible(this.#pattern, text))) return true;
		const runsLines = isShell(program) || SOURCING.has(program);
		if (runsLines && stdin !== undefined && (stdin === null || this.#inText(stdin))) return true;
		if (NAMING.has(program) && rest.some((word) => this.#inText(`${word.replace(/^[^=]*=/, "")} $x`))) return true;
		if (BINDING.has(program) && rest.some((word) => this.#inText(boundIn(word)))) return true;
		if (program === "git" && this.inLine(commandsOfGit(rest))) return true;
		if (this.inLine(commandsOfOptions(program, rest))) return true;
		// Without `-l` it runs a command from the history.
		if (program === "fc" && !/^-\w*l/.test(rest[0] ?? "")) return true;
		const adds = ADDING.has(program);
		const runsRest = rest.some((word) => RUNNING_COMMAND.test(`${program} ${word}`));
		const runs = runsRest || RUNNERS.has(program) || LOADER.test(program);
		if ((runs || SETTING.has(program)) && rest.some((word) => this.#inVariable(word))) return true;
		if (!runsLines && !adds && !runs) return false;
		if (adds && rest.some(isShell)) return true;
		// Which of its arguments begins the command depends on its options: any may.
		const more = adds ? [ANY] : [];
		const input = stdin === undefined || runsLines ? {} : { stdin };
		if (rest.some((_, at) => this.#in({ words: [...rest.slice(at), ...more], ...input }))) return true;
		const lines = [...rest.filter((word) => /[\s;&|$`(<>]|^--?\w[\w-]*[=/]/.test(word)), rest.join(" ")];
		return lines.some((text) => this.#inText(text.replace(/^\w+=/, "")) || this.#inText(withoutOption(text)));
	}
}

/** Whether every command of the line is certainly one of these: for rules that allow. */
function isAll(pattern: string, { commands, unclear }: CommandLine): boolean {
	const isOne = ({ words }: SimpleCommand) => {
		const text = words.join(" ");
		return !text.includes(ANY) && patternsOf(pattern).some((one) => matchesGlob(one, text));
	};
	return !unclear && commands.length > 0 && commands.every(isOne);
}

/** `git push *` is also `git push` alone. */
const patternsOf = (pattern: string) => (pattern.endsWith(" *") ? [pattern, pattern.slice(0, -2)] : [pattern]);

/** Beyond this a text with unknown parts is not compared, but taken to match. */
const MAX_COMPARED_CHARS = 4000;

/** Whether the pattern matches the text for some value of its unknown parts. */
function possible(pattern: string, text: string): boolean {
	if (!text.includes(ANY)) return patternsOf(pattern).some((one) => matchesGlob(one, text));
	return text.length > MAX_COMPARED_CHARS || patternsOf(pattern).some((one) => intersect(one, text));
}

/** Both have wildcards: `reached[i]` says whether the pattern from i on and the text from here on can be the same. */
function intersect(pattern: string, text: string): boolean {
	let below: boolean[] = [];
	for (let at = text.length; at >= 0; at--) {
		const reached: boolean[] = [];
		for (let i = pattern.length; i >= 0; i--) {
			const isEnd = at === text.length && i === pattern.length;
			const star = pattern[i] === "*" && (reached[i + 1]! || (at < text.length && below[i]!));
			const any = text[at] === ANY && (below[i]! || (i < pattern.length && reached[i + 1]!));
			const same = at < text.length && pattern[i] === text[at] && below[i + 1]!;
			reached[i] = isEnd || Boolean(star || any || same);
		}
		below = reached;
	}
	return below[0]!;
}
