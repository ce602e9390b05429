import fc from "fast-check";
import { expect, test } from "vitest";
import { PLAIN_MODES } from "../../test/plain-modes.ts";
import { processorMs } from "../../test/processor-time.ts";
import { encodePaste } from "./paste.ts";

const bracketed = { ...PLAIN_MODES, bracketedPaste: true };
const paste = (text: string, modes = PLAIN_MODES, options?: { force?: boolean }) =>
	new TextDecoder().decode(encodePaste(text, modes, options));

test("R1.2 a program that enabled bracketed paste gets the text in brackets", () => {
	expect(paste("a\nb", bracketed)).toBe("\x1b[200~a\rb\x1b[201~");
});

test("no text can close the bracket or press a key, however it is put together", () => {
	const evil = fc.array(
		fc.constantFrom("\x1b[201~", "\x1b[200~", "\x9b201~", "\x1b[20", "1~", "\x1b", "[", "\x03", "rm\n", "é"),
		{ maxLength: 20 },
	);
	fc.assert(
		fc.property(evil, (parts) => {
			const inside = paste(parts.join(""), bracketed).slice(6, -6);
			expect(inside).not.toMatch(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/);
		}),
	);
	expect(paste("\x1b[2\x1b[201~01~x", bracketed)).toBe("\x1b[200~x\x1b[201~");
});

test("many lines to a program that did not ask are refused unless forced", () => {
	expect(() => paste("a\nb\nc")).toThrow(expect.objectContaining({ code: "paste_refused", facts: { lines: 3 } }));
	for (const [text, lines] of [
		["a\nb\n", 2],
		["a\r\nb\r\n", 2],
		["a\n", 1],
	] as const)
		expect(() => paste(text), JSON.stringify(text)).toThrow(expect.objectContaining({ facts: { lines } }));
	expect(paste("a\nb", PLAIN_MODES, { force: true })).toBe("a\rb");
	expect(paste("one line")).toBe("one line");
});

test("G11 brackets nested a hundred thousand deep take linear time", () => {
	let inside = "";
	const spent = processorMs(() => {
		inside = paste(`${"\x1b[20".repeat(100_000)}${"1~".repeat(100_000)}`, bracketed).slice(6, -6);
	});
	expect(spent).toBeLessThan(2000); // minutes when each level took a pass
	expect(inside).not.toContain("\x1b");
});
