// T13, D6: names belong to their owner. Two agents use one daemon and do not meet by accident.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import type { ListFacts, SessionFacts } from "../../src/protocol/answer.ts";
import { Fault } from "../../src/protocol/fault.ts";
import type { Caller } from "../../src/tools/tool.ts";

let dialtone: Dialtone;
beforeAll(async () => {
	dialtone = await Dialtone.open();
});
afterAll(() => dialtone[Symbol.asyncDispose]());

const env = { PATH: process.env.PATH!, HOME: "/nonexistent", SHELL: "/bin/bash" };
const ALICE: Caller = { owner: "mcp:alice", cwd: "/tmp", env };
const BOB: Caller = { owner: "mcp:bob", cwd: "/tmp", env };

const call = async <F = SessionFacts>(caller: Caller, tool: string, input: object): Promise<F> =>
	(await dialtone.client.call(tool, input, { caller })).facts as F;

async function refusal(caller: Caller, tool: string, input: object): Promise<Fault> {
	const outcome = await call(caller, tool, input).catch((error: unknown) => error);
	if (outcome instanceof Fault) return outcome;
	throw new Error(`${tool} was not refused: ${JSON.stringify(outcome)}`);
}

const cat = (name: string) => ({ argv: ["cat"], name });

describe("T13: a default name never means another owner's", () => {
	test("`send main Bob` does not reach another agent's shell, and says whose it is and its id", async () => {
		const { session, offset } = await call(ALICE, "run", { command: "true" });
		const fault = await refusal(BOB, "send", { session: "main", text: "Bob", submit: true });
		expect(fault.code).toBe("session_not_found");
		expect(fault.message).toContain("nothing was done");
		expect(fault.next).toContain("mcp:alice");
		expect(fault.next).toContain(session);
		await refusal(BOB, "close", { session: "main" });
		const after = await call(ALICE, "read", { session: "main", view: "lines" });
		expect(after).toMatchObject({ session, status: "running" });
		expect(after.text).not.toContain("Bob");
		expect(after.offset).toBeGreaterThanOrEqual(offset);
	});

	test("each owner has a shell `main`, under that name, and keeps its own", async () => {
		const alice = await call(ALICE, "run", { command: "who=alice" });
		const bob = await call(BOB, "run", { command: "who=bob" });
		expect([alice.name, bob.name]).toEqual(["main", "main"]);
		expect(alice.session).not.toBe(bob.session);
		expect((await call(ALICE, "run", { command: "echo $who" })).text).toContain("alice");
		expect((await call(BOB, "read", { session: "main" })).session).toBe(bob.session);
	});

	test("D6: background numbers are each owner's, and neither ends the other's", async () => {
		interface Started {
			readonly process_id: string;
			readonly is_running: boolean;
		}
		const start = (caller: Caller) => call<Started>(caller, "start_background_process", { command: "sleep 600" });
		expect((await start(ALICE)).process_id).toBe("bg_001");
		expect((await start(BOB)).process_id).toBe("bg_001");
		await call(BOB, "stop_background_process", { process_id: "bg_001" });
		expect((await call<Started>(ALICE, "get_process_output", { process_id: "bg_001" })).is_running).toBe(true);
		await call(ALICE, "stop_background_process", { process_id: "bg_001" });
	});

	test("Codex' numbers are each owner's", async () => {
		const run = (caller: Caller) =>
			call<{ session_id: number }>(caller, "exec_command", { cmd: "sleep 600", login: false, yield_time_ms: 250 });
		const [alice, bob] = [await run(ALICE), await run(BOB)];
		expect(alice.session_id).toBe(bob.session_id);
		for (const caller of [ALICE, BOB]) await call(caller, "close", { session: String(alice.session_id) });
	});
});

describe("T13: a chosen name", () => {
	test("is the caller's own first; two owners may both have it", async () => {
		const alice = await call(ALICE, "start", cat("py"));
		const bob = await call(BOB, "start", cat("py"));
		expect(bob.session).not.toBe(alice.session);
		expect((await call(ALICE, "read", { session: "py" })).session).toBe(alice.session);
		expect((await call(BOB, "read", { session: "py" })).session).toBe(bob.session);
		const eve = await refusal({ ...BOB, owner: "mcp:eve" }, "read", { session: "py" });
		expect(eve.next).toContain(alice.session);
		expect(eve.next).toContain(bob.session);
		expect((await refusal(BOB, "start", cat("py"))).code).toBe("name_taken");
		for (const caller of [ALICE, BOB]) await call(caller, "close", { session: "py" });
	});

	test("of another owner works in full, by name or id, and every answer says whose it is", async () => {
		const { session, notices } = await call(ALICE, "start", cat("server"));
		expect(notices ?? []).toEqual([]);
		for (const reference of ["server", session]) {
			const facts = await call(BOB, "read", { session: reference });
			expect(facts).toMatchObject({ session, notices: ["this session belongs to mcp:alice"] });
		}
		const { text } = await dialtone.client.call(
			"send",
			{ session: "server", text: "hi", submit: true },
			{ caller: BOB },
		);
		expect(text).toContain("this session belongs to mcp:alice");
		expect((await refusal(BOB, "read", { session: session.slice(0, 8) })).code).toBe("session_not_found");
		expect((await call(ALICE, "read", { session: session.slice(0, 8) })).session).toBe(session);
		await call(ALICE, "close", { session: "server" });
		// It ended: still there by its whole name.
		expect((await call(BOB, "read", { session: "server" })).session).toBe(session);
	});

	test("`-` is the one that the caller itself used last", async () => {
		const alice = await call(ALICE, "start", cat("alices"));
		const bob = await call(BOB, "start", cat("bobs"));
		expect((await call(ALICE, "read", { session: "-" })).session).toBe(alice.session);
		expect((await call(BOB, "read", { session: "-" })).session).toBe(bob.session);
	});

	test("`list` says which are the caller's own", async () => {
		const { sessions } = await call<ListFacts>(BOB, "list", {});
		for (const { owner, mine } of sessions) expect(mine).toBe(owner === BOB.owner);
		expect(new Set(sessions.map(({ mine }) => mine))).toEqual(new Set([true, false]));
	});
});
