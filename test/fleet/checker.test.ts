// The checker of the chaos test can fail: true stories of what callers were told, and false ones, each of which it must see.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ListedSession, ListFacts } from "../../src/protocol/answer.ts";
import { Fault } from "../../src/protocol/fault.ts";
import { Checker } from "./checker.ts";
import { checkDrivers } from "./fleet-callers.ts";
import { type HarmKind, Harms, type Lost, SETTLES_MS } from "./harms.ts";

const HOSTS = ["alpha", "beta", "gamma"] as const;
const SECOND = 1000;
const WAITS = "waiting for line";

let harms: Harms;
let checker: Checker;

beforeEach(() => {
	vi.useFakeTimers({ toFake: ["Date"], now: 1_700_000_000_000 });
	harms = new Harms(() => {});
	checker = new Checker(harms);
	checker.runs("beta", "idle", { isTold: true, does: [WAITS] });
});
afterEach(() => {
	vi.useRealTimers();
});

const pass = (ms: number) => vi.setSystemTime(Date.now() + ms);

/** A harm that lasts from now until what is returned is called. */
function begin(kind: HarmKind, on: readonly string[], lost: Lost | null): () => void {
	const harm = { kind, on, lost, from: Date.now(), to: Number.POSITIVE_INFINITY };
	harms.all.push(harm);
	return () => {
		harm.to = Date.now();
	};
}
const cutBeta = () => begin("cut link", ["beta"], "link");

const row = (fields: Partial<ListedSession> = {}) =>
	({
		name: "beta/idle",
		host: "beta",
		status: "running",
		activity: "waiting",
		waitingFor: "line",
		exit: null,
		...fields,
	}) as ListedSession;
const lost = (since: number): Partial<ListedSession> => ({
	activity: "unresponsive",
	waitingFor: null,
	unreachableSince: since,
});
const list = (by: string, sessions: readonly ListedSession[], ...notices: string[]) => {
	const facts = { sessions, now: Date.now(), status: null, notices } as unknown as ListFacts;
	checker.listed(by, facts, { from: Date.now(), at: Date.now() });
};
const at = (ms: number) => new Date(ms).toISOString();

async function refusal(fault: Fault, { what = "send", by = "alpha", on = "beta" } = {}) {
	const result = await checker.call({ what, by, on: [on] }, () => Promise.reject(fault));
	return "refused" in result ? result.done : "yes";
}
const unreachable = (facts: { maybeDone?: boolean } = {}) => new Fault("host_unreachable", { host: "beta", ...facts });

const expectNone = () => expect(checker.problems).toEqual([]);
const expectOne = (words: RegExp) => {
	expect(checker.problems).toHaveLength(1);
	expect(checker.problems[0]).toMatch(words);
};

describe("what was typed or run", () => {
	test("true: once where it was answered, not where it was refused, either where that is not known", () => {
		checker.typed("beta/quiet", "a", "yes");
		checker.typed("beta/quiet", "b", "no");
		checker.typed("beta/quiet", "c", "maybe");
		checker.typed("beta/quiet", "d", "maybe");
		checker.printed("beta/quiet", ["ready", "a", "c", ""]);
		expectNone();
	});
	test("a line that was typed twice", () => {
		checker.typed("beta/quiet", "a", "maybe");
		checker.printed("beta/quiet", ["a", "a"]);
		expectOne(/typed 2 times/);
	});
	test("one that was answered and is not there", () => {
		checker.typed("beta/quiet", "a", "yes");
		checker.printed("beta/quiet", ["b"]);
		expectOne(/answered as typed and is not/);
	});
	test("one that was refused as not done and is there", async () => {
		cutBeta();
		checker.typed("beta/ran", "a", await refusal(unreachable()));
		checker.printed("beta/ran", ["a"]);
		expectOne(/refused as not done and is in/);
	});
	test("a lease that typed after another one", () => {
		checkDrivers(checker, "beta", "alpha 1 0\r\nalpha 1 1\r\ngamma 1 0\r\n");
		expectNone();
		checkDrivers(checker, "beta", "alpha 1 0\r\ngamma 1 0\r\nalpha 1 1\r\n");
		expectOne(/typed after it was lost/);
	});
});

