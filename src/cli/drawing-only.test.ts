import { expect, test } from "vitest";
import { drawingOnly } from "./drawing-only.ts";

const shown = (text: string, options?: Parameters<typeof drawingOnly>[0]) =>
	Buffer.from(drawingOnly(options)(Buffer.from(text))).toString();

test.each([
	["text", "plain ↵ äöü 漢字 \u00a0\r\n\tx\b"],
	["colours and the cursor", "\x1b[1;38:2:1:2:3mred\x1b[0m\x1b[2;3H\x1b[K\x1b[2J\x1b[A\x1b[?25l\x1b[3;9r"],
	["character sets", "\x1b(0lqk\x1b(B\x0e\x0f\x1b7\x1b8\x1bM"],
])("%s is shown as it was printed", (_, text) => expect(shown(text)).toBe(text));

test.each([
	["the clipboard", "\x1b]52;c;ZXZpbA==\x07"],
	["the title", "\x1b]0;own\x1b\\"],
	["a link", "\x1b]8;;http://x\x1b\\"],
	["a file", "\x1b]1337;File=name=eA==;inline=0:eA==\x07"],
	["device status", "\x1b[6n\x1b[c\x1b[>c\x1b[?6n\x05"],
	["a title report, window operations", "\x1b[21t\x1b[8;1;1t"],
	["XTGETTCAP", "\x1bP+q544e\x1b\\"],
	["kitty graphics", "\x1b_Gf=24;AAAA\x1b\\"],
	["mouse, paste, keys", "\x1b[?1000;1006h\x1b[?2004h\x1b[>1u\x1b[>4;2m\x1b=\x1b[?1h"],
	["a reset", "\x1bc\x1b[!p\x1b[3J"],
	["controls of 8 bits", "\u009b6n".slice(0, 1)],
	["other screens", "\x1b[?1049h\x1b[?47l"],
	["a bell", "\x07"],
	["a string that is cut off by another", "\x1b]0;a\x1b]52;c;YQ==\x07"],
	["a sequence without an end", `\x1b[${"1;".repeat(500)}`.slice(0, 250)],
])("%s does not reach the terminal, nor do its parts when it comes byte by byte", (_, text) => {
	expect(shown(`a${text}`)).toBe("a");
	const filter = drawingOnly();
	const bytes = [...Buffer.from(`a${text}`)].flatMap((byte) => [...filter(Uint8Array.of(byte))]);
	expect(Buffer.from(bytes).toString()).toBe("a");
});

test("a replay may switch between the screens", () => {
	expect(shown("\x1b[?1049hx\x1b[?1049l", { screens: true })).toBe("\x1b[?1049hx\x1b[?1049l");
});

test("what comes in pieces is put together", () => {
	const filter = drawingOnly();
	const pieces = ["\x1b", "[3", "1mä".slice(0, 2), "x"].map((piece) =>
		Buffer.from(filter(Buffer.from(piece))).toString(),
	);
	expect(pieces.join("")).toBe("\x1b[31mx");
	const letters = drawingOnly();
	const bytes = [...Buffer.from("é\u0085ü")].flatMap((byte) => [...letters(Uint8Array.of(byte))]);
	expect(Buffer.from(bytes).toString()).toBe("éü");
});
