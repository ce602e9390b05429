import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { KernelFacts } from "../protocol/kernel-facts.ts";
import type { Program } from "../pty/program.ts";
import type { Decision } from "./attention.ts";
import { Learnt, readLearnt } from "./learnt.ts";
import { Lessons } from "./lessons.ts";

const NLOAD: Program = { path: "/usr/bin/nload", version: "1:2:3:4", arguments: "00" };

let directory: string;
let path: string;
beforeEach(async () => {
	directory = await mkdtemp(join(tmpdir(), "dt-learnt-"));
	path = join(directory, "learnt.json");
});
afterEach(async () => {
	vi.useRealTimers();
	await rm(directory, { recursive: true });
});

const times = (count: number, act: () => void) => {
	for (let time = 0; time < count; time++) act();
};

describe("what is learnt of a program", () => {
	test("is known after three right answers, for this version, these arguments and this rest alone", async () => {
		await using learnt = await Learnt.load(path);
		times(2, () => learnt.right(NLOAD, "peeks"));
		expect(learnt.knows(NLOAD, "peeks")).toBe(false);
		learnt.right(NLOAD, "peeks");
		expect(learnt.knows(NLOAD, "peeks")).toBe(true);
		expect(learnt.knows(NLOAD, "loop")).toBe(false);
		expect(learnt.knows({ ...NLOAD, version: "1:2:3:5" }, "peeks")).toBe(false);
		expect(learnt.knows({ ...NLOAD, arguments: "01" }, "peeks")).toBe(false);
	});

	test("is void after a mistake, and for ever after three", async () => {
		await using learnt = await Learnt.load(path);
		for (const again of [true, true, false]) {
			times(9, () => learnt.right(NLOAD, "peeks"));
			learnt.wrong(NLOAD, "peeks");
			expect(learnt.knows(NLOAD, "peeks")).toBe(false);
			times(3, () => learnt.right(NLOAD, "peeks"));
			expect(learnt.knows(NLOAD, "peeks")).toBe(again);
		}
	});

	test("is saved when it is disposed, bounded, the one used last last", async () => {
		{
			await using learnt = await Learnt.load(path);
			for (let inode = 0; inode < 250; inode++) learnt.right({ ...NLOAD, version: `${inode}` }, "loop");
			learnt.right({ ...NLOAD, version: "60" }, "loop");
		}
		const entries = (await readLearnt(path)) ?? [];
		expect(entries).toHaveLength(200);
		expect(entries.at(-1)).toMatchObject({ version: "60", right: 2 });
		expect(entries[0]?.version).toBe("50");
	});

	test("is forgotten with its file, and not written back", async () => {
		await using learnt = await Learnt.load(path);
		times(3, () => learnt.right(NLOAD, "peeks"));
		await vi.waitFor(async () => expect(await readFile(path, "utf8")).toContain("nload"), { timeout: 10_000 });
		await rm(path);
		learnt.right({ ...NLOAD, path: "/usr/bin/bmon" }, "peeks");
		await vi.waitFor(() => readFile(path, "utf8"), { timeout: 10_000 });
		expect(await readFile(path, "utf8")).not.toContain("nload");
		expect(learnt.knows(NLOAD, "peeks")).toBe(false);
	});

	test("is not read from a newer format, which is left alone until something is learnt", async () => {
		await writeFile(path, '{"format": 2, "programs": "?"}');
		{
			await using learnt = await Learnt.load(path);
			expect(learnt.knows(NLOAD, "peeks")).toBe(false);
		}
		expect(await readFile(path, "utf8")).toContain("?");
	});
});

// --- lessons: of the process that runs this test ------------------------------------------------

