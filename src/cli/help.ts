// Help and the reference of docs/command-line.md, made from the table of commands.

import { coloured } from "./colour.ts";
import type { Command, Flag, Invocation, Io, Word } from "./command.ts";
import { EXIT, EXIT_MEANINGS, EXIT_NOTE } from "./exit-codes.ts";
import { flagsOf, KINDS } from "./flags.ts";
import { findCommand, unknownCommand } from "./which-command.ts";

const GROUPS: readonly (readonly [title: string, commands: readonly string[]])[] = [
	["Talk to a program", ["start", "send", "wait", "read", "screen", "run", "exec"]],
	["Sessions", ["ls", "attach", "logs", "stop", "kill", "signal", "rm", "resize", "events", "export", "replay"]],
	["In a browser", ["web", "share"]],
	["Trust", ["approve", "audit", "secrets"]],
	["Several machines", ["join", "fleet"]],
	["For agents and programs", ["mcp", "serve", "token", "call", "tools", "ask-human", "agent-help"]],
	["This installation", ["daemon", "doctor", "completion", "demo", "help", "version"]],
];

const FIRST_STEPS: readonly (readonly [string, string])[] = [
	["dialtone start --name py python3", "start a program; returns when it waits for you"],
	["dialtone send py '6*7'", "type a line; returns the answer"],
	["dialtone attach py", "take the keyboard yourself"],
	["dialtone mcp --help", "give it to an agent"],
];

const CLOSING = [
	"A session is given by its name, its id, the beginning of either, or - for the last one used. Commands can be abbreviated too.",
	"`dialtone help COMMAND` has details, `dialtone help exit-codes` lists the exit codes, `dialtone help options` the options; every command takes --json.",
];

const MAX_WIDTH = 110;

/** As wide as the terminal, but not wider than reads well. */
const widthOf = ({ stdout }: Io) => Math.min(stdout.columns ?? 100, MAX_WIDTH);

/** Two columns; the second is wrapped within its own. */
function columns(rows: readonly (readonly [string, string])[], width: number): string {
	const left = Math.min(Math.max(...rows.map(([text]) => text.length)), 34) + 4;
	return rows
		.map(([text, more]) => {
			const indented = `  ${text}`;
			const [first = "", ...rest] = wrapped(more, width - left);
			const begin = indented.length + 2 > left ? `${indented}\n${" ".repeat(left)}` : indented.padEnd(left);
			return [`${begin}${first}`.trimEnd(), ...rest.map((line) => " ".repeat(left) + line)].join("\n");
		})
		.join("\n");
}

