// The verbs that call a tool. Their flags come from the tool's declaration
// (tool-fields.ts); here is only what is particular to a command line: names, words,
// what surrounds a call, and how a person sees the answer.

import type { SessionFacts } from "../protocol/answer.ts";
import { shellWords } from "../protocol/command-words.ts";
import type { FactsOf, InputOf } from "../tools/catalogue.ts";
import type { Answer, Client } from "../tools/client.ts";
import { listAll } from "../tools/list-pages.ts";
import type { Command, Flag, Invocation, Word } from "./command.ts";
import { type FieldFlag, flagOf } from "./declared-tool.ts";
import { EXIT, exitCodeOfRun } from "./exit-codes.ts";
import { badInput } from "./flags.ts";
import { takesSession } from "./session-host.ts";
import { TOOL_FIELDS } from "./tool-fields.ts";

export type ToolName = keyof typeof TOOL_FIELDS;
type Input = Readonly<Record<string, unknown>>;

/** A verb of this tool. */
export interface VerbOf<N extends ToolName> extends Omit<Command, "run" | "summary"> {
	readonly tool: N;
	/** The tool's title by default. */
	readonly summary?: string;
	/** The fields that are no flags, besides those of the words; `all`: none is. */
	readonly without?: readonly string[] | "all";
	/** Flags that mean something else here than in the tool. */
	readonly explained?: Readonly<Record<string, Pick<Flag, "summary">>>;
	/** What the words and the terminal say beside the fields of flags and words. */
	readonly input?: (invocation: Invocation) => Input | Promise<Input>;
	/** What asks for the answer, where one call does not. */
	ask?(client: Client, input: InputOf<N>): Promise<Answer<FactsOf<N>>>;
	/** What a person sees; what a model reads by default. */
	show?(invocation: Invocation, answer: Answer<FactsOf<N>>, client: Client): void | Promise<void>;
	/** 0 by default. */
	exitCode?(facts: FactsOf<N>): number;
}

export type Verb = { [N in ToolName]: VerbOf<N> }[ToolName];

const SESSION: Word = { name: "SESSION", field: "session", is: "session" };
const RUNNING: Word = { ...SESSION, is: "running session" };

async function everythingFrom(stdin: NodeJS.ReadableStream): Promise<string> {
	const chunks: Buffer[] = [];
	for await (const chunk of stdin) chunks.push(Buffer.from(chunk as Buffer));
	return Buffer.concat(chunks).toString("utf8");
}

/** The words themselves, or all of stdin for `-`. */
export async function textOf(words: readonly string[], { stdin }: Invocation["io"]): Promise<string | undefined> {
	if (words.length === 1 && words[0] === "-") return everythingFrom(stdin);
	return words.length > 0 ? words.join(" ") : undefined;
}

/** Several words are what a shell has already split: put back together so that another shell splits them alike. */
function shellLine(words: readonly string[]): string {
	return words.length <= 1 ? (words[0] ?? "") : shellWords(words);
}

const shown = () => import("./show.ts");

/** Of what waits: a condition that did not come true in time. */
const whetherMet = ({ matched, returned }: Pick<SessionFacts, "matched" | "returned">) =>
	matched === false || returned === "timeout" ? EXIT.notMet : EXIT.ok;

/** What goes to a file or to another program, not to a model: as much as one answer may have. */
export const MOST_TOKENS = 100_000;
const unlessAsked = ({ flags }: Invocation): Input =>
	flags.get("max-tokens") === undefined ? { maxTokens: MOST_TOKENS } : {};

const OF_A_COMMAND = {
	timeout: { summary: "How long it may take; then --on-timeout" },
	"max-tokens": { summary: "Print at most this much of its output, in tokens (default: all)" },
};

