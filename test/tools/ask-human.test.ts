// A person is asked to type what an agent should not: into the session that asks, and the agent hears of it when they have.

import { afterAll, beforeAll, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import type { SessionFacts } from "../../src/protocol/answer.ts";
import type { Caller } from "../../src/tools/tool.ts";

let dialtone: Dialtone;
beforeAll(async () => {
	dialtone = await Dialtone.open();
});
afterAll(() => dialtone[Symbol.asyncDispose]());

const env = { PATH: process.env.PATH!, HOME: "/nonexistent", SHELL: "/bin/bash" };
const AGENT: Caller = { owner: "mcp:agent", cwd: "/tmp", env };
const PERSON: Caller = { owner: "cli", cwd: "/tmp", env };

const call = (caller: Caller, tool: string, input: object) => dialtone.client.call(tool, input, { caller });
const wait = async (session: string, timeoutMs: number) =>
	(await call(AGENT, "wait", { session, timeoutMs })).facts as SessionFacts;

const enter = (session: string, typed: object) => call(PERSON, "send", { session, timeoutMs: 0, ...typed });

const QUESTION = { question: "Type the password" };
/** Asks for a password until it is right, as su and ssh do. */
const ASKS = {
	argv: ["bash", "-c", "until [ \"$x\" = right ]; do read -rsp 'Password: ' x; echo; done; read -p 'Really? ' y"],
};

test("C5: what the person runs reaches the session that asks, whatever they call their own", async () => {
	const { facts } = await call(AGENT, "run", { command: "read -rsp 'Password: ' x" });
	const { session } = facts as SessionFacts;
	await call(PERSON, "run", { command: "true" });
	const asked = await call(AGENT, "ask_human", { session: "main", ...QUESTION });
	expect(asked.facts).toMatchObject({ session, how: `dialtone attach ${session}` });
	const [, reference] = /dialtone attach (\S+)/.exec(asked.text)!;
	expect((await call(PERSON, "read", { session: reference! })).facts).toMatchObject({ session, owner: AGENT.owner });
	expect((await call(AGENT, "read", { session: reference! })).facts).not.toHaveProperty("owner");
});

test("S2: after the question `wait` returns when something was entered, and not before", async () => {
	const { session } = (await call(AGENT, "start", ASKS)).facts as SessionFacts;
	await call(AGENT, "ask_human", { session, ...QUESTION });
	const none = await call(AGENT, "wait", { session, timeoutMs: 300 });
	expect(none.facts).toMatchObject({ returned: "timeout", waitingFor: "secret" });
	expect(none.text).toContain("nobody has entered anything since the person was asked");
	// A person types key by key.
	const waiting = wait(session, 60_000);
	for (const key of "wrong") await enter(session, { text: key });
	expect(await wait(session, 300)).toMatchObject({ returned: "timeout" });
	await enter(session, { submit: true });
	expect(await waiting).toMatchObject({ returned: "waiting", waitingFor: "secret" });
	// It was answered: whatever is typed from now on, that the program waits is news again.
	await enter(session, { text: "ri" });
	expect(await wait(session, 60_000)).toMatchObject({ returned: "waiting" });
	await call(AGENT, "close", { session, force: true });
});

test("S2: it also returns when the program waits for something else, or has ended", async () => {
	const { session } = (await call(AGENT, "start", ASKS)).facts as SessionFacts;
	const askAndType = async (text: string) => {
		await call(AGENT, "ask_human", { session, ...QUESTION });
		const waiting = wait(session, 60_000);
		await enter(session, { text, submit: true });
		return waiting;
	};
	expect(await askAndType("right")).toMatchObject({ returned: "waiting", waitingFor: "line" });
	expect(await askAndType("y")).toMatchObject({ returned: "ended" });
});

test("S2: a program that gives up by itself ends the wait", async () => {
	const { session } = (await call(AGENT, "start", { argv: ["bash", "-c", "read -rst 1 -p 'Password: ' x"] }))
		.facts as SessionFacts;
	await call(AGENT, "ask_human", { session, ...QUESTION });
	expect(await wait(session, 60_000)).toMatchObject({ returned: "ended" });
});
