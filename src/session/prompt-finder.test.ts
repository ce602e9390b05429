import { describe, expect, test } from "vitest";
import { PromptFinder } from "./prompt-finder.ts";

function finderOf(prompt: string): PromptFinder {
	const finder = new PromptFinder();
	finder.seen(412, prompt);
	finder.typed();
	return finder;
}

describe("A8 the next prompt in the output", () => {
	test("is found where something is printed over it at once", () => {
		const finder = finderOf("> ");
		expect(finder.feed(Buffer.from("6*7\r\r\n\x1b[33m42\x1b[39m\r\n\x1b[1G\x1b[0J> \x1b[3Gtick\r\n"))).toBe(412);
	});

	test("is found wherever the output is split", () => {
		const output = Buffer.from("6*7\r\r\n42\r\n\x1b[1G\x1b[0Jnode> \x1b[3Gtick\r\n");
		for (let at = 1; at < output.length; at++) {
			const finder = finderOf("node> ");
			expect([finder.feed(output.subarray(0, at)), finder.feed(output.subarray(at))]).toContain(412);
		}
	});

	test("is not the one that is drawn again while the line is typed", () => {
		const finder = finderOf("> ");
		expect(finder.feed(Buffer.from("\x1b[1G> 6*7"))).toBeNull();
		expect(finder.feed(Buffer.from("\r\n42\r\n"))).toBeNull();
	});

	test("may have another number", () => {
		expect(finderOf("In [1]: ").feed(Buffer.from("6*7\r\nOut[1]: 42\r\n\r\nIn [2]: tick"))).toBe(412);
	});

	test("nothing is looked for before a prompt was seen", () => {
		expect(new PromptFinder().feed(Buffer.from("x\r\n> "))).toBeNull();
	});
});
