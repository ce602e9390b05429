import {
	appendFileSync,
	existsSync,
	mkdtempSync,
	readFileSync,
	rmSync,
	truncateSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { auditFiles, auditLines, HEAD_FILE, verify } from "./audit-chain.ts";
import { type AuditLimits, AuditLog } from "./audit-log.ts";

describe("the audit log (R4.14)", () => {
	let state: string;
	let directory: string;
	beforeEach(() => {
		state = mkdtempSync(join(tmpdir(), "dt-audit-"));
		directory = join(state, "audit");
	});
	afterEach(() => rmSync(state, { recursive: true, force: true }));

	const write = async (count: number, limits: Partial<AuditLimits> = {}) => {
		await using log = new AuditLog(directory, limits);
		for (let i = 0; i < count; i++) {
			log.add({ do: "send", owner: "a", i });
			if (i % 5 === 0) await log.flushed();
		}
		await log.flushed();
	};
	const path = (name = "000001.jsonl") => join(directory, name);
	const change = (edit: (lines: string[]) => string[], name?: string) =>
		writeFileSync(path(name), `${edit(readFileSync(path(name), "utf8").trimEnd().split("\n")).join("\n")}\n`);
	/** A new home. */
	const forget = () => {
		for (const name of ["audit", HEAD_FILE]) rmSync(join(state, name), { recursive: true, force: true });
	};
	const broken = () => verify(directory).broken;

	test("lines keep their order, and daemons that follow each other make one chain", async () => {
		await write(10);
		await write(10);
		expect(verify(directory)).toEqual({ lines: 21, files: 1, torn: 0, lost: 0, broken: null });
		expect([...auditLines(directory)].slice(1).map(({ i }) => i)).toEqual([...Array(10).keys(), ...Array(10).keys()]);
	});

	test("what is told after the end, or of a home that is gone, makes no directory", async () => {
		const home = join(state, "home");
		const log = new AuditLog(join(home, "audit"));
		log.add({ do: "send" });
		await log[Symbol.asyncDispose]();
		log.add({ do: "send" });
		await log.flushed();
		expect(existsSync(home)).toBe(false);
		expect(log.problem).toContain("ENOENT");
	});

	test("two daemons at the same time do not fork the chain", async () => {
		await using a = new AuditLog(directory);
		await using b = new AuditLog(directory);
		for (const log of [a, b, a, b]) {
			log.add({ do: "send" });
			await log.flushed();
		}
		expect(verify(directory)).toMatchObject({ lines: 5, broken: null });
	});

	test("an edited, deleted or swapped line is found, and where it is", async () => {
		const tamper: [(lines: string[]) => string[], number][] = [
			[(lines) => lines.with(4, lines[4]!.replace('"owner":"a"', '"owner":"b"')), 5],
			[(lines) => lines.with(4, lines[4]!.replace(/"prev":"\w/, '"prev":"x')), 5],
			[(lines) => lines.toSpliced(4, 1), 5],
			[(lines) => lines.with(4, lines[5]!).with(5, lines[4]!), 5],
			[(lines) => lines.with(4, "{}"), 5],
			[(lines) => lines.toSpliced(4, 0, lines[4]!), 6],
			// The last line has none behind it that knows its hash.
			[(lines) => lines.with(-1, lines.at(-1)!.replace('"owner":"a"', '"owner":"b"')), 11],
		];
		for (const [edit, line] of tamper) {
			forget();
			await write(10);
			change(edit);
			expect(broken()).toMatchObject({ file: "000001.jsonl", line });
		}
	});

	test("what is cut off at the end is found, also when the next daemon has written", async () => {
		await write(10);
		change((lines) => lines.slice(0, -3));
		expect(broken()?.problem).toBe("3 lines are missing at the end");
		await write(2);
		expect(broken()?.problem).toContain("lines were missing or changed before it");
		rmSync(join(state, HEAD_FILE));
		expect(broken()).not.toBe(null);
	});

	test("that all of it was removed is found, also when the next daemon has written", async () => {
		expect(broken()).toBe(null);
		await write(10);
		rmSync(directory, { recursive: true });
		expect(broken()?.problem).toBe("the whole log is missing: it had 11 lines");
		await write(2);
		expect(broken()?.problem).toContain("lines were missing or changed before it");
	});

	test("what is removed while a daemon runs is found, and the daemon's next lines are kept", async () => {
		await using log = new AuditLog(directory);
		log.add({ do: "send" });
		await log.flushed();
		rmSync(directory, { recursive: true });
		log.add({ do: "close" });
		await log.flushed();
		expect([...auditLines(directory)].map((line) => line.do)).toEqual(["file", "cut", "close"]);
		expect(broken()?.problem).toContain("lines were missing or changed before it");
	});

	test("a daemon that dies before it has noted how far it went leaves a log that is whole", async () => {
		await write(10);
		const head = readFileSync(join(state, HEAD_FILE));
		await write(3);
		writeFileSync(join(state, HEAD_FILE), head);
		expect(broken()).toBe(null);
		await write(3);
		expect(verify(directory)).toMatchObject({ lines: 17, broken: null });
	});

	test("a line that was cut short by a kill is told, and the chain goes on", async () => {
		await write(5);
		appendFileSync(path(), '{"n":7,"at":"20');
		expect(verify(directory)).toMatchObject({ lines: 6, torn: 1, broken: null });
		await write(5);
		expect(verify(directory)).toEqual({ lines: 12, files: 1, torn: 1, lost: 0, broken: null });
		// Nothing but an incomplete line is excused.
		forget();
		await write(5);
		truncateSync(path(), readFileSync(path()).length - 4);
		expect(broken()?.problem).toBe("1 line is missing at the end");
	});

	test("files are rotated by size and removed by number, and the chain goes over them", async () => {
		await write(100, { maxBytes: 1000, maxFiles: 4 });
		const files = auditFiles(directory);
		expect(files).toHaveLength(4);
		expect(files[0]).not.toBe("000001.jsonl");
		expect(verify(directory)).toMatchObject({ files: 4, broken: null });
		// Removed by somebody else.
		rmSync(path(files[0]));
		expect(broken()?.problem).toMatch(/^the \d+ lines before it are missing$/);
		rmSync(path(files[2]));
		expect(broken()).toMatchObject({ file: files[2], problem: "this file is missing" });
	});

	test("a first line that is missing is told as one, and what is sound comes after it", async () => {
		await write(5);
		change((lines) => lines.slice(1));
		const problem = "the line before it is missing";
		expect(verify(directory)).toMatchObject({ lines: 5, broken: { line: 1, problem, beginning: true } });
		change((lines) => lines.slice(1));
		expect(broken()?.problem).toBe("the 2 lines before it are missing");
	});

	test("files are removed by age", async () => {
		await write(20, { maxBytes: 1000 });
		const [oldest] = auditFiles(directory);
		utimesSync(path(oldest), 1, 1);
		await write(20, { maxBytes: 1000, maxAgeMs: 3_600_000 });
		expect(auditFiles(directory)).not.toContain(oldest);
		expect(verify(directory).broken).toBe(null);
	});
});
