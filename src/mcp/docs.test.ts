// C6: the figures of docs/mcp.md are those of the tools.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { toolCards } from "../tools/catalogue.ts";
import { ANSWER_WITHIN_MS } from "./host-limits.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/mcp.md"), "utf8").replace(/\s+/g, " ");
const cards = toolCards(["native"]);
const timeoutOf = ({ inputSchema }: (typeof cards)[number]) =>
	(inputSchema as { properties: { timeoutMs?: { default?: number } } }).properties.timeoutMs;

test("C6 docs/mcp.md has the waits that the tools declare and the hosts allow", () => {
	const [, longest, usual, named] =
		/after (\d+) s at the latest, .* the default is the schema's \((\d+) s for ([^)]*)\)/.exec(page)!;
	expect(Number(longest) * 1000).toBe(ANSWER_WITHIN_MS);
	const waiting = cards.filter((card) => timeoutOf(card) !== undefined);
	expect(waiting.map(({ name }) => name)).toEqual(expect.arrayContaining(["start", "send", "wait", "run"]));
	for (const card of waiting.filter(({ name }) => named!.includes(`\`${name}\``)))
		expect(timeoutOf(card)!.default, card.name).toBe(Number(usual) * 1000);
	expect(named).toBe("`start`, `send` and `wait`");
});

test("C6 docs/mcp.md names the tools that hosts load from the start", () => {
	const [, listed] = /`anthropic\/alwaysLoad` on ([^;]*);/.exec(page)!;
	expect([...listed!.matchAll(/`(\w+)`/g)].map(([, name]) => name)).toEqual(
		cards.filter(({ always }) => always).map(({ name }) => name),
	);
});