export const VERBS: readonly Verb[] = [
	{
		name: "start",
		aliases: ["new"],
		tool: "start",
		exitCode: whetherMet,
		summary: "start a program, or a shell; returns when it waits for you",
		words: [{ name: "COMMAND", optional: true, rest: "command", is: "command" }],
		more: "One word is a command line for the shell, several are a program and its arguments. Without a command you get a shell.",
		examples: [
			"dialtone start --name py python3 -q",
			"dialtone start --name web --keep --port 3000 -- npm run dev",
			"dialtone start --in ssh:build@host --cwd /srv make",
		],
		without: ["command", "argv"],
		input: ({ words, flags, io }) => ({
			...(words.length === 1 ? { command: words[0] } : words.length > 1 ? { argv: words } : {}),
			cols: flags.number("cols") ?? io.stdout.columns,
			rows: flags.number("rows") ?? io.stdout.rows,
		}),
	},
	{
		name: "send",
		tool: "send",
		exitCode: whetherMet,
		summary: "type a line or press keys; returns the answer",
		words: [RUNNING, { name: "TEXT", optional: true, rest: "words" }],
		more: "Text is entered with Enter unless --no-submit is given or keys follow. `-` takes the text from stdin.",
		examples: ["dialtone send py '6*7'", "dialtone send vim -k 'esc : w q enter'", "dialtone send psql --secret db"],
		without: ["text", "paste"],
		flags: {
			paste: { kind: "switch", summary: "As one paste, for editors and REPLs (bracketed where they ask for it)" },
		},
		input: async ({ words, flags, io }) => {
			const text = await textOf(words.slice(1), io);
			const keys = flags.list("key").flatMap((key) => key.split(" ").filter(Boolean));
			// The end of its last line is that line's Enter: a second one would answer what is asked next.
			const isEntered = !flags.on("paste") && text?.endsWith("\n") === true;
			return {
				...(flags.on("paste") ? { paste: text } : { text }),
				// A line of text, or a secret, is submitted with Enter; keys include their own.
				submit:
					(flags.get("submit") as boolean | undefined) ??
					((text ?? flags.get("secret")) !== undefined && keys.length === 0 && !isEntered),
				keys: keys.length > 0 ? keys : undefined,
			};
		},
	},
	{
		name: "read",
		tool: "read",
		summary: "what is new since your last read; any part of the output",
		words: [SESSION],
		input: (invocation) => (invocation.flags.get("view") === "raw" ? unlessAsked(invocation) : {}),
		show: async (invocation, answer) => (await shown()).showRead(invocation, answer),
	},
	{
		name: "screen",
		tool: "read",
		summary: "what a person would see now",
		words: [SESSION],
		without: "all",
		input: () => ({ view: "screen" }),
		show: ({ io }, { facts }) => io.out(`${facts.text}\n`),
	},
	{
		name: "wait",
		tool: "wait",
		exitCode: whetherMet,
		summary: "wait until it is your turn, it ended, or a condition holds",
		words: [RUNNING],
		examples: ["dialtone wait web --until 'compiled successfully' -t 2m"],
	},
	{
		name: "run",
		tool: "run",
		exitCode: exitCodeOfRun,
		summary: "run a command in a shell that keeps cd and exports; exits with its code",
		words: [{ name: "COMMAND", rest: "command", is: "command" }],
		without: ["command"],
		explained: OF_A_COMMAND,
		input: (invocation) => ({ command: shellLine(invocation.words), ...unlessAsked(invocation) }),
		show: async (...answered) => (await shown()).showRun(...answered),
	},
	{
		name: "exec",
		tool: "run",
		exitCode: exitCodeOfRun,
		summary: "run a command in the shell of a session; exits with its code",
		words: [
			{ name: "SESSION", field: "shell", is: "running session" },
			{ name: "COMMAND", rest: "command", is: "command" },
		],
		more: "The session is a shell that `start` without a command, or `run --shell`, opened. What the command changes there (cd, exports) stays.",
		explained: OF_A_COMMAND,
		// These are for a new shell.
		without: ["command", "program", "clean", "env", "inherit", "limits", "sandbox"],
		input: (invocation) => ({ command: shellLine(invocation.words.slice(1)), ...unlessAsked(invocation) }),
		show: async (...answered) => (await shown()).showRun(...answered),
	},
	{
		name: "ls",
		aliases: ["ps", "list"],
		tool: "list",
		summary: "list the running sessions; -a also those that ended",
		flags: {
			all: { kind: "switch", short: "a", summary: "Also those that ended" },
			quiet: { kind: "switch", short: "q", summary: "Only the ids" },
		},
		input: ({ flags }) => ({ status: flags.get("status") ?? (flags.on("all") ? undefined : "running") }),
		ask: listAll,
		show: async (invocation, answer) => (await import("./listing.ts")).showList(invocation, answer),
	},
	{
		name: "stop",
		aliases: ["close"],
		tool: "close",
		summary: "end it with everything it started; its output stays readable",
		words: [{ ...RUNNING, rest: "each" }],
	},
	{
		name: "signal",
		tool: "signal",
		summary: "send a signal to the program in the foreground",
		words: [RUNNING, { name: "SIGNAL", field: "signal", is: TOOL_FIELDS.signal.fields.signal.choices, optional: true }],
	},
	{
		name: "resize",
		tool: "resize",
		summary: "change the size of its terminal",
		words: [RUNNING, { name: "COLSxROWS" }],
		without: ["cols", "rows"],
		input: ({ words: [, size = ""] }) => {
			const [, cols, rows] = /^(\d+)x(\d+)$/.exec(size) ?? [];
			if (cols === undefined) throw badInput("the size is COLSxROWS, such as 120x40");
			return { cols: Number(cols), rows: Number(rows) };
		},
	},
	{
		name: "ask-human",
		aliases: ["ask"],
		tool: "ask_human",
		summary: "ask a person to do something in a session for you (e.g. type a password)",
		words: [RUNNING, { name: "QUESTION", rest: "words" }],
		without: ["question"],
		input: ({ words: [, ...question] }) => ({ question: question.join(" ") }),
	},
];

