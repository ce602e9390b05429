import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, test } from "vitest";
import type { ListedSession } from "../protocol/answer.ts";
import { oneLine } from "../protocol/clean.ts";
import { list } from "./list.ts";

const NOW = 1_800_000_000_000;
const MINUTE = 60_000;

const RUNNING: ListedSession = {
	session: "0a",
	name: oneLine("py"),
	command: oneLine("python3 -q"),
	cwd: oneLine("/"),
	status: "running",
	activity: "waiting",
	waitingFor: "line",
	because: oneLine("it reads"),
	exit: null,
	pid: 7,
	createdAt: NOW - 12 * MINUTE,
	updatedAt: NOW - MINUTE,
	offset: 4,
	lines: 1,
	lastLine: oneLine(">>> "),
	truncated: false,
	owner: "model",
	mine: true,
	byName: true,
	parent: null,
	keep: false,
	inherit: null,
	sandbox: "none",
};
const ended = (number: number): ListedSession => ({
	...RUNNING,
	name: oneLine(`job-${number}`),
	status: number % 2 === 0 ? "succeeded" : "failed",
	activity: null,
	waitingFor: null,
	because: oneLine("exit code 2"),
	exit: { code: number % 2 === 0 ? 0 : 2, signal: null },
	updatedAt: NOW - number * 60 * MINUTE,
	lastLine: oneLine("done in 4.2 s"),
});
const shown = (sessions: readonly ListedSession[], status: string | null = null) =>
	list.render({ sessions, now: NOW, status }).split("\n");

describe("T12 the list of sessions", () => {
	test("T12: what runs with its age, and the last five that ended", () => {
		const sixty = Array.from({ length: 60 }, (_, at) => ended(at + 1));
		const lines = shown([RUNNING, ...sixty]);
		expect(lines).toHaveLength(7);
		expect(lines[0]).toBe('[py] waiting · 12 min · python3 -q · ">>>"');
		expect(lines[1]).toBe("[job-1] ended: exit code 2 · 60 min · python3 -q");
		expect(lines[2]).toBe("[job-2] ended, exit code 0 · 2 h · python3 -q");
		expect(lines[6]).toBe('and 55 more ended: status "ended"');
		expect(shown(sixty, "ended")).toHaveLength(60);
	});

	test("T12: of many processes that it left running, a few are named", () => {
		const left = Array.from({ length: 32 }, (_, at) => ({ pid: at + 1, command: oneLine("sleep") }));
		expect(shown([{ ...ended(2), left }])[0]).toMatch(/ · still running: sleep \(1\), .*, sleep \(8\) and 24 more$/);
	});

	test("T12: the last line of a full screen, of work or of what ended is not shown", () => {
		const garbage = { ...RUNNING, lastLine: oneLine("F1Help F2Setup F10Quit") };
		for (const other of [{ waitingFor: "screen" }, { activity: "working", waitingFor: null }] as const)
			expect(shown([{ ...garbage, ...other }])[0]).not.toContain("F1Help");
	});

	test("T12: the owner where it is another", () => {
		expect(shown([{ ...RUNNING, owner: "codex", mine: false, byName: false }])[0]).toMatch(/ · id 0a · of codex$/);
	});

	test("T12: a session has about 20 tokens", () => {
		const long = {
			...RUNNING,
			command: oneLine("npm run dev -- --host 127.0.0.1 --port 8080 --strictPort --open false"),
			lastLine: oneLine("Overwrite the existing configuration file in /etc? [y/N] "),
		};
		for (const session of [RUNNING, long, ...[1, 2].map(ended)])
			expect(encode(shown([session])[0]!).length).toBeLessThanOrEqual(28);
	});
});
