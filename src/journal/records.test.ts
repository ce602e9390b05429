import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type EndedEntry, EndedIndex } from "./ended-index.ts";
import { directoryBytes, TotalQuota } from "./quota.ts";
import { RecordFile, readRecord, type SessionRecord, writeRecord } from "./records.ts";
import { makeSessionDirectory, sessionIds } from "./session-directories.ts";
import { CorruptState } from "./state-file.ts";

let sessions: string;
beforeEach(async () => {
	sessions = await mkdtemp(join(tmpdir(), "dt-records-"));
});
afterEach(() => rm(sessions, { recursive: true, force: true }));

const record = (changes: Partial<SessionRecord> = {}): SessionRecord => ({
	id: "a",
	name: "py",
	command: "python3",
	argv: ["python3"],
	cwd: "/",
	state: "running",
	pid: 5,
	born: "124",
	holder: { pid: 4, born: "123" },
	exit: null,
	reason: null,
	createdAt: 1,
	updatedAt: 1,
	resolvedAt: null,
	bytesOut: 0,
	linesOut: 0,
	lastLine: "",
	truncated: false,
	parent: null,
	owner: null,
	bootId: "b",
	protocol: 1,
	cols: 80,
	rows: 24,
	keep: false,
	idleMs: null,
	inherit: null,
	env: {},
	limits: {},
	shell: null,
	sandbox: null,
	place: null,
	within: [],
	terminalOpen: true,
	...changes,
});

describe("R4.6 records persist, whole or not at all", () => {
	test("what was written is read, and nothing else is left in the directory", async () => {
		const directory = await makeSessionDirectory(sessions, "a");
		await writeRecord(directory, record());
		await writeRecord(directory, record({ state: "succeeded", exit: { code: 0, signal: null } }));
		expect(await readRecord(directory)).toEqual(record({ state: "succeeded", exit: { code: 0, signal: null } }));
		expect((await readdir(directory)).sort()).toEqual(["meta.copy.json", "meta.json"]);
	});

	test("of many changes at once the last one stays", async () => {
		const directory = await makeSessionDirectory(sessions, "a");
		const file = new RecordFile(directory);
		await Promise.all(Array.from({ length: 50 }, (_, i) => file.write(record({ bytesOut: i }))));
		expect((await readRecord(directory))?.bytesOut).toBe(49);
		await file.write(record({ bytesOut: 50 }));
		expect((await readRecord(directory))?.bytesOut).toBe(50);
	});

	test("a record of an older version is read with what it lacks filled in", async () => {
		const directory = await makeSessionDirectory(sessions, "a");
		const { id, name, command, argv, cwd, state, createdAt } = record();
		await writeFile(join(directory, "meta.json"), JSON.stringify({ id, name, command, argv, cwd, state, createdAt }));
		expect(await readRecord(directory)).toMatchObject({ cols: 80, keep: false, exit: null });
	});

	test("S12: once it is closed nothing more is written, and what was under way is over", async () => {
		const directory = await makeSessionDirectory(sessions, "a");
		const file = new RecordFile(directory);
		void file.write(record({ bytesOut: 1 }));
		await file.close();
		expect((await readRecord(directory))?.bytesOut).toBe(1);
		await rm(directory, { recursive: true });
		await file.write(record({ bytesOut: 2 }));
		expect(await readdir(sessions)).toEqual([]);
	});

	test("an unreadable, half-written or foreign record is an error of that one", async () => {
		await writeRecord(await makeSessionDirectory(sessions, "liar"), record());
		await writeFile(join(await makeSessionDirectory(sessions, "half"), "meta.json"), '{"id":"half"');
		await writeFile(join(await makeSessionDirectory(sessions, "wrong"), "meta.json"), '{"id":"wrong","state":"happy"}');
		await mkdir(join(await makeSessionDirectory(sessions, "folder"), "meta.json"));
		await symlink("/nowhere", join(sessions, "link"));
		await writeFile(join(sessions, "ended.jsonl"), "");
		const ids = await sessionIds(sessions);
		expect([...ids].sort()).toEqual(["folder", "half", "liar", "link", "wrong"]);
		for (const id of ["liar", "half", "wrong", "folder"])
			await expect(readRecord(join(sessions, id))).rejects.toThrow(CorruptState);
		// Each was set aside: from now on there is none.
		for (const id of ids) expect(await readRecord(join(sessions, id))).toBe(null);
		expect(await readdir(join(sessions, "half"))).toEqual(["meta.json.corrupt-not-json"]);
		expect(await sessionIds(join(sessions, "nowhere"))).toEqual([]);
	});
});

const ended = (id: string, name: string, endedAt: number | null = 1) => ({ id, name, owner: "me", endedAt });

