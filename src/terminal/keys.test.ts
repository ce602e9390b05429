import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PLAIN_MODES } from "../../test/plain-modes.ts";
import { Fault } from "../protocol/fault.ts";
import { NAMED } from "./key-names.ts";
import { encodeKey, encodeKeys, encodeText } from "./keys.ts";
import type { Modes } from "./modes.ts";

const press = (name: string, modes: Partial<Modes> = {}) =>
	new TextDecoder().decode(encodeKey(name, { ...PLAIN_MODES, ...modes }));
const refusal = (name: string): Fault => {
	try {
		press(name);
	} catch (fault) {
		return fault as Fault;
	}
	throw new Error(`${name} was not refused`);
};

describe("R1.2 keys by name", () => {
	test.each([
		["enter", "\r"],
		["tab", "\t"],
		["esc", "\x1b"],
		["space", " "],
		["backspace", "\x7f"],
		["delete", "\x1b[3~"],
		["insert", "\x1b[2~"],
		["home", "\x1b[H"],
		["end", "\x1b[F"],
		["pageup", "\x1b[5~"],
		["pagedown", "\x1b[6~"],
		["up", "\x1b[A"],
		["down", "\x1b[B"],
		["right", "\x1b[C"],
		["left", "\x1b[D"],
		["f1", "\x1bOP"],
		["f5", "\x1b[15~"],
		["f12", "\x1b[24~"],
		["a", "a"],
		["A", "A"],
		["é", "é"],
		["+", "+"],
		["-", "-"],
		["^", "^"],
		["ctrl+c", "\x03"],
		["ctrl+C", "\x03"],
		["ctrl+d", "\x04"],
		["ctrl+[", "\x1b"],
		["ctrl+\\", "\x1c"],
		["ctrl+space", "\0"],
		["ctrl+/", "\x1f"],
		["alt+x", "\x1bx"],
		["meta+x", "\x1bx"],
		["ctrl+alt+x", "\x1b\x18"],
		["shift+a", "A"],
		["shift+1", "!"],
		["shift+tab", "\x1b[Z"],
		["alt+enter", "\x1b\r"],
		["ctrl+left", "\x1b[1;5D"],
		["shift+alt+up", "\x1b[1;4A"],
		["ctrl+delete", "\x1b[3;5~"],
		["shift+f5", "\x1b[15;2~"],
		["ctrl+f1", "\x1b[1;5P"],
		["ctrl+backspace", "\x08"],
	])("%s", (name, bytes) => expect(press(name)).toBe(bytes));

	test.each([
		["C-c", "ctrl+c"],
		["M-x", "alt+x"],
		["C-M-x", "ctrl+alt+x"],
		["S-Up", "shift+up"],
		["Up", "up"],
		["BSpace", "backspace"],
		["BTab", "shift+tab"],
		["PPage", "pageup"],
		["NPage", "pagedown"],
		["DC", "delete"],
		["IC", "insert"],
		["Escape", "esc"],
		["^C", "ctrl+c"],
		["^c", "ctrl+c"],
		["^[", "esc"],
		["C-Space", "ctrl+space"],
		["control+c", "ctrl+c"],
		["Ctrl-C", "ctrl+c"],
		["Return", "enter"],
		["PgUp", "pageup"],
		["ArrowUp", "up"],
		["C--", "ctrl+_"],
	])("the spelling %s is %s", (spelling, name) => expect(press(spelling)).toBe(press(name)));

	test("arrows follow the application cursor mode, modified ones do not", () => {
		expect(press("up", { applicationCursor: true })).toBe("\x1bOA");
		expect(press("home", { applicationCursor: true })).toBe("\x1bOH");
		expect(press("ctrl+up", { applicationCursor: true })).toBe("\x1b[1;5A");
	});

	test("every named key can be pressed, alone and with every modifier, in every mode", () => {
		const modifiers = fc.subarray(["ctrl+", "alt+", "shift+"]).map((held) => held.join(""));
		fc.assert(
			fc.property(
				fc.constantFrom(...NAMED),
				modifiers,
				fc.boolean(),
				fc.nat(31),
				(key, held, applicationCursor, kittyKeyboard) => {
					const bytes = press(held + key, { applicationCursor, kittyKeyboard });
					expect(bytes.length).toBeGreaterThan(0);
					expect(bytes).not.toMatch(/undefined|NaN/);
				},
			),
		);
	});

	test("an unknown key is refused with the nearest names, and nothing is typed of the others", () => {
		expect(refusal("entr")).toMatchObject({ code: "unknown_key", facts: { key: "entr", nearest: ["enter"] } });
		expect(refusal("ctrl+dwon").facts).toMatchObject({ nearest: ["ctrl+down"] });
		expect(refusal("pagup").facts).toMatchObject({ nearest: ["pageup"] });
		expect(refusal("ctrl+é").code).toBe("unknown_key");
		expect(refusal("super+x").code).toBe("unknown_key");
		expect(refusal("").code).toBe("unknown_key");
		for (const name of ["toString", "constructor", "constructor-x", "__proto__"])
			expect(refusal(name).code).toBe("unknown_key");
		expect(() => encodeKeys(["a", "nope!"], PLAIN_MODES)).toThrow(Fault);
		expect(new TextDecoder().decode(encodeKeys(["a", "up", "enter"], PLAIN_MODES))).toBe("a\x1b[A\r");
	});

	test.each([
		["\n", "\r"],
		["\r", "\r"],
		["\t", "\t"],
		["\u0003", "\x03"],
		["\u0004", "\x04"],
		["\x1b", "\x1b"],
		["\x7f", "\x7f"],
		["\x1b[A", "\x1bOA"],
		["{enter}", "\r"],
	])("T10: %j, the byte instead of the name, is the key that sends it", (name, bytes) => {
		expect(press(name, { applicationCursor: true })).toBe(bytes);
	});

	test("every key is either typed or refused", () => {
		fc.assert(
			fc.property(fc.string({ unit: "grapheme", maxLength: 12 }), (name) => {
				try {
					expect(press(name).length).toBeGreaterThan(0);
				} catch (fault) {
					expect(fault).toBeInstanceOf(Fault);
				}
			}),
		);
	});
});

