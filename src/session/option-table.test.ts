// C6: what can be set is written down. `npx vitest run option-table -u` writes the table of docs/options.md anew.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isKnownVariable, optionTable } from "./option-table.ts";
import { optionVariables } from "./options.ts";

const ROOT = join(import.meta.dirname, "../..");
const PAGE = join(ROOT, "docs/options.md");
const [BEGIN, END] = ["<!-- options -->\n", "<!-- end -->"];

/** As the formatter has it. */
function aligned([titles, ...rows]: string[][]): string {
	const widths = titles!.map((_, i) => Math.max(...[titles!, ...rows].map((row) => row[i]!.length)));
	const line = (cells: string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(" | ")} |`;
	return [line(titles!), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}

test("C6 docs/options.md lists every option with its default, bounds and meaning", async () => {
	const page = readFileSync(PAGE, "utf8");
	const table = aligned([
		["variable", "default", "from … to", "meaning"],
		...optionTable().map(({ variable, default: value, bounds, meaning }) => [
			`\`${variable}\``,
			value,
			bounds,
			meaning,
		]),
	]);
	const [before, rest] = page.split(BEGIN);
	await expect(`${before}${BEGIN}${table}\n${END}${rest!.split(END)[1]}`).toMatchFileSnapshot(PAGE);
	expect(optionTable()).toHaveLength(optionVariables().length);
});

test("C6 every DIALTONE_ variable that the product reads is on that page", () => {
	const page = readFileSync(PAGE, "utf8");
	const sources = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" }).filter(
		(path) => path.endsWith(".ts") && !path.endsWith(".test.ts"),
	);
	const read = sources.flatMap(
		(path) => readFileSync(join(ROOT, "src", path), "utf8").match(/\bDIALTONE_[A-Z_]+\b/g) ?? [],
	);
	const missing = [...new Set(read)].filter(
		(variable) => !page.includes(`\`${variable}\``) || !isKnownVariable(variable),
	);
	expect(missing).toEqual([]);
	expect(isKnownVariable("DIALTONE_MAX_SESSION")).toBe(false);
});

test("bounds and defaults are told in plain units", () => {
	const rows = new Map(optionTable().map((row) => [row.variable, row]));
	expect(rows.get("DIALTONE_IDLE_MS")).toMatchObject({ default: "4 h", bounds: "0 to 1,000 h" });
	expect(rows.get("DIALTONE_RING_BYTES")).toMatchObject({ default: "1 MiB", bounds: "4 KiB to 64 MiB" });
	expect(rows.get("DIALTONE_QUOTA_BYTES")).toMatchObject({ bounds: "0 to any" });
});
