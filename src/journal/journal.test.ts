import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { bytesOf, Journal } from "./journal.ts";

let directory: string;
beforeEach(async () => {
	directory = await mkdtemp(join(tmpdir(), "dt-journal-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** A segment as the holder writes it. */
const segment = (at: number, text: string) => writeFile(join(directory, `out.${String(at).padStart(20, "0")}`), text);
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();

describe("R4.1 the journal follows the output by offset", () => {
	test("the same output twice counts once, and what is missing moves the end on", () => {
		const journal = new Journal({ directory });
		journal.take({ offset: 0, bytes: Buffer.from("abcd") });
		journal.take({ offset: 2, bytes: Buffer.from("cdef") });
		journal.take({ offset: 0, bytes: Buffer.from("abcdef") });
		expect(text(journal.recent(0))).toBe("abcdef");
		journal.take({ offset: 10, bytes: Buffer.from("kl") });
		journal.take({ gap: { from: 12, to: 20 } });
		expect(journal.end).toBe(20);
		journal.take({ gap: { from: 0, to: 5 } });
		expect(journal.end).toBe(20);
	});
});

describe("R4.8 output is read by offset from memory or disk", () => {
	test("what memory no longer holds comes from disk, and joins without a seam", async () => {
		await segment(0, "01234");
		await segment(5, "56789");
		const journal = new Journal({ directory, maxBytes: 4 });
		journal.take({ offset: 0, bytes: Buffer.from("0123456789") });
		expect(text(bytesOf(await journal.read(1, 9)))).toBe("12345678");
		expect(text(bytesOf(await journal.read(7)))).toBe("789");
		expect(await journal.read(3, 3)).toEqual({ from: 3, to: 3, chunks: [], gaps: [] });
		expect(await journal.read(8, 99)).toMatchObject({ from: 8, to: 10 });
	});

	test("in a new process it is all there", async () => {
		await segment(0, "hello\n");
		const later = new Journal({ directory, at: 6, earlierLines: 1, tail: Buffer.from("hello\n") });
		expect(text(bytesOf(await later.read(0)))).toBe("hello\n");
		expect(later.stats).toMatchObject({ bytesOut: 6, linesOut: 1, lastLine: "hello", truncated: false });
	});

	test("S16: lines of earlier output are unknown until they are counted, and stay unknown where it is not kept", async () => {
		await segment(0, "one\ntwo\n");
		await segment(8, "three\n");
		const tail = Buffer.from("three\n");
		const later = new Journal({ directory, at: 14, earlierLines: null, tail });
		later.take({ offset: 14, bytes: Buffer.from("four\n") });
		expect(later.stats).toMatchObject({ bytesOut: 19, linesOut: null });
		await later.countEarlier({ offset: 4, lines: 1 }, 14);
		expect(later.stats).toMatchObject({ bytesOut: 19, linesOut: 4, truncated: false });
		later.take({ gap: { from: 19, to: 30 } });
		expect(later.stats).toMatchObject({ bytesOut: 30, linesOut: null, truncated: true });
		const afterHole = new Journal({ directory, at: 40, earlierLines: null });
		await afterHole.countEarlier({ offset: 0, lines: 0 }, 40);
		expect(afterHole.stats.linesOut).toBeNull();
	});

	test("S16: the figures of a session that has ended stay those of its record, whatever is read again", () => {
		const finalStats = { bytesOut: 10, linesOut: 2, lastLine: "bye", truncated: false };
		const revived = new Journal({ directory, at: 10, finalStats });
		revived.take({ offset: 10, bytes: Buffer.from("again\n") });
		expect(revived.stats).toEqual(finalStats);
	});

	test("a read below what is kept reports the gap", async () => {
		await segment(0, "first");
		await segment(10, "newest");
		const excerpt = await new Journal({ directory, at: 16 }).read(0);
		expect(excerpt).toMatchObject({ from: 0, to: 16, gaps: [{ from: 5, to: 10 }] });
		expect(text(bytesOf(excerpt))).toBe("firstnewest");
	});

	test("a directory that is gone is one great gap", async () => {
		const journal = new Journal({ directory: join(directory, "gone"), at: 9 });
		expect(await journal.read(0)).toEqual({ from: 0, to: 9, chunks: [], gaps: [{ from: 0, to: 9 }] });
	});
});
