// A person takes over from an agent and hands back: who may type, who waits, who is told.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import type { SessionFacts } from "../../src/protocol/answer.ts";
import type { Caller } from "../../src/tools/tool.ts";
import { Home } from "../daemon/home.ts";
import { needing } from "../programs.ts";

let dialtone: Dialtone;
beforeAll(async () => {
	dialtone = await Dialtone.open();
});
afterAll(() => dialtone[Symbol.asyncDispose]());

const AGENT: Caller = {
	owner: "mcp:agent",
	cwd: "/tmp",
	env: { PATH: process.env.PATH!, HOME: "/nonexistent", SHELL: "/bin/bash" },
};
const call = (tool: string, input: object) => dialtone.client.call(tool, input, { caller: AGENT });
const facts = async (tool: string, input: object) => (await call(tool, input)).facts as SessionFacts;
const start = (name: string, ...argv: string[]) => call("start", { name, argv });

/** Takes over under this name; with what they may do then. */
async function person(session: string, who = "ana") {
	const { lease = "" } = await dialtone.client.act(session, { act: "take", who });
	const base64 = (text: string) => Buffer.from(text).toString("base64");
	return {
		types: (text: string) => dialtone.client.act(session, { act: "keys", lease, base64: base64(text) }),
		pastes: (text: string) => dialtone.client.act(session, { act: "paste", lease, text }),
		resizes: (cols: number, rows: number) => dialtone.client.act(session, { act: "resize", lease, cols, rows }),
		handsBack: (note?: string) =>
			dialtone.client.act(session, { act: "hand-back", lease, ...(note !== undefined && { note }) }),
	};
}

describe("R4.11 one driver at a time", () => {
	test("in the middle of a conversation with python", needing("python3"), async () => {
		const session = "py";
		await start(session, "python3", "-q");
		await call("send", { session, text: "x = 1", submit: true });
		const ana = await person(session);
		await expect(call("send", { session, text: "x = 2", submit: true })).rejects.toMatchObject({
			code: "driven_by_human",
			facts: { id: session, who: "ana", since: expect.any(Number) },
		});
		const waiting = call("wait", { session });
		await ana.types("x = 42\r");
		await ana.pastes("y = 1\nz = 2\n");
		expect(await facts("read", { session })).toMatchObject({ driver: "human" });
		await ana.handsBack("the answer is set");
		const { text, facts: told } = await waiting;
		expect(told).toMatchObject({ returned: "handed_back", driver: "agent", activity: "waiting" });
		expect(text.split("\n")[0]).toBe('A person (ana) typed 7 keys, pasted 2 lines; note: "the answer is set".');
		expect((await call("send", { session, text: "print(x)", submit: true })).text).toContain("42");
		await call("close", { session, force: true });
	});

	test("after a hand-back an agent that knew the screen has to look before it types", async () => {
		const session = "look";
		await start(session, "cat");
		const ana = await person(session);
		await ana.types("hello\r");
		await ana.handsBack();
		await expect(call("send", { session, text: "blind" })).rejects.toMatchObject({
			code: "typed_by_human",
			message: expect.stringContaining("nothing was typed. A person (ana) typed 6 keys."),
		});
		expect((await call("read", { session })).text).toMatch(/^A person \(ana\) typed 6 keys\./);
		expect((await call("send", { session, text: "seen", submit: true, until: { text: "seen" } })).text).toContain(
			"seen",
		);
		await call("close", { session, force: true });
	});

	test("signals, sizes and the end are the driver's; an end by force is not refused", async () => {
		const session = "acts";
		await start(session, "cat");
		const ana = await person(session);
		const refused = { code: "driven_by_human" };
		await expect(call("signal", { session })).rejects.toMatchObject(refused);
		await expect(call("signal", { session, signal: "TERM" })).rejects.toMatchObject(refused);
		await expect(call("resize", { session, cols: 90, rows: 20 })).rejects.toMatchObject(refused);
		await expect(call("close", { session })).rejects.toMatchObject(refused);
		await ana.resizes(71, 19);
		const { cols, rows } = await dialtone.client.snapshot(session);
		expect([cols, rows]).toEqual([71, 19]);
		expect(await facts("close", { session, force: true })).toMatchObject({ driver: "agent", exit: expect.anything() });
		await expect(ana.types("x")).rejects.toMatchObject({ code: "session_ended" });
	});

	test("a command of `run` is not begun, and not stopped at its timeout, under a person's hands", async () => {
		const session = "sh1";
		await call("run", { command: "true", shell: session });
		const command = "echo be''gun; sleep 4; echo sle''pt";
		const running = call("run", { command, shell: session, timeoutMs: 1500, onTimeout: "stop" });
		await call("wait", { session, until: { text: "begun" } });
		const ana = await person(session);
		await running;
		await expect(call("run", { command: "true", shell: session })).rejects.toMatchObject({ code: "driven_by_human" });
		const { text } = await call("wait", { session, until: { text: "slept" }, timeoutMs: 30_000 });
		expect(text).toContain("slept");
		await ana.handsBack();
		await call("read", { session });
		expect((await call("run", { command: "echo back", shell: session })).text).toContain("back");
		await call("close", { session, force: true });
	});

	test("dialects are refused and told as well", async () => {
		const exec = (tool: string, input: object) =>
			dialtone.client.call(tool, { yield_time_ms: 250, ...input }, { caller: AGENT, sets: ["exec"] });
		const opened = (await exec("unified_exec", { cmd: "cat" })).facts as { session_id: string };
		const id = String(opened.session_id);
		const ana = await person(id);
		await ana.types("mine\r");
		const write = (chars: string) => exec("write_stdin", { session_id: id, chars });
		expect(JSON.stringify(await write("x\n").catch((error) => error.toJSON()))).toContain("driven_by_human");
		await ana.handsBack("look");
		expect((await write("")).text).toContain("A person (ana) typed 5 keys");
		await call("close", { session: id, force: true });
	});

	test("what was queued before the take-over is not typed after it", async () => {
		const session = "queued";
		// It does not read: what is sent waits in the queue of keys.
		await start(session, "bash", "-c", "stty -icanon -echo; sleep 2; cat");
		const keys = Array.from({ length: 20 }, () => "x");
		const sending = call("send", { session, keys, timeoutMs: 20_000 }).then(
			() => "typed",
			(error) => error.code,
		);
		const ana = await person(session);
		expect(await sending).toBe("driven_by_human");
		await ana.handsBack();
		await call("close", { session, force: true });
	});
});

