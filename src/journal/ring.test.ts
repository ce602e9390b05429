import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { lastPlainLine } from "./plain-line.ts";
import { Ring } from "./ring.ts";

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();

describe("R4.1 the ring counts output that it no longer holds", () => {
	test("a quiet session holds all its output", () => {
		const ring = new Ring();
		ring.append(Buffer.from("one\r\ntwo\r\n$ "));
		expect(ring).toMatchObject({ bytesOut: 12, linesOut: 2, lastLine: "$", truncated: false, from: 0, to: 12 });
		expect(text(ring.read(0, 12))).toBe("one\r\ntwo\r\n$ ");
		expect(text(ring.read(5, 8))).toBe("two");
	});

	test("a loud one holds the newest, and counts the rest", () => {
		const ring = new Ring({ maxBytes: 10 });
		ring.append(Buffer.from("0123\n56789ab\ndef"));
		expect(ring).toMatchObject({ bytesOut: 16, linesOut: 2, truncated: true, from: 6, to: 16, lastLine: "def" });
		expect(text(ring.read(0, 99))).toBe("6789ab\ndef");
	});

	test("whatever comes in whatever pieces, it holds exactly the end of it", () => {
		fc.assert(
			fc.property(
				fc.array(fc.uint8Array({ maxLength: 9000 }), { maxLength: 12 }),
				fc.integer({ min: 1, max: 12_000 }),
				fc.nat(1000),
				(pieces, maxBytes, at) => {
					const ring = new Ring({ maxBytes, at });
					const all = Buffer.concat(pieces);
					for (const piece of pieces) ring.append(piece);
					const held = all.subarray(Math.max(0, all.length - maxBytes));
					expect(ring.to).toBe(at + all.length);
					expect(Buffer.from(ring.read(0, ring.to)).equals(held)).toBe(true);
					expect(ring.from).toBe(ring.to - held.length);
					expect(ring.linesOut).toBe(all.filter((byte) => byte === 10).length);
				},
			),
			{ numRuns: 200 },
		);
	});

	test("after missing bytes it restarts, and the counts continue", () => {
		const ring = new Ring();
		ring.append(Buffer.from("before\n"));
		ring.skipTo(100);
		ring.append(Buffer.from("after\n"));
		expect(ring).toMatchObject({ from: 100, to: 106, linesOut: 2, truncated: true });
		expect(text(ring.read(0, 200))).toBe("after\n");
	});
});

describe("the last line is what a person would call the last line, and harmless", () => {
	test.each([
		["a\r\nb\r\n", "b"],
		["10%\r20%\r30%", "30%"],
		["done\r\n\x1b[2K\r", "done"],
		["\x1b[1;31merror\x1b[0m: no\r\n", "error: no"],
		["\x1b]0;title\x07text", "text"],
		["\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"],
		["\x1bPq#0;~\x1b\\after", "after"],
		["\x9b31mred", "red"],
		["cut \x1b]0;never ended", "cut"],
		["a\u202eb\u200bc\u{e0041}d\x07", "abcd"],
		["", ""],
	])("%j → %j", (raw, line) => {
		expect(lastPlainLine(Buffer.from(raw))).toBe(line);
	});

	test("whatever the bytes, no control or invisible character comes through", () => {
		fc.assert(
			fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
				expect(lastPlainLine(bytes)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/);
			}),
		);
	});
});
