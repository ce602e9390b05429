import { expect, test } from "vitest";
import { toolCards } from "./catalogue.ts";
import { STARTING_TOOLS, TOOL_SETS } from "./client.ts";

test("G1 the tools whose calls carry the caller's environment are those that may start a program", () => {
	const cards = toolCards(TOOL_SETS);
	const names = new Set(cards.map(({ name }) => name));
	expect([...STARTING_TOOLS].filter((name) => !names.has(name))).toEqual([]);
	// `run` and `run_bash` type into a shell, which the first of their calls starts.
	const starting = cards.filter(({ name, effect }) => effect === "starts" || /^run(_|$)/.test(name));
	expect(new Set(starting.map(({ name }) => name))).toEqual(STARTING_TOOLS);
});
