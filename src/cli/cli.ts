// The command line: finds the command, reads its flags, runs it, and turns an error
// into a message (or one JSON object) and an exit code.

import { Fault } from "../protocol/fault.ts";
import type { Command, Dependencies, Io } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { EXIT, exitCodeOfFault } from "./exit-codes.ts";
import { parse } from "./flags.ts";
import { onHost } from "./session-host.ts";
import { findCommand, unknownCommand } from "./which-command.ts";

// These pass a program's exit code through, so their own failures need distinct codes.
const PASSES_THROUGH = new Set(["run", "exec", "attach"]);

export async function cli(args: readonly string[], dependencies: Dependencies, io: Io): Promise<number> {
	const [word = "help", ...rest] = args;
	const command = findCommand(word, COMMANDS);
	if (!("run" in command)) {
		io.err(unknownCommand(word, command));
		return EXIT.usage;
	}
	try {
		const given = parse(command, rest);
		if (given.flags.on("help")) {
			const { commandHelp } = await import("./help.ts");
			io.out(commandHelp(command, io));
			if (command.name === "mcp") io.out(`\n${await dependencies.mcpHelp()}`);
			return EXIT.ok;
		}
		const { words, flags } = onHost(command, given);
		const isEach = command.words?.[0]?.rest === "each";
		let code: number = EXIT.ok;
		for (const its of isEach ? words.map((word) => [word]) : [words]) {
			const run = command.run({ command, words: its, flags, json: flags.on("json"), dependencies, io });
			const own = await run.catch((error: unknown) => failed(error, { command, args: rest, dependencies, io }));
			if (code === EXIT.ok) code = own;
		}
		return code;
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
	const thrown =
		error instanceof Fault
			? error
			: (dependencies.homeFault(error) ??
				new Fault("internal", { problem: (error as Error).message }, { cause: error }));
	// `call` names a tool, and is told in the words of its set.
	const fault = command.name === "call" ? thrown : thrown.in("commandLine");
	// `call` always prints JSON; the others with --json.
	if (args.includes("--json") || command.name === "call") {
		const { words: _, ...json } = fault.toJSON();
		io.out(`${JSON.stringify(json)}\n`);
	} else {
		const { usageLine } = await import("./help.ts");
		const next = fault.code === "bad_input" ? `${usageLine(command)}\nSee dialtone help ${command.name}.` : fault.next;
		io.err(`dialtone: ${fault.message}\n${next}\n`);
		if (io.env.DIALTONE_DEBUG && error instanceof Error) io.err(`${error.stack}\n`);
	}
	return PASSES_THROUGH.has(command.name) && fault.code !== "bad_input"
		? EXIT.passedFault
		: exitCodeOfFault(fault.code);
}