/** The flags that a verb has from its tool's fields. */
export function fieldFlags({
	tool,
	words = [],
	without = [],
}: Pick<Verb, "tool" | "words" | "without">): readonly FieldFlag[] {
	if (without === "all") return [];
	const given = new Set([...without, ...words.filter(({ optional }) => !optional).map(({ field }) => field)]);
	return Object.entries(TOOL_FIELDS[tool].fields)
		.filter(([path]) => !given.has(path) && !given.has(path.split(".")[0]))
		.map(([path, field]) => flagOf(path, field));
}

const HOST: Flag = { kind: "text", value: "HOST", summary: "On this machine of the fleet; its sessions are HOST/NAME" };
const PLACEMENT: Flag = {
	kind: "text",
	value: "WHERE",
	summary: "Which machine of the fleet: least-loaded, same-as:SESSION, or labels it has, such as gpu=a100,zone=b",
};
/** The tools that start something, where a fleet can choose. */
const PLACED: ReadonlySet<string> = new Set(["start", "run"]);
/** Where no session says it. */
const placing = (tool: ToolName): Readonly<Record<string, Flag>> => ({
	host: HOST,
	...(PLACED.has(tool) && { placement: PLACEMENT }),
});

/** What of a fleet is in a call's flags. */
export function fleetFields({ flags }: Pick<Invocation, "flags">): Readonly<Record<string, unknown>> {
	const host = flags.string("host");
	const where = flags.string("placement");
	return { ...(host !== undefined && { host }), ...(where !== undefined && { placement: placementIn(where) }) };
}

function placementIn(where: string): unknown {
	if (where === "least-loaded") return where;
	const [, session] = /^same-as:(.+)$/.exec(where) ?? [];
	if (session !== undefined) return { sameAs: session };
	const labels = where.split(",").map((pair) => /^([^=]+)=(.*)$/s.exec(pair)?.slice(1));
	if (labels.every((pair) => pair !== undefined)) return { labels: Object.fromEntries(labels) };
	throw badInput(`--placement takes least-loaded, same-as:SESSION, or labels such as gpu=a100,zone=b, not "${where}"`);
}

export function commandOf(verb: Verb): Command {
	const { tool, explained = {}, without: _, input: __, show: ___, exitCode: ____, ...command } = verb;
	const fromFields = Object.fromEntries(
		fieldFlags(verb).map(({ name, path: _, ...flag }) => [name, { ...(flag as Flag), ...explained[name] }]),
	);
	return {
		summary: TOOL_FIELDS[tool].title,
		...command,
		flags: { ...fromFields, ...verb.flags, ...(takesSession(verb) ? {} : placing(tool)) },
		run: async (invocation) => (await import("./call-tool.ts")).callTool(invocation, verb),
	};
}
