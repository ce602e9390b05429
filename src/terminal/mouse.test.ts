import { describe, expect, test } from "vitest";
import { PLAIN_MODES } from "./modes.ts";
import { encodeMouse, type MouseAction } from "./mouse.ts";

const say = (action: MouseAction, modes = {}) =>
	new TextDecoder("latin1").decode(encodeMouse(action, { ...PLAIN_MODES, ...modes }));
const sgr = { mouse: "any", mouseEncoding: "sgr" } as const;

describe("R1.2 the mouse", () => {
	test("a click is a press and a release where the program asked", () => {
		expect(say({ action: "click", row: 2, column: 4 }, sgr)).toBe("\x1b[<0;5;3M\x1b[<0;5;3m");
		expect(say({ action: "click", row: 2, column: 4, button: "right", ctrl: true }, sgr)).toBe(
			"\x1b[<18;5;3M\x1b[<18;5;3m",
		);
		expect(say({ action: "click", row: 0, column: 0 }, { mouse: "click" })).toBe("\x1b[M !!\x1b[M#!!");
		expect(say({ action: "click", row: 0, column: 0 }, { mouse: "press" })).toBe("\x1b[M !!");
	});

	test("wheel, drag and move", () => {
		expect(say({ action: "wheel-down", row: 0, column: 0 }, sgr)).toBe("\x1b[<65;1;1M");
		expect(say({ action: "drag", row: 0, column: 0, to: { row: 3, column: 3 } }, sgr)).toBe(
			"\x1b[<0;1;1M\x1b[<32;4;4M\x1b[<0;4;4m",
		);
		expect(say({ action: "move", row: 0, column: 9 }, sgr)).toBe("\x1b[<35;10;1M");
	});

	test("a program that asked for no mouse is not sent one", () => {
		const refused = expect.objectContaining({ code: "not_supported" });
		expect(() => say({ action: "click", row: 0, column: 0 })).toThrow(refused);
		expect(() => say({ action: "drag", row: 0, column: 0 }, { mouse: "click" })).toThrow(refused);
		expect(() => say({ action: "click", row: 0, column: 500 }, { mouse: "click" })).toThrow(refused);
	});
});
