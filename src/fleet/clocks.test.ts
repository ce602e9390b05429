import { expect, test } from "vitest";
import { clockOf, hereMs } from "./clocks.ts";

const NOW = 1_700_000_000_000;
const TEN_MINUTES = 600_000;

test.each([
	["the same", 0, 0],
	["read some seconds late", 9000, 0],
	["ten minutes behind", TEN_MINUTES, TEN_MINUTES],
	["ten minutes ahead", -TEN_MINUTES, -TEN_MINUTES],
])("a host whose clock is %s", (_what, behind, added) => {
	const clock = clockOf(0, NOW - behind, NOW);
	expect(clock).toBe(added);
	expect(hereMs(NOW - behind, clock)).toBe(NOW - behind + added);
});

test("what is added stays as it is while leases take their time, and ends when the clock is set", () => {
	const first = clockOf(0, NOW - TEN_MINUTES, NOW);
	for (const late of [1, 50, 3000]) expect(clockOf(first, NOW - TEN_MINUTES - late, NOW)).toBe(first);
	expect(clockOf(first, NOW - 20, NOW)).toBe(0);
});

test("a host that does not tell its time, or one that is none, is no other clock and no time that there is not", () => {
	expect(clockOf(TEN_MINUTES, undefined, NOW)).toBe(0);
	expect(hereMs(8.64e15, clockOf(0, 0, NOW))).toBe(8.64e15);
	expect(hereMs(0, clockOf(0, 8.64e15, NOW))).toBe(0);
});
