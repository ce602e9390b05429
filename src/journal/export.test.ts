import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { asciicast, scriptPair } from "./export.ts";
import { parseTimingLine } from "./timing.ts";

let directory: string;
beforeEach(async () => {
	directory = await mkdtemp(join(tmpdir(), "dt-export-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const segment = (at: number, bytes: string | Uint8Array) =>
	writeFile(join(directory, `out.${String(at).padStart(20, "0")}`), bytes);
const timing = (text: string) => writeFile(join(directory, "timing"), text);

async function all(lines: AsyncIterable<string>): Promise<unknown[]> {
	const parsed: unknown[] = [];
	for await (const line of lines) parsed.push(JSON.parse(line));
	return parsed;
}
async function joined(pieces: AsyncIterable<Uint8Array | string>): Promise<string> {
	const out: Buffer[] = [];
	for await (const piece of pieces) out.push(Buffer.from(piece));
	return Buffer.concat(out).toString();
}

describe("asciicast", () => {
	const size = { cols: 80, rows: 24 };

	test("v3 counts from the event before, v2 from the start; resizes and the exit are there", async () => {
		await segment(0, "onetwo");
		await timing(
			"H 0.000000 COLUMNS 100\nH 0.000000 LINES 30\nO 0.500000 3\nS 0.250000 SIGWINCH ROWS=40 COLS=120\nO 0.250000 3\nH 0.000000 EXIT_CODE 7\n",
		);
		expect(await all(asciicast({ directory, version: 3, ...size, title: "t", startedAt: 5000 }))).toEqual([
			{ version: 3, term: { cols: 100, rows: 30, type: "xterm-256color" }, timestamp: 5, title: "t" },
			[0.5, "o", "one"],
			[0.25, "r", "120x40"],
			[0.25, "o", "two"],
			[0, "x", "7"],
		]);
		expect(await all(asciicast({ directory, version: 2, ...size }))).toEqual([
			{ version: 2, width: 100, height: 30 },
			[0.5, "o", "one"],
			[0.75, "r", "120x40"],
			[1, "o", "two"],
		]);
	});

	test("a character that is cut by chunks and by segments comes out whole", async () => {
		const bytes = Buffer.from("a🦀b\ufeff");
		await segment(0, bytes.subarray(0, 2));
		await segment(2, bytes.subarray(2));
		await timing("O 0.100000 3\nO 0.100000 1\nO 0.100000 5\n");
		const events = (await all(asciicast({ directory, version: 3, ...size }))).slice(1) as [number, string, string][];
		expect(events.map(([, , data]) => data).join("")).toBe("a🦀b\ufeff");
		expect(events.reduce((sum, [after]) => sum + after, 0)).toBeCloseTo(0.3, 6);
	});

	test("bytes that are no text and a character cut by the end are marked, not dropped", async () => {
		await segment(0, Buffer.from([0x61, 0xff, 0xe2, 0x82]));
		await timing("O 0.100000 4\n");
		const events = (await all(asciicast({ directory, version: 3, ...size }))).slice(1) as [number, string, string][];
		expect(events.map(([, , data]) => data).join("")).toBe("a\ufffd\ufffd");
	});

	test("what is not kept is a marker, and bytes without a time yet come at the end", async () => {
		await segment(0, "abc");
		await segment(6, "ghijk");
		await timing("O 0.100000 4\nO 0.100000 4\nO 0.1");
		expect((await all(asciicast({ directory, version: 3, ...size }))).slice(1)).toEqual([
			[0.1, "o", "abc"],
			[0, "m", "3 bytes are not kept"],
			[0.1, "o", "gh"],
			[0, "o", "ijk"],
		]);
	});

	test("a session without output is still a recording", async () => {
		expect(await all(asciicast({ directory, version: 3, ...size }))).toHaveLength(1);
	});
});

describe("script(1)", () => {
	test("the pair counts exactly the bytes that are in it", async () => {
		await segment(0, "abc");
		await segment(6, "gh");
		await timing("H 0.000000 START_TIME now\nO 0.100000 4\nO 0.100000 4\n");
		const pair = scriptPair(directory);
		expect((await joined(pair.typescript)).split("\n")[1]).toBe("abcgh");
		expect(await joined(pair.timing)).toBe("H 0.000000 START_TIME now\nO 0.100000 3\nO 0.100000 2\n");
	});

	test.each([
		["O 0.1 5", { afterUs: 100_000, kind: "output", bytes: 5 }],
		["S 1.5 SIGWINCH ROWS=3 COLS=4", { afterUs: 1_500_000, kind: "resized", rows: 3, cols: 4 }],
		["H 0.0 COMMAND ls -l", { afterUs: 0, kind: "header", name: "COMMAND", value: "ls -l" }],
		["O 0.1", null],
		["O -1 5", null],
		["O x 5", null],
		["nonsense", null],
		["", null],
	])("the line %j", (line, entry) => {
		expect(parseTimingLine(line)).toEqual(entry);
	});
});
