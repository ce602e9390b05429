import { describe, expect, test } from "vitest";
import { Fault, type FaultCode, type FaultFacts, type FaultJson } from "./fault.ts";
import { type VocabularyName, vocabularies } from "./vocabulary.ts";

/** One of each fault that a call of any set may meet. */
const FAULTS: Partial<Record<FaultCode, object>> = {
	session_not_found: { id: "nobody", open: ["sleep"], ids: ["01abc"] },
	session_ended: { id: "sleep", sessionId: "01abc", how: "killed by SIGTERM" },
	unresponsive: { name: "sleep", sessionId: "01abc", holderPid: 7, maybeTyped: true },
	taken_over: { name: "sleep", sessionId: "01abc", maybeTyped: true },
	session_unreachable: { id: "sleep", sessionId: "01abc", problem: "EIO" },
	disk_stalled: { id: "sleep", sessionId: "01abc" },
	name_taken: { name: "sleep" },
	too_many_sessions: { limit: 1, open: ["sleep"], ids: ["01abc"] },
	too_large: { what: "the answer", limit: 1 },
	spawn_failed: { stage: "chdir", code: "ENOENT", message: "no such directory", command: "ls" },
	queue_full: { free: 0 },
	driven_by_human: { id: "sleep", sessionId: "01abc", who: "ana", since: 1_760_000_000_000 },
	typed_by_human: { id: "sleep", sessionId: "01abc", did: ["A person (ana) typed 2 keys."] },
	daemon_replaced: { doing: "send", repeatable: false },
};
const rows = Object.entries(FAULTS) as [FaultCode, FaultFacts<FaultCode>][];
const SETS = Object.keys(vocabularies) as VocabularyName[];
const NATIVE = ["start", "send", "read", "wait", "run", "list", "close", "signal", "resize", "ifExists", "maxTokens"];

describe("D3: what to do next is told by the tools that the caller has", () => {
	test.each(rows)("%s", (code, facts) => {
		for (const set of SETS.filter((name) => name !== "native")) {
			const { message, next } = new Fault(code, facts).in(set);
			const named = [...`${message} ${next}`.matchAll(/`(\w+)`/g)].map(([, word]) => word!);
			expect({ set, named: named.filter((word) => NATIVE.includes(word)) }).toEqual({ set, named: [] });
		}
	});

	test.each([
		["native", 'Session "sleep" has ended'],
		["exec", 'Session "01abc" has ended'],
		["pty", 'Terminal "01abc" has ended'],
		["terminal", 'Process "sleep" has ended'],
	] as const)("callers of %s know a session as they were told of it", (set, expected) => {
		expect(new Fault("session_ended", FAULTS.session_ended as never).in(set).message).toContain(expected);
	});

	test("on the command line it can be followed as it is: the session is named, by what finds it also when another has its name", () => {
		const { next } = new Fault("session_ended", FAULTS.session_ended as never).in("commandLine");
		expect(next).toContain("`dialtone read 01abc --view lines` shows it");
	});

	test("T13: who has no session open is told that others' are listed, where the set lists them", () => {
		const fault = new Fault("session_not_found", { id: "nope", open: [] });
		expect(fault.in("commandLine").next).toBe(
			"You have no session open: call `dialtone start`. `dialtone ls` shows those of others.",
		);
		expect(fault.next).toBe("You have no session open: call `start`. `list` shows those of others.");
		expect(fault.in("terminal").next).toBe("No process is open: call `start_background_process`.");
	});

	test("an id comes with the name that shows which one it is", () => {
		expect(new Fault("too_many_sessions", FAULTS.too_many_sessions as never).in("exec").next).toBe(
			"End one you no longer need with `close_pty_session`. Open sessions: 01abc (sleep).",
		);
	});

	test("the words of a set survive the daemon's socket", () => {
		const fault = new Fault("session_not_found", FAULTS.session_not_found as never).in("pty");
		const received = Fault.from(JSON.parse(JSON.stringify(fault)) as FaultJson);
		expect([received.message, received.next]).toEqual([fault.message, fault.next]);
	});
});
