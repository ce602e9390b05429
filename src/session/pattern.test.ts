import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { processorMs } from "../../test/processor-time.ts";
import { Fault } from "../protocol/fault.ts";
import { EchoFilter } from "./echo-filter.ts";
import { paceOf } from "./pace.ts";
import { expression, literal } from "./pattern.ts";
import { PlainStream } from "./plain-stream.ts";

describe("patterns of a caller", () => {
	test("a literal is taken literally", () => {
		expect(literal("a.c").test("abc")).toBe(false);
		expect(literal("(gdb) ").test("… (gdb) ")).toBe(true);
	});

	test("letters are found however they are composed, in pieces, too", () => {
		for (const form of ["NFC", "NFD"] as const)
			for (const printed of ["NFC", "NFD"] as const) {
				const output = "un café noir".normalize(printed);
				for (const matcher of [literal("café".normalize(form)), expression("caf\u00e9 n".normalize(form))]) {
					expect(matcher.test(output), `${form} in ${printed}`).toBe(true);
					expect([...output].some((piece) => matcher.feed(piece))).toBe(true);
				}
			}
	});

	test("a catastrophic expression is a fault within 100 ms", () => {
		const match = expression("(a+)+$");
		const spent = processorMs(() => expect(() => match.test(`${"a".repeat(40)}!`)).toThrow(Fault));
		expect(spent).toBeLessThan(500); // two tries of 50 ms; the clock of the limit may be late
	});

	test("an expression that cannot be compiled is a fault with its reason", () => {
		expect(() => expression("(")).toThrow(/Unterminated group/);
	});

	test("an honest expression still matches after a catastrophic one", () => {
		expect(expression("^done \\d+$").test("well\ndone 42\n")).toBe(true);
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
			expect(split).toBe(whole);
		}
	});
});

describe("text that comes in pieces", () => {
	const pieces = (text: string, cuts: readonly number[]) => {
		const at = [...cuts.map((cut) => cut % (text.length + 1)), 0, text.length].sort((a, b) => a - b);
		return at.slice(1).map((end, i) => text.slice(at[i], end));
	};
	const letters = fc.string({ unit: fc.constantFrom("a", "b", "\n"), maxLength: 30 });
	const cuts = fc.array(fc.nat(30), { maxLength: 5 });

	test.each([["a"], ["ab"], ["aab"], ["^ab"], ["b$"], ["[ab]a+b"], ["a\\sb"], ["a[^]b"], ["b\\na"]])(
		"%s is found in any pieces as in the whole",
		(wanted) => {
			fc.assert(
				fc.property(letters, cuts, (text, where) => {
					for (const make of [literal, expression]) {
						const matcher = make(wanted);
						const found = pieces(text, where).some((piece) => matcher.feed(piece));
						// A piece may end where the whole goes on: what `$` matched there counts.
						if (make(wanted).test(text)) expect(found).toBe(true);
						else if (make === literal) expect(found).toBe(false);
					}
				}),
			);
		},
	);

	test("T4: of several lines each is echoed by itself, behind a prompt of its own", () => {
		const echo = new EchoFilter([{ text: "import time\nfor i in range(2):\n  print('FOO')\n", ahead: false }]);
		const shown = ">>> import time\n>>> for i in range(2):\n...   print('FOO')\n... \nFOO\n";
		expect(echo.without(shown)).toBe(">>> \n>>> \n...   \n... \nFOO\n");
		expect([...shown].map((char) => echo.feed(char)).join("")).toBe(echo.without(shown));
	});

	test("the first echo is taken out, in whatever pieces it comes; half of one at the end is not an answer", () => {
		fc.assert(
			fc.property(
				letters,
				fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 6 }),
				cuts,
				(text, typed, where) => {
					const echo = new EchoFilter([{ text: typed, ahead: false }]);
					const expected = () => {
						if (text.includes(typed)) return text.replace(typed, "");
						for (let length = typed.length - 1; length > 0; length--)
							if (text.endsWith(typed.slice(0, length))) return text.slice(0, -length);
						return text;
					};
					expect(
						pieces(text, where)
							.map((piece) => echo.feed(piece))
							.join(""),
					).toBe(expected());
					expect(echo.without(text)).toBe(expected());
				},
			),
		);
	});

	test("G11: a typed text that almost repeats in the output takes linear time", () => {
		const echo = new EchoFilter([{ text: `${"a".repeat(200_000)}b`, ahead: false }]);
		const spent = processorMs(() => {
			for (let i = 0; i < 200; i++) echo.feed("a".repeat(10_000));
		});
		expect(spent).toBeLessThan(3000); // minutes when it was quadratic
	});
});

describe("G11 expensive patterns", () => {
	const busy = (ms: number) => {
		for (const startedAt = performance.now(); performance.now() - startedAt < ms; );
	};

	test("make their caller rest for a multiple of their time, and others for less", () => {
		const [hungry, modest] = [paceOf("hungry"), paceOf("modest")];
		expect([hungry.restMs(), modest.restMs()]).toEqual([0, 0]);
		hungry.run(() => busy(100));
		expect(hungry.restMs()).toBeGreaterThan(200);
		expect(modest.restMs()).toBeLessThan(120);
	});

	test("over several lines see a few kilobytes of what came before, so that each piece takes the same time", () => {
		const near = expression("a[^]*b");
		expect([near.feed("a\n"), near.feed("y\n".repeat(3000)), near.feed("b")]).toEqual([false, false, true]);
		const far = expression("a[^]*b");
		expect([far.feed("a\n"), far.feed("y\n".repeat(6000)), far.feed("b")]).toEqual([false, false, false]);
	});
});
