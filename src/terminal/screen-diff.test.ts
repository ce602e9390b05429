import { describe, expect, test } from "vitest";
import { Screen } from "./screen.ts";
import type { Position } from "./screen-diff.ts";

/** A reader of a screen: returns the diff after each feed. */
function reader(options: { cols?: number; rows?: number; scrollback?: number } = {}) {
	const screen = new Screen({ cols: 40, rows: 6, ...options });
	let position: Position | null = null;
	return {
		screen,
		sees(output: string, typed?: string) {
			screen.feed(new TextEncoder().encode(output));
			const diff = screen.diffSince(position, { typed });
			// A position is kept by its holder, perhaps on disk: it must survive JSON.
			position = JSON.parse(JSON.stringify(diff.position)) as Position;
			return diff;
		},
	};
}

describe("R1.3 what is new in line output", () => {
	test("a prompt that was answered is shown again with its answer, then the result and the next prompt", () => {
		const { sees } = reader();
		expect(sees("Python 3.11\r\n>>> ").text).toBe("Python 3.11\n>>> ");
		expect(sees("6*7\r\n42\r\n>>> ").text).toBe(">>> 6*7\n42\n>>> ");
		expect(sees("").text).toBe("");
	});

	test("what the reader typed behind the prompt it had seen is not new to it", () => {
		const { sees } = reader();
		sees("Python 3.11\r\n>>> ");
		expect(sees("6*7\r\n42\r\n>>> ", "6*7")).toMatchObject({ text: "42\n>>> ", echo: ">>> 6*7" });
		expect(sees("7*8  \r\n56\r\n>>> ", "7*8  ")).toMatchObject({ text: "56\n>>> ", echo: ">>> 7*8" });
		// Longer than a row: one logical line.
		const long = `print(${"9".repeat(60)})`;
		expect(sees(`${long}\r\n9\r\n>>> `, long)).toMatchObject({ text: "9\n>>> ", echo: `>>> ${long}` });
	});

	test("an echo that is the only thing that came is told apart", () => {
		const { sees } = reader();
		sees("(Pdb) ");
		expect(sees("q\r\n", "q")).toMatchObject({ text: "", echo: "(Pdb) q" });
		expect(sees("one\r\n", "one")).toMatchObject({ text: "", echo: "one" });
		expect(sees("one\r\none\r\n", "one")).toMatchObject({ text: "one", echo: "one" });
	});

	test("a line is an echo only if it is exactly what was seen and typed", () => {
		const { sees } = reader();
		sees(">>> ");
		// Somebody else had typed an x; the program expanded it; it stands there still; the prompt was not seen; a secret.
		expect(sees("x6*7\r\n>>> ", "6*7")).toMatchObject({ text: ">>> x6*7\n>>> ", echo: null });
		expect(sees("!! ls\r\n>>> ", "!!")).toMatchObject({ text: ">>> !! ls\n>>> ", echo: null });
		expect(sees("6*7", "6*7")).toMatchObject({ text: ">>> 6*7", echo: null });
		expect(sees("\r\n42\r\nlater> 1\r\n>>> ", "1")).toMatchObject({ text: "42\nlater> 1\n>>> ", echo: null });
		expect(sees("\r\n>>> ", "hunter2")).toMatchObject({ text: ">>> ", echo: null });
		// Drawn again above it, or the screen cleared.
		expect(sees("\x1b[A\rabove\x1b[K\r\n>>> 1\r\n>>> ", "1")).toMatchObject({ text: "above\n>>> 1\n>>> ", echo: null });
		expect(sees("1\r\n\x1b[H\x1b[2J>>> ", "1")).toMatchObject({ kind: "screen", text: ">>> ", echo: null });
	});

	test("each line is reported once", () => {
		const { sees } = reader({ rows: 3 });
		sees("");
		const texts = Array.from({ length: 50 }, (_, i) => sees(`line ${i}\r\n`).text);
		expect(texts).toEqual(Array.from({ length: 50 }, (_, i) => `line ${i}`));
	});

	test("a progress bar of 2000 frames is one line", () => {
		const frames = Array.from({ length: 2001 }, (_, i) => `\r${i / 20} %\x1b[K`).join("");
		expect(reader().sees(frames).text).toBe("100 %");
	});

	test("a line drawn again further up is reported as it looks now", () => {
		const { sees } = reader();
		sees("layer 1: waiting\r\nlayer 2: waiting\r\nlayer 3: waiting\r\n");
		expect(sees("\x1b[2A\x1b[2Klayer 2: done\x1b[2B\r").text).toBe("layer 2: done");
	});

	test("a soft-wrapped line is one line, whatever the width", () => {
		const { screen, sees } = reader({ cols: 20 });
		const sentence = "this sentence is longer than the terminal is wide";
		expect(sees(`${sentence}\r\n`).text).toBe(sentence);
		screen.resize(33, 6);
		expect(sees("next\r\n").text).toBe("next");
		screen.resize(10, 4);
		expect(sees("and another one\r\n").text).toBe("and another one");
	});

	test("after `clear` the diff is the current screen", () => {
		const { sees } = reader();
		sees("$ ls\r\na b c\r\n$ ");
		expect(sees("clear\r\n\x1b[H\x1b[2J\x1b[3J$ ")).toMatchObject({ kind: "screen", text: "$ ", missed: null });
		expect(sees("\x1b[H\x1b[J$ ")).toMatchObject({ kind: "screen", text: "$ " });
	});

	test("what was erased unseen is told, but not what the reader saw or typed", () => {
		const clear = "\x1b[H\x1b[2J\x1b[3J";
		const { sees } = reader();
		expect(sees(`${clear}one\r\n`).erased).toBe(null);
		expect(sees(`${clear}two\r\n`).erased).toBe(null);
		expect(sees(`three\r\n${clear}four\r\n`)).toMatchObject({ kind: "lines", erased: { printed: true } });
		expect(sees(`x\r\n${clear}four\r\n`, "x").erased).toBe(null);
		expect(sees(`y\r\n${clear}a\r\n${clear}b\r\n`).erased).toEqual({ printed: false, current: "b", cursorLine: 1 });
		expect(sees(`z\r\n${clear}\x1b[3;3Hdrawn`).erased).toMatchObject({ printed: false, current: "\n\n  drawn" });
		expect(sees(`${clear}\x1b[3;3Hagain`)).toMatchObject({ kind: "screen", erased: null });
		expect(sees(`\x1bcnew\r\n`).erased).toBe(null);
		expect(sees(`newer\r\n\x1bcnewest\r\n`).erased).toMatchObject({ printed: true, current: "newest" });
	});

	test("a full reset starts afresh, and what was seen before is not repeated", () => {
		const { sees } = reader();
		sees("old 1\r\nold 2\r\n");
		expect(sees("\x1bcnew\r\n").text).toBe("new");
		expect(sees("newer\r\n")).toMatchObject({ text: "newer", missed: null });
	});

	test("two readers each have their own position", () => {
		const screen = new Screen({ cols: 40, rows: 6 });
		const feed = (text: string) => screen.feed(new TextEncoder().encode(text));
		feed("one\r\n");
		const first = screen.diffSince(null);
		feed("two\r\n");
		const second = screen.diffSince(null);
		feed("three\r\n");
		expect(screen.diffSince(first.position).text).toBe("two\nthree");
		expect(screen.diffSince(second.position).text).toBe("three");
	});
});

