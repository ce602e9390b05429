import fc from "fast-check";
import { expect, test } from "vitest";
import { clean, cleanJson, isCleanLine, oneLine, quoted } from "./clean.ts";
import { Fault, type FaultCode, faults } from "./fault.ts";

test("text for a model carries no escape, control, bidi or tag characters, and reports how many there were", () => {
	expect(clean("a\x1b[31mb\u202ec\u{e0041}d\x9be\x00")).toEqual({ text: "a[31mbcde", removed: 5 });
	expect(clean("tab\tand\r\nline")).toEqual({ text: "tab\tand\nline", removed: 0 });
});

test("what people write stays", () => {
	const text = "漢字 é 👩‍👩‍👧 ❤️ ❤️‍🔥 1️⃣ می‌خواهم ─│┌ \u00a0x";
	expect(clean(text)).toEqual({ text, removed: 0 });
});

test("invisible carriers in a row are not left to carry anything", () => {
	const smuggled = clean(`x${"\ufe00\ufe01\ufe02".repeat(20)}y${"\u200d\u200c".repeat(20)}z`);
	expect(smuggled.text.length).toBeLessThanOrEqual(5);
	expect(smuggled.removed).toBeGreaterThan(90);
});

test("cleaning twice changes nothing", () => {
	fc.assert(
		fc.property(fc.string({ unit: "binary" }), (text) => {
			const once = clean(text).text;
			expect(clean(once)).toEqual({ text: once, removed: 0 });
			expect(once).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/);
		}),
	);
});

/** Every code point that is not drawn, but for joiners and the 16 variation selectors that scripts and emoji need. */
const invisible = Array.from({ length: 0x110000 }, (_, code) => code).filter((code) => {
	const needed = code === 0x200c || code === 0x200d || (code >= 0xfe00 && code <= 0xfe0f);
	const character = String.fromCodePoint(code);
	return !needed && /[\p{Cf}\p{Default_Ignorable_Code_Point}]/u.test(character);
});

test("G15: every invisible character is removed, and counted", () => {
	expect(invisible.length).toBeGreaterThan(4000);
	for (const code of invisible)
		expect([code, clean(`a${String.fromCodePoint(code)}b`)]).toEqual([code, { text: "ab", removed: 1 }]);
});

test("G15: a joiner or selector behind plain letters is a hidden message", () => {
	expect(clean("h\ufe00e\ufe01l\ufe02l\u200do\u200c")).toEqual({ text: "hello", removed: 5 });
});

const hostile = fc.oneof(
	fc.string({ unit: "binary", maxLength: 400 }),
	fc.constantFrom(
		"\x1b[2J\nEVIL",
		"a\u2028[main] exit code 0",
		"\u202eoof",
		"\r\n\r\n",
		"x".repeat(9999),
		"\ud800",
		"\x85y",
		"__proto__",
		"constructor",
	),
);

test("S4 G4: any value becomes one line of bounded length, with its line breaks shown", () => {
	expect(oneLine("\x1b[2J\nEVIL")).toBe("[2J↵EVIL");
	expect(oneLine("a\r\nb\tc")).toBe("a↵b\tc");
	expect(oneLine("x".repeat(500), 10)).toBe("xxxxxxxxx…");
	fc.assert(
		fc.property(hostile, fc.integer({ min: 2, max: 300 }), (text, max) => {
			const line = oneLine(text, max);
			expect(isCleanLine(line)).toBe(true);
			expect(line.length).toBeLessThanOrEqual(max);
			expect(oneLine(line, max)).toBe(line);
		}),
	);
});

test("S4: a name that could pass for our own words is put in quotes", () => {
	expect(quoted(oneLine("tmux: server"))).toBe("tmux: server");
	expect(quoted(oneLine("x · exit code 0"))).toBe('"x · exit code 0"');
	expect(quoted(oneLine("sh) (1"))).toBe('"sh) (1"');
});

test("G4: JSON for a model shows what would be invisible, and parses to the same value", () => {
	fc.assert(
		fc.property(hostile, (text) => {
			const json = cleanJson({ text });
			expect(isCleanLine(json)).toBe(true);
			expect(JSON.parse(json)).toEqual({ text });
		}),
	);
});

test("G4: a refusal is one clean line whatever the values in it are, and its facts keep them as they were", () => {
	const codes = Object.keys(faults) as FaultCode[];
	fc.assert(
		fc.property(fc.constantFrom(...codes), hostile, (code, text) => {
			// Any field of any row: a string, a number or a list of strings.
			const facts = new Proxy({}, { get: (_, field) => fieldOf(String(field), text) });
			const fault = new Fault(code, facts as never);
			for (const line of [fault.message, fault.next]) {
				expect(isCleanLine(line)).toBe(true);
				expect(line.length).toBeLessThan(5000);
			}
			expect(fault.facts).toBe(facts);
		}),
	);
});

function fieldOf(name: string, text: string): string | number | object | undefined {
	if (name === "removed") return text.length % 2 === 0 ? { name: text, endedAt: 7, at: 7, because: "age" } : undefined;
	if (name === "others") return [{ id: text, owner: text }];
	if (name === "processes") return [{ pid: 7, command: text }];
	if (name === "misfits") return [{ host: text, why: text }];
	if (["hosts", "problems", "tools", "open", "nearest", "did"].includes(name)) return [text, text];
	return ["limit", "offset", "expected", "lines", "free", "port", "uid", "pid", "since", "seconds"].includes(name)
		? 7
		: text;
}
