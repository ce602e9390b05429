// docs/tool-sets.md says what is declared.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { toolCards } from "../catalogue.ts";
import { TOOL_SETS, type ToolCard, type ToolSet } from "../client.ts";

interface Schema {
	readonly type?: string | readonly string[];
	readonly enum?: readonly string[];
	readonly const?: unknown;
	readonly anyOf?: readonly Schema[];
	readonly items?: Schema;
	readonly properties?: Readonly<Record<string, Schema>>;
	readonly required?: readonly string[];
	readonly default?: unknown;
	readonly description?: string;
}

const PAGE = join(import.meta.dirname, "../../../docs/tool-sets.md");

function typeOf(schema: Schema): string {
	if (schema.const !== undefined) return JSON.stringify(schema.const);
	if (schema.enum !== undefined) return schema.enum.join(" · ");
	if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(" or ");
	if (schema.type === "array") return `list of ${typeOf(schema.items ?? {})}`;
	return [schema.type ?? "any"].flat().join(" or ");
}

const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll("\n", " ");

/** Padded as the formatter pads, so that the page stays as it is. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
	const widths = head.map((title, at) => Math.max(3, title.length, ...rows.map((row) => row[at]!.length)));
	const line = (cells: readonly string[]) => `| ${cells.map((text, at) => text.padEnd(widths[at]!)).join(" | ")} |`;
	return [line(head), `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...rows.map(line)].join("\n");
}

function parameters({ inputSchema }: ToolCard): string {
	const { properties = {}, required = [] } = inputSchema as Schema;
	const rows = Object.entries(properties).map(([name, schema]) => [
		`\`${name}\``,
		cell(typeOf(schema)),
		required.includes(name) ? "required" : schema.default === undefined ? "" : `\`${JSON.stringify(schema.default)}\``,
		cell(schema.description ?? ""),
	]);
	return rows.length === 0 ? "No parameters." : table(["parameter", "type", "default", "meaning"], rows);
}

function results({ factsSchema }: ToolCard): string {
	const all = [factsSchema as Schema, ...((factsSchema as Schema).anyOf ?? [])];
	const [first] = all.filter(({ type }) => type !== undefined);
	const { properties = {}, required = [] } = first?.type === "array" ? first.items! : first!;
	// Any answer may have notices; the page says so once.
	const own = Object.entries(properties).filter(([name]) => name !== "notices");
	const rows = own.map(([name, schema]) => [
		`\`${name}\``,
		cell(typeOf(schema)),
		required.includes(name) ? "always" : "sometimes",
		cell(schema.description ?? ""),
	]);
	return table([first?.type === "array" ? "result: a list of" : "result", "type", "", "meaning"], rows);
}

const section = (set: ToolSet) =>
	toolCards([set])
		.map((card) => `### ${card.name}\n\n${card.description}\n\n${parameters(card)}\n\n${results(card)}\n`)
		.join("\n");

test("every parameter, default and result field is in docs/tool-sets.md as it is declared", async () => {
	const page = readFileSync(PAGE, "utf8");
	const sets = TOOL_SETS.filter((set) => set !== "native");
	const parts = page.split(/^<!-- (\w+) -->$/m);
	expect(parts.filter((_, at) => at % 2 === 1)).toEqual(sets);
	// What is written by hand comes before each mark, what is declared after it, up to the next heading.
	const written = parts.map((part, at) => {
		if (at % 2 === 1) return `<!-- ${part} -->`;
		if (at === 0) return part;
		const next = part.search(/^## /m);
		return `\n\n${section(sets[at / 2 - 1]!)}${next < 0 ? "" : `\n${part.slice(next)}`}`;
	});
	await expect(written.join("")).toMatchFileSnapshot(PAGE);
});