describe("R2.6 what went by unseen is named", () => {
	test("lines that left the scrollback are counted, with offsets that cover them", () => {
		const { screen, sees } = reader({ rows: 4, scrollback: 10 });
		sees("first\r\n");
		const from = screen.offset;
		const lines = Array.from({ length: 500 }, (_, i) => `line ${i}`);
		for (const line of lines) screen.feed(new TextEncoder().encode(`${line}\r\n`));
		const { text, missed } = sees("");
		const kept = text.split("\n");
		expect(lines.slice(-kept.length)).toEqual(kept);
		expect(missed).toMatchObject({ lines: 500 - kept.length, from });
		const bytesMissed = lines.slice(0, missed!.lines).join("\r\n").length + 2;
		expect(missed!.to - from).toBeGreaterThanOrEqual(bytesMissed);
		expect(missed!.to - from).toBeLessThan(bytesMissed + 40);
	});

	test("what was erased on purpose is not missed, what overflows after it is", () => {
		for (const erase of ["\x1bc", "\x1b[H\x1b[2J\x1b[3J"]) {
			const { sees } = reader({ rows: 4, scrollback: 10 });
			sees("first\r\n");
			expect(sees(`${"gone\r\n".repeat(12)}${erase}here\r\n`).missed).toBeNull();
			expect(sees("more\r\n".repeat(100)).missed?.lines).toBe(100 - 13);
		}
	});

	test("soft-wrapped lines that left count as the lines they were", () => {
		const { screen, sees } = reader({ cols: 10, rows: 4, scrollback: 10 });
		sees("");
		for (let i = 0; i < 100; i++) screen.feed(new TextEncoder().encode(`${i} ${"x".repeat(25)}\r\n`));
		const { text, missed } = sees("");
		const whole = text.split("\n").filter((line) => /^\d+ x{25}$/.test(line)).length;
		expect(missed!.lines + whole).toBeGreaterThanOrEqual(99);
		expect(missed!.lines + text.split("\n").length).toBe(100);
	});

	test("a reflow that overflows the scrollback moves no reader", () => {
		const { screen, sees } = reader({ cols: 60, rows: 5, scrollback: 20 });
		sees(Array.from({ length: 20 }, (_, i) => `${i} ${"word ".repeat(10)}\r\n`).join(""));
		screen.resize(12, 5);
		expect(sees("after\r\n").text).toBe("after");
		screen.resize(80, 9);
		expect(sees("later\r\n").text).toBe("later");
	});
});

