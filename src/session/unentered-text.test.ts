import { describe, expect, test } from "vitest";
import { UnenteredText } from "./unentered-text.ts";

function standing(...typed: readonly string[]): number {
	const text = new UnenteredText();
	for (const piece of typed) text.take(new TextEncoder().encode(piece));
	return text.chars;
}

describe("T7 text that was typed and not entered", () => {
	test.each<[string, readonly string[], number]>([
		["text alone", ["print(1)"], 8],
		["in two calls", ["ab", "cd"], 4],
		["with Enter", ["print(1)\r"], 0],
		["two lines, the second one open", ["a\rbc"], 2],
		["with Enter in the next call", ["ab", "\r"], 0],
		["dropped by Ctrl+C, Ctrl+U, Ctrl+D", ["a\x03b\x15c\x04"], 0],
		["erased again", ["ab\x7f\x7f\x7f"], 0],
		["arrows, Home and Alt+b move within it", ["ab\x1b[D\x1bOA\x1b[1~\x1bb"], 2],
		["Tab completes", ["ab\t"], 2],
		["a bracketed paste with a line end", ["\x1b[200~a\rb\r\x1b[201~"], 4],
		["a bracketed paste that is entered", ["\x1b[200~a\rb\x1b[201~", "\r"], 0],
		["letters of any script", ["å日"], 2],
	])("T7: %s", (_, typed, chars) => expect(standing(...typed)).toBe(chars));
});
