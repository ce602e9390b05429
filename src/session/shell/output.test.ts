import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { processorMs } from "../../../test/processor-time.ts";
import { Screen } from "../../terminal/screen.ts";
import { seenOf } from "./output.ts";

const asSeen = (bytes: Uint8Array, cols: number) => seenOf(bytes, cols).text;

const encode = (text: string) => new TextEncoder().encode(text);

/** Everything through an emulator. */
function drawn(text: string, cols: number): string {
	const screen = new Screen({ cols, rows: 50, scrollback: 10_000 });
	screen.feed(encode(text));
	const lines = screen.lines(Number.MAX_SAFE_INTEGER);
	screen.dispose();
	return lines.join("\n");
}

/** An emulator has no blanks at the end of lines and no empty lines at the end; a tab is blanks to the next stop. */
const normal = (text: string): string =>
	text
		.split("\n")
		.map((line) => {
			let column = 0;
			let out = "";
			for (const char of line) {
				const cells = char === "\t" ? 8 - (column % 8) : WIDE.includes(char) ? 2 : ZERO.includes(char) ? 0 : 1;
				out += char === "\t" ? " ".repeat(cells) : char;
				column += cells;
			}
			return out.trimEnd();
		})
		.join("\n")
		.trimEnd();

const WIDE = ["漢", "字", "🦀", "한"];
const ZERO = ["\u0301"];
const word = fc.constantFrom("a", "word", "é", "e\u0301", "-", " ", "  ", "=>", "[", "m", "]0;", "漢字", "🦀", "한");
const colour = fc.constantFrom(
	"\x1b[31m",
	"\x1b[m",
	"\x1b[0m",
	"\x1b[1;38;5;196m",
	"\x1b[38:2::1:2:3m",
	"\x1b[K",
	"\x1b(B\x1b[m",
	"\x1b[01;31m\x1b[K",
	"\x1b[?25l",
	"\x1b[?2004h",
	"\x1b[2 q",
	"\x1b=",
);
const payload = fc.constantFrom(
	"0;a title",
	"133;C;aid=1",
	"8;;http://x.y/z",
	"8;;",
	"7;file://h/tmp",
	"52;c;YQ==",
	"9",
);
const command = fc.tuple(payload, fc.constantFrom("\x07", "\x1b\\")).map(([body, end]) => `\x1b]${body}${end}`);
const ignored = fc.constantFrom("\x00", "\x07", "\x0f", "\x7f");
const lineEnd = fc.constantFrom("\r\n", "\r\n", "\r\r\n");
const plain = (...more: fc.Arbitrary<string>[]) =>
	fc
		.array(fc.oneof(word, word, colour, command, ignored, lineEnd, ...more), { maxLength: 60 })
		.map((all) => all.join(""));
const painting = fc.constantFrom(
	"\r",
	"\b",
	"\x1b[A",
	"\x1b[2K",
	"\x1b[3G",
	"\x1b[1;1H",
	"\x1b[2J",
	"\x1b(0",
	"\x1bM",
	"\x1b[2L",
);

describe("a command's output as a person would have seen it", () => {
	test("text with colours, titles and wide characters is what an emulator shows, without one", () => {
		fc.assert(
			fc.property(plain(), fc.integer({ min: 10, max: 40 }), (text, cols) => {
				expect(normal(asSeen(encode(text), cols))).toBe(drawn(text, cols));
			}),
			{ numRuns: 300 },
		);
	});

	test("also with tabs, where no line is wrapped", () => {
		fc.assert(
			fc.property(plain(fc.constant("\t")), (text) => {
				expect(normal(asSeen(encode(text), 1000))).toBe(drawn(text, 1000));
			}),
			{ numRuns: 150 },
		);
	});

	test("a line that is erased before its end is not there", () => {
		expect(asSeen(encode("50 %\r\x1b[K\r\nready\x1b[m\x1b[K\r\n"), 40)).toBe("\nready");
	});

	test("what paints is drawn, and only from a screenful above it", () => {
		fc.assert(
			fc.property(
				fc.nat(120),
				plain(painting),
				plain(painting, painting),
				fc.integer({ min: 10, max: 40 }),
				(lines, text, more, cols) => {
					const before = Array.from({ length: lines }, (_, i) => `line \x1b[1m${i}\x1b[m of many\r\n`).join("");
					expect(normal(asSeen(encode(before + text + more), cols))).toBe(drawn(before + text + more, cols));
				},
			),
			{ numRuns: 150 },
		);
	});

	test.each([
		["a progress bar", "10%\r50%\r100%\r\ndone\r\n", "100%\ndone"],
		["grep in colour", "\x1b[35m\x1b[Kfile\x1b[m\x1b[K:\x1b[01;31m\x1b[Kword\x1b[m\x1b[K\r\n", "file:word\n"],
		["a title that never ends", "a\x1b]0;never", "a"],
		["DOS line ends", "one\r\r\ntwo\r\r\n", "one\ntwo\n"],
		["line drawing", "\x1b(0lqk\x1b(B\r\n", "┌─┐"],
	])("%s", (_, text, seen) => {
		expect(asSeen(encode(text), 80)).toBe(seen);
	});

	test.each([
		["carriage returns", "\r"],
		["titles that never end", "\x1b]"],
		["colours that never end", "\x1b[0"],
		["line ends of every kind", "\r\r\n"],
	])("a megabyte of %s takes linear time", (_, unit) => {
		const bytes = encode(unit.repeat(1_000_000 / unit.length));
		expect(processorMs(() => asSeen(bytes, 80))).toBeLessThan(5000);
	});
});
