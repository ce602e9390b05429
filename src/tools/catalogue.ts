// Every tool there is, in the order in which they are shown.

import { z } from "zod";
import { askHuman } from "./ask-human.ts";
import type { ToolCard, ToolSet } from "./client.ts";
import { close } from "./close.ts";
import { codexWriteStdin, execCommand } from "./dialects/codex.ts";
import { closePtySession, listPtySessions, unifiedExec, writeStdin } from "./dialects/exec.ts";
import { ptyCapture, ptyCreate, ptyKill, ptyList, ptySendKeys } from "./dialects/pty.ts";
import { getProcessOutput, runBash, startBackgroundProcess, stopBackgroundProcess } from "./dialects/terminal.ts";
import { list } from "./list.ts";
import { read } from "./read.ts";
import { resize } from "./resize.ts";
import { run } from "./run.ts";
import { send } from "./send.ts";
import { signal } from "./signal.ts";
import { start } from "./start.ts";
import type { Tool } from "./tool.ts";
import { wait } from "./wait.ts";

export const catalogue: Readonly<Record<ToolSet, readonly Tool[]>> = {
	native: [start, send, read, wait, run, list, close, signal, resize, askHuman],
	exec: [unifiedExec, writeStdin, closePtySession, listPtySessions],
	codex: [execCommand, codexWriteStdin],
	pty: [ptyCreate, ptySendKeys, ptyCapture, ptyKill, ptyList],
	terminal: [runBash, startBackgroundProcess, getProcessOutput, stopBackgroundProcess],
};

// The first bearer of a name answers to it: exec's write_stdin hands on what is meant for Codex's.
const byName = new Map<string, Tool>();
for (const tool of Object.values(catalogue).flat()) if (!byName.has(tool.name)) byName.set(tool.name, tool);

export function findTool(name: string): Tool | undefined {
	return byName.get(name);
}

export function toolNames(): readonly string[] {
	return [...byName.keys()];
}

/** The tools of these sets as the outside sees them. */
export function toolCards(sets: readonly ToolSet[] = ["native"]): readonly ToolCard[] {
	const named = new Set<string>();
	// A name is listed once: the first bearer answers to it.
	const isNew = ({ name }: Tool) => !named.has(name) && named.add(name) !== undefined;
	return sets.flatMap((set) =>
		catalogue[set].filter(isNew).map(({ name, title, description, effect, always, input }) => ({
			name,
			title,
			description,
			effect,
			always: always ?? false,
			inputSchema: schemaOf(input),
		})),
	);
}

// Bounds that no sensible call reaches: they are enforced, and the fault says so, but a model pays for every word it reads.
const UNSAID = new Set(["minLength", "maxLength", "minItems", "maxItems"]);

function schemaOf(input: z.ZodObject): Record<string, unknown> {
	// Its dialect goes without saying: 2020-12 is what MCP and OpenAPI take it for.
	const { $schema, ...schema } = z.toJSONSchema(input, {
		io: "input",
		override: ({ jsonSchema }) => {
			const words = jsonSchema as Record<string, unknown>;
			for (const word of UNSAID) delete words[word];
			if (words.maximum === Number.MAX_SAFE_INTEGER) delete words.maximum;
		},
	});
	return schema;
}
