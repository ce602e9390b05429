import { describe, expect, test } from "vitest";
import type { KernelFacts, ThreadFacts } from "../protocol/kernel-facts.ts";
import { disturbed, onlyTicks, type Ticking, ticking } from "./ticking.ts";

const PID = 412;
const base = { pid: PID, tid: PID, command: "top", foreground: true, main: true, switches: 1, fresh: true } as const;
const asleep: ThreadFacts = { ...base, doing: "tty-poll", call: "poll", fd: 0, timeoutMs: 200 };
const awake: ThreadFacts = { ...base, doing: "running" };
const blocked: ThreadFacts = { ...base, doing: "tty-read", call: "read", fd: 0 };

function facts(at: number, thread: ThreadFacts): KernelFacts {
	return {
		at,
		readable: true,
		foregroundGroup: PID,
		foregroundLives: true,
		mainForeground: true,
		canonical: false,
		echo: false,
		signals: true,
		vmin: 1,
		vtime: 0,
		queued: 0,
		unread: 0,
		offset: 0,
		quietMs: 0,
		sinceInputMs: null,
		threads: [thread],
		more: 0,
		doubts: [],
	};
}

/** Looks at it as it falls asleep and wakes up, `sleepMs` and `workMs` at a time. */
function watched(from: Ticking | null, start: number, [sleepMs, workMs]: readonly [number, number], rounds: number) {
	let state = from;
	for (let round = 0; round < rounds; round++) {
		const at = start + round * (sleepMs + workMs);
		state = ticking(ticking(state, facts(at, asleep)), facts(at + sleepMs, awake));
	}
	return state;
}

describe("A8 a program that polls the terminal by a clock", () => {
	test("has done nothing else when it slept most of a second", () => {
		expect(watched(null, 0, [200, 20], 3)).toMatchObject({ asleepMs: 600, awakeMs: 40, settled: false });
		expect(watched(null, 0, [200, 20], 5)).toMatchObject({ asleepMs: 1000, settled: true });
	});

	test("works when it is awake for a third of the time", () => {
		expect(watched(null, 0, [200, 100], 10)?.settled).toBe(false);
	});

	test("counts anew after input, and then not as long", () => {
		const settled = disturbed(watched(null, 0, [200, 20], 5));
		expect(settled).toMatchObject({ asleepMs: 0, awakeMs: 0, settled: true });
		const again = watched(settled, 5000, [200, 20], 2) as Ticking;
		expect(again.asleepMs).toBe(400);
		expect(onlyTicks(again)).toBe(true);
	});

	test("is another one when it reads without a clock, or another process reads", () => {
		const settled = watched(null, 0, [200, 20], 5);
		expect(ticking(settled, facts(2000, blocked))).toBeNull();
		expect(ticking(settled, facts(2000, { ...asleep, pid: 500 }))).toBeNull();
	});
});
