// One verb, one tool call: flags and words become the tool's input, the answer is
// shown, and the exit code is read from its facts.

import type { Answer, Client } from "../tools/client.ts";
import type { Invocation } from "./command.ts";
import { EXIT, exitCodeOfRun } from "./exit-codes.ts";
import { onSession, runningNamed } from "./session-named.ts";
import { showText } from "./show.ts";
import { fieldFlags, type Verb } from "./tool-verbs.ts";

type Input = Record<string, unknown>;

export async function callTool(invocation: Invocation, verb: Verb): Promise<number> {
	const { json, io, dependencies } = invocation;
	const input = await inputOf(invocation, verb);
	await using client = await dependencies.connect();
	using _interrupts = passedOn(invocation, verb, client, input);
	const answer = await called(invocation, verb, client, input);
	if (json) io.out(`${JSON.stringify(answer.facts)}\n`);
	else await (verb.show ?? showText)(invocation, answer);
	if (verb.tool === "run") return exitCodeOfRun(answer.facts as Parameters<typeof exitCodeOfRun>[0]);
	const { returned, matched } = answer.facts as { returned?: string; matched?: boolean | null };
	const waits = verb.tool === "start" || verb.tool === "send" || verb.tool === "wait";
	return waits && (matched === false || returned === "timeout") ? EXIT.notMet : EXIT.ok;
}

/** Ctrl+C is for the command, as it would be without us; the second one is for us. */
function passedOn({ io, words }: Invocation, verb: Verb, client: Client, { shell = "main" }: Input): Disposable {
	const interrupt = () => {
		const session = verb.words?.[0]?.field === "shell" ? words[0]! : (shell as string);
		void client.call("signal", { session, signal: "INT", timeoutMs: 0 }).catch(() => {}); // it has just ended
	};
	const isOurs = verb.tool === "run" && io.stdin.isTTY;
	if (isOurs) process.once("SIGINT", interrupt);
	return { [Symbol.dispose]: () => void process.off("SIGINT", interrupt) };
}

async function called(
	invocation: Invocation,
	{ tool, words = [] }: Verb,
	client: Client,
	input: Input,
): Promise<Answer> {
	const { field } = words[0] ?? {};
	const given = invocation.words[0]!;
	if (field === "session")
		return onSession(invocation, client, given, (session) => client.call(tool as string, { ...input, session }));
	// `run` would open a new shell of this name.
	const shell = field === "shell" ? { shell: await runningNamed(invocation, client, given) } : {};
	return client.call(tool as string, { ...input, ...shell });
}

async function inputOf(invocation: Invocation, verb: Verb): Promise<Input> {
	const { words, flags } = invocation;
	const input: Input = {};
	for (const { name, path, kind } of fieldFlags(verb)) {
		const value = flags.get(name);
		if (value !== undefined) assign(input, path, kind === "pair" ? pairs(value as readonly string[]) : value);
	}
	for (const [i, { field }] of (verb.words ?? []).entries())
		if (field !== undefined && words[i] !== undefined) input[field] = words[i];
	return { ...input, ...(await verb.input?.(invocation)) };
}

/** `until.text` is `text` in the object `until`. */
function assign(input: Input, path: string, value: unknown): void {
	const [object, own] = path.split(".") as [string, string?];
	if (own === undefined) input[object] = value;
	else input[object] = { ...(input[object] as Input | undefined), [own]: value };
}

const pairs = (given: readonly string[]) =>
	Object.fromEntries(given.map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]));
