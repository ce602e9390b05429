// The command line: finds the command, reads its flags, runs it, and turns an error
// into a message (or one JSON object) and an exit code.

import { Fault } from "../protocol/fault.ts";
import type { Command, Dependencies, Io } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { EXIT, exitCodeOfFault } from "./exit-codes.ts";
import { parse } from "./flags.ts";

/** Aliases of commands, as people type them. */
const ALIASES: Readonly<Record<string, string>> = {
	list: "ls",
	"--help": "help",
	"-h": "help",
	"--version": "version",
};

// These pass a program's exit code through, so their own failures need distinct codes.
const PASSES_THROUGH = new Set(["run", "attach"]);

export async function cli(args: readonly string[], dependencies: Dependencies, io: Io): Promise<number> {
	const [word = "help", ...rest] = args;
	const command = COMMANDS.find(({ name }) => name === (ALIASES[word] ?? word));
	if (command === undefined) {
		const near = COMMANDS.filter(({ name, hidden }) => !hidden && name.startsWith(word.slice(0, 2))).map(
			({ name }) => name,
		);
		io.err(
			`dialtone: there is no command "${word}".${near.length ? ` Did you mean ${near.join(", ")}?` : ""} See dialtone help.\n`,
		);
		return EXIT.usage;
	}
	try {
		const { words, flags } = parse(command, rest);
		if (flags.on("help")) {
			const { commandHelp } = await import("./help.ts");
			io.out(
				command.name === "mcp" ? `${commandHelp(command)}\n${await dependencies.mcpHelp()}` : commandHelp(command),
			);
			return EXIT.ok;
		}
		return await command.run({ command, words, flags, json: flags.on("json"), dependencies, io });
	} catch (error) {
		return failed(error, { command, args: rest, dependencies, io });
	}
}

interface Failure {
	readonly command: Command;
	readonly args: readonly string[];
	readonly dependencies: Dependencies;
	readonly io: Io;
}

async function failed(error: unknown, { command, args, dependencies, io }: Failure): Promise<number> {
	const fault =
		error instanceof Fault
			? error
			: (dependencies.homeFault(error) ??
				new Fault("internal", { problem: (error as Error).message }, { cause: error }));
	// `call` always prints JSON; the others with --json.
	if (args.includes("--json") || command.name === "call") {
		const { fault: code, message, next } = fault.toJSON();
		io.out(`${JSON.stringify({ fault: code, message, next })}\n`);
	} else {
		io.err(`dialtone: ${fault.message}\n${fault.next}\n`);
		if (fault.code === "bad_input") io.err(`${(await import("./help.ts")).usageLine(command)}\n`);
		if (io.env.DIALTONE_DEBUG && error instanceof Error) io.err(`${error.stack}\n`);
	}
	return PASSES_THROUGH.has(command.name) && fault.code !== "bad_input"
		? EXIT.passedFault
		: exitCodeOfFault(fault.code);
}
