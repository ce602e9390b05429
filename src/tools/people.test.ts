import { describe, expect, test } from "vitest";
import { listed } from "../../test/fake-client.ts";
import type { ListedSession } from "../protocol/answer.ts";
import { oneLine } from "../protocol/clean.ts";
import type { ListedSession as Listed } from "../session/sessions.ts";
import { personSessionSchema } from "./facts.ts";
import { listedSession } from "./list.ts";
import { changesAt, type PersonFacts, personSession, UNANSWERED_MS } from "./people.ts";

const NOW = 10_000_000;
const WAITS = { activity: "waiting", waitingFor: "line" } as const;
const listedRecord = {
	...{ id: "s", name: "n", command: "cat", cwd: "/", place: null, state: "running", exit: null, reason: null, pid: 7 },
	...{ createdAt: 1, owner: "o", parent: null, keep: false, inherit: null, sandbox: null, terminalOpen: false },
	...{ bytesOut: 0, linesOut: 0, lastLine: "", truncated: false },
};
const facts = (over: Partial<PersonFacts> = {}): PersonFacts => ({
	cols: 80,
	rows: 24,
	ports: [],
	driver: { kind: "agent" },
	asked: null,
	reader: null,
	quietSince: NOW,
	waitingSince: NOW - 1000,
	now: NOW,
	...over,
});
const LONG_AGO = NOW - UNANSWERED_MS;
const asked = { question: "Please log in", reason: "I may not", since: 5 };
const person = { kind: "person", who: "me", since: 1, epoch: 1 } as const;

test("times are whole milliseconds, also those of files: other machines leave out a row that is not what it should be", () => {
	const slot = { record: { ...listedRecord, updatedAt: 5.5 }, session: null } as unknown as Listed;
	const row = { ...listedSession(slot, { mine: true, byName: true }), ...WAITS };
	const made = personSession(row, facts({ quietSince: LONG_AGO - 0.5 }));
	expect([made.updatedAt, made.needs?.since]).toEqual([5, LONG_AGO - 1]);
	expect(personSessionSchema.safeParse(made).error).toBeUndefined();
});

describe("R4.11: the state of a session in one word, and what it needs", () => {
	type Case = readonly [
		what: string,
		over: Partial<ListedSession>,
		more: Partial<PersonFacts>,
		state: string,
		needs: "secret" | "question" | "unanswered" | null,
	];
	const waits = (waitingFor: ListedSession["waitingFor"]) => ({ activity: "waiting", waitingFor }) as const;
	const does = (activity: ListedSession["activity"]) => ({ activity, waitingFor: null });
	const cases: readonly Case[] = [
		["not started yet", { status: "starting", ...does(null) }, {}, "starting", null],
		["not probed yet", does(null), {}, "starting", null],
		["works", does("working"), {}, "working", null],
		["listens on a port", does("listening"), {}, "serving", null],
		["serves", does("serving"), {}, "serving", null],
		["is stopped", does("stopped"), {}, "stopped", null],
		["does not answer", does("unresponsive"), {}, "unresponsive", null],
		["waits for its agent", waits("line"), {}, "waiting", null],
		["waits for its agent, not long enough", waits("line"), { quietSince: LONG_AGO + 1 }, "waiting", null],
		["nobody answers a line", waits("line"), { quietSince: LONG_AGO }, "needs-you", "unanswered"],
		["nobody answers a key", waits("key"), { quietSince: LONG_AGO }, "needs-you", "unanswered"],
		["a shell at its prompt may stay there", waits("command"), { quietSince: 0 }, "waiting", null],
		["so may an editor", waits("screen"), { quietSince: 0 }, "waiting", null],
		["a person is there already", waits("line"), { quietSince: 0, driver: person }, "waiting", null],
		["wants a secret", waits("secret"), {}, "secret", "secret"],
		["wants a secret that an agent has asked for", waits("secret"), { asked }, "secret", "secret"],
		["an agent asks", waits("line"), { asked }, "needs-you", "question"],
		["an agent asks while it works", does("working"), { asked }, "needs-you", "question"],
		["has ended well", { status: "succeeded", ...does(null) }, { asked }, "ended", null],
		["has failed", { status: "failed", ...does(null) }, {}, "ended", null],
		["was closed", { status: "cancelled", ...does(null) }, {}, "ended", null],
		["nobody knows how it ended", { status: "stream_lost", ...does(null) }, {}, "lost", null],
	];
	test.each(cases)("%s", (_, over, more, state, needs) => {
		const made = personSession(listed("py", over), facts(more));
		expect([made.state, made.needs?.kind ?? null]).toEqual([state, needs]);
	});
});

describe("what a person is told about a need", () => {
	const needs = (over: Partial<ListedSession>, more: Partial<PersonFacts> = {}) =>
		personSession(listed("x", { waitingFor: "secret", ...over }), facts(more)).needs;

	test("the line on which the program asks, the program and since when", () => {
		const sudo = { command: oneLine("sudo apt update"), lastLine: oneLine("[sudo] password for me: ") };
		expect(needs(sudo, { reader: "sudo" })).toMatchObject({
			kind: "secret",
			since: NOW - 1000,
			question: "[sudo] password for me: ",
			reason: null,
			program: "sudo",
			command: "sudo apt update",
			host: null,
		});
	});

	test("the agent's own words come first", () => {
		expect(needs({ lastLine: oneLine("Password: ") }, { asked })).toMatchObject({
			question: "Please log in",
			reason: "I may not",
		});
		expect(needs({ waitingFor: "line" }, { asked })).toMatchObject({ kind: "question", since: 5 });
	});

	test.each([
		["git push", "me@git.example.org's password: ", "git.example.org"],
		["ssh -p 22 deploy@10.0.0.7", "Password: ", "10.0.0.7"],
		["/usr/bin/scp a b@host:/tmp", "Password: ", "host"],
		["python3 ask.py", "Password: ", null],
	])("of `%s`, which host it is for", (command, lastLine, host) => {
		expect(needs({ command: oneLine(command), lastLine: oneLine(lastLine) })?.host ?? null).toBe(host);
	});

	test("the program is named by its command where nothing was seen to read", () => {
		expect(needs({ command: oneLine("/usr/bin/ssh host") })?.program).toBe("ssh");
	});
});

test("a row that waits changes when nobody has answered it for long enough, and no other by time", () => {
	expect(changesAt(listed("py"), facts())).toBe(NOW + UNANSWERED_MS);
	expect(changesAt(listed("py"), facts({ quietSince: LONG_AGO }))).toBeNull();
	expect(changesAt(listed("py", { activity: "working", waitingFor: null }), facts())).toBeNull();
});
