// Help, made from the table of commands.

import type { Command, Flag } from "./command.ts";
import { EXIT_MEANINGS } from "./exit-codes.ts";
import { COMMON_FLAGS } from "./flags.ts";

const GROUPS: readonly (readonly [string, readonly string[]])[] = [
	["Talk to a program", ["start", "send", "read", "screen", "wait", "run"]],
	["Sessions", ["ls", "attach", "logs", "events", "resize", "kill", "rm", "export", "replay"]],
	["For agents and programs", ["mcp", "serve", "token", "call", "tools", "agent-help"]],
	["This installation", ["daemon", "doctor", "completion", "demo", "help", "version"]],
];

const FIRST_STEPS = `First steps
  dialtone start --name py python3     start a program; returns when it waits for you
  dialtone send py '6*7'               type a line; returns the answer
  dialtone attach py                   take the keyboard yourself
  dialtone mcp --help                  give it to an agent`;

export function generalHelp(commands: readonly Command[], version: string): string {
	const width = Math.max(...commands.map(({ name }) => name.length)) + 2;
	const groups = GROUPS.map(([title, names]) => {
		const lines = names.map((name) => {
			const command = commands.find((one) => one.name === name);
			return `  ${name.padEnd(width)}${command?.summary ?? ""}`;
		});
		return `${title}\n${lines.join("\n")}`;
	});
	return `dialtone ${version}: a real terminal for AI agents\n\n${FIRST_STEPS}\n\n${groups.join("\n\n")}\n
A session is named by its name, its id, the beginning of either, or - for the last one.
\`dialtone help COMMAND\` has details; \`dialtone help exit-codes\` lists the exit codes; every command takes --json.\n`;
}

function flagLines(flags: Readonly<Record<string, Flag>>): string {
	const rows = Object.entries(flags).map(([name, { short, value, type, summary }]) => [
		`  ${short ? `-${short}, ` : "    "}--${name}${type === "string" ? ` ${value ?? "VALUE"}` : ""}`,
		summary,
	]);
	const width = Math.max(...rows.map(([left]) => left!.length)) + 2;
	return rows.map(([left, right]) => `${left!.padEnd(width)}${right}`).join("\n");
}

export function usageLine(command: Command): string {
	return `usage: dialtone ${command.name} ${command.flags ? "[flags] " : ""}${command.usage}`.trimEnd();
}

export function commandHelp(command: Command): string {
	return `${usageLine(command)}\n\n${command.summary}\n${command.more ? `\n${command.more.trim()}\n` : ""}\n${flagLines({ ...command.flags, ...COMMON_FLAGS })}\n`;
}

export function exitCodesHelp(): string {
	return `${EXIT_MEANINGS.map(([code, meaning]) => `${String(code).padStart(4)}  ${meaning}`).join("\n")}\n
\`run\` and \`attach\` otherwise exit with the program's own code (128 + n after signal n).\n`;
}
