// T2: a transcript is a cache beside the log. Whatever happens to it, the lines and their numbers are the same.

import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { Journal } from "../journal/journal.ts";
import { segmentPath } from "../journal/segments.ts";
import { comparable } from "../protocol/clean.ts";
import { MAX_LINE_CHARS } from "./line-joiner.ts";
import { readable } from "./own-words.ts";
import { RenderQueue } from "./render-queue.ts";
import { ScreenCache } from "./screen-cache.ts";
import { Transcript } from "./transcript.ts";
import type { TranscriptView } from "./transcript-view.ts";

function temporaryDirectory(): string {
	const directory = mkdtempSync(join(tmpdir(), "dt-transcript-"));
	onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
	return directory;
}

/**
 * For properties whose runs take seconds on a busy machine. Not fast-check's time limit: it fails where not one run ends in
 * time, and the run that it leaves goes on after the test.
 */
const SLOW = { timeout: 120_000 };

interface Log {
	readonly directory: string;
	readonly end: number;
}

/** A log in files, of which each holds these lines. */
function logOf(...files: (readonly string[])[]): Log {
	const directory = temporaryDirectory();
	let end = 0;
	for (const lines of files) {
		const text = lines.map((line) => `${line}\r\n`).join("");
		writeFileSync(segmentPath(directory, "out", end), text);
		end += Buffer.byteLength(text);
	}
	return { directory, end };
}

interface How {
	readonly maxBytes?: number;
	/** The daemon does not come to save anything. */
	readonly killed?: boolean;
}

/** What a daemon that has just started finds. */
async function opened<T>(
	{ directory, end }: Log,
	act: (view: TranscriptView, transcript: Transcript) => Promise<T>,
	{ maxBytes = 0, killed = false }: How = {},
): Promise<T> {
	const cache = new ScreenCache({ maxScreens: 10, maxIdleMs: 60_000 });
	const transcript = new Transcript({
		journal: new Journal({ directory, at: end }),
		cols: 80,
		rows: 24,
		transcripts: { queue: new RenderQueue(), cache, maxBytes },
		stops: () => [],
		isComplete: () => false,
	});
	try {
		return await act(await transcript.view(), transcript);
	} finally {
		if (killed) renameSync(directory, `${directory}.away`);
		await transcript[Symbol.asyncDispose]();
		if (killed) renameSync(`${directory}.away`, directory);
		cache[Symbol.dispose]();
	}
}

const ALL = { from: 1, to: Number.MAX_SAFE_INTEGER };
const linesOf = (log: Log, how?: How) =>
	opened(log, async (view) => (await view.first(ALL, Number.MAX_SAFE_INTEGER)).map(({ text }) => readable(text)), how);
