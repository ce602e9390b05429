// What came out of a real session, read back: by offset, by the players of other
// people, and after the quota took the middle.
import { execFile } from "node:child_process";
import { createWriteStream } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { asciicast, scriptPair } from "../../src/journal/export.ts";
import { bytesOf, Journal } from "../../src/journal/journal.ts";
import { listSegments } from "../../src/journal/segments.ts";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";
import { compiled, Stage } from "../pty/stage.ts";

let stage: Stage;
beforeEach(async () => {
	stage = await Stage.open();
});
afterEach(() => stage[Symbol.asyncDispose]());

async function lines(cast: AsyncIterable<string>): Promise<unknown[]> {
	const all: unknown[] = [];
	for await (const line of cast) all.push(JSON.parse(line));
	return all;
}

/** Everything from an offset on: one read returns a part of it, and where to go on. */
async function all(journal: Journal, from: number): Promise<Uint8Array> {
	const parts: Uint8Array[] = [];
	for (let at = from; at < journal.end; ) {
		const excerpt = await journal.read(at);
		expect(bytesOf(excerpt).length).toBeLessThanOrEqual(1 << 20);
		parts.push(bytesOf(excerpt));
		at = excerpt.to;
	}
	return Buffer.concat(parts);
}

describe("R4.8 output stays readable", () => {
	test("from memory, and from disk alone, byte for byte the same", async () => {
		const { pty, spec, received } = await stage.start([compiled("burst"), "3000000"]);
		const journal = new Journal({ directory: spec.directory });
		pty.onOutput((output) => journal.take(output));
		await pty.exited;
		expect(journal.stats).toMatchObject({ bytesOut: 3_000_000, linesOut: 0, truncated: true });
		for (const from of [0, 1, 1_234_567, 2_999_999, 3_000_000]) {
			const whole = received.bytes.subarray(from);
			expect(Buffer.compare(await all(journal, from), whole)).toBe(0);
		}
		const later = new Journal({ directory: spec.directory, at: 3_000_000 });
		expect(Buffer.compare(await all(later, 0), received.bytes)).toBe(0);
		expect(
			Buffer.compare(bytesOf(await later.read(2_500_000, 2_600_000)), received.bytes.subarray(2_500_000, 2_600_000)),
		).toBe(0);
	});

	test("the quota keeps the beginning and the newest, and a read of the middle says what is not kept", async () => {
		const { pty, spec, received } = await stage.start([compiled("burst"), "3000000"], {
			quotaBytes: 400_000,
			segmentBytes: 100_000,
		});
		await pty.closed;
		const kept = (await listSegments(spec.directory)).reduce((sum, { from, to }) => sum + to - from, 0);
		expect(kept).toBeLessThanOrEqual(400_000);
		const excerpt = await new Journal({ directory: spec.directory, at: 3_000_000 }).read(0);
		expect(excerpt).toMatchObject({ from: 0, to: 3_000_000 });
		expect(excerpt.gaps).toHaveLength(1);
		const [gap] = excerpt.gaps;
		const expected = Buffer.from(Uint8Array.from({ length: 3_000_000 }, (_, i) => 33 + ((i * 7) % 94)));
		const whole = Buffer.concat([expected.subarray(0, gap!.from), expected.subarray(gap!.to)]);
		expect(Buffer.compare(bytesOf(excerpt), whole)).toBe(0);
		expect(received.count).toBe(3_000_000);
	});
});

describe("R4.2 a subscriber joins a running session", () => {
	test("whenever it joins, what it hears from the beginning on is all there was", async () => {
		await using dialtone = await Dialtone.open();
		const terminal = await dialtone.start({
			argv: [
				"bash",
				"-c",
				"i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); [ $((i%100)) != 0 ] || sleep 0.1; done",
			],
			timeoutMs: 0,
		});
		const { signal } = new AbortController();
		const received = async () => {
			const parts: Uint8Array[] = [];
			for await (const chunk of terminal.output({ signal })) if ("bytes" in chunk) parts.push(chunk.bytes);
			return Buffer.concat(parts).toString();
		};
		const joined = [received()];
		// One more with each piece that the first of them hears.
		for await (const _ of terminal.output({ signal })) if (joined.length < 50) joined.push(received());
		const all = Array.from({ length: 3000 }, (_, i) => `line ${i}\r\n`).join("");
		expect(joined.length).toBeGreaterThan(2);
		for (const text of await Promise.all(joined)) expect(text).toBe(all);
	});
});

describe("a recording in the formats of others", () => {
	test("scriptreplay plays every byte, resizes and all", async () => {
		const { pty, spec, received } = await stage.start(
			"printf 'erste Zeile ü🦀\\n'; read x; printf '\\033[31mrot\\033[0m\\n'; read x; printf 'Ende'; exit 3",
		);
		await received.says("erste");
		await pty.resize(100, 30);
		await pty.write(Buffer.from("\n"));
		await received.says("rot");
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
		expect(stdout.toString().trimEnd()).toBe(received.text.trimEnd());
		const summary = await promisify(execFile)("scriptreplay", [
			"--summary",
			"--log-timing",
			timing,
			"--log-out",
			typescript,
		]);
		expect(summary.stdout).toMatch(/EXIT_CODE:\s*3/);
	});

	test("scriptreplay also plays the holder's own timing over the raw log", async () => {
		const { pty, spec, received } = await stage.start("seq 1 2000");
		await pty.closed;
		const typescript = join(stage.home, "raw-typescript");
		await writeFile(typescript, Buffer.concat([Buffer.from("\n"), received.bytes]));
		const { stdout } = await promisify(execFile)("scriptreplay", [
			"--divisor",
			"1000",
			"--log-timing",
			join(spec.directory, "timing"),
			"--log-out",
			typescript,
		]);
		expect(stdout.trimEnd()).toBe(received.text.trimEnd());
	});

	test(
		"asciicast of a flood of wide characters is exact, whatever the borders of its chunks",
		needing("python3"),
		async () => {
			const { pty, spec, received } = await stage.start(
				["python3", "-c", "import sys; sys.stdout.write('漢字🦀é'*40000)"],
				{
					cols: 91,
					rows: 31,
				},
			);
			await pty.closed;
			expect(received.count).toBeGreaterThan(400_000);
			const [header, ...events] = (await lines(
				asciicast({ directory: spec.directory, version: 3, cols: 1, rows: 1, command: "x", startedAt: 1000 }),
			)) as [{ version: number; term: object }, ...[number, string, string][]];
			expect(header).toMatchObject({ version: 3, term: { cols: 91, rows: 31 }, timestamp: 1, command: "x" });
			const text = events.filter(([, code]) => code === "o").map(([, , data]) => data);
			expect(text.join("")).toBe("漢字🦀é".repeat(40_000));
			expect(events.at(-1)).toEqual([expect.any(Number), "x", "0"]);
		},
	);

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
