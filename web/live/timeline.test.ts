import { expect, test } from "vitest";
import type { Mark } from "../../src/protocol/timeline.ts";
import { age, clock, duration, markBeside, markWords, stateSpans, thinned } from "./timeline.ts";

const state = (at: number, state: string) => ({ at, offset: 0, kind: "state", state }) as Mark;
const command = (at: number, exitCode: number | null) =>
	({ at, offset: 0, kind: "command", exitCode, tookMs: 5 }) as Mark;
const turn = (at: number) =>
	({ at, offset: 0, kind: "turn", by: "agent", who: "", keys: 3, lines: 1, returned: "waiting", tookMs: 1200 }) as Mark;

test("states follow each other to the end of the line", () => {
	expect(stateSpans([state(0, "working"), turn(5), state(10, "listening"), state(20, "serving")], 50)).toEqual([
		{ state: "working", fromMs: 0, toMs: 10 },
		{ state: "serving", fromMs: 10, toMs: 50 },
	]);
});

test("of marks at one place a failed command is drawn", () => {
	const marks = [turn(1), command(2, 1), command(3, 0), turn(900)];
	expect(thinned(marks, 1000, 10)).toEqual([marks[1], marks[3]]);
});

test("steps go from mark to mark, passing states over", () => {
	const marks = [turn(10), state(20, "working"), command(30, 0)];
	expect(markBeside(marks, 10, "next")?.at).toBe(30);
	expect(markBeside(marks, 30, "previous")?.at).toBe(10);
	expect(markBeside(marks, 30, "next")).toBeUndefined();
});

test("marks say who did what and how it went", () => {
	expect(markWords(turn(0))).toBe("agent typed 3 keys, 1 line; returned after 1.2 s: waiting");
	expect(markWords({ ...command(0, 2), command: "make" } as Mark)).toBe("`make` exited with 2 after 5 ms");
	expect(markWords({ ...turn(0), secret: true, returned: null } as Mark)).toBe("agent typed a secret");
	const driver = { kind: "agent" } as const;
	expect(markWords({ at: 0, offset: 0, kind: "driver", driver, note: "done" })).toBe(
		"handed back to the agent: “done”",
	);
	expect(markWords({ at: 0, offset: 0, kind: "signal", signal: "INT", who: "cli" })).toBe("cli sent INT");
	expect(markWords({ at: 0, offset: 0, kind: "approval", approved: false, who: "ann", note: "no" })).toBe(
		"ann denied what the agent wanted to do: “no”",
	);
});

test("times are written as people read them", () => {
	expect([450, 12_400, 200_000, 7_300_000, 2e8].map(duration)).toEqual(["0.5 s", "12 s", "3 min", "2 h", "2 d"]);
	expect([-5, 3_900, 61_000].map(age)).toEqual(["0 s", "3 s", "1 min"]);
	expect([0, 83_250, 3_723_000].map(clock)).toEqual(["0:00.0", "1:23.2", "1:02:03"]);
});
