import fc from "fast-check";
import { expect, test } from "vitest";
import { EchoFilter, type TypedText } from "./echo-filter.ts";

const filtered = (typed: TypedText, ...pieces: readonly string[]) => {
	const echo = new EchoFilter([typed]);
	return pieces.map((piece) => echo.feed(piece)).join("");
};

test("T4: what was typed ahead is echoed by the terminal, and again behind the prompt of the line editor", () => {
	const ahead = { text: "print('DONE')", ahead: true };
	const output = "working\nprint('DONE')\nmore\n>>> print('DONE')\nDONE\n>>> ";
	expect(filtered(ahead, output)).toBe("working\n\nmore\n>>> \nDONE\n>>> ");
	// Where the program was waiting, there is one echo; what comes behind a prompt later is the program's.
	expect(filtered({ ...ahead, ahead: false }, output)).toBe("working\n\nmore\n>>> print('DONE')\nDONE\n>>> ");
	// The terminal's own was seen before.
	expect(filtered({ ...ahead, echoed: true }, "$ print('DONE')\nDONE\n")).toBe("$ \nDONE\n");
});

test("T4: what the program itself prints of it is output", () => {
	const ahead = { text: "done", ahead: true };
	expect(filtered(ahead, "done\ngot done\ndone\n")).toBe("\ngot done\ndone\n");
});

test("T4: the echo is taken out in whatever pieces it comes", () => {
	const text = fc
		.array(fc.constantFrom("aab", "a", "b", "$ ", "\n", "$ aab\n"), { maxLength: 12 })
		.map((all) => all.join(""));
	fc.assert(
		fc.property(text, fc.array(fc.nat(30), { maxLength: 5 }), fc.boolean(), (all, cuts, echoed) => {
			const at = [...cuts.map((cut) => cut % (all.length + 1)), 0, all.length].sort((a, b) => a - b);
			const pieces = at.slice(1).map((end, i) => all.slice(at[i], end));
			const typed = { text: "aab", ahead: true, echoed };
			expect(filtered(typed, ...pieces)).toBe(filtered(typed, all));
		}),
	);
});
