// Two ways to call a tool set: its facts in this process, and what an MCP server on stdio
// shows a model. A row of the requirements must hold for both.

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { findTool } from "../../src/tools/catalogue.ts";
import type { ToolSet } from "../../src/tools/client.ts";
import { CommandLine, MAIN } from "../cli/command-line.ts";

export interface Way extends AsyncDisposable {
	/** The answer as it is told: facts, or the object in the text for the model. */
	call<F = Record<string, unknown>>(tool: string, input?: object): Promise<F>;
	/** The text for the model. */
	text(tool: string, input?: object): Promise<string>;
}

export const WAYS: Readonly<Record<string, (set: ToolSet, env?: Env) => Promise<Way>>> = { facts: inProcess, MCP: mcp };

type Env = Readonly<Record<string, string>>;

async function inProcess(): Promise<Way> {
	const dialtone = await Dialtone.open({ owner: "sets" });
	const call = async (tool: string, input: object = {}) => {
		const answer = await dialtone.client.call(tool, input);
		// The schema that documents an answer is strict: a field more or less fails here.
		findTool(tool, input)!.facts.parse(answer.facts);
		return answer;
	};
	return {
		call: async <F>(tool: string, input?: object) => (await call(tool, input)).facts as F,
		text: async (tool, input) => (await call(tool, input)).text,
		[Symbol.asyncDispose]: () => dialtone[Symbol.asyncDispose](),
	};
}

async function mcp(set: ToolSet, env: Env = {}): Promise<Way> {
	const line = new CommandLine();
	const client = new Client({ name: "sets", version: "1" });
	const args = [MAIN, "mcp", "--tools", set];
	await client.connect(new StdioClientTransport({ command: process.execPath, args, env: { ...line.env, ...env } }));
	const text = async (name: string, input: object = {}) => {
		const { content } = await client.callTool({ name, arguments: input as Record<string, unknown> });
		const [only, ...more] = content as { type: string; text: string }[];
		expect([only?.type, more.length]).toEqual(["text", 0]);
		return only!.text;
	};
	return {
		call: async <F>(tool: string, input?: object) => JSON.parse(await text(tool, input)) as F,
		text,
		[Symbol.asyncDispose]: async () => {
			await client.close();
			await line[Symbol.asyncDispose]();
		},
	};
}

/** Calls until the answer is right; a hang is the test's timeout. */
export async function until<F>(call: () => Promise<F>, isRight: (answer: F) => boolean): Promise<F> {
	for (;;) {
		const answer = await call();
		if (isRight(answer)) return answer;
		// In one process a call may settle without ever letting output in.
		await new Promise(setImmediate);
	}
}
