import { describe, expect, onTestFinished, test } from "vitest";
import { Screen } from "./screen.ts";

const encode = (text: string) => new TextEncoder().encode(text);

function terminal(output = "", options: { cols?: number; rows?: number; now?: () => number } = {}) {
	const screen = new Screen({ cols: 40, rows: 6, ...options });
	const replies: string[] = [];
	screen.onReply((bytes) => replies.push(new TextDecoder().decode(bytes)));
	onTestFinished(() => screen.dispose());
	const feed = (text: string) => screen.feed(encode(text));
	feed(output);
	return { screen, feed, replies };
}

describe("R1.4 a program that asks the terminal gets its answer, once", () => {
	test.each([
		["what are you (DA1)", "\x1b[c", "\x1b[?1;2c"],
		["where is the cursor", "ab\r\ncd\x1b[6n", "\x1b[2;3R"],
		["are you well", "\x1b[5n", "\x1b[0n"],
		["is bracketed paste on", "\x1b[?2004h\x1b[?2004$p", "\x1b[?2004;1$y"],
		["your background colour", "\x1b]11;?\x07", "\x1b]11;rgb:1616/1818/1d1d\x1b\\"],
		["your foreground colour", "\x1b]10;?\x1b\\", "\x1b]10;rgb:d8d8/dede/e9e9\x1b\\"],
		["palette colour 1", "\x1b]4;1;?\x1b\\", "\x1b]4;1;rgb:cfcf/3a3a/3a3a\x1b\\"],
		["your name (XTVERSION)", "\x1b[>q", "\x1bP>|dialtone\x1b\\"],
		["kitty keyboard", "\x1b[>5u\x1b[?u", "\x1b[?5u"],
		["a terminfo capability", "\x1bP+q544e\x1b\\", "\x1bP0+r\x1b\\"],
		["your size in cells", "\x1b[18t", "\x1b[8;6;40t"],
		["dark or light", "\x1b[?996n", "\x1b[?997;1n"],
	])("%s", (_, question, answer) => {
		expect(terminal(question).replies).toEqual([answer]);
	});

	test("nothing that was printed is echoed as input: no title, no capability name, no answerback", () => {
		const { replies } = terminal("\x1b]0;rm -rf\x07\x1b[21t\x1b[20t\x05\x1bP+q726d202d7266\x1b\\\x1bP$qrm -rf\x1b\\");
		expect(replies.join("")).not.toMatch(/rm -rf|726d/);
	});

	test("a file full of questions does not become a flood of typing", () => {
		const { replies, feed } = terminal("\x1b[6n".repeat(20_000));
		expect(replies.join("").length).toBeLessThanOrEqual(4096);
		feed("\x1b[5n");
		expect(replies.at(-1)).toBe("\x1b[0n");
	});

	test("with a clock, answers are bounded by the second and not only by the feed", () => {
		let now = 0;
		const { replies, feed } = terminal("", { now: () => now });
		for (let i = 0; i < 1000; i++) feed("\x1b[5n");
		expect(replies.length).toBe(128);
		now += 1000;
		feed("\x1b[5n");
		expect(replies.length).toBe(129);
	});
});

describe("what a program says of itself", () => {
	test("the last title and the directory are known, and harmless", () => {
		const { screen } = terminal(
			`${"\x07\x1b]2;x\x07".repeat(5000)}\x1b]0;bu\x1b]2;build\x07\x1b]7;file://host/home/a%20b\x07`,
		);
		expect(screen.title).toBe("build");
		expect(screen.cwd).toBe("/home/a b");
		screen.feed(encode("\x1b]7;file:///bad%0apath\x07\x1b]7;file:///%zz\x07"));
		expect(screen.cwd).toBe("/home/a b");
	});

	test("modes are reported as the program set them", () => {
		const { screen, feed } = terminal(
			"\x1b[?1h\x1b=\x1b[?2004h\x1b[?1002h\x1b[?1006h\x1b[?1004h\x1b[?2026h\x1b[?25l\x1b[?1049h",
		);
		expect(screen.modes).toEqual({
			applicationCursor: true,
			applicationKeypad: true,
			bracketedPaste: true,
			mouse: "drag",
			mouseEncoding: "sgr",
			focus: true,
			synchronized: true,
			alternateScreen: true,
			cursorVisible: false,
			kittyKeyboard: 0,
		});
		feed("\x1bc");
		expect(screen.modes).toMatchObject({
			mouse: "none",
			mouseEncoding: "legacy",
			cursorVisible: true,
			alternateScreen: false,
		});
	});

	test("each buffer has its own stack of kitty keyboard flags", () => {
		const { screen, feed } = terminal("\x1b[>1u\x1b[?1049h");
		expect(screen.modes.kittyKeyboard).toBe(0);
		feed("\x1b[>31u\x1b[=8;3u");
		expect(screen.modes.kittyKeyboard).toBe(23);
		feed("\x1b[<9u\x1b[?1049l");
		expect(screen.modes.kittyKeyboard).toBe(1);
	});

	test("links are where their text is, also when they are never closed", () => {
		const { screen } = terminal(
			"see \x1b]8;;https://a.example/\x07here\x1b]8;;\x07 or \x1b]8;id=1;https://b.example/\x07the",
		);
		expect(screen.snapshot().links).toEqual([
			{ row: 0, from: 4, to: 8, uri: "https://a.example/" },
			{ row: 0, from: 12, to: 15, uri: "https://b.example/" },
		]);
	});
});

