import { describe, expect, test } from "vitest";
import { catalogue } from "../tools/catalogue.ts";
import { TOOL_SETS } from "../tools/client.ts";
import { instructionsFor } from "./instructions.ts";

const inQuotes = (text: string) => [...text.matchAll(/`(\w+)`/g)].map(([, word]) => word!);
const toolsOf = (set: (typeof TOOL_SETS)[number]) => catalogue[set].map(({ name }): string => name);

describe.each(TOOL_SETS)("D3: the instructions for %s", (set) => {
	test("name no tool of another set", () => {
		const others = TOOL_SETS.flatMap(toolsOf).filter((name) => !toolsOf(set).includes(name));
		expect(inQuotes(instructionsFor([set])).filter((word) => others.includes(word))).toEqual([]);
	});

	test("name the tools of this one that a model needs first", () => {
		const [first] = toolsOf(set);
		expect(inQuotes(instructionsFor([set]))).toContain(first);
	});
});

test("sets that are offered together are told together, each once", () => {
	const both = instructionsFor(["exec", "terminal", "exec"]);
	expect(both).toBe(`${instructionsFor(["exec"])}\n\n${instructionsFor(["terminal"])}`);
});