describe("R1.2 keys under the kitty keyboard protocol", () => {
	test.each([
		["enter", 1, "\r"],
		["esc", 1, "\x1b[27u"],
		["a", 1, "a"],
		["A", 1, "A"],
		["space", 1, " "],
		["ctrl+c", 1, "\x1b[99;5u"],
		["ctrl+i", 1, "\x1b[105;5u"],
		["shift+enter", 1, "\x1b[13;2u"],
		["shift+tab", 1, "\x1b[9;2u"],
		["alt+x", 1, "\x1b[120;3u"],
		["super+x", 1, "\x1b[120;9u"],
		["up", 1, "\x1b[A"],
		["f3", 1, "\x1b[13~"],
		["f13", 1, "\x1b[57376u"],
		["enter", 8, "\x1b[13u"],
		["a", 8, "\x1b[97u"],
		["A", 8, "\x1b[97;2u"],
		["A", 12, "\x1b[97:65;2u"],
		["a", 24, "\x1b[97;;97u"],
		["A", 24, "\x1b[97;2;65u"],
	])("%s with flags %i", (name, kittyKeyboard, bytes) => expect(press(name, { kittyKeyboard })).toBe(bytes));
});

describe("R1.2 text as fingers type it", () => {
	test("a line's end is the Enter key", () => {
		expect(new TextDecoder().decode(encodeText("a\nb\r\nc", PLAIN_MODES))).toBe("a\rb\rc");
	});
	test("a program that wants every key as a code gets text as codes", () => {
		expect(new TextDecoder().decode(encodeText("hi\n", { ...PLAIN_MODES, kittyKeyboard: 8 }))).toBe(
			"\x1b[104u\x1b[105u\x1b[13u",
		);
	});
});
