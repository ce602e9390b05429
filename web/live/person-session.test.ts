import { describe, expect, test } from "vitest";
import {
	byUrgency,
	grouped,
	isOver,
	matchesFilter,
	nameParts,
	needing,
	ownerWords,
	programOf,
	referenceTo,
	sessionCalled,
	shownState,
	stateAttribute,
	stateWords,
} from "./person-session.ts";
import { sampleSession } from "./sample-session.ts";

describe("a state", () => {
	test("of a program that starts is shown as working, of one that does not answer as stopped", () => {
		expect(stateAttribute("starting")).toBe("working");
		expect(stateAttribute("unresponsive")).toBe("stopped");
		expect(stateAttribute("needs-you")).toBe("needs-you");
	});

	test("of an end says how it ended, and a failure has its own shape", () => {
		const failed = sampleSession({ state: "ended", exit: { code: 2, signal: null } });
		expect([stateWords(failed), shownState(failed)]).toEqual(["ended with 2", "failed"]);
		const killed = sampleSession({ state: "ended", exit: { code: null, signal: "SIGTERM" } });
		expect([stateWords(killed), shownState(killed)]).toEqual(["ended by SIGTERM", "failed"]);
		expect(shownState(sampleSession({ state: "ended", exit: { code: 0, signal: null } }))).toBe("ended");
		expect(stateWords(sampleSession({ state: "secret" }))).toBe("wants a secret");
		expect(stateWords(sampleSession({ state: "waiting" }))).toBe("waiting for the agent");
		const driver = { kind: "person", who: "ana", since: 1, epoch: 1 } as const;
		expect(stateWords(sampleSession({ state: "waiting", driver }))).toBe("waiting for ana");
		expect(stateWords(sampleSession({ state: "waiting", driver }), true)).toBe("waiting for you");
		expect(stateWords(sampleSession({ state: "waiting", mine: true }))).toBe("waiting for a person");
	});
});

test("sessions are grouped by the conversation that opened them, the newest first", () => {
	const sessions = [
		sampleSession({ session: "a", parent: "one", createdAt: 1 }),
		sampleSession({ session: "b", parent: null, createdAt: 5 }),
		sampleSession({ session: "c", parent: "one", createdAt: 9 }),
	];
	const shown = grouped(sessions).map(({ parent, sessions }) => [parent, ...sessions.map(({ session }) => session)]);
	expect(shown).toEqual([
		["one", "c", "a"],
		[null, "b"],
	]);
});

test("agents whose hosts name no conversation have a group each", () => {
	const sessions = [
		sampleSession({ session: "a", owner: "mcp:claude-code:41", createdAt: 1 }),
		sampleSession({ session: "b", owner: "mcp:claude-code:42", createdAt: 2 }),
		sampleSession({ session: "c", owner: "mcp:claude-code:41", createdAt: 3 }),
	];
	const shown = grouped(sessions).map(({ title, sessions }) => [title, ...sessions.map(({ session }) => session)]);
	expect(shown).toEqual([
		["claude-code (41)", "c", "a"],
		["claude-code (42)", "b"],
	]);
});

test.each([
	[null, "No conversation"],
	["cli", "Command line"],
	["web", "Started here"],
	["http:369a36f9:deploys", "deploys"],
	["http:369a36f9:deploys:codex", "deploys · codex"],
	["ci", "ci"],
])("the owner %j is called %j", (owner, words) => expect(ownerWords(owner)).toBe(words));

test("sessions of other machines are named with them, and their owners are not those of this one", () => {
	const sessions = [
		sampleSession({ session: "a", owner: "cli", createdAt: 1 }),
		sampleSession({ session: "beta/b", name: "beta/sh", host: "beta", owner: "cli", createdAt: 2 }),
		sampleSession({ session: "beta/c", name: "beta/c", host: "beta", parent: "one", createdAt: 3 }),
		sampleSession({ session: "d", parent: "one", createdAt: 4 }),
		sampleSession({ session: "beta/e", name: "beta/e", host: "beta", owner: "web", createdAt: 0 }),
	];
	const shown = grouped(sessions).map(({ title, sessions }) => [title, ...sessions.map(({ session }) => session)]);
	expect(shown).toEqual([
		["one", "d", "beta/c"],
		["Command line on beta", "beta/b"],
		["Command line", "a"],
		["Started here, on beta", "beta/e"],
	]);
	expect(sessions.map(nameParts)).toEqual([
		["", "sh"],
		["beta/", "sh"],
		["beta/", "c"],
		["", "sh"],
		["beta/", "e"],
	]);
	expect(matchesFilter(sessions[1]!, "beta sh")).toBe(true);
});

test("one whose machine is not heard of is unreachable since then, not over, and comes last", () => {
	const since = new Date().setHours(0, 0, 0, 0);
	const lost = sampleSession({ session: "beta/a", host: "beta", state: "unreachable", unreachableSince: since });
	expect([stateWords(lost), shownState(lost), isOver(lost)]).toEqual(["unreachable since 00:00", "unreachable", false]);
	expect([lost, sampleSession({ createdAt: 0 })].toSorted(byUrgency).at(-1)).toBe(lost);
});

test("those that need a person are in the order in which they began to wait, what nobody answered last, without ended ones", () => {
	const need = (since: number, kind = "question") => ({
		kind,
		since,
		question: "?",
		reason: null,
		program: "",
		command: "",
		host: null,
	});
	const sessions = [
		sampleSession({ session: "late", needs: need(20) }),
		sampleSession({ session: "none" }),
		sampleSession({ session: "idle", needs: need(2, "unanswered") }),
		sampleSession({ session: "asks", needs: need(30, "secret") }),
		sampleSession({ session: "early", needs: need(10) }),
		sampleSession({ session: "over", state: "ended", needs: need(1) }),
	];
	expect(needing(sessions).map(({ session }) => session)).toEqual(["early", "late", "asks", "idle"]);
	expect(sessions.slice(0, 5).toSorted(byUrgency).at(-1)?.session).toBe("none");
});

test("a filter finds by every word, in any of what the list shows", () => {
	const session = sampleSession({ name: "web", command: "npm run dev", ports: [5173], state: "serving" });
	expect(matchesFilter(session, "NPM 5173")).toBe(true);
	expect(matchesFilter(session, "npm 8080")).toBe(false);
	expect(matchesFilter(session, "")).toBe(true);
});

test("a name means the running session, then the newest; an id always its own", () => {
	const old = sampleSession({ session: "a1", name: "sh", createdAt: 1 });
	const ended = sampleSession({ session: "b2", name: "sh", createdAt: 2, state: "ended" });
	expect(sessionCalled([old, ended], "sh")).toBe(old);
	expect(sessionCalled([old, ended], "b2")).toBe(ended);
	expect(sessionCalled([old, ended], "nobody")).toBeUndefined();
	expect(referenceTo([old, ended], old)).toBe("sh");
	expect(referenceTo([old, ended], ended)).toBe("b2");
});

test.each([
	["/usr/bin/python3 -q", "python3"],
	["sudo apt install vim", "apt"],
	["FOO=1 make", "make"],
	["", ""],
])("the program of %j is %j", (command, program) => expect(programOf(command)).toBe(program));
