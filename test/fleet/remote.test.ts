// Another machine's sessions over a link: every question of the daemon's protocol, and what each identity may ask.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Question } from "../../src/daemon/wire.ts";
import type { Client, Role } from "../../src/tools/client.ts";
import { until } from "../condition.ts";
import { missing } from "../programs.ts";
import { OneServer } from "./one-server.ts";
import { RemoteHost } from "./remote-host.ts";

const patient = { timeoutMs: 60_000 };
const isMissing = missing("nats-server").length > 0;

let broker: OneServer;
let host: RemoteHost;

beforeAll(async () => {
	if (isMissing) return;
	broker = await OneServer.start();
	host = await RemoteHost.start("gpu-1", broker, { HOME: "/tmp", SECRET_OF_DAEMON: "y" });
});
afterEach(async () => host?.closeClients());
afterAll(async () => {
	await host?.[Symbol.asyncDispose]();
	await broker?.[Symbol.asyncDispose]();
});

const drive = (owner: string) => host.client({ role: "drive", owner });
/** How each was refused. */
const codes = async (attempts: readonly Promise<unknown>[]): Promise<readonly unknown[]> =>
	(await Promise.allSettled(attempts)).map((one) => (one.status === "rejected" ? one.reason.code : one.value));
const refusedAs = (code: string) => expect.objectContaining({ code });
/** The first of a stream, which then ends. */
async function first<T>(stream: (signal: AbortSignal) => AsyncIterable<T>): Promise<T> {
	const stop = new AbortController();
	for await (const each of stream(stop.signal)) {
		stop.abort();
		return each;
	}
	throw new Error("the stream has ended");
}

describe.skipIf(isMissing)("a session of another machine", () => {
	test("answers every question of the daemon's protocol", async () => {
		const client = await host.client();
		const { facts } = await client.call("start", { name: "cat", argv: ["cat"], ...patient });
		const { session } = facts;
		const answers: Readonly<
			Record<Exclude<Question["do"], "hello" | "http" | "fleet" | "stop">, () => Promise<unknown>>
		> = {
			call: async () => (await client.call("send", { session, text: "hello", submit: true, ...patient })).facts.text,
			tools: async () => (await client.tools()).map(({ name }) => name).includes("start"),
			events: async () => (await first((signal) => client.events({ afterSeq: 0, signal }))).event,
			output: async () => "bytes" in (await first((signal) => client.output(session, { from: 0, signal }))),
			view: async () => "snapshot" in (await first((signal) => client.view(session, { signal }))),
			drawn: async () =>
				Buffer.from(await first((signal) => client.drawn(session, { as: "text", signal })))
					.toString()
					.includes("hello"),
			snapshot: async () => (await client.snapshot(session)).content.includes("hello"),
			drivers: async () => (await first((signal) => client.drivers(session, { signal }))).driver.kind,
			act: async () => {
				const { lease = "" } = await client.act(session, { act: "take", who: "anna" });
				await client.act(session, { act: "keys", lease, base64: Buffer.from("typed\r").toString("base64") });
				const driver = (await first((signal) => client.drivers(session, { lease, signal }))).driver;
				await client.act(session, { act: "hand-back", lease });
				return "who" in driver && driver.who;
			},
			people: async () => {
				const { full, sessions } = await first((signal) => client.people({ signal }));
				return full && sessions.map((row) => [row.session, row.state]);
			},
			approvals: () => client.approvals(),
			decide: () => client.decide("none", { approve: true, who: "anna" }).catch(({ code }) => code),
			status: async () => (await client.status()).pid,
		};
		const told: Record<string, unknown> = {};
		for (const [question, ask] of Object.entries(answers)) told[question] = await ask();
		expect(told).toEqual({
			call: expect.stringContaining("hello"),
			tools: true,
			events: "started",
			output: true,
			view: true,
			drawn: true,
			snapshot: true,
			drivers: "agent",
			act: "anna (fleet admin from elsewhere)",
			people: [[session.slice(session.indexOf("/") + 1), expect.any(String)]],
			approvals: [],
			decide: "approval_not_found",
			status: host.pid,
		});
	});

	test("has the directory and environment of the host's daemon, not of whoever asked", async () => {
		const client = await drive("env");
		const script = 'echo "[$PWD] [$HOME] [$SHELL] [$SECRET_OF_CALLER$SECRET_OF_DAEMON] printed"; sleep 60';
		const { facts } = await client.call("start", {
			argv: ["sh", "-c", script],
			until: { text: "printed" },
			...patient,
		});
		expect(facts.text).toContain("[/tmp] [/tmp] [/bin/bash] []");
		const own = { argv: ["sh", "-c", "pwd; echo $GIVEN; sleep 60"], cwd: "/usr", env: { GIVEN: "by the call" } };
		const { facts: other } = await client.call("start", { ...own, until: { text: "by the call" }, ...patient });
		expect(other.text).toContain("/usr");
	});

	test("cannot be stopped from elsewhere, nor can HTTP be opened", async () => {
		const client = await host.socketClient();
		await expect(client.stop({ sessions: false })).rejects.toEqual(refusedAs("not_allowed"));
		await expect(client.http({ port: 0, exact: false, keep: "pin" })).rejects.toEqual(refusedAs("not_allowed"));
	});
});

