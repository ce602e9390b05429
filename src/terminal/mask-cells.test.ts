import { expect, test } from "vitest";
import { learn } from "../protocol/masking.ts";
import { Screen } from "./screen.ts";

const SECRET = "tr0ub4dor&3-日本";
const screen = (cols: number, rows: number, scrollback = 100) => new Screen({ cols, rows, scrollback, now: () => 0 });
const bytes = (text: string) => new TextEncoder().encode(text);
const content = (shown: Screen) => JSON.stringify(shown.serialize()?.content ?? "");

test("R4.9 however it is cut, wrapped or put together by the cursor, a drawn secret is stars in every cell", () => {
	learn([SECRET]);
	let seed = 7;
	const random = (most: number) => {
		seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
		return Math.floor((seed / 2 ** 32) * most);
	};
	for (let round = 0; round < 200; round++) {
		const cols = 10 + random(40);
		const shown = screen(cols, 12);
		const before = "x".repeat(random(cols));
		const drawn = bytes(`${"line\r\n".repeat(random(30))}${before}${SECRET}y\r\n`);
		for (let at = 0; at < drawn.length; ) {
			const size = 1 + random(20);
			shown.feed(drawn.subarray(at, at + size));
			at += size;
		}
		const text = shown.lines(40).join("");
		expect(text).not.toContain(SECRET);
		expect(content(shown)).not.toContain("tr0ub4dor");
		shown.dispose();
	}
});

test("R4.9 characters that are placed one by one", () => {
	learn([SECRET]);
	const shown = screen(60, 5);
	const order = [...SECRET].map((character, column) => ({ character, column })).reverse();
	const columns = [...SECRET].map((_, i) =>
		[...SECRET].slice(0, i).reduce((sum, c) => sum + (c > "\u3000" ? 2 : 1), 0),
	);
	for (const { character, column } of order) {
		const drawn = bytes(`\x1b[2;${columns[column]! + 5}H${character}`);
		shown.feed(drawn);
	}
	expect(content(shown)).not.toContain("tr0ub4dor");
	expect(content(shown)).toContain("*".repeat(12));
	shown.dispose();
});
