import { readFileSync } from "node:fs";
import { Terminal } from "@xterm/headless/lib-headless/xterm-headless.mjs";
import { describe, expect, test } from "vitest";
import { processorMs } from "../../test/processor-time.ts";
import { Emulator, LIMITS } from "./emulator.ts";

const encode = (text: string) => new TextEncoder().encode(text);

describe("the emulator underneath is the one we know", () => {
	// These are not its public API. When an upgrade moves them, this says so before a session does.
	test("its inner parts are where we reach for them", () => {
		const core = (new Terminal({ allowProposedApi: true }) as unknown as { _core: Record<string, never> })._core;
		expect(core).toMatchObject({
			_inputHandler: {
				parse: expect.any(Function),
				_resetBufferLine: expect.any(Function),
				_utf8Decoder: { decode: expect.any(Function) },
				_parseBuffer: expect.any(Uint32Array),
				_parser: { currentState: 0, precedingJoinState: 0, reset: expect.any(Function) },
			},
			buffers: { normal: { lines: { onTrim: expect.any(Function) }, _memoryCleanupQueue: expect.anything() } },
			coreService: { isCursorHidden: false, decPrivateModes: { bracketedPasteMode: false } },
			coreMouseService: { activeProtocol: "NONE", activeEncoding: "DEFAULT" },
		});
		expect(JSON.parse(readFileSync("node_modules/@xterm/headless/package.json", "utf8")).version).toBe("6.0.0");
	});
});

describe("hostile bytes cost little", () => {
	const HUGE = 2147483647;
	const cases: Record<string, string> = {
		...Object.fromEntries(
			[..."bIZLMST@PXABCDEFGHdea`rnJKgtq"].map((final) => [`CSI huge ${final}`, `a\x1b[${HUGE}${final}`]),
		),
		"CSI huge SP @": `a\x1b[${HUGE} @`,
		"CSI huge SP A": `a\x1b[${HUGE} A`,
		"CSI huge ' }": `a\x1b[${HUGE}'}`,
		"CSI huge ' ~": `a\x1b[${HUGE}'~`,
		"a thousand parameters": `\x1b[${"1;".repeat(1000)}m`,
		"a thousand subparameters": `\x1b[38${":1".repeat(1000)}m`,
		"huge margins": `\x1b[${HUGE};${HUGE}r\x1b[${HUGE}S`,
		"132 columns": "\x1b[?40h\x1b[?3h",
		"resize by the program": `\x1b[8;${HUGE};${HUGE}t`,
	};
	test.each(Object.entries(cases))("%s", (_, sequence) => {
		const emulator = new Emulator({ cols: 120, rows: 40, scrollback: 1000 });
		emulator.write(encode("x\r\n".repeat(2000)));
		const memory = process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
		expect(processorMs(() => emulator.write(encode(sequence)))).toBeLessThan(50);
		expect(process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers - memory).toBeLessThan(50e6);
		expect(emulator.recoveries).toBe(0);
		expect([emulator.cols, emulator.rows]).toEqual([120, 40]);
	});

	// Bare, 64 KB of the dearest take half a minute: one session would hold up all others.
	const DEAR = [
		"a\x1b[99999b",
		"\x1b[99L",
		"\x1b[99S",
		"\x1bc",
		"x\x1bc",
		"\x1b[?1049h\x1b[?1049l",
		"\x1b#8",
		"\x1b[2J",
		"\x1b[99'}",
		"\x1b[H\x1b[J",
	];
	test.each(DEAR)("64 KB of %j hold up nobody", (sequence) => {
		const emulator = new Emulator({ cols: 120, rows: 40, scrollback: 1000 });
		const flood = encode(sequence.repeat(65536 / sequence.length));
		const spent = processorMs(() => {
			emulator.open();
			for (let at = 0; at < flood.length; at += 8192) emulator.write(flood.subarray(at, at + 8192));
		});
		expect(spent).toBeLessThan(1500);
		emulator.open();
		emulator.write(encode("\x1bc\x1b[2Jstill here"));
		expect(emulator.active.lines.get(0)!.translateToString(true)).toBe("still here");
		expect(emulator.alternate).toBe(false);
	});

	test("a title without end is not kept", () => {
		const emulator = new Emulator({ cols: 80, rows: 24, scrollback: 100 });
		const payloads: string[] = [];
		emulator.onOsc(2, (payload) => payloads.push(payload));
		emulator.write(encode("\x1b]2;"));
		for (let i = 0; i < 200; i++) emulator.write(encode("x".repeat(65536)));
		emulator.write(encode("\x07\x1b]2;short\x07"));
		expect(payloads).toEqual(["short"]);
	});

	test("a heap of combining marks stays a small cell", () => {
		const emulator = new Emulator({ cols: 80, rows: 24, scrollback: 100 });
		emulator.write(encode(`a${"\u0301".repeat(100_000)}b`));
		expect(emulator.normal.lines.get(0)!.translateToString(true).length).toBeLessThanOrEqual(LIMITS.clusterChars + 2);
	});

	test("erasing above from the last cell, which upstream cannot do, erases", () => {
		const emulator = new Emulator({ cols: 10, rows: 3, scrollback: 0 });
		emulator.write(encode("abc\x1b[3;10Hx\x1b[1J"));
		expect(emulator.recoveries).toBe(0);
		expect(emulator.normal.lines.get(0)!.translateToString(true).trim()).toBe("");
	});

	test("sizes outside the bounds become the bounds", () => {
		const emulator = new Emulator({ cols: 80, rows: 24, scrollback: 10 });
		for (const [cols, rows] of [
			[0, 0],
			[Number.NaN, -5],
			[1e9, 1e9],
			[80.7, 24.2],
		] as const) {
			emulator.resize(cols, rows);
			expect(emulator.cols).toBeGreaterThanOrEqual(LIMITS.cols.min);
			expect(emulator.cols).toBeLessThanOrEqual(LIMITS.cols.max);
			expect(emulator.rows).toBeLessThanOrEqual(LIMITS.rows.max);
		}
	});
});

