import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Listeners, openSubscriptions } from "../protocol/listeners.ts";
import { type Condition, type WaitScope, wait } from "./wait.ts";

// Every test passes by here: nothing that a wait has set up outlives it.
beforeEach(() => {
	vi.useFakeTimers();
});
afterEach(() => {
	expect({ subscriptions: openSubscriptions(), timers: vi.getTimerCount() }).toEqual({ subscriptions: 0, timers: 0 });
	vi.useRealTimers();
});

/** Comes true by an event, and at once if `already`. */
function happens(name: string, event: Listeners<void>, already = false): Condition<string> {
	return {
		start(scope) {
			if (already) scope.settle(name);
			scope.own(event.add(scope.guard(() => scope.settle(name))));
			scope.after(60_000, () => scope.settle(`${name} was late`));
		},
	};
}

describe("a wait is a list of conditions", () => {
	test("the first to come true ends it", async () => {
		const [a, b] = [new Listeners<void>("a"), new Listeners<void>("b")];
		const outcome = wait([happens("a", a), happens("b", b)]);
		b.emit();
		a.emit();
		expect(await outcome).toBe("b");
	});

	test("S2: one that is true during set-up ends it, and nothing stays subscribed", async () => {
		const event = new Listeners<void>("event");
		let started = 0;
		const counting: Condition<string> = { start: () => started++ };
		expect(await wait([happens("first", event), happens("second", event, true), counting])).toBe("second");
		expect(event.size).toBe(0);
		expect(started).toBe(0); // not even set up
	});

	test("S2: what is acquired after the end is disposed at once", async () => {
		let disposed = 0;
		const late: Condition<string> = {
			start(scope) {
				scope.settle("over");
				scope.own(() => disposed++);
				scope.after(10, () => expect.unreachable());
			},
		};
		expect(await wait([late])).toBe("over");
		expect(disposed).toBe(1);
	});

	test("one earlier in the list that holds by then takes precedence", async () => {
		const event = new Listeners<void>("event");
		let holds = false;
		const tested: Condition<string> = { start() {}, test: () => (holds ? "tested" : null) };
		const outcome = wait([tested, happens("event", event)]);
		holds = true;
		event.emit();
		expect(await outcome).toBe("tested");
		const reversed = wait([happens("event", event), tested]);
		event.emit();
		expect(await reversed).toBe("event");
	});

	test("an error in a condition rejects it, wherever it is thrown", async () => {
		const event = new Listeners<void>("event");
		const fail = () => {
			throw new Error("bad");
		};
		const starts: Condition<string> = { start: fail };
		const listens: Condition<string> = { start: (scope) => scope.own(event.add(scope.guard(fail))) };
		const later: Condition<string> = { start: (scope) => scope.after(5, fail) };
		const tests: Condition<string> = { start() {}, test: fail };
		const idle = new Listeners<void>("idle");
		await expect(wait([happens("idle", idle), starts])).rejects.toThrow("bad");
		const outcome = wait([happens("idle", idle), listens]);
		event.emit();
		await expect(outcome).rejects.toThrow("bad");
		const timed = expect(wait([happens("idle", idle), later])).rejects.toThrow("bad");
		vi.advanceTimersByTime(5);
		await timed;
		const tested = wait([tests, happens("event", event)]);
		event.emit();
		await expect(tested).rejects.toThrow("bad");
	});

	test("a caller that aborts, before or during it, ends its wait and leaves nothing behind", async () => {
		const event = new Listeners<void>("event");
		const gone = new AbortController();
		const outcome = wait([happens("event", event)], { signal: gone.signal });
		gone.abort(new Error("gone"));
		await expect(outcome).rejects.toThrow("gone");
		await expect(wait([happens("event", event, true)], { signal: gone.signal })).rejects.toThrow("gone");
	});

	test("a long-lived signal keeps no listener of waits that are over", async () => {
		const { signal } = new AbortController();
		const remove = vi.spyOn(signal, "removeEventListener");
		const event = new Listeners<void>("event");
		for (let i = 0; i < 3; i++) await wait([happens("event", event, true)], { signal });
		expect(remove).toHaveBeenCalledTimes(3);
	});
});

test("whatever settles, fails or aborts, in whatever order, also in set-up: one outcome, everything disposed once", async () => {
	const act = fc.constantFrom("settle", "fail", "nothing");
	const step = fc.record({
		inSetUp: act,
		onEvent: act,
		onTimer: act,
		afterMs: fc.nat(20),
		holds: fc.boolean(),
	});
	await fc.assert(
		fc.asyncProperty(
			fc.array(step, { minLength: 1, maxLength: 6 }),
			fc.array(fc.nat(8), { maxLength: 12 }),
			async (steps, order) => {
				const events = steps.map((_, i) => new Listeners<void>(`event ${i}`));
				const aborting = new AbortController();
				let acquired = 0;
				let disposed = 0;
				let ends = 0;
				const conditions = steps.map(({ inSetUp, onEvent, onTimer, afterMs, holds }, i): Condition<number> => {
					const perform = (what: string, scope: WaitScope<number>) => {
						if (what === "settle") scope.settle(i);
						if (what === "fail") throw new Error(`${i}`);
					};
					return {
						start(scope) {
							const own = () => {
								acquired++;
								scope.own(() => disposed++);
							};
							own();
							scope.own(events[i]!.add(scope.guard(() => perform(onEvent, scope))));
							scope.after(afterMs, () => perform(onTimer, scope));
							perform(inSetUp, scope);
							own();
						},
						...(holds ? { test: () => i } : {}),
					};
				});
				const outcome = wait(conditions, { signal: aborting.signal }).then(
					() => ends++,
					() => ends++,
				);
				for (const index of order) {
					if (index === 7) aborting.abort();
					else if (index === 8) vi.advanceTimersByTime(7);
					else events[index]?.emit();
				}
				vi.advanceTimersByTime(20);
				aborting.abort();
				await outcome;
				expect(ends).toBe(1);
				expect(disposed).toBe(acquired);
				expect(openSubscriptions() + vi.getTimerCount()).toBe(0);
			},
		),
		{ numRuns: 500 },
	);
});