describe("R1.3 what is new on a full screen", () => {
	const draw = (rows: readonly string[]) => rows.map((row, y) => `\x1b[${y + 1};1H${row}\x1b[K`).join("");
	const menu = ["Choose a colour and press Enter", "", "  red", "  green", "  blue"];

	test("first the whole screen, then the rows that changed", () => {
		const { sees } = reader();
		expect(sees(`\x1b[?1049h${draw(menu)}`)).toMatchObject({ kind: "screen", text: menu.join("\n") });
		expect(sees("\x1b[4;1H> green")).toMatchObject({ kind: "rows", text: "4: > green", changedRows: [3] });
		expect(sees("")).toMatchObject({ kind: "rows", text: "" });
	});

	test("a choice that moved by colour alone is seen", () => {
		const { sees } = reader();
		sees(`\x1b[?1049h${draw(menu)}\x1b[3;1H\x1b[7m  red\x1b[m`);
		const diff = sees("\x1b[3;1H  red\x1b[4;1H\x1b[7m  green\x1b[m");
		expect(diff.changedRows).toEqual([2, 3]);
		expect(diff.highlights).toEqual([{ row: 3, from: 0, to: 7, text: "green", how: "reverse" }]);
	});

	test("a page flip is the whole screen, which is shorter", () => {
		const { sees } = reader();
		sees(`\x1b[?1049h${draw(["a", "b", "c", "d", "e", "f"])}`);
		expect(sees(draw(["g", "h", "i", "j", "k", "l"]))).toMatchObject({ kind: "screen", text: "g\nh\ni\nj\nk\nl" });
	});

	test("lines covered by a full-screen program stay seen or unseen", () => {
		const { sees } = reader();
		sees("$ ");
		sees("vim x\r\n\x1b[?1049hfile");
		expect(sees("\x1b[?1049l$ ")).toMatchObject({ kind: "lines", text: "$ vim x\n$ " });
	});

	test("after a resize the whole screen is reported", () => {
		const { screen, sees } = reader();
		sees(`\x1b[?1049h${draw(menu)}`);
		screen.resize(30, 6);
		expect(sees(draw(menu)).kind).toBe("screen");
	});

	test("a shrunk full screen shows nothing beyond its edge", () => {
		const { screen, sees } = reader();
		sees(`\x1b[?1049h${"x".repeat(40)}`);
		screen.resize(10, 6);
		expect(sees("").text).toBe("x".repeat(10));
	});
});

test("what was missed never ends before it begins", () => {
	const screen = new Screen({ cols: 2, rows: 11, scrollback: 0 });
	screen.feed(new TextEncoder().encode("\x1b[B\x1b7"));
	const { position } = screen.diffSince(null);
	screen.feed(new TextEncoder().encode(`\r\n\r\n${" ".repeat(30)}`));
	const { missed } = screen.diffSince(position);
	expect(missed).not.toBeNull();
	expect(missed!.to).toBeGreaterThanOrEqual(missed!.from);
	screen.dispose();
});
