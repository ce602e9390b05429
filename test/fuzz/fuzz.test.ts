// A short run of each fuzzer, and of every case that once failed. `npm run fuzz:daemon` runs longer.

import { describe, expect, test } from "vitest";
import { needing } from "../programs.ts";
import { LineCheck } from "../soak/actors.ts";
import { fuzz, kept, type Ring } from "./runner.ts";
import { targets } from "./targets.ts";

const SEED = 20261116;
/** Beside what is kept. */
const CASES: Readonly<Record<string, number>> = { socket: 300, upgrade: 300, http: 300, mcp: 150, state: 20 };

describe("R8 the daemon survives what a fuzzer sends, and honest callers do not notice", () => {
	test.each(Object.keys(targets))("%s", needing("python3"), async (name) => {
		const target = targets[name]!;
		const maxCases = kept(name).length + CASES[name]!;
		const { findings } = await fuzz(target, { seed: SEED, seconds: 100, maxCases, maxFindings: 1 });
		expect(findings, `seed ${SEED}`).toEqual([]);
	});
});

describe("the harness can fail", () => {
	test("a case that breaks the rules is found among many, alone", async () => {
		const ring: Ring<number> = {
			play: async (cases) => {
				if (cases.includes(77)) throw new Error("77 breaks it");
			},
			check: async () => {},
			usage: async () => null,
			[Symbol.asyncDispose]: async () => {},
		};
		let next = 0;
		const target = { name: "none", batch: 50, make: () => next++, open: async () => ring };
		const { findings, cases } = await fuzz(target, { seed: 1, seconds: 20, maxCases: 200 });
		expect(findings).toEqual([{ problem: "77 breaks it", first: 50, cases: [77] }]);
		expect(cases).toBe(200);
	});

	test.each([
		["a lost byte", ["0000000000\r\n", "000000001\r\n"]],
		["a repeated line", ["0000000000\r\n", "0000000000\r\n"]],
		["a wrong last line", ["0000000000\r\n", "E000000002\r\n"]],
	])("%s in numbered output is seen", (_, lines) => {
		const check = new LineCheck();
		const text = [...lines, "0000000002\r\n"].join("");
		expect(() => check.take({ offset: 0, bytes: Buffer.from(text) })).toThrow(/line \d is/);
	});
});
