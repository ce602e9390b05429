import { mkdir, mkdtemp, readdir, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { keepWithin } from "./quota.ts";
import {
	makeSessionDirectory,
	RecordFile,
	readRecord,
	type SessionRecord,
	scanSessions,
	writeRecord,
} from "./records.ts";

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
	exit: null,
	reason: null,
	createdAt: 1,
	updatedAt: 1,
	resolvedAt: null,
	bytesOut: 0,
	linesOut: 0,
	lastLine: "",
	parent: null,
	owner: null,
	bootId: "b",
	protocol: 1,
	cols: 80,
	rows: 24,
	keep: false,
	...changes,
});

describe("R4.6 records persist, whole or not at all", () => {
	test("what was written is read, and nothing else is left in the directory", async () => {
		const directory = await makeSessionDirectory(sessions, "a");
		await writeRecord(directory, record());
		await writeRecord(directory, record({ state: "succeeded", exit: { code: 0, signal: null } }));
		expect(await readRecord(directory)).toEqual(record({ state: "succeeded", exit: { code: 0, signal: null } }));
		expect(await readdir(directory)).toEqual(["meta.json"]);
	});

	test("of many changes at once the last one stays", async () => {
		const directory = await makeSessionDirectory(sessions, "a");
		const file = new RecordFile(directory);
		await Promise.all(Array.from({ length: 50 }, (_, i) => file.write(record({ bytesOut: i }))));
		expect((await readRecord(directory)).bytesOut).toBe(49);
		await file.write(record({ bytesOut: 50 }));
		expect((await readRecord(directory)).bytesOut).toBe(50);
	});

	test("a record of an older version is read with what it lacks filled in", async () => {
		const directory = await makeSessionDirectory(sessions, "a");
		const { id, name, command, argv, cwd, state, createdAt } = record();
		await writeFile(join(directory, "meta.json"), JSON.stringify({ id, name, command, argv, cwd, state, createdAt }));
		expect(await readRecord(directory)).toMatchObject({ cols: 80, keep: false, exit: null });
	});

	test("unreadable, half-written and foreign directories never break the scan", async () => {
		await writeRecord(await makeSessionDirectory(sessions, "a"), record({ createdAt: 1 }));
		await writeRecord(await makeSessionDirectory(sessions, "b"), record({ id: "b", createdAt: 2 }));
		await writeRecord(await makeSessionDirectory(sessions, "liar"), record());
		await mkdir(join(sessions, "empty"));
		await writeFile(join(await makeSessionDirectory(sessions, "half"), "meta.json"), '{"id":"half"');
		await writeFile(join(await makeSessionDirectory(sessions, "wrong"), "meta.json"), '{"id":"wrong","state":"happy"}');
		await mkdir(join(await makeSessionDirectory(sessions, "folder"), "meta.json"));
		await symlink("/nowhere", join(sessions, "link"));
		await writeFile(join(sessions, "file"), "");
		const found = await scanSessions(sessions);
		expect(found.filter((it) => it.record !== null).map((it) => it.id)).toEqual(["b", "a"]);
		expect(
			found
				.filter((it) => it.record === null)
				.map((it) => it.id)
				.sort(),
		).toEqual(["empty", "folder", "half", "liar", "wrong"]);
		expect(await scanSessions(join(sessions, "nowhere"))).toEqual([]);
	});
});

describe("the cap over all sessions", () => {
	const made = async (id: string, changes: Partial<SessionRecord>) => {
		const directory = await makeSessionDirectory(sessions, id);
		await writeRecord(directory, record({ id, ...changes }));
		await writeFile(join(directory, "out.00000000000000000000"), Buffer.alloc(10_000));
	};

	test("those that ended longest ago go first, and what runs stays whatever it costs", async () => {
		await made("old", { state: "succeeded", resolvedAt: 10 });
		await made("older", { state: "stream_lost", resolvedAt: 5 });
		await made("new", { state: "failed", resolvedAt: 20 });
		await made("running", { state: "running" });
		expect(await keepWithin(sessions, 100_000)).toEqual([]);
		expect((await keepWithin(sessions, 25_000)).map((it) => it.id)).toEqual(["older", "old"]);
		expect((await keepWithin(sessions, 0)).map((it) => it.id)).toEqual(["new"]);
		expect(await readdir(sessions)).toEqual(["running"]);
	});

	test("a directory without a record is left alone while it may be a session in the making", async () => {
		const young = await makeSessionDirectory(sessions, "young");
		const abandoned = await makeSessionDirectory(sessions, "abandoned");
		for (const directory of [young, abandoned]) await writeFile(join(directory, "out.00000000000000000000"), "x");
		await utimes(abandoned, 1, 1);
		expect((await keepWithin(sessions, 0)).map((it) => it.id)).toEqual(["abandoned"]);
	});
});
