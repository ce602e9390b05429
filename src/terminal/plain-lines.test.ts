import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { Emulator } from "./emulator.ts";
import { plainLines, startOfLast, stylesBefore } from "./plain-lines.ts";
import { Screen } from "./screen.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (from: Uint8Array) => new TextDecoder().decode(from);

describe("plain lines", () => {
	test.each([
		["whole lines only", "one\r\ntwo\r\nthr", 10, 2],
		["up to what moves the cursor", "one\r\nt\x1b[Awo\r\nthree\r\n", 5, 1],
		["colours and erase-in-line", "\x1b[31;1mred\x1b[m\x1b[K\r\nplain\r\n", 25, 2],
		["one that the program ended itself, with CR LF", "one\r\r\ntwo\r\r\r\n", 13, 2],
		["a line that is drawn over", "10 %\r20 %\r\n", 11, 1],
		["but no line feed alone, no bell, no C1 control", "one\r\ntwo\nthree\r\n", 5, 1],
		["", "one\r\ntwo\x07\r\n", 5, 1],
		["", "one\r\n\u0085two\r\n", 5, 1],
	])("%s", (_, output, end, lines) => {
		expect(plainLines(bytes(output), 0, 80)).toMatchObject({ end, lines });
	});

	test("a long line of ASCII takes as many rows as it needs; one of anything else is not known", () => {
		expect(plainLines(bytes(`${"x".repeat(25)}\r\n${"y".repeat(10)}\r\n`), 0, 10)).toEqual({
			end: 39,
			lines: 2,
			wraps: [27, 2],
		});
		expect(plainLines(bytes(`ab\r\n${"ü".repeat(6)}\r\n`), 0, 10)).toMatchObject({ end: 4, lines: 1 });
		expect(plainLines(bytes(`ab\r\n${"\t".repeat(6)}x\r\n`), 0, 10)).toMatchObject({ end: 4, lines: 1 });
	});

	test("the last lines, and the style in force before them", () => {
		const output = bytes("\x1b[1mbold\r\n\x1b[0m\x1b[31mred\r\n\x1b[4mboth\r\nlast\r\n");
		const from = startOfLast(output, output.length, 1);
		expect(text(output.subarray(from))).toBe("last\r\n");
		expect(text(stylesBefore(output, 0, from))).toBe("\x1b[0m\x1b[31m\x1b[4m");
		expect(startOfLast(output, output.length, 9)).toBe(-1);
	});
});

const line = fc.oneof(
	{ weight: 6, arbitrary: fc.string({ unit: "grapheme-ascii", maxLength: 30 }).map((it) => `${it}\r\n`) },
	{ weight: 2, arbitrary: fc.nat(60).map((length) => `${"w".repeat(length)}\r\n`) },
	{ weight: 2, arbitrary: fc.nat(60).map((length) => `${"w".repeat(length)}\r\r\n`) },
	fc.constantFrom(
		"\x1b[31mred\r\n",
		"\x1b[mplain\x1b[K\r\n",
		"\x1b[48;2;1;2;3mdeep\r\n",
		"a\tb\r\n",
		"1 %\r2 %\r\n",
		"ü漢🦀\r\n",
		"\r\n",
	),
);
const moves = fc.constantFrom(
	"\x1b[2J",
	"\x1b[5A",
	"\x1b[3;7r",
	"\x1b[r",
	"\x1b[?1049h",
	"\x1b[?1049l",
	"\x1b[?7l",
	"\x1b[?7h",
	"\x1b[4h",
	"\x1b[4l",
	"\x1bc",
	"half",
	"\x07",
	"\n",
);
const output = fc
	.array(
		fc.oneof(
			{
				weight: 8,
				arbitrary: fc
					.tuple(fc.array(line, { maxLength: 12 }), fc.integer({ min: 1, max: 20 }))
					.map(([lines, times]) => lines.join("").repeat(times)),
			},
			moves,
		),
		{ maxLength: 6 },
	)
	.map((parts) => parts.join(""));

test("lines that scroll away are counted as if they had been drawn", () => {
	const skips = vi.spyOn(Emulator.prototype, "countAsDropped");
	fc.assert(
		fc.property(
			fc.array(output, { minLength: 1, maxLength: 3 }),
			fc.integer({ min: 3, max: 40 }),
			fc.integer({ min: 2, max: 6 }),
			fc.nat(8),
			(feeds, cols, rows, scrollback) => {
				const fast = new Screen({ cols, rows, scrollback });
				const slow = new Screen({ cols, rows, scrollback });
				const seen = { fast: fast.diffSince(null).position, slow: slow.diffSince(null).position };
				for (const feed of feeds) {
					fast.feed(bytes(feed));
					// Too little at a time for anything to be skipped.
					for (let at = 0, all = bytes(feed); at < all.length; at += 7) slow.feed(all.subarray(at, at + 7));
				}
				const state = ({ checkpoints, ...rest }: NonNullable<ReturnType<Screen["serialize"]>>) => rest;
				expect(fast.snapshot()).toEqual(slow.snapshot());
				expect(fast.modes).toEqual(slow.modes);
				const [quick, exact] = [fast.serialize(), slow.serialize()];
				expect(quick && state(quick)).toEqual(exact && state(exact));
				const [a, b] = [fast.diffSince(seen.fast), slow.diffSince(seen.slow)];
				expect({ ...a, missed: a.missed?.lines }).toEqual({ ...b, missed: b.missed?.lines });
				expect(fast.lines(100)).toEqual(slow.lines(100));
				fast.dispose();
				slow.dispose();
			},
		),
		{ numRuns: 600 },
	);
	expect(skips.mock.calls.length).toBeGreaterThan(200);
});
