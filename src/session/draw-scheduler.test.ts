import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Drawable, DrawScheduler } from "./draw-scheduler.ts";

const FLOOD = 300 * 1024;

class Fake implements Drawable {
	attended = false;
	pendingBytes = 0;
	readonly pieceBytes = 256 * 1024;
	mayAsk = false;
	held = false;
	drawn = 0;
	readonly #costMs: number;
	constructor(costMs = 0) {
		this.#costMs = costMs;
	}
	draw(): void {
		this.drawn++;
		this.pendingBytes = 0;
		this.mayAsk = false;
		vi.advanceTimersByTime(0);
		clock += this.#costMs;
	}
	hold(held: boolean): void {
		this.held = held;
	}
}

let clock = 0;
let scheduler: DrawScheduler;
beforeEach(() => {
	vi.useFakeTimers();
	clock = 0;
	vi.spyOn(performance, "now").mockImplementation(() => clock);
	scheduler = new DrawScheduler();
});
afterEach(() => {
	scheduler[Symbol.dispose]();
	expect(vi.getTimerCount()).toBe(0);
	vi.restoreAllMocks();
	vi.useRealTimers();
});

const wants = (drawable: Fake, pendingBytes: number, mayAsk = false) => {
	Object.assign(drawable, { pendingBytes, mayAsk });
	scheduler.changed(drawable);
};

describe("drawing in turns", () => {
	test("what is drawn in pieces has its next turn after the others, and is not received until it is drawn", () => {
		const [large, other] = [new Fake(), new Fake()];
		const order: string[] = [];
		large.draw = () => {
			order.push("large");
			large.pendingBytes -= FLOOD;
		};
		other.draw = () => {
			order.push("other");
			other.pendingBytes = 0;
		};
		wants(large, 2 * FLOOD);
		wants(other, FLOOD);
		vi.advanceTimersByTime(0);
		expect(large.held).toBe(true);
		vi.runAllTimers();
		expect(order).toEqual(["large", "other", "large"]);
		expect([large.held, other.held]).toEqual([false, false]);
	});

	test("a little plain output is drawn at once where a caller waits for it, and otherwise not at all", () => {
		const [one, other, more] = [new Fake(), new Fake(), new Fake()];
		one.attended = more.attended = true;
		wants(one, 1000);
		wants(other, 1000);
		wants(more, 8000);
		vi.runAllTimers();
		expect([one.drawn, other.drawn, more.drawn]).toEqual([1, 0, 0]);
	});

	test("a program that may have sent a query is drawn, attended or not", () => {
		const [one, other] = [new Fake(), new Fake()];
		one.attended = true;
		wants(one, 1000, true);
		wants(other, 1000, true);
		vi.runAllTimers();
		expect([one.drawn, other.drawn]).toEqual([1, 1]);
	});

	test("an unattended flood is held until it is its turn; an attended one is not", () => {
		const [one, other] = [new Fake(), new Fake()];
		one.attended = true;
		wants(one, FLOOD);
		wants(other, FLOOD);
		expect([one.held, other.held]).toEqual([false, true]);
		vi.runAllTimers();
		expect([one.drawn, other.drawn, other.held]).toEqual([1, 1, false]);
	});

	test("unattended drawing takes a small share of the time, in turns", () => {
		const floods = Array.from({ length: 10 }, () => new Fake(5));
		for (const flood of floods) wants(flood, FLOOD);
		vi.advanceTimersByTime(0);
		expect(floods.filter(({ drawn }) => drawn > 0)).toHaveLength(1);
		// 5 ms of work for every 95 ms of rest.
		vi.advanceTimersByTime(400);
		expect(floods.filter(({ drawn }) => drawn > 0)).toHaveLength(5);
		vi.advanceTimersByTime(1000);
		expect(floods.map(({ drawn }) => drawn)).toEqual(Array(10).fill(1));
	});

	test("one that may have sent a query comes before those that flood", () => {
		const floods = Array.from({ length: 5 }, () => new Fake(5));
		for (const flood of floods) wants(flood, FLOOD);
		const asking = new Fake();
		wants(asking, 10, true);
		vi.advanceTimersByTime(0);
		expect(asking.drawn).toBe(1);
		vi.runAllTimers();
	});

	test("one that is forgotten is not drawn", () => {
		const one = new Fake();
		wants(one, FLOOD);
		scheduler.forget(one);
		vi.runAllTimers();
		expect(one.drawn).toBe(0);
	});
});
