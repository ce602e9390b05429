import { describe, expect, test } from "vitest";
import { STATUSES } from "../protocol/answer.ts";
import {
	endEvent,
	hasEnded,
	LIFECYCLE_EVENTS,
	SLOT_EVENTS,
	SLOT_STATES,
	type SlotEvent,
	type SlotState,
	slotAfter,
	statusAfter,
} from "./lifecycle.ts";

/** Where this leads, or null where the table has no such row. */
function attempt<T>(move: () => T): T | null {
	try {
		return move();
	} catch (error) {
		expect(String(error)).toContain("cannot have");
		return null;
	}
}

describe("R4.5 the states of a session", () => {
	test("every state that is not final has a way out", () => {
		for (const status of STATUSES.filter((it) => !hasEnded(it))) {
			const reachable = LIFECYCLE_EVENTS.map((event) => attempt(() => statusAfter(status, event)));
			expect(reachable.some((it) => it !== null && hasEnded(it))).toBe(true);
		}
	});

	test("final states are sinks", () => {
		for (const status of STATUSES.filter(hasEnded)) {
			for (const event of LIFECYCLE_EVENTS) expect([status, null]).toContain(attempt(() => statusAfter(status, event)));
		}
	});

	test("the same event twice changes nothing", () => {
		for (const status of STATUSES) {
			for (const event of LIFECYCLE_EVENTS) {
				const once = attempt(() => statusAfter(status, event));
				if (once !== null) expect(statusAfter(once, event)).toBe(once);
			}
		}
	});

	test("a session that has ended cannot be launched", () => {
		expect(() => statusAfter("succeeded", "launched")).toThrow("cannot have launched");
	});
});

describe("what an exit means", () => {
	const exits = [
		[{ code: 0, reason: "exit" }, false, "succeeded"],
		[{ code: 3, reason: "exit" }, false, "failed"],
		[{ code: null, reason: "exit" }, false, "failed"],
		[{ code: 0, reason: "exit" }, true, "cancelled"],
		[{ code: null, reason: "end" }, false, "cancelled"],
		[{ code: null, reason: "wall_clock" }, false, "failed"],
		[{ code: null, reason: "lost" }, true, "stream_lost"],
	] as const;
	test.each(exits)("%j, requested: %s, is %s", (exit, requested, status) => {
		expect(statusAfter("running", endEvent(exit, requested))).toBe(status);
	});
});

describe("the states of a slot", () => {
	const rows = SLOT_STATES.flatMap((state) => SLOT_EVENTS.map((event) => [state, event] as const));
	const moves = rows.flatMap(([from, event]) => {
		const to = attempt(() => slotAfter(from, event));
		return to === null ? [] : [{ from, event, to }];
	});

	test("from every state but the last two there is a way out, and each can be reached", () => {
		for (const state of SLOT_STATES) {
			const isLast = state === "removed" || state === "detached";
			expect(moves.some(({ from, to }) => from === state && to !== state)).toBe(!isLast);
			expect(moves.some(({ from, to }) => to === state && from !== state)).toBe(true);
		}
	});

	test("the same event twice changes nothing", () => {
		for (const { event, to } of moves) expect(slotAfter(to, event)).toBe(to);
	});

	test("the table in full", () => {
		const table: Record<string, Partial<Record<SlotEvent, SlotState>>> = {};
		for (const { from, event, to } of moves) table[from] = { ...table[from], [event]: to };
		expect(table).toMatchInlineSnapshot(`
			{
			  "detached": {
			    "detached": "detached",
			  },
			  "ended": {
			    "detached": "detached",
			    "evicted": "ended",
			    "failed": "ended",
			    "kept": "ended",
			    "recalled": "reviving",
			    "withdrawn": "removing",
			  },
			  "live": {
			    "detached": "detached",
			    "evicted": "ended",
			    "opened": "live",
			    "withdrawn": "removing",
			  },
			  "removed": {
			    "detached": "removed",
			    "removed": "removed",
			  },
			  "removing": {
			    "detached": "detached",
			    "kept": "ended",
			    "removed": "removed",
			    "withdrawn": "removing",
			  },
			  "reviving": {
			    "detached": "detached",
			    "failed": "ended",
			    "opened": "live",
			    "recalled": "reviving",
			  },
			  "starting": {
			    "detached": "detached",
			    "failed": "ended",
			    "opened": "live",
			    "retried": "starting",
			    "unreachable": "unreached",
			  },
			  "unreached": {
			    "detached": "detached",
			    "retried": "starting",
			    "unreachable": "unreached",
			  },
			}
		`);
	});

	test("S1: what may be alive is never read from disk, and never removed", () => {
		for (const state of ["starting", "unreached"] as const) {
			for (const event of ["recalled", "withdrawn", "removed"] as const)
				expect(attempt(() => slotAfter(state, event))).toBeNull();
		}
		expect(moves.filter(({ to, from }) => to === "removed" && from !== "removed")).toEqual([
			{ from: "removing", event: "removed", to: "removed" },
		]);
		expect(moves.filter(({ to, from }) => to === "reviving" && from !== "reviving")).toEqual([
			{ from: "ended", event: "recalled", to: "reviving" },
		]);
	});
});
