// Dialtone as the library in this process, through its daemon, and as an MCP server on stdio.
//
// The compiled one, as it is installed: the daemon and the MCP server run it too.

import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import type { Dialtone } from "../../src/index.ts";
import { type Caller, PATIENCE_MS } from "./caller.ts";

const dist = join(import.meta.dirname, "../../dist");
export const MAIN = join(dist, "main.js");

async function library(): Promise<typeof Dialtone> {
	return ((await import(pathToFileURL(join(dist, "index.js")).href)) as { Dialtone: typeof Dialtone }).Dialtone;
}

interface TemporaryHome extends AsyncDisposable {
	readonly home: string;
	readonly env: Record<string, string>;
	readonly http: { readonly url: string; readonly token: string } | null;
}

/** A home of its own, with a daemon that takes many sessions; all of them end with it. */
export async function temporaryHome(options: { http?: boolean } = {}): Promise<TemporaryHome> {
	const home = await mkdtemp(join(tmpdir(), "dialtone-bench-"));
	const env = { PATH: process.env.PATH ?? "", HOME: home, DIALTONE_HOME: home, DIALTONE_MAX_SESSIONS: "2000" };
	const dialtone = async (...words: string[]) =>
		(await promisify(execFile)(process.execPath, [MAIN, ...words], { env })).stdout;
	let http: TemporaryHome["http"] = null;
	if (options.http) {
		const url = /http:\S+/.exec(await dialtone("serve", "--port", "0"))![0];
		http = { url, token: (await dialtone("token", "create", "bench")).trim() };
	} else await dialtone("list"); // the first word starts the daemon, with this environment
	return {
		home,
		env,
		http,
		[Symbol.asyncDispose]: async () => {
			await dialtone("daemon", "stop", "--sessions");
			await rm(home, { recursive: true, force: true });
		},
	};
}

function caller(name: string, dialtone: Dialtone): Caller {
	return {
		name,
		polls: false,
		open: async (_, argv) => {
			const terminal = await dialtone.start({ argv: [...argv], timeoutMs: PATIENCE_MS });
			return {
				turn: async (text) => {
					const { returned } = await terminal.send({ text, submit: true, timeoutMs: PATIENCE_MS });
					const now = process.hrtime.bigint();
					return returned === "waiting" ? now : null;
				},
			};
		},
		[Symbol.asyncDispose]: () => dialtone[Symbol.asyncDispose](),
	};
}

export async function inProcess(): Promise<Caller> {
	return caller("Dialtone, in process", await (await library()).open());
}

export async function connected(home: string): Promise<Dialtone> {
	return (await library()).connect({ home });
}

export async function throughDaemon(home: string): Promise<Caller> {
	return caller("Dialtone, daemon's socket", await connected(home));
}

export async function overMcp(env: Record<string, string>): Promise<Caller> {
	const client = new Client({ name: "bench", version: "1" });
	await client.connect(new StdioClientTransport({ command: process.execPath, args: [MAIN, "mcp"], env }));
	const call = async (name: string, input: Record<string, unknown>) =>
		textOf(await client.callTool({ name, arguments: input }));
	let opened = 0;
	return {
		name: "Dialtone, MCP on stdio",
		polls: false,
		open: async (_, argv) => {
			const session = `mcp-${++opened}`;
			await call("start", { name: session, argv, timeoutMs: PATIENCE_MS });
			return {
				turn: async (text) => {
					const answer = await call("send", { session, text, submit: true, timeoutMs: PATIENCE_MS });
					const now = process.hrtime.bigint();
					return /^\[[^\]]*\] (?:likely )?waiting/.test(answer) ? now : null;
				},
			};
		},
		[Symbol.asyncDispose]: () => client.close(),
	};
}

/** What the model would read. */
export function textOf(result: { content?: unknown }): string {
	const content = (result.content ?? []) as { type: string; text?: string }[];
	return content.map(({ text }) => text ?? "").join("\n");
}