describe("refusals", () => {
	test("true: of what was cut off, also shortly afterwards, and not known to be done where it says so", async () => {
		const heal = cutBeta();
		expect(await refusal(unreachable())).toBe("no");
		expect(await refusal(unreachable({ maybeDone: true }))).toBe("maybe");
		heal();
		pass(SETTLES_MS["cut link"] - SECOND);
		await refusal(unreachable());
		expectNone();
		expect(checker.calls).toEqual({ all: 3, calm: 0 });
	});
	test("where nothing was harmed, or long ago", async () => {
		const heal = cutBeta();
		heal();
		pass(SETTLES_MS["cut link"] + SECOND);
		await refusal(unreachable());
		expectOne(/nothing was harmed/);
		expect(checker.calls.calm).toBe(1);
	});
	test("where only another machine was harmed", async () => {
		begin("cut link", ["gamma"], "link");
		await refusal(unreachable());
		expectOne(/nothing was harmed/);
	});
	test.each(["slow link", "lossy link"] as const)("by a %s, which makes nothing unreachable", async (kind) => {
		begin(kind, ["beta"], null);
		await refusal(unreachable());
		expectOne(/only: /);
	});
	test("a daemon that was replaced on the other machine is no reason to say so of the own one", async () => {
		begin("kill daemon", ["beta"], "daemon");
		await refusal(new Fault("daemon_replaced", { doing: "send", repeatable: true }));
		expectOne(/only: kill daemon/);
	});
	test("with a code that no harm can be the reason of", async () => {
		begin("kill all servers", HOSTS, "servers");
		await refusal(new Fault("unknown_host", { host: "beta", hosts: [] }));
		expectOne(/unknown_host/);
	});
	test("of a call to the own machine, for what happens to others", async () => {
		cutBeta();
		await refusal(new Fault("host_unreachable", { host: "beta" }), { on: "alpha" });
		expect(checker.problems.join("\n")).toMatch(/on alpha itself was refused/);
	});
	test("too late", async () => {
		cutBeta();
		await checker.call({ what: "send", by: "alpha", on: ["beta"] }, async () => {
			pass(30 * SECOND);
			throw unreachable();
		});
		expectOne(/took 30000 ms/);
	});
});

describe("a start that is answered as stream_lost", () => {
	test("true: while the daemon of its machine was killed", () => {
		begin("kill daemon", ["beta"], "daemon");
		checker.lostAtStart("beta/1", "stream_lost");
		expectNone();
		expect(checker.startsLost).toBe(1);
	});
	test("where another machine's was, or something else was done", () => {
		begin("kill daemon", ["alpha"], "daemon");
		cutBeta();
		checker.lostAtStart("beta/1", "stream_lost");
		expectOne(/was started, and answered as stream_lost/);
	});
});

