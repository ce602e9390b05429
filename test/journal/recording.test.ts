// What came out of a real session, read back: by offset, by the players of other
// people, and after the quota took the middle.
import { execFile } from "node:child_process";
import { createWriteStream } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { asciicast, scriptPair } from "../../src/journal/export.ts";
import { bytesOf, Journal } from "../../src/journal/journal.ts";
import { listSegments } from "../../src/journal/segments.ts";
import { until } from "../condition.ts";
import { needs } from "../programs.ts";
import { compiled, Stage } from "../pty/stage.ts";

let stage: Stage;
beforeAll(async () => {
	stage = await Stage.open();
});
afterAll(() => stage[Symbol.asyncDispose]());

async function lines(cast: AsyncIterable<string>): Promise<unknown[]> {
	const all: unknown[] = [];
	for await (const line of cast) all.push(JSON.parse(line));
	return all;
}

describe("R4.8 output stays readable", () => {
	test("from memory, after eviction, and from disk alone, byte for byte the same", async () => {
		const { pty, spec, heard } = await stage.start([compiled("burst"), "3000000"]);
		const journal = new Journal({ directory: spec.directory });
		pty.onOutput((output) => journal.advance(output));
		await pty.exited;
		expect(journal.stats).toMatchObject({ bytesOut: 3_000_000, linesOut: 0, truncated: true });
		for (const from of [0, 1, 1_234_567, 2_999_999, 3_000_000]) {
			const whole = heard.bytes.subarray(from);
			expect(Buffer.compare(bytesOf(await journal.read(from)), whole)).toBe(0);
		}
		journal.evict();
		expect(Buffer.compare(bytesOf(await journal.read(0)), heard.bytes)).toBe(0);
		const later = await Journal.open({ directory: spec.directory });
		expect(
			Buffer.compare(bytesOf(await later.read(2_500_000, 2_600_000)), heard.bytes.subarray(2_500_000, 2_600_000)),
		).toBe(0);
	});

	test("the quota keeps the beginning and the newest, and a read of the middle says what is not kept", async () => {
		const { pty, spec, heard } = await stage.start([compiled("burst"), "3000000"], {
			quotaBytes: 400_000,
			segmentBytes: 100_000,
		});
		await pty.closed;
		const kept = (await listSegments(spec.directory)).reduce((sum, { from, to }) => sum + to - from, 0);
		expect(kept).toBeLessThanOrEqual(400_000);
		const excerpt = await (await Journal.open({ directory: spec.directory })).read(0);
		expect(excerpt).toMatchObject({ from: 0, to: 3_000_000 });
		expect(excerpt.gaps).toHaveLength(1);
		const [gap] = excerpt.gaps;
		const expected = Buffer.from(Uint8Array.from({ length: 3_000_000 }, (_, i) => 33 + ((i * 7) % 94)));
		const whole = Buffer.concat([expected.subarray(0, gap!.from), expected.subarray(gap!.to)]);
		expect(Buffer.compare(bytesOf(excerpt), whole)).toBe(0);
		expect(heard.count).toBe(3_000_000);
	});
});

describe("R4.2 a subscriber joins a running session", () => {
	test("what it sees, snapshot and all that follows, is all there was", async () => {
		const { pty, spec } = await stage.start(
			"i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); [ $((i%300)) != 0 ] || sleep 0.02; done",
		);
		const journal = new Journal({ directory: spec.directory });
		pty.onOutput((output) => journal.advance(output));
		const seen: { parts: Buffer[]; from: number }[] = [];
		const joined = () => {
			const one = { parts: [] as Buffer[], from: 0 };
			const { snapshot } = journal.snapshotAndSubscribe(0, (it) => {
				if ("bytes" in it) one.parts.push(Buffer.from(it.bytes));
			});
			one.parts.unshift(Buffer.from(snapshot.bytes));
			seen.push(one);
		};
		joined();
		pty.onOutput(() => seen.length < 50 && joined());
		await pty.exited;
		const all = Buffer.from(bytesOf(await journal.read(0)));
		expect(seen.length).toBeGreaterThan(2);
		for (const { parts } of seen) expect(Buffer.concat(parts).equals(all)).toBe(true);
		expect(journal.stats).toMatchObject({ linesOut: 3000, lastLine: "line 2999" });
	});
});

