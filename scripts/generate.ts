// Writes what is derived from the declarations of tools and commands: the table of fields
// that the command line reads (it must not load zod), and the reference in docs/command-line.md.
// Both are committed; a unit test fails where they are stale.

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { DeclaredField, DeclaredTool } from "../src/cli/declared-tool.ts";
import { toolCards } from "../src/tools/catalogue.ts";

const root = join(import.meta.dirname, "..");
const TABLE = join(root, "src/cli/tool-fields.ts");
export const PAGE = join(root, "docs/command-line.md");

interface Schema {
	readonly type?: string;
	readonly description?: string;
	readonly default?: string | number | boolean;
	readonly enum?: readonly string[];
	readonly minimum?: number;
	readonly properties?: Readonly<Record<string, Schema>>;
	readonly items?: Schema;
	readonly anyOf?: readonly Schema[];
	readonly additionalProperties?: Schema | boolean;
}

/** The native tools, as the command line sees them. */
export function declaredTools(): Record<string, DeclaredTool> {
	return Object.fromEntries(
		toolCards(["native"]).map(({ name, title, inputSchema }) => [
			name,
			{ title, fields: Object.fromEntries(fieldsOf(inputSchema, "")) },
		]),
	);
}

function fieldsOf({ properties = {} }: Schema, prefix: string): [string, DeclaredField][] {
	return Object.entries(properties).flatMap(([name, schema]): [string, DeclaredField][] =>
		schema.properties === undefined ? [[prefix + name, fieldOf(schema)]] : fieldsOf(schema, `${prefix}${name}.`),
	);
}

function fieldOf(schema: Schema): DeclaredField {
	return {
		type: typeOf(schema),
		...(schema.description !== undefined && { about: schema.description }),
		...(schema.enum && { choices: schema.enum }),
		...(schema.default !== undefined && { default: schema.default }),
		...(schema.minimum !== undefined && { least: schema.minimum }),
	};
}

function typeOf({ type, items, anyOf, additionalProperties }: Schema): DeclaredField["type"] {
	if (type === "string" || type === "boolean" || type === "integer" || type === "number") return type;
	if (type === "array" && items?.type === "string") return "strings";
	if (type === "object" && typeof additionalProperties === "object" && additionalProperties.type === "string")
		return "record";
	return anyOf?.every((one) => one.type === "string" || one.type === "integer") ? "scalar" : "json";
}

const BEGIN = "<!-- `npm run generate` writes what follows -->\n";

/** The page with its reference written anew. */
export async function referencePage(): Promise<string> {
	const { COMMANDS } = await import("../src/cli/commands.ts");
	const { reference } = await import("../src/cli/help.ts");
	const [head] = readFileSync(PAGE, "utf8").split(BEGIN);
	return `${head}${BEGIN}\n${reference(COMMANDS)}`;
}

/** Writes it as the formatter would have it. */
function write(file: string, text: string): void {
	const args = ["node_modules/@biomejs/biome/bin/biome", "format", `--stdin-file-path=${file}`];
	const { stdout, stderr, status } = spawnSync(process.execPath, args, { cwd: root, input: text, encoding: "utf8" });
	if (status !== 0) throw new Error(stderr);
	writeFileSync(file, stdout);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
	write(
		TABLE,
		`// Written by \`npm run generate\` from the declarations in src/tools.

import type { DeclaredTool } from "./declared-tool.ts";

export const TOOL_FIELDS = ${JSON.stringify(declaredTools())} as const satisfies Record<string, DeclaredTool>;
`,
	);
	write(PAGE, await referencePage());
}
