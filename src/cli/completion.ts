// Completion: one function says what may follow, and three short scripts ask it. They hand
// over the words and take lines back; nothing that a session is called is ever evaluated
// by a shell. (Libraries for this pass candidates through `compgen -W` or `eval`, which
// execute `$(…)` in a candidate.) Names come from a running daemon only: Tab starts nothing.

import type { ListedSession } from "../protocol/answer.ts";
import { inShellQuotes } from "../protocol/command-words.ts";
import { Fault } from "../protocol/fault.ts";
import { listAll } from "../tools/list-pages.ts";
import type { Command, Flag, Invocation, Word } from "./command.ts";
import { flagNamed, flagsOf } from "./flags.ts";
import { findCommand } from "./which-command.ts";

type Candidate = readonly [value: string, about: string];
/** What completes a word: these, or what the shell itself knows. */
type Completion = readonly Candidate[] | "files" | "commands";

// The line is executed when the person presses Enter: what would need quoting is not offered.
const PLAIN = /^[\w@%+=:,./-]+$/;

/** `dialtone __complete -- WORD…`: what the last word may become. First how, then one candidate a line. */
export async function complete({ words, io, dependencies }: Invocation, commands: readonly Command[]): Promise<number> {
	const sessions = async () => {
		await using client = await dependencies.peek();
		return client === null ? [] : (await listAll(client)).facts.sessions;
	};
	const found = await completionOf(words, commands, sessions);
	if (typeof found === "string") io.out(`${found}\n`);
	else {
		const given = words.at(-1) ?? "";
		const beginning = given.startsWith("--") && given.includes("=") ? given : given.replace(/^=/, "");
		const lines = found
			.filter(([value]) => value.startsWith(beginning) && PLAIN.test(value))
			.map(([value, about]) => `${value}\t${about.replaceAll(/\s+/g, " ")}\n`);
		io.out(`words\n${lines.join("")}`);
	}
	return 0;
}

async function completionOf(
	words: readonly string[],
	commands: readonly Command[],
	sessions: () => Promise<readonly ListedSession[]>,
): Promise<Completion> {
	// Bash makes `--flag=value` three words.
	const [verb, ...rest] = words.filter((word, i) => word !== "=" || i === words.length - 1);
	const given = rest.at(-1);
	if (given === undefined) return verbs(commands, verb ?? "");
	const command = findCommand(verb!, commands);
	if (!("run" in command)) return [];
	const flags = flagsOf(command);
	const position = { words: 0, value: undefined as Flag | undefined };
	for (const word of rest.slice(0, -1)) {
		if (position.value !== undefined) position.value = undefined;
		else if (word === "--") return "commands";
		else if (!word.startsWith("-") || word === "-") position.words++;
		else {
			const flag = flagNamed(flags, word);
			if (flag !== undefined && flag.kind !== "switch") position.value = flag;
		}
	}
	if (position.value !== undefined) return valuesOf(position.value, sessions);
	const [, name, equals] = /^--([\w-]+)(=)/.exec(given) ?? [];
	if (equals && flags[name!]) {
		const values = await valuesOf(flags[name!]!, sessions);
		return typeof values === "string" ? values : values.map(([value, about]) => [`--${name}=${value}`, about]);
	}
	const declared = command.words ?? [];
	const word = declared[Math.min(position.words, declared.length - 1)];
	const inCommand = word?.rest === "command" && position.words >= declared.length;
	if (given.startsWith("-") && !inCommand)
		return Object.entries(flags).map(([name, { summary }]) => [`--${name}`, summary]);
	if (word === undefined || (position.words >= declared.length && word.rest === undefined)) return [];
	return inCommand ? "files" : candidates(word, commands, sessions);
}

/** Aliases only where they are begun: the list is long enough. */
function verbs(commands: readonly Command[], given: string): readonly Candidate[] {
	return commands
		.filter(({ hidden }) => !hidden)
		.flatMap(({ name, aliases = [], summary }) =>
			[name, ...(given === "" || name.startsWith(given) ? [] : aliases)].map((one): Candidate => [one, summary]),
		);
}

async function valuesOf(flag: Flag, sessions: () => Promise<readonly ListedSession[]>): Promise<Completion> {
	if (flag.choices) return flag.choices.map((choice) => [choice, ""]);
	if (flag.value === "SESSION") return named(await sessions(), "ended session");
	return flag.value === "DIR" || flag.value === "FILE" ? "files" : [];
}

async function candidates(
	{ is }: Word,
	commands: readonly Command[],
	sessions: () => Promise<readonly ListedSession[]>,
): Promise<Completion> {
	if (is === undefined) return [];
	if (is === "command") return "commands";
	if (is === "verb") return verbs(commands, "");
	return typeof is === "string" ? named(await sessions(), is) : is.map((one) => [one, ""]);
}

/** Running ones first, each name once. */
function named(
	sessions: readonly ListedSession[],
	is: "session" | "running session" | "ended session",
): readonly Candidate[] {
	const running = sessions.filter(({ status }) => status === "running");
	const ended = sessions.filter(({ status }) => status !== "running");
	const wanted = is === "running session" ? running : is === "ended session" ? ended : [...running, ...ended];
	const byName = new Map<string, string>();
	for (const { name, status, command } of wanted) if (!byName.has(name)) byName.set(name, `${status}: ${command}`);
	return [...byName];
}

const quoted = (words: readonly string[]) => words.map(inShellQuotes).join(" ");

const SCRIPTS: Readonly<Record<string, (ask: string) => string>> = {
	bash: (ask) => `# dialtone completion for bash: eval "$(dialtone completion bash)"
_dialtone() {
	local how value
	COMPREPLY=()
	{
		IFS= read -r how
		while IFS=$'\\t' read -r value _; do COMPREPLY+=("$value"); done
	} < <(${ask} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
	case "$how" in
		files) compopt -o default ;;
		commands) while IFS= read -r value; do COMPREPLY+=("$value"); done < <(compgen -c -- "\${COMP_WORDS[COMP_CWORD]}") ;;
	esac
}
complete -o nosort -F _dialtone dialtone
`,
	zsh: (ask) => `#compdef dialtone
# dialtone completion for zsh: eval "$(dialtone completion zsh)"
_dialtone() {
	local line
	local -a lines pairs
	lines=("\${(@f)$(${ask} "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
	case "$lines[1]" in
		files) _files ;;
		commands) _command_names ;;
		words)
			for line in "\${(@)lines[2,-1]}"; do
				pairs+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
			done
			(( $#pairs )) && _describe -V dialtone pairs ;;
	esac
}
compdef _dialtone dialtone
`,
	fish: (ask) => `# dialtone completion for fish: dialtone completion fish | source
function __dialtone_complete
	set -l words (commandline -opc) (commandline -ct)
	set -l lines (${ask} $words[2..] 2>/dev/null)
	switch "$lines[1]"
		case files
			__fish_complete_path (commandline -ct)
		case commands
			__fish_complete_command
		case words
			printf '%s\\n' $lines[2..]
	end
end
complete -c dialtone -f -k -a '(__dialtone_complete)'
`,
};

export async function completion({ words, io, dependencies }: Invocation): Promise<number> {
	const script = SCRIPTS[words[0]!];
	if (script === undefined)
		throw new Fault("bad_input", { problems: [`choose a shell: ${Object.keys(SCRIPTS).join(", ")}`] });
	io.out(script(quoted([...dependencies.self(), "__complete", "--"])));
	return 0;
}