function wrapped(text: string, width: number): string[] {
	const lines: string[] = [""];
	for (const word of text.split(" ")) {
		const line = lines.at(-1)!;
		if (line === "") lines[lines.length - 1] = word;
		else if (line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
		else lines.push(word);
	}
	return lines;
}

const paragraph = (text: string, width: number) => wrapped(text, width).join("\n");

const named = (commands: readonly Command[], name: string) => commands.find((command) => command.name === name)!;

const summaryOf = ({ summary, aliases }: Command) => `${summary}${aliases ? ` (also: ${aliases.join(", ")})` : ""}`;

function generalHelp(commands: readonly Command[], { io, dependencies }: Invocation): string {
	const paint = coloured(io);
	const width = widthOf(io);
	const block = (title: string, rows: readonly (readonly [string, string])[]) =>
		`${paint("bold", title)}\n${columns(rows, width)}`;
	return `${[
		`dialtone ${dependencies.version}: a real terminal for AI agents, and for you`,
		block("First steps", FIRST_STEPS),
		...GROUPS.map(([title, names]) =>
			block(
				title,
				names.map((name) => [name, summaryOf(named(commands, name))]),
			),
		),
		CLOSING.map((text) => paragraph(text, width)).join("\n"),
	].join("\n\n")}\n`;
}

const wordUsage = ({ name, optional, rest }: Word) => {
	const word = `${rest === "command" && optional ? "[--] " : ""}${name}${rest ? "…" : ""}`;
	return optional ? `[${word}]` : word;
};

export function usageLine({ name, flags, words = [] }: Command): string {
	return `usage: ${["dialtone", name, ...(flags ? ["[flags]"] : []), ...words.map(wordUsage)].join(" ")}`;
}

// Longer lists of values stand in the explanation.
const MAX_CHOICES_CHARS = 24;

function valueName({ kind, value, choices }: Flag): string {
	if (kind === "switch") return "";
	const list = choices?.join("|");
	if (list !== undefined && value === undefined && list.length <= MAX_CHOICES_CHARS) return ` ${list}`;
	return ` ${value ?? KINDS[kind].value}`;
}

/** What a flag is and means. */
function flagRow([name, flag]: readonly [string, Flag]): readonly [string, string] {
	const { short, kind, choices, multiple, summary } = flag;
	const value = valueName(flag);
	// A switch whose default is not off is of use only the other way round.
	const spelled = `${short ? `-${short}, ` : "    "}--${kind === "switch" && flag.default === "true" ? "no-" : ""}${name}${value}`;
	const notes = [
		...(choices && !value.includes("|") ? [`one of: ${choices.join(", ")}`] : []),
		...(multiple ? ["may be repeated"] : []),
		...(flag.default !== undefined && kind !== "switch" ? [`default: ${flag.default}`] : []),
	];
	return [spelled, `${summary}${notes.length > 0 ? ` (${notes.join("; ")})` : ""}`];
}

const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

export function commandHelp(command: Command, io: Io): string {
	const paint = coloured(io);
	const width = widthOf(io);
	const { more, examples, aliases } = command;
	return `${[
		usageLine(command),
		paragraph(`${sentence(command.summary)}.${more ? ` ${more}` : ""}`, width),
		...(aliases ? [`Also called: ${aliases.join(", ")}`] : []),
		...(examples ? [`${paint("bold", "Examples")}\n${examples.map((line) => `  ${line}`).join("\n")}`] : []),
		`${paint("bold", "Flags")}\n${columns(Object.entries(flagsOf(command)).map(flagRow), width)}`,
	].join("\n\n")}\n`;
}

function exitCodesHelp(): string {
	return `${EXIT_MEANINGS.map(([code, meaning]) => `${String(code).padStart(4)}  ${meaning}`).join("\n")}\n\n${EXIT_NOTE}\n`;
}

async function optionsHelp(io: Io): Promise<string> {
	const { optionTable } = await import("../session/option-table.ts");
	const rows = optionTable().map(
		({ variable, default: value, bounds, meaning }) => [variable, `${value} (${bounds}): ${meaning}`] as const,
	);
	const note =
		"Environment variables of the process that starts the daemon, in ms, bytes or counts. docs/options.md has the others.";
	return `${columns(rows, widthOf(io))}\n\n${paragraph(note, widthOf(io))}\n`;
}

export async function help(invocation: Invocation, commands: readonly Command[]): Promise<number> {
	const { words, io } = invocation;
	const [word] = words;
	if (word === undefined) io.out(generalHelp(commands, invocation));
	else if (word === "exit-codes") io.out(exitCodesHelp());
	else if (word === "options") io.out(await optionsHelp(io));
	else {
		const found = findCommand(word, commands);
		if (!("run" in found)) {
			io.err(unknownCommand(word, found));
			return EXIT.usage;
		}
		io.out(commandHelp(found, io));
	}
	return EXIT.ok;
}

const cell = (text: string) => text.replaceAll("|", "\\|");

/** Every command with its flags, in Markdown. */
export function reference(commands: readonly Command[]): string {
	const sections = GROUPS.map(([title, names]) => {
		const all = names.map((name) => named(commands, name));
		const rows = all.map(
			(one) => `| \`${cell(usageLine(one).slice("usage: dialtone ".length))}\` | ${cell(summaryOf(one))} |`,
		);
		const flags = all.flatMap((one) => {
			const own = Object.entries(one.flags ?? {}).map(flagRow);
			const lines = own.map(([spelled, about]) => `| \`${cell(spelled.trim())}\` | ${cell(about)} |`);
			return own.length === 0 ? [] : [`### ${one.name}\n\n| flag | meaning |\n| --- | --- |\n${lines.join("\n")}`];
		});
		return [`## ${title}`, `| command | what it does |\n| --- | --- |\n${rows.join("\n")}`, ...flags].join("\n\n");
	});
	const codes = EXIT_MEANINGS.map(([code, meaning]) => `| ${code} | ${meaning} |`).join("\n");
	return `${[...sections, `## Exit codes\n\n| code | meaning |\n| --- | --- |\n${codes}\n\n${EXIT_NOTE}`].join("\n\n")}\n`;
}
