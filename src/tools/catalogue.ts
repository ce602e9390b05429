// Every tool there is, in the order in which they are shown.

import { z } from "zod";
import type { Fault } from "../protocol/fault.ts";
import { askHuman } from "./ask-human.ts";
import { type Answer, TOOL_SETS, type ToolCard, type ToolSet } from "./client.ts";
import { close } from "./close.ts";
import { codexWriteStdin, execCommand } from "./dialects/codex.ts";
import { closePtySession, listPtySessions, unifiedExec, writeStdin } from "./dialects/exec.ts";
import { ptyCapture, ptyCreate, ptyKill, ptyList, ptySendKeys } from "./dialects/pty.ts";
import { getProcessOutput, runBash, startBackgroundProcess, stopBackgroundProcess } from "./dialects/terminal.ts";
import { factsOnHost, faultOnHost } from "./host-names.ts";
import { list } from "./list.ts";
import { read } from "./read.ts";
import { resize } from "./resize.ts";
import { run } from "./run.ts";
import { send } from "./send.ts";
import { signal } from "./signal.ts";
import { start } from "./start.ts";
import type { RefusalContext, Tool } from "./tool.ts";
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
export type InputOf<N extends ToolName> = z.input<ByName[N]["input"]> & InFleet<N>;
/** What a member of a fleet takes beside a tool's own fields (fleet/aim.ts). */
type InFleet<N> = { readonly host?: string | undefined } & (N extends "start" | "run"
	? { readonly placement?: Placement | undefined }
	: N extends "list"
		? { readonly limit?: number | undefined; readonly after?: string | undefined }
		: unknown);
export type Placement =
	| "least-loaded"
	| { readonly host: string }
	| { readonly labels: Readonly<Record<string, string>> }
	| { readonly sameAs: string };
/** What a tool answers. */
export type FactsOf<N extends ToolName> = z.output<ByName[N]["facts"]>;

const setOf = new Map<Tool, ToolSet>();
const byName = new Map<string, readonly Tool[]>();
for (const set of TOOL_SETS) {
	for (const tool of catalogue[set]) {
		setOf.set(tool, set);
		byName.set(tool.name, [...(byName.get(tool.name) ?? []), tool]);
	}
}

/** The tool of this name. Where two sets have one, that of the sets offered; of several the first, unless the input is meant for another. */
export function findTool(name: string, input?: unknown, sets: readonly ToolSet[] = TOOL_SETS): Tool | undefined {
	const all = byName.get(name);
	const offered = all?.filter((tool) => sets.includes(setOf.get(tool)!));
	const found = offered?.length === 0 ? all : offered;
	return found?.find((tool) => tool.takes?.(input)) ?? found?.[0];
}

export function toolNames(): readonly string[] {
	return [...byName.keys()];
}

/** A refusal as the callers of this tool know it: in the words of its set, and with facts of its own where the set has them. */
export function refusal(
	{
		name,
		input,
		sets,
	}: { readonly name: string; readonly input: unknown; readonly sets?: readonly ToolSet[] | undefined },
	fault: Fault,
	context: RefusalContext | null = null,
): Answer | Fault {
	const tool = findTool(name, input, sets);
	if (tool === undefined) return fault;
	const worded = faultOnHost(fault.in(setOf.get(tool)!), context?.caller);
	if (tool.refuse === undefined) return worded;
	const facts = factsOnHost(tool.refuse(worded, input, context), context?.caller);
	return { facts, text: tool.render(facts), refused: fault.code };
}

const cards = new Map<Tool, ToolCard>();

/** The tools of these sets as the outside sees them; where two have the same name, one card for both. */
export function toolCards(sets: readonly ToolSet[] = ["native"]): readonly ToolCard[] {
	const offered = new Map<string, ToolCard>();
	for (const tool of new Set(sets.flatMap((set): readonly Tool[] => catalogue[set]))) {
		const [card, other] = [toolCard(tool), offered.get(tool.name)];
		offered.set(tool.name, other === undefined ? card : either(other, card));
	}
	return [...offered.values()];
}

/** The first one's words, and what either takes and answers. */
function either(first: ToolCard, second: ToolCard): ToolCard {
	const properties = { ...propertiesOf(second) };
	for (const [name, property] of Object.entries(propertiesOf(first))) {
		const other = properties[name];
		properties[name] = other !== undefined && other.type !== property.type ? { anyOf: [property, other] } : property;
	}
	return {
		...first,
		inputSchema: { ...first.inputSchema, properties },
		factsSchema: { anyOf: [first.factsSchema, second.factsSchema] },
	};
}

const propertiesOf = ({ inputSchema }: ToolCard) =>
	inputSchema.properties as Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Made once: a JSON schema takes a millisecond, which is as long as a whole turn. */
function toolCard(tool: Tool): ToolCard {
	const known = cards.get(tool);
	if (known !== undefined) return known;
	const { name, title, description, effect, always = false, input, facts } = tool;
	const card = {
		name,
		title,
		description,
		effect,
		always,
		inputSchema: inputSchema(input),
		factsSchema: factsSchema(facts),
	};
	cards.set(tool, card);
	return card;
}

// Bounds that no sensible call reaches: they are enforced, and the fault names them, but every word costs the model tokens.
const OMITTED = ["minLength", "maxLength", "minItems", "maxItems", "propertyNames"] as const;

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
