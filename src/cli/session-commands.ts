// The commands that are one tool call each: flags become the tool's input, the
// answer is printed, and the exit code is read from its facts.

import type { ListedSession } from "../protocol/answer.ts";
import { Fault } from "../protocol/fault.ts";
import type { InputOf } from "../tools/catalogue.ts";
import { type Answer, IF_EXISTS, LISTED, SIGNALS, TOOL_SETS, type ToolSet } from "../tools/client.ts";
import type { Invocation } from "./command.ts";
import { EXIT } from "./exit-codes.ts";
import type { Flags } from "./flags.ts";
import { sessionNamed } from "./session-named.ts";
import { table } from "./table.ts";

const missing = (what: string) => new Fault("bad_input", { problems: [`${what} is missing`] });

function until(flags: Flags): InputOf<"wait">["until"] {
	const conditions = {
		text: flags.string("until"),
		pattern: flags.string("pattern"),
		gone: flags.string("gone"),
		stillMs: flags.duration("still"),
		port: flags.integer("port", 1),
		only: flags.on("only") || undefined,
	};
	return Object.values(conditions).some((condition) => condition !== undefined) ? conditions : undefined;
}

function environment(pairs: readonly string[]): Record<string, string> | undefined {
	if (pairs.length === 0) return undefined;
	return Object.fromEntries(
		pairs.map((pair) => {
			const at = pair.indexOf("=");
			if (at < 1) throw new Fault("bad_input", { problems: [`--env takes KEY=VALUE, not "${pair}"`] });
			return [pair.slice(0, at), pair.slice(at + 1)];
		}),
	);
}

/** One word is a command line for the shell, several are a program and its arguments. */
function command(words: readonly string[]): { command: string } | { argv: string[] } {
	if (words.length === 0) throw missing("a command");
	return words.length === 1 ? { command: words[0]! } : { argv: [...words] };
}

/** Several words are what a shell has already split: put back together so that another shell splits them alike. */
function shellLine(words: readonly string[]): string {
	if (words.length <= 1) return words[0] ?? "";
	return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ");
}

async function everythingFrom(stdin: NodeJS.ReadableStream): Promise<string> {
	const chunks: Buffer[] = [];
	for await (const chunk of stdin) chunks.push(Buffer.from(chunk as Buffer));
	return Buffer.concat(chunks).toString("utf8");
}

function print({ json, io }: Invocation, answer: Answer): void {
	io.out(`${json ? JSON.stringify(answer.facts) : answer.text}\n`);
}

export async function start(invocation: Invocation): Promise<number> {
	const { words, flags, io } = invocation;
	await using client = await invocation.dependencies.connect();
	const answer = await client.call("start", {
		...command(words),
		name: flags.string("name"),
		cwd: flags.string("cwd"),
		env: environment(flags.list("env")),
		cols: flags.integer("cols", 1) ?? io.stdout.columns,
		rows: flags.integer("rows", 1) ?? io.stdout.rows,
		until: until(flags),
		timeoutMs: flags.duration("timeout"),
		keep: flags.on("keep"),
		ifExists: flags.choice("if-exists", IF_EXISTS),
	});
	print(invocation, answer);
	return EXIT.ok;
}

export async function send(invocation: Invocation): Promise<number> {
	const { words, flags, io } = invocation;
	const [, ...rest] = words;
	const session = sessionNamed(invocation);
	await using client = await invocation.dependencies.connect();
	const fromStdin = rest.length === 1 && rest[0] === "-";
	const text = fromStdin ? await everythingFrom(io.stdin) : rest.length > 0 ? rest.join(" ") : undefined;
	const keys = flags.list("key").flatMap((key) => key.split(" ").filter(Boolean));
	const paste = flags.on("paste");
	const answer = await client.call("send", {
		session,
		...(paste ? { paste: text } : { text }),
		// A line of text is submitted with Enter; keys include their own.
		submit: !flags.on("no-submit") && ((text !== undefined && keys.length === 0) || flags.on("submit")),
		keys: keys.length > 0 ? keys : undefined,
		until: until(flags),
		timeoutMs: flags.duration("timeout"),
		ifOffset: flags.integer("if-offset"),
		id: flags.string("id"),
	});
	print(invocation, answer);
	return EXIT.ok;
}

