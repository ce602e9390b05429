import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Cached, ScreenCache } from "./screen-cache.ts";

class Fake implements Cached {
	attended = false;
	refuses = false;
	away = 0;
	hibernate(): boolean {
		if (this.refuses) return false;
		this.away++;
		return true;
	}
}

let cache: ScreenCache;
beforeEach(() => {
	vi.useFakeTimers();
	cache = new ScreenCache({ maxScreens: 3, maxIdleMs: 1000 });
});
afterEach(() => {
	cache[Symbol.dispose]();
	expect(vi.getTimerCount()).toBe(0);
	vi.useRealTimers();
});

test("beyond the limit the least recently used one is hibernated", () => {
	const all = [new Fake(), new Fake(), new Fake(), new Fake()] as const;
	for (const one of all.slice(0, 3)) cache.use(one);
	cache.use(all[0]);
	cache.use(all[3]);
	expect(all.map(({ away }) => away)).toEqual([0, 1, 0, 0]);
});

test("one that is waited on stays, and so does one that cannot be hibernated now", () => {
	const all = Array.from({ length: 5 }, () => new Fake());
	all[0]!.attended = true;
	all[1]!.refuses = true;
	for (const one of all) cache.use(one);
	expect(all.map(({ away }) => away)).toEqual([0, 0, 1, 1, 0]);
});

test("one that was idle for a while is hibernated; the others are checked when due", () => {
	const [early, late, attended] = [new Fake(), new Fake(), new Fake()];
	attended.attended = true;
	cache.use(early);
	cache.use(attended);
	vi.advanceTimersByTime(600);
	cache.use(late);
	vi.advanceTimersByTime(400);
	expect([early.away, late.away]).toEqual([1, 0]);
	vi.advanceTimersByTime(600);
	expect(late.away).toBe(1);
	attended.attended = false;
	vi.advanceTimersByTime(1000);
	expect(attended.away).toBe(1);
	vi.advanceTimersByTime(5000);
	expect([early.away, late.away, attended.away]).toEqual([1, 1, 1]);
});

test("one that was forgotten is left alone", () => {
	const one = new Fake();
	cache.use(one);
	cache.forget(one);
	vi.advanceTimersByTime(5000);
	expect(one.away).toBe(0);
});

test("when many were hibernated and few are left, that is told once", () => {
	let told = 0;
	cache[Symbol.dispose]();
	cache = new ScreenCache({ maxScreens: 100, maxIdleMs: 1000, onManyHibernated: () => told++ });
	for (let i = 0; i < 60; i++) cache.use(new Fake());
	vi.advanceTimersByTime(500);
	for (let i = 0; i < 60; i++) cache.use(new Fake());
	vi.advanceTimersByTime(600);
	expect(told).toBe(0);
	vi.advanceTimersByTime(600);
	expect(told).toBe(1);
	cache.use(new Fake());
	vi.advanceTimersByTime(5000);
	expect(told).toBe(1);
});
