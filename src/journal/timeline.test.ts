import { mkdtemp, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { segmentPath } from "./segments.ts";
import { timeline } from "./timeline.ts";
import { TimingIndex } from "./timing-index.ts";
import { parseTurns, readTurns, type TurnEntry, TurnsWriter } from "./turns.ts";

let directory: string;
beforeEach(async () => {
	directory = await mkdtemp(join(tmpdir(), "dt-timeline-"));
});
afterEach(() => rm(directory, { recursive: true }));

const START = Date.UTC(2026, 0, 2, 3, 4, 5);
const turn = (at: number, offset: number, more: object = {}): TurnEntry => ({
	kind: "turn",
	at: START + at,
	offset,
	by: "agent",
	who: "mcp:x",
	keys: 3,
	lines: 0,
	returned: "waiting",
	tookMs: 5,
	...more,
});
const running = {
	createdAt: START,
	resolvedAt: null,
	exit: null,
	state: "running",
	reason: null,
	cols: 80,
	rows: 24,
} as const;
const ended = { ...running, resolvedAt: START + 9000, exit: { code: 2, signal: null }, state: "failed" } as const;

async function write(entries: readonly TurnEntry[], options?: { maxBytes: number }): Promise<TurnsWriter> {
	const writer = new TurnsWriter(directory, options);
	for (const entry of entries) {
		writer.append(entry);
		if (options !== undefined) await writer.settled();
	}
	await writer.settled();
	return writer;
}

async function output(timing: string, ...segments: [from: number, text: string][]): Promise<void> {
	await writeFile(join(directory, "timing"), `H 0.000000 START_TIME 2026-01-02 03:04:05+00:00\n${timing}`);
	for (const [from, text] of segments) await writeFile(segmentPath(directory, "out", from), text);
}

const shown = (more: object = {}) =>
	timeline({ directory, index: new TimingIndex(directory), record: running, ...more });

describe("the turns of a session", () => {
	test("are read back in their order, also by the next writer's reader", async () => {
		const entries: TurnEntry[] = [
			turn(1, 0),
			{ kind: "command", at: START, offset: 3, to: 9, exitCode: 1, command: "false" },
			{ kind: "state", at: START, offset: 9, state: "waiting" },
			{ kind: "driver", at: START, offset: 9, driver: { kind: "person", who: "ann" }, note: "let me" },
			{ kind: "driver", at: START, offset: 9, driver: { kind: "agent" } },
			{ kind: "signal", at: START, offset: 9, signal: "INT", who: "mcp:x" },
			{ kind: "approval", at: START, offset: 9, approved: false, who: "ann", note: "not now" },
			turn(2, 9, { by: "person", who: "ann", keys: 0, secret: true, returned: null, tookMs: null }),
		];
		await write(entries.slice(0, 3));
		await write(entries.slice(3));
		expect(await readTurns(directory)).toEqual({ entries, dropped: 0 });
		expect((await stat(join(directory, "turns"))).mode & 0o777).toBe(0o600);
	});

	test("a line that a killed daemon has cut off costs only itself", async () => {
		await write([turn(1, 0), turn(2, 1)]);
		const path = join(directory, "turns");
		await truncate(path, (await stat(path)).size - 10);
		expect((await readTurns(directory)).entries).toEqual([turn(1, 0)]);
		await write([turn(3, 2)]);
		expect(await readTurns(directory)).toEqual({ entries: [turn(1, 0), turn(3, 2)], dropped: 1 });
	});

	test("whatever else is in the file is passed over", async () => {
		for (const text of ["", "\n", "nonsense\n", "{}\n", '{"format":1}\n', `${"x".repeat(10_000)}\n`, "[1]\nnull\n"])
			expect(parseTurns(text)?.entries).toEqual([]);
		const odd = [
			{ kind: "turn", at: -1, offset: 0 },
			{ kind: "turn", at: 1, offset: 0, by: "cat", who: "x", keys: 1, lines: 0 },
			{ kind: "command", at: 1, offset: 0, to: "9" },
			{ kind: "driver", at: 1, offset: 0, driver: { kind: "person" } },
			{ kind: "signal", at: 1, offset: 0, signal: 2, who: "x" },
			{ kind: "approval", at: 1, offset: 0, who: "x" },
			{ kind: "later", at: 1, offset: 0 },
		];
		await writeFile(join(directory, "turns"), odd.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
		expect(await readTurns(directory)).toEqual({ entries: [], dropped: odd.length });
	});

	test("a file of a newer format is left alone, and one that is no file is set aside", async () => {
		const path = join(directory, "turns");
		await writeFile(path, '{"format":9,"first":0}\n{"kind":"turn"}\n');
		await write([turn(1, 0)]);
		expect(await readFile(path, "utf8")).toBe('{"format":9,"first":0}\n{"kind":"turn"}\n');
		expect(await readTurns(directory)).toEqual({ entries: [], dropped: 0 });
	});

	test("past its size the oldest are dropped, and it is said how many", async () => {
		const entries = Array.from({ length: 100 }, (_, i) => turn(i, i));
		const writer = await write(entries, { maxBytes: 2000 });
		const { entries: kept, dropped } = await readTurns(directory);
		expect(kept).toEqual(entries.slice(dropped));
		expect(dropped).toBeGreaterThan(50);
		expect((await stat(join(directory, "turns"))).size).toBeLessThanOrEqual(2000);
		expect(writer.bytes).toBeLessThanOrEqual(4000);
		await write([turn(200, 200)], { maxBytes: 2000 });
		expect((await readTurns(directory)).entries.at(-1)).toEqual(turn(200, 200));
	});
});

describe("a timeline", () => {
	test("has turns, commands, resizes and the end, each at the time of its output", async () => {
		await output("O 1.000000 10\nS 0.500000 SIGWINCH ROWS=30 COLS=100\nO 1.500000 10\nH 0.250000 EXIT_CODE 2\n", [
			0,
			"x".repeat(20),
		]);
		await write([
			turn(1200, 10),
			{ kind: "command", at: START + 99_999, offset: 10, to: 20, exitCode: 0, command: "make" },
			{ kind: "state", at: START + 3100, offset: 20, state: "waiting" },
		]);
		const { marks, ...facts } = await shown({ record: ended });
		expect(facts).toEqual({
			startedAt: START,
			endedAt: START + 3250,
			durationMs: 3250,
			offset: 20,
			cols: 100,
			rows: 30,
			dropped: [],
			marksDropped: 0,
		});
		expect(marks).toEqual([
			{ kind: "command", at: 1000, offset: 10, to: 20, exitCode: 0, command: "make", tookMs: 2250 },
			{ ...turn(0, 10), at: 1200 },
			{ kind: "resize", at: 1500, offset: 10, cols: 100, rows: 30 },
			{ kind: "state", at: 3100, offset: 20, state: "waiting" },
			{ kind: "end", at: 3250, offset: 20, exit: { code: 2, signal: null }, status: "failed" },
		]);
	});

	test("a clock that was set, or a machine that slept, does not move a turn away from what was on the screen", async () => {
		await output("O 1.000000 10\nO 1.000000 10\nO 1.000000 10\n", [0, "x".repeat(30)]);
		await write([turn(3_600_000, 10), turn(-3_600_000, 20), turn(2_900, 30)]);
		expect((await shown()).marks.map(({ at, offset }) => [at, offset])).toEqual([
			[2000, 10],
			[2000, 20],
			[3000, 30],
		]);
	});

	test("says which output is not kept", async () => {
		await output("O 1.000000 10\nO 1.000000 90\nO 1.000000 10\n", [0, "x".repeat(10)], [100, "x".repeat(10)]);
		const { dropped, marks } = await shown();
		expect(dropped).toEqual([{ from: 10, to: 100, because: expect.stringContaining("not kept") }]);
		expect(marks).toEqual([{ kind: "gap", at: 1000, offset: 10, to: 100 }]);
	});

	test("a session that runs has no end yet, and one without any file is empty", async () => {
		await rm(directory, { recursive: true });
		const record = { ...running, createdAt: Date.now() - 5000 };
		const facts = await shown({ record });
		expect(facts).toMatchObject({ endedAt: null, offset: 0, marks: [], cols: 80, rows: 24 });
		expect(facts.durationMs).toBeGreaterThanOrEqual(5000);
		await writeFile(directory, ""); // for afterEach
	});

	test("of thousands of marks those that are worth least are left out, and counted", async () => {
		await output("O 1.000000 10\n", [0, "x".repeat(10)]);
		const states = Array.from(
			{ length: 50 },
			(_, i): TurnEntry => ({ kind: "state", at: START + i, offset: 10, state: "s" }),
		);
		await write([...states, turn(1, 10), turn(2, 10)]);
		const { marks, marksDropped } = await shown({ maxMarks: 12 });
		expect(marks.map(({ kind }) => kind).filter((kind) => kind === "turn")).toHaveLength(2);
		expect({ shown: marks.length, marksDropped }).toEqual({ shown: 12, marksDropped: 40 });
	});
});

describe("the index of the timing", () => {
	test("answers the same as the whole file, while that grows", async () => {
		const lines = Array.from({ length: 10_000 }, (_, i) => ({ us: 1000 + (i % 7) * 100, bytes: i % 5 }));
		const index = new TimingIndex(directory);
		let [us, offset] = [0, 0];
		const times: [us: number, offset: number][] = [];
		for (const part of [lines.slice(0, 4000), lines.slice(4000, 4001), lines.slice(4001)]) {
			let text = "";
			for (const line of part) {
				us += line.us;
				offset += line.bytes;
				times.push([us, offset]);
				text += `O ${(line.us / 1e6).toFixed(6)} ${line.bytes}\n`;
			}
			await writeFile(join(directory, "timing"), `${text}O 0.00`, { flag: "a" });
			await index.update();
			expect(index.end).toEqual({ us, offset });
			// The line that was cut off is whole when the next part is there.
			const path = join(directory, "timing");
			await truncate(path, (await stat(path)).size - "O 0.00".length);
		}
		for (let i = 0; i < times.length; i += 97) {
			const [at, bytes] = times[i]!;
			expect(await index.offsetAt(at)).toBe(bytes);
			expect(await index.offsetAt(at - 1)).toBe(times[i - 1]?.[1] ?? 0);
			const first = bytes === 0 ? 0 : times.find((one) => one[1] >= bytes)![0];
			const next = times.find((one) => one[1] > bytes)?.[0] ?? Number.POSITIVE_INFINITY;
			expect(await index.window(bytes)).toEqual({ from: first, to: next });
		}
	});
});
