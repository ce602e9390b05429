import { expect, test } from "vitest";
import type { FleetSeen } from "../../src/protocol/session-list.ts";
import { lostWords, momentWords } from "./lost.ts";
import { lostOf, machinesOf } from "./machines.ts";
import { sampleSession } from "./sample-session.ts";

const host = (name: string, more: object = {}) => ({
	host: name,
	reachable: true,
	since: 1,
	version: "1.0",
	labels: { gpu: "a100" },
	running: 2,
	capacity: 10,
	load: 0.5,
	...more,
});
const fleet = (more: Partial<FleetSeen> = {}): FleetSeen => ({
	host: "beta",
	awaySince: null,
	hosts: [host("alpha"), host("beta"), host("gamma", { reachable: false, since: 77 })],
	...more,
});

test("the machines are told with this one first, their open sessions, and which is lost", () => {
	const sessions = [
		sampleSession({ session: "a" }),
		sampleSession({ session: "gamma/b", host: "gamma", state: "unreachable" }),
		sampleSession({ session: "gamma/c", host: "gamma", state: "ended" }),
	];
	const details = "2 of 10 sessions · load 0.5 · gpu=a100 · Dialtone 1.0";
	expect(machinesOf(fleet(), sessions)).toEqual([
		{ name: "beta", isThis: true, lost: null, open: 1, details },
		{ name: "alpha", isThis: false, lost: null, open: 0, details },
		{ name: "gamma", isThis: false, lost: { since: 77 }, open: 1, details },
	]);
	expect(machinesOf(null, sessions)).toEqual([]);
	expect(machinesOf(fleet({ hosts: [] }), sessions)).toMatchObject([{ name: "beta", isThis: true, lost: null }]);
});

test("without the fleet's servers all but this machine are lost, since then or before", () => {
	const away = fleet({ awaySince: 99 });
	expect([lostOf(away, "alpha"), lostOf(away, "gamma"), lostOf(away, "beta")]).toEqual([
		{ since: 99 },
		{ since: 77 },
		null,
	]);
	expect([lostOf(fleet(), undefined), lostOf(null, "alpha")]).toEqual([null, null]);
});

test("issue 15: a machine of another version is told with both, unless it is not heard of at all", () => {
	const other = { version: "2.0", ours: "1.0" };
	const hosts = [host("alpha", other), host("beta"), host("gamma", { ...other, reachable: false, since: 77 })];
	const lost = lostOf(fleet({ hosts }), "alpha");
	expect(lost).toEqual({ theirs: "2.0", ours: "1.0" });
	expect(lostWords(lost!, 0)).toBe("on Dialtone 2.0, not 1.0");
	expect(lostOf(fleet({ hosts }), "gamma")).toEqual({ since: 77 });
});

test("a moment is told by its time of day, with the date where it was another day", () => {
	const at = new Date(2026, 2, 4, 12, 34).getTime();
	expect(momentWords(at, at + 60_000)).toBe("12:34");
	expect(momentWords(at, at + 13 * 3_600_000)).toMatch(/12:34$/);
	expect(momentWords(at, at + 13 * 3_600_000)).not.toBe("12:34");
	expect(lostWords({ since: at }, at)).toBe("unreachable since 12:34");
	expect(lostWords({ since: null }, at)).toBe("unreachable");
});
