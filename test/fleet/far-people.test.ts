// People and the sessions of another machine: what waits for approval there is decided here, events of both are heard,
// and of two who would type only the one whose lease the owner of the session knows may, whatever the network does.

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ReadFacts, SessionFacts } from "../../src/protocol/answer.ts";
import type { SessionEvent } from "../../src/protocol/events.ts";
import type { Client } from "../../src/tools/client.ts";
import { until } from "../condition.ts";
import { missing } from "../programs.ts";
import { BROKER_NEEDS } from "./broker.ts";
import { called, codeOf, TwoHosts } from "./two-hosts.ts";

const patient = { timeoutMs: 60_000 };
const keys = (text: string) => Buffer.from(text).toString("base64");

describe.skipIf(missing(...BROKER_NEEDS).length > 0)("people and a session of another machine", () => {
	let directory: string;
	let hosts: TwoHosts;
	let client: Client;
	beforeAll(async () => {
		directory = mkdtempSync(join(tmpdir(), "dt-far-"));
		const rules = [{ command: "touch *", then: "ask", because: "it touches files" }];
		hosts = await TwoHosts.start({ policy: { rules } });
		client = hosts.client;
	});
	afterAll(async () => {
		await hosts?.[Symbol.asyncDispose]();
		if (directory !== undefined) rmSync(directory, { recursive: true });
	});

	const startCat = async (name: string) => {
		const argv = ["bash", "-c", "stty -echo; echo ready; cat"];
		await called(client, "start", { host: "beta", name, argv, ...patient });
		return `beta/${name}`;
	};
	const screen = async (session: string, from = client) =>
		((await called(from, "read", { session, view: "screen" })).facts as ReadFacts).text;
	const typedBy = (session: string, text: string) =>
		called(client, "send", { session, text, submit: true, ...patient });

	test("what waits for approval there is listed and decided here", async () => {
		const decide = async (name: string, decision: (id: string) => Promise<unknown>) => {
			const made = join(directory, name);
			const running = called(client, "run", { host: "beta", command: `touch ${made} && echo made`, ...patient });
			running.catch(() => {}); // looked at below
			const approval = await until("it waits", async () => (await client.approvals())[0]);
			expect(approval).toMatchObject({ id: expect.stringMatching(/^beta\//), because: "it touches files" });
			expect(approval.what).toContain(made);
			expect(existsSync(made)).toBe(false);
			await decision(approval.id);
			return { running, made };
		};
		const approved = await decide("approved", (id) => client.decide(id, { approve: true, who: "anna" }));
		expect((await approved.running).facts).toMatchObject({ name: "beta/main", text: "made\n" });
		expect((await approved.running).text).toContain("approved by anna");
		expect(existsSync(approved.made)).toBe(true);
		const denied = await decide("denied", (id) => hosts.alpha.cli("approve", id, "--deny", "--note", "not that one"));
		await expect(denied.running).rejects.toMatchObject({
			code: "denied_by_person",
			message: expect.stringContaining("not that one"),
		});
		expect(existsSync(denied.made)).toBe(false);
		// One that gives up is told how a person here decides.
		const input = { host: "beta", command: `touch ${join(directory, "late")}`, timeoutMs: 100 };
		const pending = await called(client, "run", input).catch((error) => error);
		expect(pending).toMatchObject({
			code: "approval_pending",
			next: expect.stringContaining("dialtone approve beta/"),
		});
		const [, id] = /dialtone approve (\S+?)`/.exec(pending.next)!;
		await client.decide(id!, { approve: false, who: "anna" });
		expect(await codeOf(client.decide(id!, { approve: true, who: "anna" }))).toBe("approval_not_found");
		const gone = await client.decide("beta/none", { approve: true, who: "anna" }).catch((error) => error);
		expect(gone.facts).toMatchObject({ id: "beta/none" });
	});

	test("a person here is not sent to the page of the other machine, whose address means one of this machine", async () => {
		const session = await startCat("asked");
		await using there = await hosts.beta.connect();
		await there.http({ port: 0, exact: false, keep: "pin" });
		const own = (await called(there, "ask_human", { session: "asked", question: "Type it" })).facts;
		expect(own).toMatchObject({ page: expect.stringMatching(/^http:\/\/127\.0\.0\.1:/) });
		const asked = await called(client, "ask_human", { session, question: "Type it" });
		expect(asked.facts).toMatchObject({ page: null, how: expect.stringMatching(/^dialtone attach beta\//) });
		expect(asked.text).not.toContain("127.0.0.1");
		const input = { host: "beta", command: `touch ${join(directory, "page")}`, timeoutMs: 100 };
		const pending = await called(client, "run", input).catch((error) => error);
		expect(pending).toMatchObject({ code: "approval_pending", facts: { page: null } });
		await client.decide(pending.facts.id, { approve: false, who: "anna" });
	});

	test("a token for one owner reaches that owner's sessions there, and no other's", async () => {
		const of = async (owner: string) => {
			await using there = await hosts.beta.connect({ caller: { owner, cwd: "/", env: {} } });
			return (await called(there, "start", { name: `of-${owner}`, argv: ["cat"], ...patient })).facts as SessionFacts;
		};
		const [own, other] = [await of("bot"), await of("else")];
		await using here = await hosts.alpha.connect();
		const url = await here.http({ port: 0, exact: false, keep: "pin" });
		const { token } = JSON.parse((await hosts.alpha.cli("token", "create", "bot", "--owner", "bot", "--json")).stdout);
		const ask = async (tool: string, input: object) => {
			const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
			const answer = await fetch(`${url}/v1/tools/${tool}`, { method: "POST", headers, body: JSON.stringify(input) });
			return (await answer.json()) as { fault?: string; text?: string; sessions?: { name: string }[] };
		};
		const said = await ask("send", { session: `beta/${own.session}`, text: "hello", submit: true, ...patient });
		expect(said).toMatchObject({ text: expect.stringContaining("hello") });
		for (const tool of ["read", "close"])
			expect(await ask(tool, { session: `beta/${other.session}` })).toMatchObject({ fault: "session_not_found" });
		const get = (session: string, rest: string) =>
			fetch(`${url}/v1/sessions/${encodeURIComponent(session)}${rest}`, {
				headers: { authorization: `Bearer ${token}` },
			});
		const looks = ["", "/snapshot", "/timeline", "/moment?at=1000", "/export?format=text"];
		const seen = (session: string) =>
			Promise.all(looks.map(async (rest) => [rest, (await get(session, rest)).status] as const));
		for (const session of [`beta/${own.session}`, "beta/of-bot"])
			expect(await seen(session)).toEqual(looks.map((rest) => [rest, 200]));
		expect(await (await get("beta/of-bot", "/export?format=text")).text()).toContain("hello");
		// A name with this machine's own is no way around the limit.
		await called(client, "start", { name: "mine", argv: ["cat"], ...patient });
		for (const session of [`beta/${other.session}`, "beta/of-else", "mine", "alpha/mine"])
			expect(await seen(session)).toEqual(looks.map((rest) => [rest, 404]));
		await until("its own is listed", async () => {
			const { sessions = [] } = await ask("list", {});
			expect(sessions.map(({ name }) => name)).not.toContain("beta/of-else");
			return sessions.some(({ name }) => name === "beta/of-bot");
		});
		// There it is one who drives, whatever it may do here.
		const created = await hosts.alpha.cli("token", "create", "of-bot", "--owner", "bot", "--role", "admin", "--json");
		const authorization = `Bearer ${JSON.parse(created.stdout).token}`;
		const renamed = await fetch(`${url}/v1/sessions/${encodeURIComponent("beta/of-bot")}/rename`, {
			method: "POST",
			headers: { authorization, "content-type": "application/json" },
			body: JSON.stringify({ name: "other" }),
		});
		expect([renamed.status, await renamed.json()]).toMatchObject([403, { fault: "not_allowed" }]);
	});

	test("its events are heard here, with the names that it has here", async () => {
		const heard: SessionEvent[] = [];
		const stop = new AbortController();
		const listening = (async () => {
			for await (const event of client.events({ signal: stop.signal })) if ("session" in event) heard.push(event);
		})();
		const session = await startCat("events");
		const { session: id } = (await called(client, "resize", { session, cols: 90, rows: 20 })).facts as SessionFacts;
		const { lease = "" } = await client.act(session, { act: "take", who: "anna" });
		await client.act(session, { act: "hand-back", lease });
		await called(client, "close", { session });
		const own = () => heard.filter((event) => event.session === id);
		await until("its end is heard of", () => own().some(({ event }) => event === "ended"));
		stop.abort();
		await listening;
		expect(new Set(own().map(({ name }) => name))).toEqual(new Set([session]));
		const kinds = own().map(({ event }) => event);
		for (const kind of ["started", "resized", "driver", "ended"] as const) expect(kinds).toContain(kind);
		expect(heard.filter(({ name }) => name === "events")).toEqual([]);
	});

	test("a person here takes it over from the agent, types, and hands it back", async () => {
		const session = await startCat("driven");
		const { lease = "" } = await client.act(session, { act: "take", who: "anna" });
		const refused = await typedBy(session, "by the agent").catch((error) => error);
		expect(refused).toMatchObject({ code: "driven_by_human", facts: { id: session } });
		expect(refused.message).toContain(`"${session}"`);
		expect(refused.message).toContain("anna");
		await client.act(session, { act: "keys", lease, base64: keys("by anna\n") });
		await until("it is typed", async () => (await screen(session)).includes("by anna"));
		await client.act(session, { act: "hand-back", lease, note: "fixed it" });
		const stale = await client.act(session, { act: "keys", lease, base64: keys("late\n") }).catch((error) => error);
		expect(stale).toMatchObject({ code: "not_driving", facts: { id: session } });
		const unseen = await typedBy(session, "blindly").catch((error) => error);
		expect(unseen).toMatchObject({ code: "typed_by_human", facts: { id: session } });
		const looked = await called(client, "read", { session });
		expect(looked.text).toMatch(/anna.*fixed it/);
		const said = await typedBy(session, "again");
		expect(said.facts).toMatchObject({ name: session });
		expect(await screen(session)).not.toMatch(/by the agent|late|blindly/);
	});

	test("a network that is split gives nobody a second driver", async () => {
		const session = await startCat("split");
		await using there = await hosts.beta.connect();
		const stop = new AbortController();
		const mine = await client.act(session, { act: "take", who: "anna" });
		const lease = mine.lease ?? "";
		const watching = (async () => {
			for await (const _ of client.drivers(session, { lease, signal: stop.signal }));
		})().catch(() => {}); // lost with the servers
		await client.act(session, { act: "keys", lease, base64: keys("before\n") });
		await until("it is typed", async () => (await screen("split", there)).includes("before"));
		for (const index of hosts.brokers.nodes.keys()) await hosts.brokers.kill(index);
		await until("the split is noticed", async () => (await codeOf(called(client, "read", { session }))) !== "done");
		// Nobody here can type, and on the other side a person is there.
		expect(await codeOf(client.act(session, { act: "keys", lease, base64: keys("into the void\n") }))).toBe(
			"fleet_unreachable",
		);
		expect(await codeOf(called(there, "send", { session: "split", text: "agent there" }))).toBe("driven_by_human");
		const other = (await there.act("split", { act: "take", who: "bob" })).lease ?? "";
		await there.act("split", { act: "keys", lease: other, base64: keys("bob during\n") });
		await hosts.brokers.startAll();
		await until("it is whole again", async () => (await codeOf(called(client, "read", { session }))) === "done");
		// Who drove before the split does not drive any more, and learns it from the owner: by typing, and by coming back.
		const refused = await client
			.act(session, { act: "keys", lease, base64: keys("anna after\n") })
			.catch((error) => error);
		expect(refused).toMatchObject({ code: "not_driving", facts: { id: session } });
		expect(refused.message).toContain("bob");
		expect(await codeOf(client.act(session, { act: "take", who: "anna", lease }))).toBe("not_driving");
		await there.act("split", { act: "keys", lease: other, base64: keys("bob after\n") });
		await until("it is typed", async () => (await screen(session)).includes("bob after"));
		expect((await screen(session)).trim().split("\n").slice(1)).toEqual(["before", "bob during", "bob after"]);
		stop.abort();
		await watching;
	});
});
