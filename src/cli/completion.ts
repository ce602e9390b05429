// Completion scripts for bash, zsh and fish, printed from the table of commands, so
// that they always match the parser. Session names come from
// a running daemon only (`dialtone __sessions`): pressing Tab starts nothing.

import { Fault } from "../protocol/fault.ts";
import type { Command, Invocation } from "./command.ts";
import { COMMON_FLAGS } from "./flags.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;

const flagWords = (command: Command) =>
	Object.entries({ ...command.flags, ...COMMON_FLAGS }).flatMap(([name, { short }]) => [
		`--${name}`,
		...(short ? [`-${short}`] : []),
	]);

function bash(commands: readonly Command[]): string {
	const cases = commands.map((command) => {
		const first =
			command.first === "session"
				? "$(dialtone __sessions 2>/dev/null)"
				: Array.isArray(command.first)
					? command.first.join(" ")
					: "";
		return `\t\t${command.name}) flags="${flagWords(command).join(" ")}"; first="${first}" ;;`;
	});
	return `# dialtone completion for bash: eval "$(dialtone completion bash)"
_dialtone() {
	local word="\${COMP_WORDS[COMP_CWORD]}" flags="" first=""
	if [ "$COMP_CWORD" -eq 1 ]; then
		COMPREPLY=($(compgen -W "${commands.map(({ name }) => name).join(" ")}" -- "$word"))
		return
	fi
	case "\${COMP_WORDS[1]}" in
${cases.join("\n")}
	esac
	case "$word" in
		-*) COMPREPLY=($(compgen -W "$flags" -- "$word")) ;;
		*) COMPREPLY=($(compgen -W "$first" -- "$word")) ;;
	esac
}
complete -o default -F _dialtone dialtone
`;
}

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

function zsh(commands: readonly Command[]): string {
	const cases = commands.map((command) => {
		const flags = Object.entries({ ...command.flags, ...COMMON_FLAGS }).map(([name, { summary, type, value }]) =>
			quote(`--${name}[${summary.replaceAll(/[[\]:]/g, " ")}]${type === "string" ? `:${value ?? "value"}:` : ""}`),
		);
		const first =
			command.first === "session"
				? quote("1:session:($(dialtone __sessions 2>/dev/null))")
				: Array.isArray(command.first)
					? quote(`1:word:(${command.first.join(" ")})`)
					: quote("*:file:_files");
		return `\t\t${command.name}) _arguments ${flags.join(" ")} ${first} ;;`;
	});
	return `#compdef dialtone
# dialtone completion for zsh: eval "$(dialtone completion zsh)"
_dialtone() {
	local -a commands=(
${commands.map(({ name, summary }) => `\t\t${quote(`${name}:${summary}`)}`).join("\n")}
	)
	if (( CURRENT == 2 )); then _describe command commands; return; fi
	shift words; (( CURRENT-- ))
	case "$words[1]" in
${cases.join("\n")}
	esac
}
compdef _dialtone dialtone
`;
}

function fish(commands: readonly Command[]): string {
	const lines = commands.flatMap((command) => {
		const here = `-n '__fish_seen_subcommand_from ${command.name}'`;
		const first =
			command.first === "session"
				? [`complete -c dialtone ${here} -f -a '(dialtone __sessions 2>/dev/null)'`]
				: Array.isArray(command.first)
					? [`complete -c dialtone ${here} -f -a ${quote(command.first.join(" "))}`]
					: [];
		const flags = Object.entries({ ...command.flags, ...COMMON_FLAGS }).map(
			([name, { short, summary, type, choices }]) =>
				`complete -c dialtone ${here} -l ${name}${short ? ` -s ${short}` : ""}${type === "string" ? " -r" : ""}${choices ? ` -f -a ${quote(choices.join(" "))}` : ""} -d ${quote(summary)}`,
		);
		return [
			`complete -c dialtone -n __fish_use_subcommand -f -a ${command.name} -d ${quote(command.summary)}`,
			...first,
			...flags,
		];
	});
	return `# dialtone completion for fish: dialtone completion fish | source\n${lines.join("\n")}\n`;
}

const SCRIPTS = { bash, zsh, fish } as const;

export async function completion({ words, io }: Invocation, commands: readonly Command[]): Promise<number> {
	const shell = words[0] as (typeof SHELLS)[number];
	if (!SHELLS.includes(shell)) throw new Fault("bad_input", { problems: [`choose a shell: ${SHELLS.join(", ")}`] });
	io.out(SCRIPTS[shell](commands.filter(({ hidden }) => !hidden)));
	return 0;
}
