import { describe, expect, test } from "vitest";
import type { ThreadFacts } from "../protocol/kernel-facts.ts";
import { type EscapeTimer, escapeTimer, TYPED, untilTaken } from "./escape-timer.ts";

const asleep = (switches: number, timeoutMs?: number, fresh = true): ThreadFacts => ({
	pid: 1,
	tid: 1,
	command: "editor",
	foreground: true,
	doing: "tty-poll",
	main: true,
	switches,
	fresh,
	...(timeoutMs === undefined ? {} : { timeoutMs }),
});

/** Probes after Escape was typed at 0, in order; when it counts as taken, or null. */
function takenAt(probes: readonly (readonly [at: number, reader: ThreadFacts | null])[]): number | null {
	let timer: EscapeTimer | null = TYPED;
	for (const [at, reader] of probes) {
		timer = escapeTimer(timer, reader, { at, sinceInputMs: at });
		if (timer === null) return at;
	}
	return null;
}

describe("A6 a lone Escape", () => {
	test("is taken at once by a program without a timer", () => {
		expect(takenAt([[1, asleep(8)]])).toBe(1);
	});

	test("is not taken by a reader that has not woken up yet, or while nobody reads", () => {
		expect(
			takenAt([
				[1, asleep(7, undefined, false)],
				[2, null],
			]),
		).toBeNull();
	});

	test("is taken when the sleep for the rest of a key is over and a longer one follows", () => {
		expect(
			takenAt([
				[2, asleep(8, 25)],
				[20, asleep(8, 25)],
				[29, asleep(9, 1500)],
			]),
		).toBe(29);
	});

	test("is not taken before a timer that began late is over", () => {
		expect(
			takenAt([
				[30, asleep(9, 1000)],
				[1025, asleep(9, 1000)],
				[1031, asleep(10, 4000)],
			]),
		).toBe(1031);
	});

	test("is not taken while a short sleep is followed by a longer one for keys", () => {
		expect(
			takenAt([
				[1, asleep(8, 25)],
				[27, asleep(9, 1000)],
				[1000, asleep(9, 1000)],
				[1030, asleep(10, 4000)],
			]),
		).toBe(1030);
	});

	test("is taken by a program that ticks as fast as it waits for keys, once one sleep has lasted", () => {
		expect(
			takenAt([
				[1, asleep(8, 100)],
				[60, asleep(8, 100)],
				[101, asleep(9, 100)],
			]),
		).toBe(101);
		expect(
			takenAt([
				[1, asleep(8, 100)],
				[121, asleep(8, 100)],
			]),
		).toBe(121);
	});

	test("is not taken by a sleep that was cut short", () => {
		expect(
			takenAt([
				[1, asleep(8, 1000)],
				[10, asleep(9, 1000)],
				[900, asleep(9, 1000)],
			]),
		).toBeNull();
	});

	test("is not taken while a program looks for the rest again and again, with short sleeps between", () => {
		const looks = Array.from({ length: 10 }, (_, i) => [1 + i * 10, asleep(8 + i, 1 + (i % 9))] as const);
		expect(takenAt(looks)).toBeNull();
		expect(takenAt([...looks, [102, asleep(20)]])).toBe(102);
	});

	test("is taken by a program that does nothing but short sleeps, once they have lasted", () => {
		const ticks = Array.from({ length: 40 }, (_, i) => [1 + i * 10, asleep(8 + i, 10)] as const);
		expect(takenAt(ticks)).toBe(151);
	});

	test("is not taken when a longer sleep follows short ones, before that is over", () => {
		expect(
			takenAt([
				[1, asleep(8, 5)],
				[8, asleep(9, 5)],
				[16, asleep(10, 500)],
				[500, asleep(10, 500)],
				[520, asleep(11, 500)],
			]),
		).toBe(520);
	});

	test("is given up on after two seconds, whatever the program does", () => {
		const restless = Array.from({ length: 300 }, (_, i) => [i * 10, asleep(i, 500)] as const);
		expect(takenAt(restless)).toBe(2010);
	});

	test("is looked for again when the timer ends", () => {
		const timer = escapeTimer(TYPED, asleep(8, 1000), { at: 5, sinceInputMs: 5 }) as EscapeTimer;
		expect(untilTaken(timer, 105)).toBe(920);
	});
});
