import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, test } from "vitest";
import { clean, safe } from "../protocol/clean.ts";
import { fenced } from "./render.ts";

const HEADER = safe`[py] waiting`;
const tokens = (text: string) => encode(text).length;

describe("G4 the fence", () => {
	test("G4: the header opens it, and a line of its own closes it", () => {
		expect(fenced(HEADER, clean("a\nb").text)).toMatch(/^\[py\] waiting <<(\d{3})\na\nb\n\1$/);
		expect(fenced(HEADER, clean("3: b").text, "rows")).toMatch(/^\[py\] waiting rows<<(\d{3})\n3: b\n\1$/);
	});

	test("G4: its word does not occur in the text, whatever the text has", () => {
		const numbers = (digits: number) => Array.from({ length: 10 ** digits }, (_, n) => String(n).padStart(digits, "0"));
		const most = clean(numbers(3).slice(0, 900).join(" ")).text;
		for (let n = 0; n < 100; n++) {
			const [, word] = /<<(\d+)\n/.exec(fenced(HEADER, most))!;
			expect(most).not.toContain(word);
		}
		expect(fenced(HEADER, clean(numbers(3).join("\n")).text)).toMatch(/^\[py\] waiting <<(\d{4,})\n[\s\S]*\n\1$/);
		expect(fenced(HEADER, clean(numbers(4).join("\n")).text)).toMatch(/^\[py\] waiting <<(\d{5,})\n[\s\S]*\n\1$/);
	});

	test("T8: it costs at most five tokens", () => {
		const text = clean(">>> print(1)").text;
		for (let n = 0; n < 100; n++) {
			expect(tokens(fenced(HEADER, text)) - tokens(`${HEADER}\n${text}`)).toBeLessThanOrEqual(4);
			expect(tokens(fenced(HEADER, text, "rows")) - tokens(`${HEADER}\n${text}`)).toBeLessThanOrEqual(5);
		}
	});
});