describe("R4.11 what is asked of a person, without taking over", () => {
	const ASKS = [
		"bash",
		"-c",
		"read -rsp 'Password: ' x; echo; echo \"len ${#x}\"; read -p 'Name: ' y; echo hi $y; cat",
	];

	test("a secret is typed only where one is asked for; an answer only where a person was asked", async () => {
		const session = "asks";
		await start(session, ...ASKS);
		const secret = (text: string) => dialtone.client.act(session, { act: "secret", who: "ana", text });
		const answer = (text: string) => dialtone.client.act(session, { act: "answer", who: "ana", text });
		await expect(answer("x")).rejects.toMatchObject({ code: "not_asked" });
		await expect(secret("a\nb")).rejects.toMatchObject({ code: "bad_input" });
		const waiting = call("wait", { session, until: { text: "len 6" } });
		await secret("hunter");
		expect((await waiting).text).toMatch(/^A person \(ana\) typed the secret\./);
		await call("wait", { session });
		await expect(secret("hunter")).rejects.toMatchObject({ code: "not_asked" });
		await call("ask_human", { session, question: "Who are you?" });
		const heard = call("wait", { session });
		await answer("Bo");
		expect((await heard).text).toMatch(/^A person \(ana\) answered\.[\s\S]*hi Bo/);
		await call("close", { session, force: true });
	});

	test("declined: the agent that waits is told so", async () => {
		const session = "declines";
		await start(session, ...ASKS);
		await call("ask_human", { session, question: "The password, please" });
		const waiting = call("wait", { session, timeoutMs: 60_000 });
		await dialtone.client.act(session, { act: "decline", who: "ana" });
		expect((await waiting).text).toMatch(/^A person \(ana\) declined to answer\./);
		await call("close", { session, force: true });
	});
});

test("R4.11 a person goes on driving when the daemon was killed, with the same lease", async () => {
	await using home = new Home();
	let client = await home.connect();
	await client.call("start", { name: "c", argv: ["cat"] });
	const { lease = "" } = await client.act("c", { act: "take", who: "ana" });
	const { pid } = await client.status();
	process.kill(pid, "SIGKILL");
	await client[Symbol.asyncDispose]();
	client = await home.connect();
	await expect(client.call("send", { session: "c", text: "x" })).rejects.toMatchObject({ code: "driven_by_human" });
	await client.act("c", { act: "keys", lease, base64: Buffer.from("after\r").toString("base64") });
	await client.act("c", { act: "hand-back", lease });
	expect((await client.call("wait", { session: "c", until: { text: "after" } })).text).toContain("after");
	await client[Symbol.asyncDispose]();
});
