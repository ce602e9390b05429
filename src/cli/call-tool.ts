// One verb, one tool call: flags and words become the tool's input, the answer is
// shown, and the exit code is read from its facts.

import { inFlags } from "../protocol/command-words.ts";
import { Fault, type FaultFacts } from "../protocol/fault.ts";
import type { FactsOf, InputOf } from "../tools/catalogue.ts";
import type { Answer, Client } from "../tools/client.ts";
import type { Invocation } from "./command.ts";
import { EXIT } from "./exit-codes.ts";
import { onSession, runningNamed } from "./session-named.ts";
import { showText } from "./show.ts";
import { TOOL_FIELDS } from "./tool-fields.ts";
import { fieldFlags, fleetFields, type ToolName, type VerbOf } from "./tool-verbs.ts";

type Input = Record<string, unknown>;

export async function callTool<N extends ToolName>(invocation: Invocation, verb: VerbOf<N>): Promise<number> {
	const { json, io, dependencies } = invocation;
	const given = await inputOf(invocation, verb);
	await using client = await dependencies.connect();
	const input = await inOpenShell(verb, client, given);
	using _interrupts = passedOn(invocation, verb, client, input);
	const answer = await called(invocation, verb, client, input);
	if (json) io.out(`${JSON.stringify(answer.facts)}\n`);
	else await (verb.show ?? showText)(invocation, answer, client);
	return verb.exitCode?.(answer.facts) ?? EXIT.ok;
}

/** Ctrl+C is for the command, as it would be without us; the second one is for us. */
function passedOn(
	{ io }: Invocation,
	verb: VerbOf<ToolName>,
	client: Client,
	{ shell = "main", host, placement }: Input,
): Disposable {
	const interrupt = () => {
		const meant = { session: shell as string, ...(host !== undefined && { host: host as string }) };
		void client.call("signal", { ...meant, signal: "INT", timeoutMs: 0 }).catch(() => {}); // it has just ended
	};
	// Where it is placed is not known yet: here its shell's name would mean another.
	const isOurs = verb.tool === "run" && io.stdin.isTTY && placement === undefined;
	if (isOurs) process.once("SIGINT", interrupt);
	return { [Symbol.dispose]: () => void process.off("SIGINT", interrupt) };
}

async function called<N extends ToolName>(
	invocation: Invocation,
	{ tool, words = [], ask = (client, asked) => client.call(tool, asked) }: VerbOf<N>,
	client: Client,
	input: Input,
): Promise<Answer<FactsOf<N>>> {
	// Made of words: the tool checks it.
	const call = async (more: Input) => {
		try {
			return await ask(client, { ...input, ...more } as InputOf<N>);
		} catch (error) {
			throw inFlagsOf(tool, error);
		}
	};

	if (words[0]?.field !== "session") return call({});
	return onSession(client, invocation.words[0]!, (session) => call({ session }));
}

/** Of a verb whose word is a shell: `run` would open a new one of a name that there is not. */
async function inOpenShell({ words = [] }: VerbOf<ToolName>, client: Client, input: Input): Promise<Input> {
	return words[0]?.field === "shell" ? { ...input, shell: await runningNamed(client, input.shell as string) } : input;
}

/** A refusal of the input, which was given as flags. */
function inFlagsOf(tool: ToolName, error: unknown): unknown {
	if (!(error instanceof Fault) || error.code !== "bad_input") return error;
	const { problems } = error.facts as FaultFacts<"bad_input">;
	const fields = Object.keys(TOOL_FIELDS[tool].fields);
	return new Fault("bad_input", { problems: problems.map((problem) => inFlags(problem, fields)) }, { cause: error });
}

async function inputOf(invocation: Invocation, verb: VerbOf<ToolName>): Promise<Input> {
	const { words, flags } = invocation;
	const input: Input = {};
	for (const { name, path, kind } of fieldFlags(verb)) {
		const value = flags.get(name);
		if (value !== undefined) assign(input, path, kind === "pair" ? pairs(value as readonly string[]) : value);
	}
	for (const [i, { field }] of (verb.words ?? []).entries())
		if (field !== undefined && words[i] !== undefined) input[field] = words[i];
	return { ...input, ...(await verb.input?.(invocation)), ...fleetFields(invocation) };
}

/** `until.text` is `text` in the object `until`. */
function assign(input: Input, path: string, value: unknown): void {
	const [object, own] = path.split(".") as [string, string?];
	if (own === undefined) input[object] = value;
	else input[object] = { ...(input[object] as Input | undefined), [own]: value };
}

const pairs = (given: readonly string[]) =>
	Object.fromEntries(given.map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]));