const numbered = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name} ${i + 1}`);
const filesOf = ({ directory }: Log) => readdirSync(directory).filter((name) => name.startsWith("text."));

describe("a transcript that is wanted by a deadline", () => {
	test("is there in time or not at all; the next call goes on from where it was", async () => {
		const log = logOf(Array.from({ length: 200_000 }, (_, i) => `line ${i} \x07`));
		const cache = new ScreenCache({ maxScreens: 10, maxIdleMs: 60_000 });
		const transcript = new Transcript({
			journal: new Journal({ directory: log.directory, at: log.end }),
			cols: 80,
			rows: 24,
			transcripts: { queue: new RenderQueue(), cache, maxBytes: 0 },
			stops: () => [],
			isComplete: () => false,
		});
		const all = transcript.view();
		// Behind one that has all the time it wants.
		expect(await transcript.viewBy(performance.now() + 5)).toBeNull();
		expect((await all).total).toBe(200_000);
		expect((await transcript.viewBy(performance.now() + 60_000))?.total).toBe(200_000);
		await transcript[Symbol.asyncDispose]();
		cache[Symbol.dispose]();
	});
});

describe("T2 a transcript on disk", () => {
	const lines = numbered("line", 40_000);

	test("is used again, and goes on where it was", async () => {
		const log = logOf(lines);
		expect(await linesOf(log)).toEqual(lines);
		expect(filesOf(log)).toEqual([expect.stringMatching(/^text\.0+$/), "text.json"]);
		// Nothing is left to render it from.
		rmSync(segmentPath(log.directory, "out", 0));
		writeFileSync(segmentPath(log.directory, "out", log.end), "more\r\n");
		expect(await linesOf({ ...log, end: log.end + 6 })).toEqual([...lines, "more"]);
	});

	test.each([
		["text.json is cut", "text.json", (path: string) => truncateSync(path, 1000)],
		["text.json is gone", "text.json", (path: string) => rmSync(path)],
		["text.json is something else", "text.json", (path: string) => writeFileSync(path, '{"format":1}')],
		["a file is cut", "text.0", (path: string) => truncateSync(path, 100_000)],
		["a file is empty", "text.0", (path: string) => truncateSync(path, 0)],
		["a file is gone", "text.0", (path: string) => rmSync(path)],
	])("is rendered again when %s, with the same lines", async (_, name, damage) => {
		const log = logOf(lines);
		await linesOf(log);
		damage(join(log.directory, filesOf(log).find((file) => file.startsWith(name))!));
		expect(await linesOf(log)).toEqual(lines);
	});

	test("of a daemon that was killed has no line twice", async () => {
		const log = logOf(lines);
		const more = numbered("more", 40_000);
		await linesOf(log);
		const text = more.map((line) => `${line}\r\n`).join("");
		writeFileSync(segmentPath(log.directory, "out", log.end), text);
		const all = { ...log, end: log.end + text.length };
		expect(await linesOf(all, { killed: true })).toEqual([...lines, ...more]);
		expect(await linesOf(all)).toEqual([...lines, ...more]);
	});

	test("keeps its numbers when the log's quota has taken what they were counted in", async () => {
		const log = logOf(numbered("first", 20_000), numbered("second", 50_000), numbered("third", 50_000));
		const at = (number: number) => opened(log, (view) => view.first({ from: number, to: number }, 1000));
		const third = [{ number: 100_000, last: 100_000, text: "third 30000" }];
		expect(await at(100_000)).toEqual(third);
		const second = readdirSync(log.directory).filter((name) => name.startsWith("out."))[1]!;
		rmSync(join(log.directory, second));
		expect(await at(100_000)).toEqual(third);
	});

	test("counts what was never there to be rendered as one line, which says so", async () => {
		const [first, second, third] = [numbered("first", 20_000), numbered("second", 50_000), numbered("third", 20_000)];
		const log = logOf(first, second, third);
		const taken = readdirSync(log.directory).filter((name) => name.startsWith("out."))[1]!;
		rmSync(join(log.directory, taken));
		const bytes = second.join("\r\n").length + 2;
		const expected = [...first, `[… ${bytes} bytes of output are not kept …]`, ...third];
		expect(await linesOf(log)).toEqual(expected);
		expect(await linesOf(log)).toEqual(expected);
	});

	test("within a quota keeps the beginning and the end, and says which lines are not kept", async () => {
		const many = numbered(`${"x".repeat(70)} line`, 300_000);
		const log = logOf(many);
		const ends = async (how: How) => {
			const kept = await linesOf(log, how);
			const gap = kept.findIndex((text) => text.startsWith("[…"));
			const [, from = "", to = ""] = /^\[… lines (\d+)–(\d+) are no longer kept …\]$/.exec(kept[gap]!) ?? [];
			expect(kept.slice(0, gap)).toEqual(many.slice(0, Number(from) - 1));
			expect(kept.slice(gap + 1)).toEqual(many.slice(Number(to)));
			return { from: Number(from), to: Number(to) };
		};
		const gap = await ends({ maxBytes: 10 << 20 });
		expect(gap.to - gap.from).toBeGreaterThan(100_000);
		expect(await ends({ maxBytes: 10 << 20 })).toEqual(gap);
		// A range that begins or ends in what is not kept.
		const found = await opened(
			log,
			async (view) => {
				const range = { from: gap.from + 5, to: gap.to + 10 };
				const { count } = await search(view, "line", range);
				const [all, part] = [view.notKept(ALL), view.notKept(range)].map((lost) =>
					lost.map(({ number, last }) => ({ from: number, to: last })),
				);
				return { count, all, part };
			},
			{ maxBytes: 10 << 20 },
		);
		expect(found).toEqual({ count: 10, all: [gap], part: [{ ...gap, from: gap.from + 5 }] });
	});
});

describe("T2 a transcript that cannot be written", () => {
	test("of a directory that was removed is still read, its newest lines", async () => {
		const log = logOf([]);
		const journal = new Journal({ directory: log.directory, maxBytes: 64 << 20 });
		const lines = numbered("line", 400_000);
		journal.take({ offset: 0, bytes: Buffer.from(lines.map((line) => `${line}\r\n`).join("")) });
		rmSync(log.directory, { recursive: true });
		const cache = new ScreenCache({ maxScreens: 10, maxIdleMs: 60_000 });
		const transcript = new Transcript({
			journal,
			cols: 80,
			rows: 24,
			transcripts: { queue: new RenderQueue(), cache, maxBytes: 0 },
			stops: () => [],
			isComplete: () => false,
		});
		const view = await transcript.view();
		expect(view.total).toBe(400_000);
		const [lost, ...kept] = await view.first(ALL, Number.MAX_SAFE_INTEGER);
		expect({ ...lost, text: readable(lost!.text) }).toEqual({
			number: 1,
			last: lost!.last,
			text: `[… lines 1–${lost!.last} are no longer kept …]`,
		});
		expect(kept.map(({ text }) => text)).toEqual(lines.slice(lost!.last));
		expect(kept.length).toBeGreaterThan(50_000);
		expect(await search(view, "line 399999")).toEqual({ count: 1, lines: [399_999] });
		// There is room again: what was kept is written, and what follows, too.
		mkdirSync(log.directory);
		const more = numbered("more", 40_000);
		journal.take({ offset: journal.end, bytes: Buffer.from(more.map((line) => `${line}\r\n`).join("")) });
		const later = await transcript.view();
		expect((await later.first(ALL, Number.MAX_SAFE_INTEGER)).map(({ text }) => text)).toEqual([
			lost!.text,
			...lines.slice(lost!.last),
			...more,
		]);
		await transcript[Symbol.asyncDispose]();
		cache[Symbol.dispose]();
		expect(filesOf(log)).toEqual([expect.stringMatching(/^text\.\d+$/), "text.json"]);
	});
});

const search = (view: TranscriptView, text: string, range: { from: number; to: number } = ALL) =>
	view.search({ text, range, order: "newest", most: 100, caller: "test" });

describe("T2 a search", () => {
	const word = fc.constantFrom(
		...["error", "warning", "ok", "naïve", "漢字", "a.b", "a+b", "", "  ", "x".repeat(300)],
		// Decomposed, and with what is not drawn.
		...["nai\u0308ve", "err\u200bor", "\u26a0\ufe0f error", "\u1112\u1161\u11ab", "o\u00adk", "\u212b"],
	);
	const line = fc.array(word, { maxLength: 5 }).map((words) => words.join(" ").trimEnd());
	const wanted = fc.constantFrom(
		...["error", "err", "漢", "a.b", "ïve w", "x", "never there"],
		...["nai\u0308ve", "e\u200brr", "\u26a0 error", "\u26a0\ufe0f e", "한", "ok", "Å"],
	);
	const pattern = fc.constantFrom(
		"err|warn",
		"^ok",
		"ok$",
		"a.b",
		"漢字?",
		"\\bx",
		"^$",
		"(?:error )+ok",
		"[^o]k",
		"n..ve",
		"nai\u0308?ve",
		"^한",
		"\u26a0\ufe0f .rr",
	);

	test("finds and counts what looking at each line would", SLOW, async () => {
		await fc.assert(
			fc.asyncProperty(
				fc.array(fc.tuple(line, fc.integer({ min: 1, max: 400 })), { maxLength: 40 }),
				fc.oneof(
					fc.record({ text: wanted }),
					pattern.map((pattern) => ({ pattern })),
				),
				fc.constantFrom("newest" as const, "oldest" as const),
				fc.integer({ min: 1, max: 20 }),
				fc.tuple(fc.integer({ min: 0, max: 8000 }), fc.integer({ min: 0, max: 8000 })),
				async (blocks, what: { text?: string; pattern?: string }, order, most, [from, more]) => {
					const lines = blocks.flatMap(([text, times]) => Array<string>(times).fill(text));
					const matches = (text: string) =>
						what.text === undefined
							? new RegExp(comparable(what.pattern!)).test(comparable(text))
							: comparable(text).includes(comparable(what.text));
					const naive = lines.flatMap((text, i) => {
						const inRange = i + 1 >= from && i + 1 <= from + more;
						return inRange && matches(text) ? [i + 1] : [];
					});
					const log = logOf(lines);
					const range = { from, to: from + more };
					const found = await opened(log, async (view) => {
						// Blank lines at the end are on the screen, or not there yet.
						const { lines, count } = await view.search({ ...what, range, order, most, caller: "test" });
						return { lines, count, total: view.total };
					});
					rmSync(log.directory, { recursive: true });
					const seen = naive.filter((number) => number <= found.total);
					expect(found).toEqual({
						count: seen.length,
						lines: order === "oldest" ? seen.slice(0, most) : seen.slice(-most),
						total: found.total,
					});
				},
			),
			{ numRuns: 60 },
		);
	});

	// A terminal of 80 columns keeps 8160 of them as a line.
	const PIECE = 8160;

	test("finds what goes over the cut of a line that is longer than an emulator holds, once, in that line", async () => {
		const long = `${"x".repeat(PIECE - 5)}needle in the cut${"y".repeat(2 * PIECE - 100)}end`;
		for (const lines of [
			[long],
			["first", long, "last"],
			["first", ...Array<string>(600).fill("more"), long, ...numbered("n", 600)],
		]) {
			const at = lines.indexOf(long) + 1;
			const log = logOf(lines);
			await opened(log, async (view) => {
				expect(view.total).toBe(lines.length);
				expect(await view.first({ from: at, to: at }, 1)).toEqual([{ number: at, last: at, text: long }]);
				expect(await search(view, "needle in the cut")).toEqual({ count: 1, lines: [at] });
				expect(await search(view, "needle in the cut", { from: 1, to: at })).toEqual({ count: 1, lines: [at] });
				expect(await search(view, "needle in the cut", { from: at + 1, to: at + 9 })).toEqual({ count: 0, lines: [] });
				expect(await search(view, "y")).toEqual({ count: 1, lines: [at] });
				const byPattern = (pattern: string) =>
					view.search({ pattern, range: ALL, order: "oldest", most: 9, caller: "test" });
				for (const pattern of ["n[a-z]* in the cut", "^x+n", "^x.*end$", "end$"])
					expect(await byPattern(pattern)).toEqual({ count: 1, lines: [at] });
				expect(await byPattern("^[ e]| the$")).toEqual({ count: 0, lines: [] });
			});
		}
	});

	test("counts a long line once wherever its pieces were saved, and goes on with it", async () => {
		const long = "0123456789".repeat(60_000);
		const first = logOf(["before", ...numbered("n", 600), long.slice(0, 400_000)]);
		// Without its end: the daemon stops in the middle of the line.
		const half = first.end - 2;
		truncateSync(segmentPath(first.directory, "out", 0), half);
		expect((await linesOf({ ...first, end: half })).at(-1)).toBe(long.slice(0, 400_000));
		const rest = `${long.slice(400_000)}\r\nafter\r\n`;
		writeFileSync(segmentPath(first.directory, "out", half), rest);
		const whole = { ...first, end: half + rest.length };
		const expected = ["before", ...numbered("n", 600), long, "after"];
		expect(await linesOf(whole)).toEqual(expected);
		rmSync(join(whole.directory, "text.json"));
		expect(await linesOf(whole)).toEqual(expected);
	});

	test("finds in a line of a million columns what looking at all of it would", SLOW, async () => {
		const piece = fc.constantFrom("ab", "a", "needle", "x".repeat(1000), "é", "e\u0301", " ");
		await fc.assert(
			fc.asyncProperty(fc.array(piece, { minLength: 200, maxLength: 200 }), async (pieces) => {
				const text = `${pieces
					.join("")
					.repeat(60)
					.slice(0, 1 << 20)
					.slice(0, -10)}end`;
				const log = logOf(["one", text, "three needle"]);
				await opened(log, async (view) => {
					expect(view.total).toBe(3);
					for (const wanted of ["needle", "abab", "é a", "xa", "x end"]) {
						const expected = [text, "three needle"].flatMap((line, i) =>
							comparable(line).includes(comparable(wanted)) ? [i + 2] : [],
						);
						expect((await search(view, wanted)).lines).toEqual(expected);
						const some = await view.search({ pattern: wanted, range: ALL, order: "oldest", most: 9, caller: "test" });
						expect(some.lines).toEqual(expected);
					}
				});
				rmSync(log.directory, { recursive: true });
			}),
			{ numRuns: 4 },
		);
	});

	test("a line that never ends counts as one for each million of its columns", async () => {
		const log = logOf([`${"z".repeat(2.5 * MAX_LINE_CHARS)}end`, "last"]);
		await opened(log, async (view) => {
			expect(view.total).toBe(4);
			expect(await search(view, "zend")).toEqual({ count: 1, lines: [3] });
		});
	});
});

test("T3: the first and the last lines of a range leave none out between them, whatever its letters take", async () => {
	const lines = Array.from(
		{ length: 30_000 },
		(_, i) => `${["", "é", "✓ ", "日本語", "🎉"][i % 5]!.repeat(i % 37)} line ${i + 1}`,
	);
	await opened(logOf(lines.slice(0, 17_000), lines.slice(17_000)), async (view) => {
		const texts = (found: readonly { readonly text: string }[]) => found.map(({ text }) => text);
		await fc.assert(
			fc.asyncProperty(
				fc.integer({ min: 1, max: 30_000 }),
				fc.integer({ min: 1, max: 30_000 }),
				fc.integer({ min: 1, max: 400_000 }),
				async (a, b, room) => {
					const range = { from: Math.min(a, b), to: Math.max(a, b) };
					const last = await view.last(range, room);
					expect(texts(last)).toEqual(lines.slice(range.to - last.length, range.to));
					expect(last.length).toBeGreaterThan(0);
					const first = await view.first(range, room);
					expect(texts(first)).toEqual(lines.slice(range.from - 1, range.from - 1 + first.length));
				},
			),
			{ numRuns: 40 },
		);
	});
});