describe.skipIf(isMissing)("an identity of the fleet", () => {
	test("reaches no session of another owner, by no question", async () => {
		const [a, b] = [await drive("a"), await drive("b")];
		const heard: string[] = [];
		const over = new AbortController();
		const listening = (async () => {
			for await (const event of b.events({ afterSeq: 0, signal: over.signal }))
				if ("session" in event) heard.push(event.session);
		})();
		const { session: theirs } = (await a.call("start", { name: "same", argv: ["cat"], ...patient })).facts;
		const { session: own } = (await b.call("start", { name: "same", argv: ["cat"], ...patient })).facts;
		await a.call("send", { session: "same", text: "secret of a", submit: true, ...patient });
		for (const session of [theirs, theirs.slice(0, 8)]) {
			const attempts: Promise<unknown>[] = [
				b.call("read", { session }),
				b.call("send", { session, text: "x" }),
				b.call("wait", { session, timeoutMs: 0 }),
				b.call("close", { session }),
				b.call("signal", { session, signal: "KILL" }),
				b.call("resize", { session, cols: 100, rows: 30 }),
				b.call("start", { again: session }),
				b.snapshot(session),
				first((signal) => b.output(session, { from: 0, signal })),
				first((signal) => b.view(session, { signal })),
				first((signal) => b.drivers(session, { signal })),
			];
			expect(await codes(attempts)).toEqual(attempts.map(() => "session_not_found"));
		}
		const { sessions } = (await b.call("list", {})).facts;
		expect(sessions.map(({ session }) => session)).toEqual([own]);
		const people = await first((signal) => b.people({ decides: true, signal }));
		expect(people.sessions.map(({ session }) => session)).toEqual([own.slice(own.indexOf("/") + 1)]);
		expect((await b.call("read", { session: "same", view: "screen" })).facts.text).not.toContain("secret of a");
		expect((await b.status()).sessions).toBe(1);
		await b.call("close", { session: "same" });
		await until("its own end is heard", () => heard.includes(own));
		expect(new Set(heard)).toEqual(new Set([own]));
		over.abort();
		await listening;
		expect((await a.call("read", { session: "same", view: "screen" })).facts).toMatchObject({ status: "running" });
	});

	test("is what the subject says, whatever a message says", async () => {
		const b = await host.socketClient({ role: "drive", owner: "b2" });
		const asked = { owner: "a2", sessionsOf: "a2", cwd: "/", env: {}, scope: undefined, person: true, token: "admin" };
		const { session } = (await b.call("start", { name: "mine", argv: ["cat"], ...patient }, { caller: asked })).facts;
		const admin = await host.client();
		const { sessions } = (await admin.call("list", {})).facts;
		expect(sessions.find((one) => one.session === session)?.owner).toBe("b2");
		for (const owner of ["*", "a*"]) {
			const pattern = await drive(owner);
			await expect(pattern.call("list", {})).rejects.toEqual(refusedAs("not_allowed"));
		}
		const nobody = await host.client({ role: "drive", owner: null });
		await expect(nobody.call("list", {})).rejects.toEqual(refusedAs("not_allowed"));
	});

	test("for an admin, the owner is who the message says, and all sessions are there", async () => {
		const admin = await host.client();
		const caller = { owner: "mcp:x", cwd: "/", env: {} };
		const { session } = (await admin.call("start", { name: "for-x", argv: ["cat"], ...patient }, { caller })).facts;
		const { sessions } = (await admin.call("list", {}, { caller })).facts;
		expect(sessions.find((one) => one.session === session)).toMatchObject({ owner: "mcp:x", mine: true });
		expect((await (await drive("mcp:x")).call("read", { session: "for-x" })).facts.session).toBe(session);
	});

	test("may do what its role may", async () => {
		const driving = await drive("r");
		const { session } = (await driving.call("start", { name: "cat", argv: ["cat"], ...patient })).facts;
		await (await host.client()).call("send", { session, text: "new", submit: true, ...patient });
		const as = (role: Role) => host.client({ role, owner: "r" });
		const [view, approve, admin] = [await as("view"), await as("approve"), await as("admin")];
		for (const looking of [view, approve]) {
			const text = async () => (await looking.call("read", { session, view: "screen" })).facts.text;
			await until("it shows the screen", async () => (await text()).includes("new"));
			expect((await looking.call("list", {})).facts.sessions.map(({ session: id }) => id)).toEqual([session]);
			await looking.call("read", { session });
			const refused = [
				looking.call("send", { session, text: "x" }),
				looking.call("start", { argv: ["cat"] }),
				looking.call("close", { session }),
				looking.call("run", { command: "true" }),
				looking.act(session, { act: "take", who: "x" }),
			];
			expect(await codes(refused)).toEqual(refused.map(() => "not_allowed"));
		}
		// What they have read is still new to the agent.
		expect((await driving.call("read", { session })).facts.text).toContain("new");
		const refused = [view.approvals(), driving.approvals(), driving.act(session, { act: "take", who: "x" })];
		expect(await codes(refused)).toEqual(refused.map(() => "not_allowed"));
		expect(await approve.approvals()).toEqual([]);
		const watched = (client: Client) => first((signal) => client.people({ decides: true, signal }));
		expect(await watched(approve)).toHaveProperty("approvals", []);
		for (const one of [view, driving]) expect(await watched(one)).not.toHaveProperty("approvals");
		expect(await admin.act(session, { act: "take", who: "anna" })).toHaveProperty("lease");
	});

	test("is named in the audit log, with its role, owner and host", async () => {
		const client = await drive("audited");
		await client.call("start", { name: "cat", argv: ["cat"], ...patient });
		const lines = await until("it is written", () => {
			const directory = join(host.home.path, "audit");
			const found = readdirSync(directory)
				.flatMap((name) => readFileSync(join(directory, name), "utf8").split("\n"))
				.filter((line) => line.includes('"audited"'));
			return found.length > 0 && found;
		});
		const start = lines.map((line) => JSON.parse(line)).find((entry) => entry.do === "start");
		expect(start).toMatchObject({ owner: "audited", token: "fleet:drive:audited", from: "elsewhere" });
	});
});
