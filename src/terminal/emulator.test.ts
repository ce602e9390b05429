import { readFileSync } from "node:fs";
import { Terminal } from "@xterm/headless/lib-headless/xterm-headless.mjs";
import { describe, expect, test } from "vitest";
import { Emulator, LIMITS } from "./emulator.ts";

const encode = (text: string) => new TextEncoder().encode(text);

describe("the emulator underneath is the one we know", () => {
	// These are not its public API. When an upgrade moves them, this says so before a session does.
	test("its inner parts are where we reach for them", () => {
		const core = (new Terminal({ allowProposedApi: true }) as unknown as { _core: Record<string, never> })._core;
		expect(core).toMatchObject({
			_inputHandler: {
				parse: expect.any(Function),
				_utf8Decoder: { decode: expect.any(Function) },
				_parseBuffer: expect.any(Uint32Array),
				_parser: { currentState: 0, reset: expect.any(Function) },
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
		const start = process.cpuUsage();
		emulator.write(encode(sequence));
		const { user, system } = process.cpuUsage(start);
		expect((user + system) / 1000).toBeLessThan(50);
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
		const start = process.cpuUsage();
		emulator.open();
		for (let at = 0; at < flood.length; at += 8192) emulator.write(flood.subarray(at, at + 8192));
		const { user, system } = process.cpuUsage(start);
		expect((user + system) / 1000).toBeLessThan(1500);
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