const rest = { rest: "peeks", pid: process.pid, command: "node" } as const;
const decision = (activity: "working" | "waiting"): Decision => ({
	activity,
	waitingFor: activity === "waiting" ? "key" : null,
	certainty: "likely",
	because: "-",
	recheckMs: null,
	rule: "-",
	takenInMs: null,
	prompts: null,
	restsInMs: 0,
	rest,
});
/** It printed a while ago; nothing is unread. */
const quiet: KernelFacts = {
	at: 0,
	readable: true,
	foregroundGroup: 7,
	foregroundLives: true,
	mainForeground: true,
	canonical: false,
	echo: false,
	signals: false,
	vmin: 1,
	vtime: 0,
	queued: 0,
	unread: 0,
	offset: 100,
	quietMs: 100,
	sinceInputMs: null,
	threads: [],
	more: 0,
	doubts: [],
};

/** Lessons that know which program it is, and what they taught. */
async function lessonsFor(learnt: Learnt) {
	vi.useFakeTimers({ toFake: ["performance"] });
	const lessons = new Lessons(learnt, () => {});
	lessons.decided(decision("working"), quiet);
	await vi.waitFor(() => expect(lessons.known).not.toBeNull());
	const taught: string[] = [];
	vi.spyOn(learnt, "right").mockImplementation(() => void taught.push("right"));
	vi.spyOn(learnt, "wrong").mockImplementation(() => void taught.push("wrong"));
	const type = () => {
		lessons.disturbed();
		lessons.typed();
	};
	return { lessons, taught, type };
}
const answered: KernelFacts = { ...quiet, quietMs: 50, sinceInputMs: 300 };

describe("a lesson", () => {
	test("right: quiet for a second, typed to, taken, answered; once for each input", async () => {
		await using learnt = await Learnt.load(path);
		const { lessons, taught, type } = await lessonsFor(learnt);
		vi.advanceTimersByTime(1500);
		lessons.decided(decision("working"), quiet);
		type();
		lessons.decided(decision("working"), { ...answered, unread: 1 });
		lessons.decided(decision("working"), { ...answered, quietMs: 900 });
		expect(taught).toEqual([]);
		lessons.decided(decision("working"), answered);
		lessons.decided(decision("working"), answered);
		expect(taught).toEqual(["right"]);
	});

	test("none: it had printed within the last second, or a process at work was typed to", async () => {
		await using learnt = await Learnt.load(path);
		const { lessons, taught, type } = await lessonsFor(learnt);
		vi.advanceTimersByTime(1500);
		lessons.printed(110);
		vi.advanceTimersByTime(500);
		type();
		lessons.decided(decision("working"), answered);
		vi.advanceTimersByTime(1500);
		lessons.decided({ ...decision("working"), rest: null }, quiet);
		type();
		lessons.decided(decision("working"), answered);
		expect(taught).toEqual([]);
	});

	test("wrong: told as waiting, and it prints by itself within a second; not after input, nor later", async () => {
		await using learnt = await Learnt.load(path);
		const { lessons, taught, type } = await lessonsFor(learnt);
		lessons.decided(decision("waiting"), quiet);
		type();
		lessons.printed(110);
		lessons.decided(decision("waiting"), { ...quiet, offset: 110 });
		vi.advanceTimersByTime(1500);
		lessons.printed(120);
		expect(taught).toEqual([]);
		lessons.decided(decision("waiting"), { ...quiet, offset: 120 });
		vi.advanceTimersByTime(500);
		lessons.printed(130);
		expect(taught).toEqual(["wrong"]);
	});

	test("wrong: what is known to take input has not, for two seconds", async () => {
		await using learnt = await Learnt.load(path);
		const { lessons, taught, type } = await lessonsFor(learnt);
		vi.spyOn(learnt, "knows").mockReturnValue(true);
		vi.advanceTimersByTime(1500);
		lessons.decided(decision("waiting"), quiet);
		type();
		lessons.decided(decision("working"), { ...quiet, unread: 1, sinceInputMs: 1500 });
		expect(taught).toEqual([]);
		lessons.decided(decision("working"), { ...quiet, unread: 1, sinceInputMs: 2500 });
		expect(taught).toEqual(["wrong"]);
	});
});
