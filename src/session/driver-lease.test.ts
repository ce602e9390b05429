import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { isFault } from "../protocol/fault.ts";
import { ABSENT_MS, DriverLease, type Writer } from "./driver-lease.ts";

const AGENT: Writer = { agent: "mcp:1" };
const NEW: Writer = { agent: "mcp:new" };

let directory: string;
beforeEach(() => {
	vi.useFakeTimers();
	directory = mkdtempSync(join(tmpdir(), "dt-driver-"));
});
afterEach(() => {
	vi.useRealTimers();
	rmSync(directory, { recursive: true });
});

function begun(lease: DriverLease): DriverLease {
	lease.begin({ id: "0id0", name: "py", isKnown: (owner) => owner !== "mcp:new" });
	return lease;
}
const open = () => begun(new DriverLease(directory));
const reopen = async () => begun(await DriverLease.load(directory));

/** "yes", or the code of the refusal. */
function may(lease: DriverLease, writer: Writer): string {
	try {
		lease.mayType(writer);
		return "yes";
	} catch (error) {
		return isFault(error, (error as { code: never }).code) ? String((error as { code: string }).code) : String(error);
	}
}

describe("one driver at a time", () => {
	test("agents drive until a person takes over, and again when it is handed back and they have looked", () => {
		using lease = open();
		expect(may(lease, AGENT)).toBe("yes");
		const mine = lease.take("ana");
		expect(lease.driver).toMatchObject({ kind: "person", who: "ana" });
		expect([may(lease, AGENT), may(lease, { lease: mine }), may(lease, { person: "bob" })]).toEqual([
			"driven_by_human",
			"yes",
			"driven_by_human",
		]);
		lease.typed({ keys: 14, lines: 0 });
		lease.typed({ keys: 0, lines: 2 });
		lease.handBack(mine, "fixed it");
		expect([may(lease, { lease: mine }), may(lease, AGENT), may(lease, NEW)]).toEqual([
			"not_driving",
			"typed_by_human",
			"yes",
		]);
		expect(lease.takeReports("mcp:1")).toMatchObject([
			{ did: "drove", who: "ana", keys: 14, pastedLines: 2, note: "fixed it" },
		]);
		expect([may(lease, AGENT), lease.takeReports("mcp:1")]).toEqual(["yes", []]);
		expect(lease.takeReports("mcp:2")).toHaveLength(1);
	});

	test("who drives may give what is asked for with their lease; others may not, and the lease still ends when they are gone", () => {
		using lease = open();
		const mine = lease.take("ana");
		const gone = lease.connect(mine);
		expect([
			may(lease, { person: "ana", lease: mine }),
			may(lease, { person: "ana", lease: "another" }),
			may(lease, { person: "ana" }),
		]).toEqual(["yes", "driven_by_human", "driven_by_human"]);
		lease.report("secret", "ana");
		expect(lease.isMine(mine)).toBe(true);
		gone();
		vi.advanceTimersByTime(ABSENT_MS);
		expect(lease.driver).toEqual({ kind: "agent" });
		expect(may(lease, { person: "ana", lease: mine })).toBe("yes"); // nobody drives
	});

	test("a second person takes over from the first, whose lease is worth nothing then", () => {
		using lease = open();
		const first = lease.take("ana");
		const second = lease.take("bob");
		expect([may(lease, { lease: first }), may(lease, { lease: second })]).toEqual(["not_driving", "yes"]);
		expect(() => lease.handBack(first, null)).toThrow("bob does");
		// A tab that reconnects by itself must not take over again.
		expect(() => lease.take("ana", first)).toThrow("bob does");
		expect(may(lease, { lease: second })).toBe("yes");
	});

	test("taking over again with one's lease goes on with it", () => {
		using lease = open();
		const mine = lease.take("ana");
		const { driver } = lease;
		expect(lease.take("ana", mine)).toBe(mine);
		expect(lease.driver).toEqual(driver);
	});

	test("what happened while a report was being told is told next time", () => {
		using lease = open();
		lease.handBack(lease.take("ana"), "one");
		const second = lease.take("ana");
		expect(lease.takeReports("mcp:1").map(({ note }) => note)).toEqual(["one"]);
		lease.handBack(second, "two");
		expect(may(lease, AGENT)).toBe("typed_by_human");
		expect(lease.takeReports("mcp:1").map(({ note }) => note)).toEqual(["two"]);
	});

	test("what was answered without driving is told, and nobody has to look first", () => {
		using lease = open();
		lease.report("declined", "ana");
		expect(may(lease, AGENT)).toBe("yes");
		expect(lease.takeReports("mcp:1")).toMatchObject([{ did: "declined", who: "ana" }]);
	});

	test("the end of the session ends it", () => {
		using lease = open();
		lease.take("ana");
		lease.end();
		expect(lease.driver).toEqual({ kind: "agent" });
	});
});

