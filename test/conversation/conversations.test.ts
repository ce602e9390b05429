// The conversations of bench/conversations/ as an agent holds them over MCP: the task is achieved, in one call a turn.

import { describe, expect, test } from "vitest";
import { play } from "../../bench/conversations/play.ts";
import { conversations } from "../../bench/conversations/table.ts";
import { needing } from "../programs.ts";

test("there are 25", () => {
	expect(new Set(conversations.map(({ name }) => name)).size).toBe(25);
});

describe("R1.6 a conversation in one call a turn", () => {
	for (const conversation of conversations) {
		const { name, task, needs, finding } = conversation;
		test(`${finding === undefined ? "" : `${finding}: `}${name}: ${task}`, needing(...needs), async () => {
			const { stuck, achieved, calls, turns, exchanges } = await play(conversation, "ours");
			const said = exchanges.flatMap(({ wrote, read }) => [`> ${wrote}`, ...read.split("\n")]);
			// Without the empty rows of screens: what went wrong is to be found in little space.
			const transcript = [`${calls} calls, ${turns} turns`, ...said].filter((line) => line.trim() !== "").join("\n");
			expect(stuck, transcript).toBeNull();
			expect(achieved, transcript).toBe(true);
			expect(calls, transcript).toBe(turns);
		});
	}
});
