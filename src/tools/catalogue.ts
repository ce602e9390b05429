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

export const catalogue = {
	native: [start, send, read, wait, run, list, close, signal, resize, askHuman],
	exec: [unifiedExec, writeStdin, closePtySession, listPtySessions],
	codex: [execCommand, codexWriteStdin],
	pty: [ptyCreate, ptySendKeys, ptyCapture, ptyKill, ptyList],
	terminal: [runBash, startBackgroundProcess, getProcessOutput, stopBackgroundProcess],
} as const satisfies Record<ToolSet, readonly Tool[]>;

type AnyTool = (typeof catalogue)[ToolSet][number];
type ByName = { readonly [T in AnyTool as T["name"]]: T };

export type ToolName = keyof ByName;
/** What a caller may pass to a tool. */
export type InputOf<N extends ToolName> = z.input<ByName[N]["input"]>;
/** What a tool answers. */
export type FactsOf<N extends ToolName> = z.output<ByName[N]["facts"]>;

// Where two sets have a tool of the same name the first one is called: exec's write_stdin passes on what is meant for Codex's.
const byName = new Map<string, Tool>();
for (const tool of Object.values(catalogue).flat()) if (!byName.has(tool.name)) byName.set(tool.name, tool);

export function findTool(name: string): Tool | undefined {
	return byName.get(name);
}

export function toolNames(): readonly string[] {
	return [...byName.keys()];
}

const cards = new Map<string, ToolCard>();

/** The tools of these sets as the outside sees them. */
export function toolCards(sets: readonly ToolSet[] = ["native"]): readonly ToolCard[] {
	const names = new Set(sets.flatMap((set) => catalogue[set].map(({ name }) => name)));
	return [...names].map(toolCard);
}

/** Made once: a JSON schema takes a millisecond, which is as long as a whole turn. */
function toolCard(name: ToolName): ToolCard {
	const known = cards.get(name);
	if (known !== undefined) return known;
	const { title, description, effect, always = false, input, facts } = byName.get(name)!;
	const card = {
		name,
		title,
		description,
		effect,
		always,
		inputSchema: inputSchema(input),
		factsSchema: factsSchema(facts),
	};
	cards.set(name, card);
	return card;
}

// Bounds that no sensible call reaches: they are enforced, and the fault names them, but every word costs the model tokens.
const OMITTED = ["minLength", "maxLength", "minItems", "maxItems"] as const;

function inputSchema(input: z.ZodObject): Record<string, unknown> {
	return schemaOf(input, {
		io: "input",
		override: ({ jsonSchema }) => {
			for (const word of OMITTED) delete jsonSchema[word];
			if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
		},
	});
}

export function factsSchema(facts: z.ZodType): Record<string, unknown> {
	return schemaOf(facts, {
		io: "output",
		// To other programs, filtered text is a string.
		unrepresentable: "any",
		override: ({ zodSchema, jsonSchema }) => {
			if (zodSchema._zod.def.type === "custom") jsonSchema.type = "string";
			if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
		},
	});
}

function schemaOf(schema: z.ZodType, options: Parameters<typeof z.toJSONSchema>[1]): Record<string, unknown> {
	// `$schema` is omitted: MCP and OpenAPI assume 2020-12.
	const { $schema, ...words } = z.toJSONSchema(schema, options);
	return words;
}
