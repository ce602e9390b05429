import { describe, expect, test } from "vitest";
import { Fault } from "../protocol/fault.ts";
import { expression, literal } from "./pattern.ts";
import { PlainStream } from "./plain-stream.ts";

describe("patterns of a caller", () => {
	test("a literal is taken literally", () => {
		expect(literal("a.c")("abc")).toBe(false);
		expect(literal("(gdb) ")("… (gdb) ")).toBe(true);
	});

	test("a catastrophic expression is a fault within 100 ms", () => {
		const match = expression("(a+)+$");
		const before = process.hrtime.bigint();
		expect(() => match(`${"a".repeat(40)}!`)).toThrow(Fault);
		expect(Number(process.hrtime.bigint() - before) / 1e6).toBeLessThan(1000); // 50 ms and a noisy machine
	});

	test("an expression that cannot be compiled is a fault with its reason", () => {
		expect(() => expression("(")).toThrow(/Unterminated group/);
	});

	test("an honest expression still matches after a catastrophic one", () => {
		expect(expression("^done \\d+$")("well\ndone 42\n")).toBe(true);
	});
});

describe("the words in a byte stream", () => {
	const all = "\x1b[1;31mred\x1b[0m \x1b]0;title\x07plain\x1bP+q\x1b\\ é🦀\r\n50%\r100%\x1b(B";
	test("escape sequences are left out, however the bytes are split", () => {
		const bytes = new TextEncoder().encode(all);
		const whole = new PlainStream().feed(bytes);
		expect(whole).toBe("red plain é🦀\n50%\n100%");
		for (let at = 0; at <= bytes.length; at++) {
			const stream = new PlainStream();
			const split = stream.feed(bytes.subarray(0, at)) + stream.feed(bytes.subarray(at));
			expect(split.replace(/\n+/g, "\n")).toBe(whole);
		}
	});
});
