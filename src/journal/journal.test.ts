import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { bytesOf, type Chunk, type Gap, Journal } from "./journal.ts";

let directory: string;
beforeEach(async () => {
	directory = await mkdtemp(join(tmpdir(), "dt-journal-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** A segment as the holder writes it. */
const segment = (at: number, text: string) => writeFile(join(directory, `out.${String(at).padStart(20, "0")}`), text);
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();

describe("R4.2 snapshot and subscription are one moment", () => {
	test("what is in the snapshot is not told again, what comes after is, and nothing is between", () => {
		const journal = new Journal({ directory });
		journal.advance({ offset: 0, bytes: Buffer.from("before") });
		let seen = "";
		const { snapshot, below, unsubscribe } = journal.snapshotAndSubscribe(0, (it) => {
			if ("bytes" in it) seen += text(it.bytes);
		});
		expect(text(snapshot.bytes)).toBe("before");
		expect(below).toBeNull();
		journal.advance({ offset: 6, bytes: Buffer.from("after") });
		expect(seen).toBe("after");
		unsubscribe();
		journal.advance({ offset: 11, bytes: Buffer.from("!") });
		expect(seen).toBe("after");
	});

	test("from the middle, and from below what memory holds", () => {
		const journal = new Journal({ directory, maxBytes: 4 });
		journal.advance({ offset: 0, bytes: Buffer.from("0123456789") });
		expect(journal.snapshotAndSubscribe(8, () => {}).snapshot).toMatchObject({ offset: 8, bytes: { length: 2 } });
		expect(journal.snapshotAndSubscribe(2, () => {})).toMatchObject({
			snapshot: { offset: 6 },
			below: { from: 2, to: 6 },
		});
		expect(journal.snapshotAndSubscribe(50, () => {}).snapshot).toMatchObject({ offset: 10, bytes: { length: 0 } });
	});

	test("the same output told twice is one, and what is missing is a gap that is told", () => {
		const journal = new Journal({ directory });
		const seen: (Chunk | Gap)[] = [];
		journal.snapshotAndSubscribe(0, (it) => seen.push(it));
		journal.advance({ offset: 0, bytes: Buffer.from("abcd") });
		journal.advance({ offset: 2, bytes: Buffer.from("cdef") });
		journal.advance({ offset: 0, bytes: Buffer.from("abcdef") });
		journal.advance({ offset: 10, bytes: Buffer.from("kl") });
		journal.skip({ from: 12, to: 20 });
		expect(seen.map((it) => ("bytes" in it ? `${it.offset}:${text(it.bytes)}` : `${it.from}-${it.to}`))).toEqual([
			"0:abcd",
			"4:ef",
			"6-10",
			"10:kl",
			"12-20",
		]);
		expect(journal.end).toBe(20);
	});
});

describe("R4.8 output is read by offset from memory or disk", () => {
	test("what memory no longer holds comes from disk, and joins without a seam", async () => {
		await segment(0, "01234");
		await segment(5, "56789");
		const journal = new Journal({ directory, maxBytes: 4 });
		journal.advance({ offset: 0, bytes: Buffer.from("0123456789") });
		expect(text(bytesOf(await journal.read(1, 9)))).toBe("12345678");
		expect(text(bytesOf(await journal.read(7)))).toBe("789");
		expect(await journal.read(3, 3)).toEqual({ from: 3, to: 3, chunks: [], gaps: [] });
		expect(await journal.read(8, 99)).toMatchObject({ from: 8, to: 10 });
	});

	test("after the memory is let go, and in a new process, it is all there", async () => {
		await segment(0, "hello\n");
		const journal = new Journal({ directory });
		journal.advance({ offset: 0, bytes: Buffer.from("hello\n") });
		journal.evict();
		expect(text(bytesOf(await journal.read(0)))).toBe("hello\n");
		expect(journal.stats).toMatchObject({ bytesOut: 6, linesOut: 1, lastLine: "hello" });
		const later = await Journal.open({ directory, linesOut: 1, lastLine: "hello" });
		expect(text(bytesOf(await later.read(0)))).toBe("hello\n");
		expect(later.stats).toMatchObject({ bytesOut: 6, linesOut: 1, lastLine: "hello" });
	});

	test("a read below what is kept says so", async () => {
		await segment(0, "first");
		await segment(10, "newest");
		const excerpt = await (await Journal.open({ directory })).read(0);
		expect(excerpt).toMatchObject({ from: 0, to: 16, gaps: [{ from: 5, to: 10 }] });
		expect(text(bytesOf(excerpt))).toBe("firstnewest");
	});

	test("a directory that is gone is one great gap", async () => {
		const journal = new Journal({ directory: join(directory, "gone"), at: 9 });
		expect(await journal.read(0)).toEqual({ from: 0, to: 9, chunks: [], gaps: [{ from: 0, to: 9 }] });
	});
});