describe("a person who is gone", () => {
	test("has left after 30 s, unless a connection of theirs is back", () => {
		using lease = open();
		const mine = lease.take("ana");
		const gone = lease.connect(mine);
		vi.advanceTimersByTime(10 * ABSENT_MS);
		expect(lease.isMine(mine)).toBe(true);
		gone();
		vi.advanceTimersByTime(ABSENT_MS - 1);
		const back = lease.connect(mine);
		vi.advanceTimersByTime(10 * ABSENT_MS);
		expect(lease.isMine(mine)).toBe(true);
		back();
		back();
		vi.advanceTimersByTime(ABSENT_MS);
		expect(lease.driver).toEqual({ kind: "agent" });
		expect(lease.takeReports("mcp:1")).toMatchObject([{ did: "left", who: "ana" }]);
	});

	test("two tabs of one person: one of them is enough", () => {
		using lease = open();
		const mine = lease.take("ana");
		const tabs = [lease.connect(mine), lease.connect(mine)];
		tabs[0]!();
		vi.advanceTimersByTime(10 * ABSENT_MS);
		expect(lease.isMine(mine)).toBe(true);
		tabs[1]!();
		vi.advanceTimersByTime(ABSENT_MS);
		expect(lease.isMine(mine)).toBe(false);
	});

	test("a connection of an older lease keeps nobody in", () => {
		using lease = open();
		const old = lease.connect(lease.take("ana"));
		const mine = lease.take("bob");
		const gone = lease.connect(mine);
		old();
		gone();
		vi.advanceTimersByTime(ABSENT_MS);
		expect(lease.driver).toEqual({ kind: "agent" });
	});
});

describe("over a restart of the daemon", () => {
	test("the person still drives, and has 30 s to come back", async () => {
		const mine = open().take("ana");
		using lease = await reopen();
		expect([may(lease, { lease: mine }), may(lease, AGENT)]).toEqual(["yes", "driven_by_human"]);
		vi.advanceTimersByTime(ABSENT_MS);
		expect(may(lease, AGENT)).toBe("typed_by_human");
	});

	test("what they did is still told, with what they had typed a second before", async () => {
		const before = open();
		const mine = before.take("ana");
		before.typed({ keys: 3, lines: 0 });
		vi.advanceTimersByTime(1000);
		using lease = await reopen();
		lease.handBack(mine, null);
		expect(lease.takeReports("mcp:1")).toMatchObject([{ keys: 3 }]);
		using next = await reopen();
		expect(next.takeReports("mcp:1")).toEqual([]);
		expect(next.takeReports("mcp:2")).toHaveLength(1);
	});

	test("a damaged file means that agents drive", async () => {
		writeFileSync(join(directory, "driver.json"), '{"format":1,"epoch":-4}');
		using lease = await reopen();
		expect(lease.driver).toEqual({ kind: "agent" });
	});
});

// Against a model that knows only who drives and who was told.
test("R4.11 in any order of acts, over restarts: exactly one may type, and nobody types blind after a person", async () => {
	const who = fc.constantFrom("ana", "bob");
	const act = fc.oneof(
		fc.record({ do: fc.constant("take" as const), who }),
		fc.record({ do: fc.constantFrom("hand-back" as const, "leave" as const, "return" as const), who }),
		fc.record({ do: fc.constantFrom("look" as const, "restart" as const, "wait" as const) }),
	);
	await fc.assert(
		fc.asyncProperty(fc.array(act, { maxLength: 30 }), async (acts) => {
			rmSync(join(directory, "driver.json"), { force: true });
			let lease = open();
			const leases = new Map<string, string>();
			const connections = new Map<string, () => void>();
			let driver: string | null = null;
			let present = false;
			let looked = true;
			for (const it of acts) {
				switch (it.do) {
					case "take":
						if (driver !== null && driver !== it.who) looked = false;
						leases.set(it.who, lease.take(it.who, driver === it.who ? leases.get(it.who) : undefined));
						if (driver !== it.who) present = false;
						driver = it.who;
						break;
					case "hand-back":
						try {
							lease.handBack(leases.get(it.who) ?? "none", null);
							expect(driver).toBe(it.who);
							driver = null;
							looked = false;
						} catch (error) {
							expect(isFault(error, "not_driving")).toBe(true);
							expect(driver).not.toBe(it.who);
						}
						break;
					case "return":
						connections.get(it.who)?.();
						connections.set(it.who, lease.connect(leases.get(it.who)));
						if (driver === it.who) present = true;
						break;
					case "leave":
						connections.get(it.who)?.();
						connections.delete(it.who);
						if (driver === it.who) present = false;
						break;
					case "look":
						lease.takeReports("mcp:1");
						looked = true;
						break;
					case "restart":
						lease[Symbol.dispose]();
						lease = await reopen();
						connections.clear();
						present = false;
						break;
					case "wait":
						vi.advanceTimersByTime(ABSENT_MS);
						if (driver !== null && !present) {
							driver = null;
							looked = false;
						}
				}
				const expected = driver !== null ? "driven_by_human" : looked ? "yes" : "typed_by_human";
				expect(may(lease, AGENT)).toBe(expected);
				for (const person of ["ana", "bob"])
					expect(may(lease, { lease: leases.get(person) ?? "none" })).toBe(driver === person ? "yes" : "not_driving");
			}
			lease[Symbol.dispose]();
		}),
		{ numRuns: 300 },
	);
});