// A picture is for a model; a person exports one with `dialtone export --format svg`.
const VIEWS = ["new", "screen", "lines", "raw"] as const;

export async function read(invocation: Invocation): Promise<number> {
	const { flags, json, io } = invocation;
	const input = {
		session: sessionNamed(invocation),
		view: flags.choice("view", VIEWS),
		lines: flags.integer("lines", 1),
		from: flags.integer("from"),
		to: flags.integer("to"),
		search: flags.string("search"),
	};
	await using client = await invocation.dependencies.connect();
	const answer = await client.call("read", input);
	const { base64 } = answer.facts;
	if (!json && base64 !== undefined) io.out(Buffer.from(base64, "base64"));
	else print(invocation, answer);
	return EXIT.ok;
}

export async function screen(invocation: Invocation): Promise<number> {
	await using client = await invocation.dependencies.connect();
	const { facts } = await client.call("read", { session: sessionNamed(invocation), view: "screen" });
	invocation.io.out(`${invocation.json ? JSON.stringify(facts) : facts.text}\n`);
	return EXIT.ok;
}

export async function wait(invocation: Invocation): Promise<number> {
	const { flags } = invocation;
	const input = { session: sessionNamed(invocation), until: until(flags), timeoutMs: flags.duration("timeout") };
	await using client = await invocation.dependencies.connect();
	const answer = await client.call("wait", input);
	print(invocation, answer);
	return answer.facts.returned === "timeout" ? EXIT.timeout : EXIT.ok;
}

export async function run(invocation: Invocation): Promise<number> {
	const { words, flags, json, io } = invocation;
	if (words.length === 0) throw missing("a command");
	await using client = await invocation.dependencies.connect();
	const answer = await client.call("run", {
		command: shellLine(words),
		shell: flags.string("shell"),
		cwd: flags.string("cwd"),
		timeoutMs: flags.duration("timeout"),
		separate: flags.on("separate"),
	});
	const { facts } = answer;
	if (json) print(invocation, answer);
	else if (facts.exitCode !== null) {
		const text = facts.stdout ?? facts.text;
		if (text !== "") io.out(text.endsWith("\n") ? text : `${text}\n`);
		if (facts.stderr) io.err(facts.stderr.endsWith("\n") ? facts.stderr : `${facts.stderr}\n`);
	} else print(invocation, answer);
	return facts.exitCode ?? EXIT.passedTimeout;
}

export async function list(invocation: Invocation): Promise<number> {
	const { flags, json, io } = invocation;
	await using client = await invocation.dependencies.connect();
	const { facts } = await client.call("list", { status: flags.choice("status", LISTED) });
	if (json) {
		io.out(`${JSON.stringify(facts)}\n`);
		return EXIT.ok;
	}
	const { sessions } = facts;
	if (sessions.length === 0) io.err("No sessions. Start one: dialtone start python3\n");
	else {
		const length = distinctLength(sessions.map(({ session }) => session));
		io.out(
			table(
				["NAME", "ID", "STATE", "COMMAND"],
				sessions.map((row) => listRow(row, length)),
			),
		);
	}
	return EXIT.ok;
}

/** How many characters distinguish these ids: at least 8. */
function distinctLength(ids: readonly string[]): number {
	for (let length = 8; length < 26; length++)
		if (new Set(ids.map((id) => id.slice(0, length))).size === ids.length) return length;
	return 26;
}

function listRow(row: ListedSession, idLength: number): readonly string[] {
	const ended = row.exit
		? `${row.status}${row.exit.signal ? ` (${row.exit.signal})` : row.exit.code ? ` (${row.exit.code})` : ""}`
		: row.status;
	const state = row.status === "running" && row.activity ? row.activity : ended;
	const waiting = row.activity === "waiting" && row.waitingFor ? `${state} (${row.waitingFor})` : state;
	return [row.name, row.session.slice(0, idLength), waiting, row.command];
}

