// R4.14: a person decides before a call is done, over MCP, HTTP and the command line.

import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Approval } from "../../src/protocol/approval.ts";
import type { Timeline } from "../../src/protocol/timeline.ts";
import { until } from "../condition.ts";
import { RealServer } from "../http/real-server.ts";
import { Agent } from "../page/agent.ts";
import { needing } from "../programs.ts";

const RULES = [
	{ command: "touch *", then: "ask", because: "it touches files" },
	{ command: "rm -rf *", then: "deny", because: "never" },
	{ signal: "KILL", then: "deny" },
	{ othersSession: true, tool: "types", then: "ask" },
];

describe("a rule that asks or denies (R4.14)", () => {
	let server: RealServer;
	let made: string;
	beforeEach(async () => {
		server = await RealServer.start();
		writeFileSync(join(server.home, "policy.json"), JSON.stringify({ rules: RULES }), { mode: 0o600 });
		mkdirSync(join(server.home, "work"));
		made = join(server.home, "work/made");
	});
	afterEach(() => server[Symbol.asyncDispose]());

	const waiting = async (): Promise<readonly Approval[]> =>
		JSON.parse((await server.cli("approve", "--json")).out).approvals;
	const one = () => until("something waits for approval", async () => (await waiting())[0]);
	const post = (path: string, body: object, token = server.token) =>
		fetch(`${server.url}${path}`, {
			method: "POST",
			headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
			body: JSON.stringify(body),
		});

	test("nothing runs before it is approved, and the agent is told by whom", async () => {
		await using agent = await Agent.connect(server);
		const running = agent.call("run", { command: `touch ${made} && echo it is made`, timeoutMs: 120_000 });
		const { id, what, because, effect } = await one();
		expect({ what, because, effect }).toEqual({
			what: `touch ${made} && echo it is made`,
			because: "it touches files",
			effect: "types",
		});
		expect(existsSync(made)).toBe(false);
		expect((await server.cli("approve", id)).out).toContain(made);
		const text = await running;
		expect(text).toContain("it is made");
		expect(text).toContain("approved by ");
		expect(existsSync(made)).toBe(true);
	}, 120_000);

	test("the person is shown the sandbox that the shell has", { timeout: 120_000, ...needing("bwrap") }, async () => {
		await using agent = await Agent.connect(server);
		const workspace = join(server.home, "../work-of-it");
		mkdirSync(workspace);
		await agent.call("run", { command: "true", sandbox: { workspace } });
		const asking = agent.attempt("run", { command: "touch made", timeoutMs: 1000 });
		expect((await one()).sandbox).toContain(workspace);
		expect((await asking).text).toContain("approval_pending");
		rmSync(workspace, { recursive: true });
	});

	test("a denial reaches the agent with its note, and what a rule denies is never asked for", async () => {
		await using agent = await Agent.connect(server);
		const starting = agent.attempt("start", { argv: ["touch", made], timeoutMs: 120_000 });
		const { id } = await one();
		await server.cli("approve", id, "--deny", "--note", "use the other file");
		const denied = await starting;
		expect(denied.text).toContain("denied_by_person");
		expect(denied.text).toContain("use the other file");
		const refused = await agent.attempt("run", { command: `true; sudo rm -rf ${made}` });
		expect(refused.text).toContain("denied_by_policy");
		expect(refused.text).toContain("never");
		const paged = await agent.attempt("start", { argv: ["git", "log"], env: { GIT_PAGER: `rm -rf ${made}` } });
		expect(paged.text).toContain("denied_by_policy");
		expect(await waiting()).toEqual([]);
		expect(existsSync(made)).toBe(false);
	}, 120_000);

	test("a call whose time is over joins its request when it is repeated, and runs once", async () => {
		const command = `echo x >> ${made}.log; touch ${made}`;
		const first = await post("/v1/tools/run", { command, timeoutMs: 10 });
		const fault = (await first.json()) as { fault: string; facts: { id: string; page: string } };
		expect(fault.fault).toBe("approval_pending");
		expect(fault.facts.page).toBe(server.url);
		const again = await post("/v1/tools/run", { command, timeoutMs: 20 });
		expect(((await again.json()) as typeof fault).facts.id).toBe(fault.facts.id);
		expect(existsSync(made)).toBe(false);
		await server.cli("approve", fault.facts.id);
		const ran = (await (await post("/v1/tools/run", { command })).json()) as { exitCode: number };
		expect(ran.exitCode).toBe(0);
		expect(existsSync(made)).toBe(true);
		const third = (await (await post("/v1/tools/run", { command, timeoutMs: 10 })).json()) as typeof fault;
		expect(third.fault).toBe("approval_pending");
		expect(third.facts.id).not.toBe(fault.facts.id);
	}, 120_000);

	test("a request survives the agent's disconnect, and neither its token nor another can approve it", async () => {
		const gone = new AbortController();
		const call = fetch(`${server.url}/v1/tools/run_bash`, {
			method: "POST",
			headers: { authorization: `Bearer ${server.token}`, "content-type": "application/json" },
			body: JSON.stringify({ command: `touch ${made}` }),
			signal: gone.signal,
		}).catch(() => null);
		const { id, tool } = await one();
		expect(tool).toBe("run_bash");
		gone.abort();
		await call;
		const other = (await server.cli("token", "create", "other")).out.trim();
		for (const token of [server.token, other])
			expect((await post(`/v1/approvals/${id}`, { approve: true }, token)).status).toBe(403);
		expect((await waiting()).map((approval) => approval.id)).toEqual([id]);
		await server.cli("approve", id);
		const ran = (await (await post("/v1/tools/run_bash", { command: `touch ${made}` })).json()) as {
			exit_code: number;
		};
		expect(ran.exit_code).toBe(0);
		expect(existsSync(made)).toBe(true);
	}, 120_000);

	test("what is typed into a shell counts, in pieces and over every set", async () => {
		await using agent = await Agent.connect(server);
		await agent.call("start", { name: "sh", argv: ["bash", "--norc"] });
		const send = (input: object) => agent.attempt("send", { session: "sh", timeoutMs: 50, ...input });
		expect((await send({ text: `touch ${made}`, submit: true })).text).toContain("approval_pending");
		expect((await send({ text: `rm -rf ${made}\n` })).text).toContain("denied_by_policy");
		expect((await send({ text: `echo fine`, submit: true })).isError).toBe(false);
		// A piece is harmless; what follows it is not known to be.
		expect((await send({ text: "tou" })).isError).toBe(false);
		expect((await send({ text: `ch ${made}`, submit: true })).text).toContain("approval_pending");
		expect((await send({ keys: ["up", "enter"] })).text).toContain("approval_pending");
		const killed = await agent.attempt("close", { session: "sh", force: true });
		expect(killed.text).toContain("denied_by_policy");
		expect(existsSync(made)).toBe(false);
	}, 120_000);

	test("typing into another owner's session asks, into one's own does not", async () => {
		await server.cli("start", "--name", "theirs", "cat");
		const { sessions } = JSON.parse((await server.cli("ls", "--json")).out);
		const session = sessions[0].session as string;
		const input = { session, text: "hello", submit: true, timeoutMs: 50 };
		const asked = (await (await post("/v1/tools/send", input)).json()) as { fault: string };
		expect(asked.fault).toBe("approval_pending");
		const [{ id, name }] = (await waiting()) as [Approval];
		expect(name).toBe("theirs");
		expect((await server.cli("send", "theirs", "mine")).code).toBe(0);
		// What was decided, and a signal, are in the session's timeline.
		await server.cli("approve", id, "--deny", "--note", "leave it");
		expect((await server.cli("signal", "theirs", "INT")).code).toBe(0);
		const marks = await until("the marks are written", async () => {
			const headers = { authorization: `Bearer ${server.token}` };
			const past = await (await fetch(`${server.url}/v1/sessions/${session}/timeline`, { headers })).json();
			const told = (past as Timeline).marks.filter(({ kind }) => kind === "approval" || kind === "signal");
			return told.length === 2 && told;
		});
		expect(marks).toMatchObject([
			{ kind: "approval", approved: false, note: "leave it" },
			{ kind: "signal", signal: "INT" },
		]);
	}, 120_000);

	test("while the policy cannot be read, nothing is started", async () => {
		writeFileSync(join(server.home, "policy.json"), '{"rules":[{"then":"maybe"}]}');
		const refused = (await (await post("/v1/tools/start", { command: `echo > ${made}` })).json()) as { fault: string };
		expect(refused.fault).toBe("policy_invalid");
		expect(existsSync(made)).toBe(false);
	}, 120_000);
});