describe("the snapshot", () => {
	test("wide, combining and joined characters stand in their columns", () => {
		const { screen } = terminal("漢字|\r\n🦀✅|\r\ne\u0301|\r\nab|");
		expect(screen.snapshot().lines.slice(0, 4)).toEqual(["漢字|", "🦀✅|", "e\u0301|", "ab|"]);
		for (const [row, column] of [
			[0, 4],
			[1, 4],
			[2, 1],
		] as const)
			expect(screen.styledRows()[row]!.at(-1)!.column <= column).toBe(true);
		expect(terminal("漢字").screen.cursor.column).toBe(4);
		expect(terminal("🦀✅").screen.cursor.column).toBe(4);
		expect(terminal("e\u0301").screen.cursor.column).toBe(1);
	});

	test("soft-wrapped rows are joined in the text and kept in the grid", () => {
		const { lines, wrapped, text } = terminal("one two three four five", { cols: 10 }).screen.snapshot();
		expect(text).toBe("one two three four five");
		expect(lines.slice(0, 3)).toEqual(["one two th", "ree four f", "ive"]);
		expect(wrapped.slice(0, 3)).toEqual([false, true, true]);
	});

	test("a wide character that did not fit leaves no space in the joined text", () => {
		expect(terminal("abcdefghi漢字", { cols: 10 }).screen.snapshot().text).toBe("abcdefghi漢字");
	});

	test("the cursor's line ends where the cursor is, so that a prompt keeps its space", () => {
		const { screen } = terminal("\x1b[31mname: \x1b[m");
		expect(screen.lastLine()).toBe("name: ");
		expect(screen.snapshot().text).toBe("name: ");
	});

	test("bytes split inside a character or a sequence make no difference", () => {
		const bytes = encode("\x1b[1;31m漢\x1b[0m🦀\x1b]0;títle\x07x");
		const { screen } = terminal();
		for (const byte of bytes) screen.feed(Uint8Array.of(byte));
		expect(screen.snapshot().text).toBe("漢🦀x");
		expect(screen.title).toBe("títle");
	});
});

describe("a screen serialized and restored", () => {
	test("looks the same, keeps its readers' positions and continues", () => {
		const output = `${Array.from({ length: 60 }, (_, i) => `line ${i} ${"x".repeat(i)}\r\n`).join("")}\x1b[?1003h\x1b[?1006h\x1b[?25l\x1b]2;t\x07$ `;
		const { screen } = terminal(output);
		const { position } = screen.diffSince(null);
		const state = JSON.parse(JSON.stringify(screen.serialize()));
		const again = Screen.restore(state);
		const { offset: _, ...before } = screen.snapshot();
		expect(again.snapshot()).toMatchObject({ ...before, offset: screen.offset });
		expect(again.modes).toEqual(screen.modes);
		expect(again.title).toBe("t");
		expect(again.diffSince(position).text).toBe("");
		again.feed(encode("ls\r\nfile\r\n$ "));
		expect(again.diffSince(position).text).toBe("$ ls\nfile\n$ ");
	});

	test("a full-screen program is serialized with the normal buffer under it", () => {
		const { screen } = terminal("$ vi\r\n\x1b[?1049h\x1b[2;5r\x1b[3;3Hhello");
		const again = Screen.restore(screen.serialize()!);
		expect(again.snapshot().text).toBe(screen.snapshot().text);
		again.feed(encode("\x1b[?1049ldone"));
		expect(again.snapshot().text).toBe("$ vi\ndone");
	});

	test("is refused in the middle of a sequence or a character", () => {
		expect(terminal("a\x1b[3").screen.serialize()).toBeNull();
		const { screen } = terminal();
		screen.feed(encode("漢").subarray(0, 2));
		expect(screen.serialize()).toBeNull();
		screen.feed(encode("漢").subarray(2));
		expect(screen.serialize()).not.toBeNull();
	});
});

test.each([
	["set before it is entered", "\x1b[31;44mbefore\x1b[?1049hhi\x1b[3;10Hthere"],
	["set after it was entered", "before\x1b[?1049h\x1b[31;44mhi\x1b[3;10Hthere"],
	["used to erase a part of it", "\x1b[?1049hhi\x1b[48;5;22m\x1b[3;10H\x1b[J\x1b[48;2;1;2;3m\x1b[2;2H\x1b[Kx"],
])("the alternate screen with a background that is %s looks the same after it was saved", (_, output) => {
	const { screen } = terminal(output);
	const restored = Screen.restore(screen.serialize()!);
	expect(restored.snapshot()).toEqual(screen.snapshot());
	expect(restored.styledRows()).toEqual(screen.styledRows());
	expect(restored.diffSince(screen.diffSince(null).position).text).toBe("");
	restored.dispose();
});