describe("lists", () => {
	test("true: what runs, from its own machine and another", () => {
		list("alpha", [row()]);
		list("beta", [row({ name: "idle" as never, host: undefined as never })]);
		expectNone();
		expect(checker.rows).toEqual({ all: 2, calm: 2, lost: 0 });
	});
	test("true: unreachable while it is cut off, from some seconds after that", () => {
		const since = Date.now();
		cutBeta();
		pass(5 * SECOND);
		list("alpha", [row()]);
		pass(30 * SECOND);
		list("alpha", [row(lost(since))]);
		expectNone();
		expect(checker.rows).toEqual({ all: 2, calm: 0, lost: 1 });
	});
	test("reachable long after it was cut off", () => {
		cutBeta();
		pass(30 * SECOND);
		list("alpha", [row()]);
		expectOne(/as reachable 30000 ms after it was cut off/);
	});
	test("true: reachable as soon as that begins to be undone", () => {
		cutBeta();
		pass(30 * SECOND);
		harms.all[0]!.undoing = Date.now();
		list("alpha", [row()]);
		expectNone();
	});
	test("reachable long after, with a notice: excused where that says of then, and of that machine", () => {
		const since = Date.now();
		cutBeta();
		pass(30 * SECOND);
		const notice = (hosts: string) =>
			`not heard of since ${at(since)}, and listed as they were then: the sessions of ${hosts}`;
		list("alpha", [row()], notice("beta, gamma"));
		expectNone();
		list("alpha", [row()], notice("gamma"));
		expectOne(/as reachable/);
	});
	test("unreachable, where nothing was harmed or a link is slow", () => {
		begin("slow link", ["beta"], null);
		list("alpha", [row(lost(Date.now() - SECOND))]);
		expectOne(/as unreachable, and nothing was harmed/);
	});
	test("unreachable since long before it was", () => {
		pass(60 * SECOND);
		cutBeta();
		list("alpha", [row(lost(Date.now() - 30 * SECOND))]);
		expectOne(/as unreachable for 30000 ms before it was/);
	});
	test("its own sessions as unreachable, or not at all", () => {
		cutBeta();
		list("beta", [row({ name: "idle" as never, host: undefined as never, ...lost(Date.now()) })]);
		expectOne(/it is its own/);
		list(
			"beta",
			[],
			`not connected to the fleet since ${at(Date.now())} (connecting): sessions of other hosts are not listed`,
		);
		expect(checker.problems[1]).toMatch(/not at all, and it is its own/);
	});
	test("not at all: excused by a notice that says so, and by no other", () => {
		begin("kill daemon", ["alpha"], "daemon");
		list("alpha", [], "the sessions of other hosts are still being read: list again for all");
		expectNone();
		list("alpha", [], "a person has looked at it");
		expectOne(/not at all, without a word/);
	});
	test("a notice, where nothing was harmed", () => {
		list(
			"alpha",
			[row()],
			`the fleet's servers say nothing since ${at(Date.now())}: other hosts are listed as they were then`,
		);
		expectOne(/and nothing was harmed/);
	});
	test("a notice of a time long before it was harmed", () => {
		pass(60 * SECOND);
		cutBeta();
		pass(SECOND);
		const since = Date.now() - 60 * SECOND;
		list("alpha", [row()], `not heard of since ${at(since)}, and listed as they were then: the sessions of beta`);
		expectOne(/for 59000 ms before it was/);
	});
	test("ended, while it runs", () => {
		list("alpha", [row({ status: "succeeded" })]);
		expectOne(/as succeeded, and it runs/);
	});
	test("working, while it waits; excused while the daemon of its machine begins anew", () => {
		const over = begin("kill daemon", ["beta"], "daemon");
		list("alpha", [row({ activity: "working", waitingFor: null })]);
		expectNone();
		over();
		pass(15 * SECOND);
		list("alpha", [row({ activity: "working", waitingFor: null })]);
		expectOne(/as working, and it is waiting for line/);
	});
	test("waiting, while it is unreachable", () => {
		cutBeta();
		pass(SECOND);
		list("alpha", [row({ unreachableSince: Date.now() })]);
		expectOne(/as unreachable and waiting/);
	});

	describe("of one that has ended with code 7", () => {
		const failed = (code: number): ListedSession =>
			row({
				name: "beta/short" as never,
				status: "failed",
				activity: null,
				waitingFor: null,
				exit: { code, signal: null },
			});
		beforeEach(async () => {
			checker.runs("beta", "short");
			await checker.ends("beta", "short", { status: "failed", code: 7 }, async () => {});
		});
		test("true: as running for a moment, then ended with that code", () => {
			list("alpha", [row(), row({ name: "beta/short" as never })]);
			pass(30 * SECOND);
			list("alpha", [row(), failed(7)]);
			expectNone();
		});
		test("as running long after its end", () => {
			pass(30 * SECOND);
			list("alpha", [row(), row({ name: "beta/short" as never })]);
			expectOne(/as running, and it has ended/);
		});
		test("with another code, or as cancelled", () => {
			list("alpha", [row(), failed(0)]);
			expectOne(/as failed with 0, and it has ended as failed with 7/);
			list("alpha", [row(), { ...failed(7), status: "cancelled" }]);
			expect(checker.problems[1]).toMatch(/as cancelled with 7/);
		});
		test("not at all", () => {
			pass(30 * SECOND);
			list("alpha", [row()]);
			expectOne(/not at all, and it has ended/);
		});
	});
});