describe("what upstream gets wrong", () => {
	const rowsOf = ({ lines }: Emulator["normal"]) =>
		Array.from({ length: lines.length }, (_, i) => lines.get(i)!.translateToString(true));

	test("erasing above from the last cell leaves the lines in the scrollback as they were", () => {
		const emulator = new Emulator({ cols: 4, rows: 2, scrollback: 10 });
		emulator.write(encode("abcdefgh\r\n1\r\n2345\x1b[1J"));
		expect(rowsOf(emulator.normal)).toEqual(["abcd", "efgh", "", ""]);
		expect(emulator.normal.lines.get(1)?.isWrapped).toBe(true);
		emulator.dispose();
	});

	test("the alternate screen of a terminal that was made lower has no scrollback", () => {
		const emulator = new Emulator({ cols: 10, rows: 10, scrollback: 10 });
		emulator.resize(10, 3);
		emulator.write(encode("\x1b[?1049h1\r\n2\r\n3\r\n4"));
		emulator.resize(10, 10);
		expect({ recoveries: emulator.recoveries, alternate: emulator.alternate }).toEqual({
			recoveries: 0,
			alternate: true,
		});
		expect(rowsOf(emulator.active).slice(0, 4)).toEqual(["2", "3", "4", ""]);
		emulator.dispose();
	});

	test("a reflow keeps the columns that a tab passed over, wherever a row ends", () => {
		for (let cols = 2; cols < 30; cols++) {
			const emulator = new Emulator({ cols: 30, rows: 20, scrollback: 100 });
			emulator.write(encode("漢字\ta b\tc\r\n"));
			emulator.resize(cols, 20);
			emulator.resize(30, 20);
			expect(rowsOf(emulator.normal)[0]).toBe("漢字    a b     c");
			emulator.dispose();
		}
	});
});