describe("a recording in the formats of others", () => {
	test.skipIf(!needs("scriptreplay"))("scriptreplay plays every byte, resizes and all", async () => {
		const { pty, spec, heard } = await stage.start(
			"printf 'erste Zeile ü🦀\\n'; read x; printf '\\033[31mrot\\033[0m\\n'; read x; printf 'Ende'; exit 3",
		);
		await heard.says("erste");
		await pty.resize(100, 30);
		await pty.write(Buffer.from("\n"));
		await heard.says("rot");
		await pty.write(Buffer.from("\n"));
		await pty.closed;
		const [typescript, timing] = [join(stage.home, "typescript"), join(stage.home, "timing")];
		const pair = scriptPair(spec.directory);
		await pipeline(Readable.from(pair.typescript), createWriteStream(typescript));
		await pipeline(Readable.from(pair.timing), createWriteStream(timing));
		const { stdout } = await promisify(execFile)(
			"scriptreplay",
			["--divisor", "1000", "--log-timing", timing, "--log-out", typescript],
			{ encoding: "buffer" },
		);
		// It adds a newline of its own at the end.
		expect(stdout.toString().trimEnd()).toBe(heard.text.trimEnd());
		const summary = await promisify(execFile)("scriptreplay", [
			"--summary",
			"--log-timing",
			timing,
			"--log-out",
			typescript,
		]);
		expect(summary.stdout).toMatch(/EXIT_CODE:\s*3/);
	});

	test.skipIf(!needs("scriptreplay"))("scriptreplay also plays the holder's own timing over the raw log", async () => {
		const { pty, spec, heard } = await stage.start("seq 1 2000");
		await pty.closed;
		const typescript = join(stage.home, "raw-typescript");
		await writeFile(typescript, Buffer.concat([Buffer.from("\n"), heard.bytes]));
		const { stdout } = await promisify(execFile)("scriptreplay", [
			"--divisor",
			"1000",
			"--log-timing",
			join(spec.directory, "timing"),
			"--log-out",
			typescript,
		]);
		expect(stdout.trimEnd()).toBe(heard.text.trimEnd());
	});

	test("asciicast of a flood of wide characters is exact, whatever the borders of its chunks", async () => {
		const { pty, spec, heard } = await stage.start(["python3", "-c", "import sys; sys.stdout.write('漢字🦀é'*40000)"], {
			cols: 91,
			rows: 31,
		});
		await pty.closed;
		expect(heard.count).toBeGreaterThan(400_000);
		const [header, ...events] = (await lines(
			asciicast({ directory: spec.directory, version: 3, cols: 1, rows: 1, command: "x", startedAt: 1000 }),
		)) as [{ version: number; term: object }, ...[number, string, string][]];
		expect(header).toMatchObject({ version: 3, term: { cols: 91, rows: 31 }, timestamp: 1, command: "x" });
		const text = events.filter(([, code]) => code === "o").map(([, , data]) => data);
		expect(text.join("")).toBe("漢字🦀é".repeat(40_000));
		expect(events.at(-1)).toEqual([expect.any(Number), "x", "0"]);
	});

	test("times are real: a pause of the program is a pause of the recording", async () => {
		const { pty, spec } = await stage.start("printf one; sleep 0.4; printf two");
		await pty.closed;
		const [, ...events] = (await lines(asciicast({ directory: spec.directory, version: 2, cols: 80, rows: 24 }))) as [
			object,
			...[number, string, string][],
		];
		const at = (text: string) => events.find(([, , data]) => data.includes(text))![0];
		expect(at("two") - at("one")).toBeGreaterThan(0.35);
		await until("it is over", () => pty.exit);
	});
});