/** `term`, `SIGTERM` and `TERM` are the same. */
function signalNamed(given: string | undefined): (typeof SIGNALS)[number] | undefined {
	if (given === undefined) return undefined;
	const name = SIGNALS.find((signal) => signal === given.toUpperCase().replace(/^SIG/, ""));
	if (name === undefined)
		throw new Fault("bad_input", { problems: [`--signal is one of ${SIGNALS.join(", ")}, not "${given}"`] });
	return name;
}

export async function kill(invocation: Invocation): Promise<number> {
	const { flags } = invocation;
	const signal = signalNamed(flags.string("signal"));
	const session = sessionNamed(invocation);
	await using client = await invocation.dependencies.connect();
	const answer =
		signal === undefined
			? await client.call("close", { session, force: flags.on("force") })
			: await client.call("signal", { session, signal });
	print(invocation, answer);
	return EXIT.ok;
}

export async function remove(invocation: Invocation): Promise<number> {
	const session = sessionNamed(invocation);
	await using client = await invocation.dependencies.connect();
	const { facts } = await client.call("read", { session, view: "screen" });
	if (facts.exit === null && !invocation.flags.on("force"))
		throw new Fault("not_allowed", { what: `Removing the running session "${session}" without --force` });
	const answer = await client.call("close", { session, force: true, forget: true });
	invocation.io.out(invocation.json ? `${JSON.stringify(answer.facts)}\n` : `Removed ${answer.facts.name}.\n`);
	return EXIT.ok;
}

export async function resize(invocation: Invocation): Promise<number> {
	const [, size] = invocation.words;
	const match = /^(\d+)x(\d+)$/.exec(size ?? "");
	if (match === null) throw new Fault("bad_input", { problems: ["the size is COLSxROWS, such as 120x40"] });
	await using client = await invocation.dependencies.connect();
	const input = { session: sessionNamed(invocation), cols: Number(match[1]), rows: Number(match[2]) };
	const answer = await client.call("resize", input);
	print(invocation, answer);
	return EXIT.ok;
}

/** Any tool by name: its facts as one JSON object. */
export async function call(invocation: Invocation): Promise<number> {
	const [tool, json = "{}"] = invocation.words;
	if (tool === undefined) throw missing("the name of a tool");
	let input: unknown;
	try {
		input = JSON.parse(json === "-" ? await everythingFrom(invocation.io.stdin) : json);
	} catch (error) {
		throw new Fault("bad_input", { problems: [`the input is not JSON (${(error as Error).message})`] });
	}
	await using client = await invocation.dependencies.connect();
	const answer = await client.call(tool, input);
	invocation.io.out(`${invocation.flags.on("text") ? answer.text : JSON.stringify(answer.facts)}\n`);
	return EXIT.ok;
}

export function toolSets(flags: Flags): readonly ToolSet[] {
	const names = flags.list("tools").flatMap((value) => value.split(","));
	const sets = names.map((name) => {
		const set = TOOL_SETS.find((one) => one === name);
		if (set === undefined)
			throw new Fault("bad_input", { problems: [`--tools takes ${TOOL_SETS.join(", ")}, not "${name}"`] });
		return set;
	});
	return sets.length > 0 ? sets : ["native"];
}

export async function tools(invocation: Invocation): Promise<number> {
	const cards = await invocation.dependencies.toolCards(toolSets(invocation.flags));
	if (invocation.json) invocation.io.out(`${JSON.stringify({ tools: cards })}\n`);
	else
		invocation.io.out(
			table(
				["TOOL", "EFFECT", "WHAT IT DOES"],
				cards.map(({ name, effect, description }) => [name, effect, description.split(/(?<=\.)\s/)[0]!]),
			),
		);
	return EXIT.ok;
}