describe("S15 the index of what has ended", () => {
	const all = new Set(["a1", "a2", "b1"]);

	test("finds the newest of a name and what begins so, also in the next process", async () => {
		const index = await EndedIndex.load(sessions, all);
		await Promise.all([
			index.add(ended("a1", "py"), async () => 1),
			index.add(ended("a2", "py"), async () => 2),
			index.add(ended("b1", "sh"), async () => 4),
		]);
		for (const it of [index, await EndedIndex.load(sessions, all)]) {
			expect(it.newestNamed("py")).toBe("a2");
			expect(it.newestNamed("none")).toBeUndefined();
			expect(it.withPrefix("a")).toEqual(["a1", "a2"]);
			expect(it.totalBytes).toBe(7);
			expect(it.newest(2)).toEqual(["a2", "b1"]);
			it.delete("a2");
			expect(it.newestNamed("py")).toBe("a1");
		}
		expect((await EndedIndex.load(sessions, new Set(["b1"]))).size).toBe(1);
	});

	test("R4.12: finds one by its new name only, also in the next process and however late it was measured", async () => {
		const index = await EndedIndex.load(sessions, all);
		const measured = index.add(ended("a1", "py"), async () => 1);
		index.rename("a1", "snake");
		index.rename("none", "x");
		await measured;
		await index.add(ended("a2", "py"), async () => 2);
		await index.settled();
		for (const it of [index, await EndedIndex.load(sessions, all)]) {
			expect([it.newestNamed("snake"), it.newestNamed("py"), it.oldest()?.id]).toEqual(["a1", "a2", "a1"]);
			expect(it.totalBytes).toBe(3);
		}
	});

	test("a line that was cut, and one that is no entry, cost only themselves", async () => {
		await writeFile(join(sessions, "ended.jsonl"), '{"id":"a1","name":"py","bytes":1}\n{"id":7}\n{"id":"a2","na');
		expect((await EndedIndex.load(sessions, all)).newest(9)).toEqual(["a1"]);
	});

	test("is rewritten when most of its lines are of sessions that are gone", async () => {
		const lines = Array.from({ length: 1500 }, (_, i) => `{"id":"${i}","name":"x","bytes":1}\n`).join("");
		await writeFile(join(sessions, "ended.jsonl"), lines);
		await EndedIndex.load(sessions, new Set(["3", "1499"]));
		const text = await readFile(join(sessions, "ended.jsonl"), "utf8");
		expect(text.split("\n").filter(Boolean)).toHaveLength(2);
	});
});

describe("T2 the size of an ended session", () => {
	test("follows what is written for it later, and the order of the ends stays", async () => {
		const ids = ["first", "second"];
		const index = await EndedIndex.load(sessions, new Set(ids));
		for (const id of ids) await index.add(ended(id, id), async () => 1000);
		await index.update("first", async () => 5000);
		await index.update("removed", async () => 5000);
		expect({ total: index.totalBytes, oldest: index.oldest()?.id }).toEqual({ total: 6000, oldest: "first" });
		const again = await EndedIndex.load(sessions, new Set(ids));
		expect({ total: again.totalBytes, oldest: again.oldest()?.id }).toEqual({ total: 6000, oldest: "first" });
		expect(again.newestNamed("first")).toBe("first");
	});
});

describe("the cap over all sessions", () => {
	test("those that ended first go first, and what runs counts but stays", async () => {
		const ids = ["older", "old", "new"];
		const index = await EndedIndex.load(sessions, new Set(ids));
		for (const id of ids) {
			const directory = await makeSessionDirectory(sessions, id);
			await writeFile(join(directory, "out.00000000000000000000"), Buffer.alloc(10_000));
			await index.add(ended(id, id), () => directoryBytes(directory));
		}
		const removed: string[] = [];
		let runningBytes = 0;
		const quota = new TotalQuota({
			index,
			maxBytes: 30_000,
			maxAgeMs: 0,
			endedAt: async () => 0,
			runningBytes: () => runningBytes,
			remove: async ({ id }, because) => void removed.push(`${id} ${because}`),
		});
		await quota.enforce();
		expect(removed).toEqual([]);
		runningBytes = 15_000;
		await Promise.all([quota.enforce(), quota.enforce()]);
		expect(removed).toEqual(["older size", "old size"]);
		runningBytes = 1e9;
		await quota.stop();
		await quota.enforce();
		expect(removed).toHaveLength(2);
	});

	test("what ended too long ago goes, also where its entry does not say when it ended", async () => {
		const ids = ["unknown", "old", "new"];
		const index = await EndedIndex.load(sessions, new Set(ids));
		await index.add(ended("unknown", "a", null), async () => 1);
		await index.add(ended("old", "b", Date.now() - 5000), async () => 1);
		await index.add(ended("new", "c", Date.now()), async () => 1);
		const removed: string[] = [];
		const parts = {
			index: await EndedIndex.load(sessions, new Set(ids)),
			maxBytes: 0,
			runningBytes: () => 0,
			endedAt: async () => Date.now() - 9000,
			remove: async ({ id }: EndedEntry, because: string) => void removed.push(`${id} ${because}`),
		};
		await new TotalQuota({ ...parts, maxAgeMs: 0 }).enforce();
		expect(removed).toEqual([]);
		await new TotalQuota({ ...parts, maxAgeMs: 4000 }).enforce();
		expect(removed).toEqual(["unknown age", "old age"]);
	});

	test("the last that were removed are remembered, by id and by name, also by the next daemon", async () => {
		const index = await EndedIndex.load(sessions, new Set());
		const entryOf = (number: number) => ({ ...ended(`id${number}`, `name${number % 3}`), bytes: 1 });
		for (let i = 0; i < 1500; i++) await index.noteRemoved(entryOf(i), i % 2 === 0 ? "age" : "size");
		for (const each of [
			index,
			await EndedIndex.load(sessions, new Set()),
			await EndedIndex.load(sessions, new Set()),
		]) {
			expect(each.removed("id499")).toBeNull();
			expect(each.removed("id500")).toMatchObject({ name: "name2", removed: { because: "age" } });
			expect(each.removed("name2")).toMatchObject({ id: "id1499", removed: { because: "size" } });
			expect([each.removed("name2", "somebody else"), each.size]).toEqual([null, 0]);
		}
	});
});
