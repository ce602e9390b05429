import fc from "fast-check";
import { expect, test } from "vitest";
import { forPerson } from "./terminal-queries.ts";

const through = (...chunks: string[]) => {
	const filter = forPerson();
	return chunks.map((chunk) => Buffer.from(filter(Buffer.from(chunk, "latin1")).bytes).toString("latin1")).join("");
};

test.each([
	["primary device attributes", "\x1b[c"],
	["secondary device attributes", "\x1b[>c"],
	["where is the cursor", "\x1b[6n"],
	["is a mode on", "\x1b[?2004$p"],
	["background colour", "\x1b]11;?\x07"],
	["background colour, ended by ST", "\x1b]11;?\x1b\\"],
	["terminal name", "\x1b[>q"],
	["a capability", "\x1bP+q544e\x1b\\"],
	["window size", "\x1b[18t"],
	["kitty keyboard", "\x1b[?u"],
])("a person's terminal is not asked: %s", (_, query) => {
	expect(through(`a${query}b`)).toBe("ab");
});

test("a question cut in two by the network is still kept away", () => {
	expect(through("a\x1b", "[6", "nb")).toBe("ab");
});

test("colours, cursor movement and titles get through untouched", () => {
	const plain = "\x1b[31mred\x1b[0m\x1b[2J\x1b[H\x1b]0;title\x07\x1b[?25l\x1b[?2004h";
	expect(through(plain)).toBe(plain);
});

test.each([
	["entering the other screen", "\x1b[?1049h", "\x1b[0m\x1b[2J\x1b[H", true],
	["leaving it, with another mode", "\x1b[?1049;25l", "\x1b[0m\x1b[2J\x1b[H\x1b[?25l", true],
	["a reset", "\x1bc", "\x1b[0m\x1b[2J\x1b[H", true],
	["clearing what scrolled away", "\x1b[H\x1b[2J\x1b[3J", "\x1b[H\x1b[2J", false],
	["other modes", "\x1b[?1000;1006h", "\x1b[?1000;1006h", false],
])("C2: the person's own screen is not touched by %s", (_, given, shown, switched) => {
	const { bytes, switched: did } = forPerson()(Buffer.from(given, "latin1"));
	expect(Buffer.from(bytes).toString("latin1")).toBe(shown);
	expect(did).toBe(switched);
});

test("what sets the clipboard is not shown, however long it is and wherever it is cut", () => {
	const filter = forPerson();
	const show = (text: string) => Buffer.from(filter(Buffer.from(text)).bytes).toString();
	expect(["a\x1b]52;c;", "QQ==".repeat(500), "QQ==\x1b", "\\b"].map(show)).toEqual(["a", "", "", "b"]);
	expect(show(`c\x1b]52;c;${"QQ==".repeat(500)}\x07d`)).toBe("cd");
});

test("text without escapes is passed on at once, byte for byte, however it is cut", () => {
	fc.assert(
		fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 8 }), (chunks) => {
			const safe = chunks.map((chunk) => chunk.map((byte) => (byte === 0x1b || byte === 5 ? 0x20 : byte)));
			const filter = forPerson();
			expect(Buffer.concat(safe.map((chunk) => filter(chunk).bytes))).toEqual(Buffer.concat(safe));
		}),
	);
});
