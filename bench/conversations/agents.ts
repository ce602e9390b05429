// The three agents: each makes a call, and counts what the model writes and reads by it.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { DaemonHome } from "../daemon-home.ts";
import { MAIN, textOf } from "../peers/dialtone.ts";
import { type Call, TMUX_AGAIN, type Turn } from "./conversation.ts";
import type { Scene } from "./scene.ts";

export interface Exchange {
	/** What the model writes: the tool's name and its arguments. */
	readonly wrote: string;
	/** What the model reads. */
	readonly read: string;
}

export const WAYS = ["ours", "tmux", "pexpect"] as const;
export type Way = (typeof WAYS)[number];

export interface Agent extends AsyncDisposable {
	take(turn: Turn): Promise<Exchange>;
	/** Whether the model may go on: the answer shows what it has to. */
	sees(turn: Turn, exchange: Exchange): boolean;
	/** One more look, when a turn's first answer did not show what has to be seen; null where there is nothing to be done. */
	again(turn: Turn): Promise<Exchange | null>;
	/** What the model reads before its first call: tools and instructions. */
	readonly declared: string;
}

export const tokens = (text: string): number => countTokens(text);

/** Without escape sequences and carriage returns: a model reads past them, and they are counted all the same. */
export function plain(text: string): string {
	return text.replace(/\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9]|.)|\r/g, "");
}

const shows = ({ shows }: Turn, { read }: Exchange): boolean => shows === null || shows.test(plain(read));

const firstLine = (text: string): string => text.split("\n", 1)[0] ?? "";

const written = (tool: string, input: object): string => `${tool} ${JSON.stringify(input)}`;

/** Dialtone as hosts run it: an MCP server on stdio in the project's directory, with its own tools and default budgets. */
async function ours(scene: Scene): Promise<Agent> {
	const home = await DaemonHome.make();
	const client = new Client({ name: "conversations", version: "1" });
	const env = { ...scene.env, DIALTONE_HOME: home.path };
	await client.connect(
		new StdioClientTransport({ command: process.execPath, args: [MAIN, "mcp"], env, cwd: scene.directory }),
	);
	const { tools } = await client.listTools();
	const declarations = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
	const call = async ([tool, input]: Call): Promise<Exchange> => ({
		wrote: written(tool, input),
		read: textOf(await client.callTool({ name: tool, arguments: { ...input } })),
	});
	let session = "main";
	return {
		declared: `${client.getInstructions() ?? ""}\n${JSON.stringify(declarations)}`,
		take: async ({ ours }) => {
			const exchange = await call(ours);
			session = /^\[(\S+)\]/.exec(exchange.read)?.[1] ?? session;
			return exchange;
		},
		sees: (turn, exchange) => shows(turn, exchange) && firstLine(exchange.read).includes(turn.header ?? ""),
		again: () => call(["wait", { session }]),
		[Symbol.asyncDispose]: async () => {
			await client.close();
			await home[Symbol.asyncDispose]();
		},
	};
}

/** A shell tool, with tmux: each call is a shell of its own. */
async function tmux(scene: Scene): Promise<Agent> {
	const shell = (command: string) =>
		new Promise<string>((resolve) =>
			execFile("bash", ["-c", command], { cwd: scene.directory, env: scene.env }, (_, stdout, stderr) =>
				resolve(stdout + stderr),
			),
		);
	const call = async (command: string) => ({ wrote: written("bash", { command }), read: await shell(command) });
	return {
		declared: JSON.stringify({
			name: "bash",
			description: "Run a shell command and return its output.",
			inputSchema: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
		}),
		take: ({ tmux }) => call(tmux),
		sees: shows,
		again: () => call(TMUX_AGAIN),
		[Symbol.asyncDispose]: async () => {
			await shell("tmux kill-server");
		},
	};
}

/** Debian's own: a python that comes first in PATH need not have the package. */
const PYTHON = "/usr/bin/python3";

/** A python tool that stays, with pexpect. */
async function pexpect(scene: Scene): Promise<Agent> {
	const python = spawn(PYTHON, [join(import.meta.dirname, "python-tool.py")], {
		cwd: scene.directory,
		env: scene.env,
		stdio: ["pipe", "pipe", "inherit"],
	});
	const answers = createInterface({ input: python.stdout })[Symbol.asyncIterator]();
	const call = async (code: string): Promise<Exchange> => {
		python.stdin.write(`${JSON.stringify(code)}\n`);
		const { value, done } = await answers.next();
		if (done) throw new Error("python-tool.py ended");
		return { wrote: written("python", { code }), read: JSON.parse(value) as string };
	};
	return {
		declared: JSON.stringify({
			name: "python",
			description: "Run Python code in an interpreter that keeps its state and return what it prints.",
			inputSchema: { type: "object", properties: { code: { type: "string" } }, required: ["code"] },
		}),
		take: ({ pexpect }) => call(pexpect),
		// expect() has waited: what it was given has come, or it has raised. What a look shows of a full screen are pieces
		// between escape sequences: the agent goes on, and the outcome decides.
		sees: (_, { read }) => !read.includes("Traceback"),
		again: async () => null,
		[Symbol.asyncDispose]: async () => {
			const ended = once(python, "exit");
			python.stdin.end();
			await ended;
		},
	};
}

export const agents: Readonly<Record<Way, (scene: Scene) => Promise<Agent>>> = { ours, tmux, pexpect };
