import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Floods, GivingWay } from "./giving-way.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function watched(floods = new Floods()) {
	const told: number[] = [];
	return { told, giving: new GivingWay(floods, (nice) => told.push(nice)) };
}

test("one that stays held back gives way after a second", () => {
	const { told, giving } = watched();
	giving.held(true);
	vi.advanceTimersByTime(999);
	expect(told).toEqual([]);
	vi.advanceTimersByTime(1);
	expect(told).toEqual([5]);
});

test("a burst does not, however large", () => {
	const { told, giving } = watched();
	giving.held(true);
	vi.advanceTimersByTime(900);
	giving.held(false);
	vi.advanceTimersByTime(10_000);
	expect(told).toEqual([]);
});

test("one that is received and held back in turns does, until it has been calm for two seconds", () => {
	const { told, giving } = watched();
	for (let i = 0; i < 20; i++) {
		giving.held(true);
		vi.advanceTimersByTime(100);
		giving.held(false);
		vi.advanceTimersByTime(400);
	}
	expect(told).toEqual([5]);
	vi.advanceTimersByTime(1600);
	expect(told).toEqual([5, 0]);
});

test("whoever attends it ends that at once, and it needs another second after", () => {
	const { told, giving } = watched();
	giving.held(true);
	vi.advanceTimersByTime(5000);
	giving.attended();
	expect(told).toEqual([5, 0]);
	vi.advanceTimersByTime(5000);
	giving.held(false);
	giving.held(true);
	vi.advanceTimersByTime(999);
	expect(told).toEqual([5, 0]);
	vi.advanceTimersByTime(1);
	expect(told).toEqual([5, 0, 5]);
});

test("the more do so, the less each of them gets", () => {
	const floods = new Floods();
	const all = Array.from({ length: 12 }, () => watched(floods));
	for (const { giving } of all) giving.held(true);
	vi.advanceTimersByTime(1000);
	expect(all.map(({ told }) => told[0])).toEqual([5, 5, 10, 10, 10, 10, 10, 10, 19, 19, 19, 19]);
	for (const { giving } of all) giving.attended();
	all[11]!.giving.held(true);
	vi.advanceTimersByTime(1000);
	expect(all[11]!.told).toEqual([19, 0, 5]);
});
