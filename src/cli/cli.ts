// One command line: finds the verb, reads its flags, runs it, and turns what went
// wrong into words (or one JSON object) and a number.

import { Fault } from "../protocol/fault.ts";
import { EXIT, exitCodeOfFault } from "./exit-codes.ts";
import { parse } from "./flags.ts";
import type { Io, Verb, Wires } from "./verb.ts";
import { VERBS } from "./verbs.ts";

/** Other words for verbs, as people type them. */
const ALSO: Readonly<Record<string, string>> = { list: "ls", "--help": "help", "-h": "help", "--version": "version" };

// These pass a program's exit code through, so their own failures need numbers apart.
const PASSES_THROUGH = new Set(["run", "attach"]);

export async function cli(args: readonly string[], wires: Wires, io: Io): Promise<number> {
	const [word = "help", ...rest] = args;
	const verb = VERBS.find(({ name }) => name === (ALSO[word] ?? word));
	if (verb === undefined) {
		const near = VERBS.filter(({ name, hidden }) => !hidden && name.startsWith(word.slice(0, 2))).map(
			({ name }) => name,
		);
		io.err(
			`dialtone: there is no verb "${word}".${near.length ? ` Did you mean ${near.join(", ")}?` : ""} See dialtone help.\n`,
		);
		return EXIT.usage;
	}
	try {
		const { words, flags } = parse(verb, rest);
		if (flags.on("help")) {
			const { verbHelp } = await import("./help.ts");
			io.out(verb.name === "mcp" ? `${verbHelp(verb)}\n${await wires.mcpHelp()}` : verbHelp(verb));
			return EXIT.ok;
		}
		return await verb.run({ verb, words, flags, json: flags.on("json"), wires, io });
	} catch (error) {
		return failed(error, verb, rest, io);
	}
}

async function failed(error: unknown, verb: Verb, args: readonly string[], io: Io): Promise<number> {
	const fault =
		error instanceof Fault ? error : new Fault("internal", { problem: (error as Error).message }, { cause: error });
	// `call` speaks JSON whatever happens; the others when they were asked to.
	if (args.includes("--json") || verb.name === "call") {
		const { fault: code, message, next } = fault.toJSON();
		io.out(`${JSON.stringify({ fault: code, message, next })}\n`);
	} else {
		io.err(`dialtone: ${fault.message}\n${fault.next}\n`);
		if (fault.code === "bad_input") io.err(`${(await import("./help.ts")).usageLine(verb)}\n`);
		if (io.env.DIALTONE_DEBUG && error instanceof Error) io.err(`${error.stack}\n`);
	}
	return PASSES_THROUGH.has(verb.name) && fault.code !== "bad_input" ? EXIT.passedFault : exitCodeOfFault(fault.code);
}
