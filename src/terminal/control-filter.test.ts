import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ControlFilter } from "./control-filter.ts";
import { Screen } from "./screen.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const kept = (...pieces: string[]) => {
	const filter = new ControlFilter();
	return pieces.map((piece) => new TextDecoder().decode(filter.feed(bytes(piece)))).join("");
};

describe("what changes how later output is drawn", () => {
	test("modes, colours, margins, title and directory are kept; text, movement and questions are not", () => {
		expect(kept("one\x1b[31mred\x1b[2J\x1b[5;5H\x1b[?1049h\x1b[6n\x1b]0;title\x07\x1b]52;c;aGk=\x07\r\n")).toBe(
			"\x1b[31m\x1b[?1049h\x1b]0;title\x07",
		);
	});

	test("a sequence may be split anywhere", () => {
		expect(kept("\x1b", "[?2", "5l text \x1b]7;file:///a", "/b\x1b", "\\ x")).toBe("\x1b[?25l\x1b]7;file:///a/b\x1b\\");
	});

	test("one that never ends is given up", () => {
		expect(kept(`\x1b]0;${"x".repeat(5000)}`, "\x1b[4h")).toBe("\x1b[4h");
	});
});

const piece = fc.oneof(
	fc.string({ unit: "grapheme-ascii", maxLength: 20 }),
	fc.constantFrom("\r\n", "\t", "\x1b[A", "\x1b[10;3H", "\x1b[2K", "\x1b[J", "\x1b]8;;http://x\x07"),
	fc.constantFrom("\x1b[1;31m", "\x1b[m", "\x1b[48;5;7m", "\x1b[7m", "\x1b[38;2;1;2;3m"),
	fc.constantFrom(
		"\x1b[?1049h",
		"\x1b[?1049l",
		"\x1b[?25l",
		"\x1b[?25h",
		"\x1b[?2004h",
		"\x1b[?1h",
		"\x1b[?7l",
		"\x1b[4h",
	),
	fc.constantFrom("\x1b[?1000h\x1b[?1006h", "\x1b=", "\x1b>", "\x1b[3;9r", "\x1b[r", "\x1b[!p", "\x1b[>1u", "\x1b[<u"),
	fc.constantFrom("\x1b]0;a\x07", "\x1b]2;b\x1b\\", "\x1b]7;file:///tmp\x07"),
);

test("output that is skimmed leaves the modes that it would leave if it were drawn", () => {
	fc.assert(
		fc.property(fc.array(piece, { maxLength: 40 }), fc.array(fc.nat(30), { maxLength: 8 }), (pieces, cuts) => {
			const [drawn, skimmed] = [new Screen({ cols: 40, rows: 12 }), new Screen({ cols: 40, rows: 12 })];
			const all = bytes(pieces.join(""));
			drawn.feed(all);
			let at = 0;
			for (const cut of cuts) {
				skimmed.skim(all.subarray(at, at + cut));
				at += cut;
			}
			skimmed.skim(all.subarray(at));
			const after = skimmed.jumped(all.length, 7);
			const restored = Screen.restore(after);
			const { title, cwd, pen, cursorHidden, mouse, privateModes, kitty } = drawn.serialize()!;
			expect(restored.modes).toEqual(drawn.modes);
			expect(restored.serialize()).toMatchObject({ title, cwd, pen, cursorHidden, mouse, privateModes, kitty });
			expect(restored.offset).toBe(all.length);
			for (const screen of [drawn, skimmed, restored]) screen.dispose();
		}),
		{ numRuns: 500 },
	);
});

test("after a jump the lines that went by are missed, and what follows is new", () => {
	const screen = new Screen({ cols: 40, rows: 4, scrollback: 10 });
	screen.feed(bytes("one\r\ntwo\r\n"));
	const seen = screen.diffSince(null).position;
	const after = Screen.restore(screen.jumped(1000, 50), { scrollback: 10 });
	after.feed(bytes("last\r\n"));
	const diff = after.diffSince(seen);
	expect(diff).toMatchObject({ text: "last", offset: 1006, missed: { from: 10, to: 1000 } });
	expect(diff.missed!.lines).toBeGreaterThanOrEqual(50);
	expect(after.diffSince(diff.position).text).toBe("");
});
