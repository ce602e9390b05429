// The screen of any moment equals one that was fed directly, whatever the output, its pieces, and the order of the questions.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { segmentPath } from "../journal/segments.ts";
import { timingLine } from "../journal/timing.ts";
import { Screen } from "../terminal/screen.ts";
import { Recording } from "./recording.ts";

type Step = { readonly bytes: Uint8Array } | { readonly cols: number; readonly rows: number };

const SIZE = { cols: 40, rows: 8 };
const STEP_MS = 10;

async function temporary(): Promise<string> {
	const directory = await mkdtemp(join(tmpdir(), "dt-moment-"));
	onTestFinished(() => rm(directory, { recursive: true }));
	return directory;
}

/** One step each 10 ms, the first after 10 ms. */
async function record(directory: string, steps: readonly Step[], splitAt = Number.POSITIVE_INFINITY): Promise<number> {
	let timing =
		timingLine({ afterUs: 0, kind: "header", name: "COLUMNS", value: String(SIZE.cols) }) +
		timingLine({ afterUs: 0, kind: "header", name: "LINES", value: String(SIZE.rows) });
	for (const step of steps)
		timing += timingLine(
			"bytes" in step
				? { afterUs: STEP_MS * 1000, kind: "output", bytes: step.bytes.length }
				: { afterUs: STEP_MS * 1000, kind: "resized", cols: step.cols, rows: step.rows },
		);
	const output = Buffer.concat(steps.flatMap((step) => ("bytes" in step ? [step.bytes] : [])));
	const cut = Math.min(splitAt, output.length);
	await writeFile(segmentPath(directory, "out", 0), output.subarray(0, cut));
	if (cut < output.length) await writeFile(segmentPath(directory, "out", cut), output.subarray(cut));
	await writeFile(join(directory, "timing"), timing);
	return output.length;
}

const shownBy = (screen: Screen) => ({ rows: screen.styledRows(), cursor: screen.cursor, offset: screen.offset });

function fedWith(steps: readonly Step[]): ReturnType<typeof shownBy> {
	const screen = new Screen({ ...SIZE, scrollback: 100 });
	for (const step of steps) {
		if ("bytes" in step) screen.feed(step.bytes);
		else screen.resize(step.cols, step.rows);
	}
	const shown = shownBy(screen);
	screen.dispose();
	return shown;
}

const words = fc.constantFrom(
	"word ",
	"\r\n",
	"\n",
	"漢字",
	"é🦀",
	"\x1b[31m",
	"\x1b[0m",
	"\x1b[2J",
	"\x1b[3;5H",
	"\x1b[?1049h",
	"\x1b[?1049l",
	"\x1b[K",
	"\x1b[2;5r",
	"\x1b[r",
	"\x1b[L",
	"\x1b7",
	"\x1b8",
	"\t",
	"\x1bH",
	"\x1b(0",
	"\x1b(B",
	"x".repeat(60),
);
const bytes = fc.oneof(
	{ weight: 4, arbitrary: fc.array(words, { maxLength: 30 }).map((all) => new TextEncoder().encode(all.join(""))) },
	{ weight: 1, arbitrary: fc.uint8Array({ maxLength: 80 }) },
);
const step: fc.Arbitrary<Step> = fc.oneof(
	{ weight: 6, arbitrary: bytes.map((all) => ({ bytes: all })) },
	{ weight: 1, arbitrary: fc.record({ cols: fc.integer({ min: 5, max: 60 }), rows: fc.integer({ min: 2, max: 20 }) }) },
);

test("the screen of any moment is the one that was fed up to it, with keyframes on the way, in any order", async () => {
	await fc.assert(
		fc.asyncProperty(
			fc.array(step, { minLength: 1, maxLength: 40 }),
			fc.array(fc.nat({ max: 40 }), { minLength: 1, maxLength: 8 }),
			async (steps, moments) => {
				const directory = await mkdtemp(join(tmpdir(), "dt-moment-"));
				await record(directory, steps);
				using recording = new Recording({ directory, scrollback: 100, keyframeMs: 0 });
				try {
					for (const moment of moments) {
						const count = Math.min(moment, steps.length);
						const shown = await recording.see({ at: count * STEP_MS }, ({ screen }) => shownBy(screen));
						expect(shown).toEqual(fedWith(steps.slice(0, count)));
					}
				} finally {
					await rm(directory, { recursive: true });
				}
			},
		),
		{ numRuns: 150 },
	);
});

test("an offset is the last moment at which there was so much output", async () => {
	const directory = await temporary();
	const text = (line: string) => ({ bytes: Buffer.from(line) });
	const steps = [text("one\r\n"), { cols: 20, rows: 4 }, text("two\r\n"), { cols: 30, rows: 5 }];
	await record(directory, steps);
	using recording = new Recording({ directory, scrollback: 100 });
	const at = (offset: number) =>
		recording.see({ offset }, ({ screen, at: ms }) => [ms, screen.cols, screen.snapshot().text]);
	expect(await at(5)).toEqual([10, 20, "one"]);
	expect(await at(6)).toEqual([30, 20, "one\nt"]);
	expect(await at(99)).toEqual([30, 30, "one\ntwo"]);
	expect(await at(0)).toEqual([0, SIZE.cols, ""]);
});

test("what is not kept is told with the screen of the rest", async () => {
	const directory = await temporary();
	await record(
		directory,
		[{ bytes: Buffer.from("first\r\n") }, { bytes: Buffer.from("lost\r\n") }, { bytes: Buffer.from("last") }],
		13,
	);
	await writeFile(segmentPath(directory, "out", 0), "first\r\n");
	using recording = new Recording({ directory, scrollback: 100 });
	const at = (ms: number) => recording.see({ at: ms }, ({ screen, gaps }) => [screen.snapshot().text, gaps]);
	expect(await at(10)).toEqual(["first", []]);
	expect(await at(20)).toEqual(["first", [{ from: 7, to: 13 }]]);
	expect(await at(30)).toEqual(["first\nlast", [{ from: 7, to: 13 }]]);
});

test("a recording without times is shown as a whole", async () => {
	const directory = await temporary();
	await writeFile(segmentPath(directory, "out", 0), "all of it");
	using recording = new Recording({ directory, scrollback: 100, cols: 20, rows: 3 });
	expect(await recording.see({ at: 0 }, ({ screen }) => [screen.cols, screen.snapshot().text])).toEqual([
		20,
		"all of it",
	]);
});

test("a moment that nobody waits for any more is given up, and the next one is right", async () => {
	const directory = await temporary();
	await record(directory, [{ bytes: Buffer.from("a line\r\n".repeat(500_000)) }, { bytes: Buffer.from("end") }]);
	using recording = new Recording({ directory, scrollback: 100 });
	const gone = new AbortController();
	const drawn = recording.see({ at: 10 }, () => "drawn", gone.signal).catch(() => "given up");
	gone.abort();
	expect(await drawn).toBe("given up");
	expect(await recording.see({ at: 20 }, ({ screen }) => screen.lastLine())).toBe("end");
});
