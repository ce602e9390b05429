// Machines that have joined with the credentials of each role: what they see of the fleet and may do in it, with servers
// as `dialtone fleet init` configures them, and daemons as people and agents use them.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { jetstreamManager } from "@nats-io/jetstream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SocketClient } from "../../src/daemon/socket-client.ts";
import type { NewUser } from "../../src/fleet/init.ts";
import { STREAMS } from "../../src/fleet/permissions.ts";
import type { ListedSession, ListFacts } from "../../src/protocol/answer.ts";
import type { FleetStatus } from "../../src/protocol/fleet.ts";
import type { Client } from "../../src/tools/client.ts";
import { until } from "../condition.ts";
import { Home } from "../daemon/home.ts";
import { missing, needing } from "../programs.ts";
import { BROKER_NEEDS, Brokers } from "./broker.ts";

const patient = { timeoutMs: 60_000 };
const [OWN, OTHER] = ["agent:x", "agent:y"];
const RULES = [{ command: "touch *", then: "ask", because: "it touches files" }];
const user = (name: string, role: NewUser["role"], owner: string | null, host: string | null = null): NewUser => ({
	name,
	role,
	owner,
	host,
});
const HOSTS = [user("beta", "host", null, "beta"), user("gamma", "drive", OWN, "gamma")];
/** They serve nobody. */
const ASKERS = [
	user("agent", "drive", OWN),
	user("viewer", "view", OWN),
	user("views-all", "view", null),
	user("approver", "approve", OWN),
	user("approves-all", "approve", null),
	user("person", "admin", null),
];
const drives = ({ role }: NewUser) => role === "drive" || role === "admin";
const approves = ({ role }: NewUser) => role === "approve" || role === "admin";

const called = (client: Client, tool: string, input: object) => client.call(tool as never, input as never);
const codeOf = (answer: Promise<unknown>): Promise<string> =>
	answer.then(
		() => "done",
		(error) => error.code ?? String(error),
	);
const sessionsOf = async (client: Client): Promise<readonly ListedSession[]> =>
	((await called(client, "list", {})).facts as ListFacts).sessions;
const namesOf = async (client: Client) => (await sessionsOf(client)).map(({ name }) => name as string);

/** A daemon that has joined with these credentials; its sessions end with it. */
class Machine implements AsyncDisposable {
	readonly home = new Home();
	client!: SocketClient;

	static async join(brokers: Brokers, name: string, more: { readonly as?: string } = {}): Promise<Machine> {
		const machine = new Machine();
		const { code, stdout } = await machine.home.cli(
			...["join", "--creds", brokers.credentials(name), "--label", `is=${name}`],
			...(more.as === undefined ? [] : ["--as", more.as]),
		);
		if (code !== 0) throw new Error(`${name} cannot join: ${stdout}`);
		machine.client = await machine.home.connect();
		return machine;
	}

	async status(): Promise<FleetStatus> {
		return JSON.parse((await this.home.cli("fleet", "status", "--json")).stdout);
	}

	/** The names of sessions of which it is told something, from now on. */
	async listen(): Promise<{ readonly heard: ReadonlySet<string>; readonly stop: () => Promise<void> }> {
		const heard = new Set<string>();
		const over = new AbortController();
		const client = await this.home.connect();
		const listening = (async () => {
			for await (const event of client.events({ signal: over.signal })) if ("name" in event) heard.add(event.name);
		})();
		return {
			heard,
			stop: async () => {
				over.abort();
				await listening.catch(() => {}); // it was cut off
				await client[Symbol.asyncDispose]();
			},
		};
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.client?.[Symbol.asyncDispose]();
		await this.home[Symbol.asyncDispose]();
	}
}

let brokers: Brokers;
let beta: Machine;
/** The machine of an agent, which serves, too. */
let gamma: Machine;
let admin: Machine;
/** Of each owner, on beta: their ids as others name them. */
const ids = { own: "", other: "" };

const asOther = { caller: { owner: OTHER, cwd: "/", env: {} } };

describe("issue 15: a member of each role", () => {
	beforeAll(async () => {
		if (missing(...BROKER_NEEDS).length > 0) return;
		brokers = await Brokers.start({ users: [...HOSTS, ...ASKERS] });
		beta = await Machine.join(brokers, "beta");
		writeFileSync(join(beta.home.path, "policy.json"), JSON.stringify({ rules: RULES }), { mode: 0o600 });
		gamma = await Machine.join(brokers, "gamma");
		admin = await Machine.join(brokers, "admin", { as: "alpha" });
		const knows =
			({ client }: Machine) =>
			async () =>
				(await codeOf(called(client, "list", { host: "beta" }))) === "done";
		await until("an agent's machine knows beta", knows(gamma));
		await until("a person's machine knows beta", knows(admin));
		const own = await called(gamma.client, "start", { host: "beta", name: "own", argv: ["cat"], ...patient });
		ids.own = (own.facts as { session: string }).session;
		const start = { host: "beta", name: "other", argv: ["cat"], ...patient };
		const other = await admin.client.call("start" as never, start as never, asOther);
		ids.other = (other as { facts: { session: string } }).facts.session;
	}, 120_000);
	afterAll(async () => {
		for (const machine of [beta, gamma, admin]) await machine?.[Symbol.asyncDispose]();
		await brokers?.[Symbol.asyncDispose]();
	});

	test("that only serves is a host and asks nobody", needing(...BROKER_NEEDS), async () => {
		expect(await beta.status()).toMatchObject({ host: "beta", role: "host", connected: true });
		expect((await beta.status()).hosts.map(({ host }) => host).sort()).toEqual(["alpha", "beta", "gamma"]);
		expect(await codeOf(called(beta.client, "list", { host: "gamma" }))).not.toBe("done");
		expect((await namesOf(beta.client)).filter((name) => name.includes("/"))).toEqual([]);
	});

	test("that drives for one owner serves as a host, too", needing(...BROKER_NEEDS), async () => {
		expect(await gamma.status()).toMatchObject({ host: "gamma", role: "drive", owner: OWN, connected: true });
		expect((await sessionsOf(gamma.client)).map(({ session }) => session)).toEqual([ids.own]);
		// Its own sessions are of whoever started them there: another owner's.
		await called(gamma.client, "start", { name: "here", argv: ["cat"], ...patient });
		await until("the person's machine lists it", async () => (await namesOf(admin.client)).includes("gamma/here"));
		await called(gamma.client, "close", { session: "here", forget: true });
	});

	describe.each(ASKERS)("$name ($role of $owner)", (asker) => {
		const isForAll = asker.owner === null;
		let machine: Machine;
		beforeAll(async () => {
			if (missing(...BROKER_NEEDS).length > 0) return;
			// A name that another has: who serves nobody is no host, and hides none.
			machine = await Machine.join(brokers, asker.name, { as: "beta" });
		});
		afterAll(() => machine?.[Symbol.asyncDispose]());

		test("sees the hosts, is none, and lists exactly what it may", needing(...BROKER_NEEDS), async () => {
			const status = await machine.status();
			expect(status).toMatchObject({ role: asker.role, owner: asker.owner, connected: true, serves: false });
			expect(status.hosts.map(({ host }) => host).sort()).toEqual(["alpha", "beta", "gamma"]);
			const { stdout: hosts } = await machine.home.cli("fleet", "hosts");
			for (const host of ["alpha", "beta", "gamma"]) expect(hosts).toContain(host);
			const { stdout } = await machine.home.cli("fleet", "forget", "beta", "--json");
			expect(JSON.parse(stdout).fault).toBe(asker.role === "admin" ? "host_in_use" : "not_allowed");
			expect((await machine.home.cli("fleet", "status")).stdout).toContain(asker.role);
			await until("it lists them", async () => (await namesOf(machine.client)).includes("beta/own"));
			expect((await namesOf(machine.client)).includes("beta/other")).toBe(isForAll);
			for (const words of [["fleet", "ls"], ["ls"]]) {
				const { stdout } = await machine.home.cli(...words);
				expect(stdout).toContain("beta/own");
				expect(stdout.includes("beta/other")).toBe(isForAll);
			}
			// Its own machine is used as always.
			await called(machine.client, "start", { name: "local", argv: ["cat"], ...patient });
			expect(await namesOf(machine.client)).toContain("local");
			expect(await namesOf(admin.client)).not.toContain("beta/local");
		});

		test("starts, types and reads as its role says", needing(...BROKER_NEEDS), async () => {
			const name = `by-${asker.name}`;
			const start = { name, argv: ["cat"], placement: { labels: { is: "gamma" } }, ...patient };
			const starts = [
				() => called(machine.client, "start", { ...start, placement: undefined, host: "beta", name: `${name}-2` }),
				() => called(machine.client, "start", start),
				() => called(machine.client, "run", { command: "true", host: "beta", ...patient }),
				() => called(machine.client, "send", { session: ids.own, text: `from ${name}`, submit: true, ...patient }),
			];
			for (const each of starts) {
				if (drives(asker))
					expect((await each()).facts).toMatchObject({ session: expect.stringMatching(/^(beta|gamma)\//) });
				else
					await expect(each()).rejects.toMatchObject({
						code: "not_allowed",
						message: expect.stringContaining(`\`${asker.role}\``),
					});
			}
			const read = await called(machine.client, "read", { session: ids.own, view: "screen" });
			expect((read.facts as { text: string }).text.includes(`from ${name}`)).toBe(drives(asker));
			expect(await codeOf(called(machine.client, "wait", { session: ids.own, timeoutMs: 0 }))).toBe("done");
			if (!drives(asker)) return;
			// Its start is known by its name: a repetition is no second one.
			const again = await codeOf(called(machine.client, "start", start));
			expect(again).toBe("name_taken");
			const listed = async (one: string) => (await sessionsOf(admin.client)).find((listing) => listing.name === one);
			const placed = await until("others list it", () => listed(`gamma/${name}`));
			expect(placed.owner).toBe(asker.owner ?? "test");
			for (const session of [`gamma/${name}`, `beta/${name}-2`])
				expect(await codeOf(called(machine.client, "close", { session, forget: true }))).toBe("done");
		});

		test("reaches another owner's session only where it is for all", needing(...BROKER_NEEDS), async () => {
			const session = ids.other;
			const attempts = [
				["read", { session }, true],
				["wait", { session, timeoutMs: 0 }, true],
				["send", { session, text: "x" }, drives(asker)],
				["signal", { session, signal: "INT" }, drives(asker)],
			] as const;
			for (const [tool, input, isAllowed] of attempts) {
				const code = await codeOf(called(machine.client, tool, input));
				if (isForAll) expect(code, tool).toBe(isAllowed ? "done" : "not_allowed");
				else expect(["session_not_found", "not_allowed"], tool).toContain(code);
			}
			const shown = await codeOf(machine.client.snapshot(session));
			expect(shown).toBe(isForAll ? "done" : "session_not_found");
			if (isForAll && drives(asker)) {
				// It was interrupted: there is another one for the next.
				const start = { host: "beta", name: "other", argv: ["cat"], ...patient };
				const other = await admin.client.call("start" as never, start as never, asOther);
				ids.other = (other as { facts: { session: string } }).facts.session;
			}
		});

		test("is told of the events of the sessions that it may know", needing(...BROKER_NEEDS), async () => {
			await using listening = disposed(await machine.listen());
			const once = (client: Client, name: string, options = {}) =>
				client.call("start" as never, { host: "beta", name, argv: ["true"], ...patient } as never, options);
			const [first, second] = [`other-${asker.name}`, `own-${asker.name}`];
			await once(admin.client, first, asOther);
			await once(gamma.client, second);
			await until("it is told of its own", () => listening.heard.has(`beta/${second}`));
			// What was said before has come before.
			expect(listening.heard.has(`beta/${first}`)).toBe(isForAll);
		});

		test("decides what waits for a person where its role says so", needing(...BROKER_NEEDS), async () => {
			const asking = called(gamma.client, "start", { host: "beta", argv: ["touch", "/dev/null"], ...patient });
			const own = asking.then(({ facts }) => facts as { exit: unknown });
			const foreign = admin.client.call(
				"start" as never,
				{ host: "beta", argv: ["touch", "/dev/null"], ...patient } as never,
				asOther,
			);
			const waiting = await until("both wait", async () => {
				const all = await admin.client.approvals();
				return all.length === 2 && all;
			});
			const [mine, theirs] = [OWN, OTHER].map((owner) => waiting.find((one) => one.owner === owner)!.id);
			const listed = (await machine.client.approvals()).map(({ id }) => id).sort();
			expect(listed).toEqual(approves(asker) ? [mine!, ...(isForAll ? [theirs!] : [])].sort() : []);
			const decision = { approve: true, who: "somebody" } as const;
			const tried = await codeOf(machine.client.decide(theirs!, decision));
			expect(tried).toBe(approves(asker) ? (isForAll ? "done" : "approval_not_found") : "not_allowed");
			expect(await codeOf(machine.client.decide(mine!, decision))).toBe(approves(asker) ? "done" : "not_allowed");
			for (const { id } of await admin.client.approvals()) await admin.client.decide(id, decision);
			await own;
			await foreign;
		});
	});
});

const disposed = <T extends { stop: () => Promise<void> }>(one: T) =>
	Object.assign(one, { [Symbol.asyncDispose]: () => one.stop() });

describe("issue 15: what a member with few rights knows", () => {
	test("is there without a host, and goes on over restarts and the loss of all that was stored", {
		...needing(...BROKER_NEEDS),
		timeout: 240_000,
	}, async () => {
		await using servers = await Brokers.start({ users: [...HOSTS, ...ASKERS] });
		// Before any host has made the buckets.
		await using agent = await Machine.join(servers, "agent");
		await using viewer = await Machine.join(servers, "viewer");
		expect((await agent.status()).hosts).toEqual([]);
		expect(await codeOf(called(agent.client, "start", { host: "beta", argv: ["cat"] }))).toBe("unknown_host");
		await using _beta = await Machine.join(servers, "beta");
		const used = async (name: string) => {
			await until(`${name}: the agent reaches the host`, async () => {
				const code = await codeOf(called(agent.client, "start", { host: "beta", name, argv: ["cat"], ...patient }));
				return code === "done" || code === "name_taken";
			});
			for (const machine of [agent, viewer])
				await until(`${name}: it is listed`, async () => (await namesOf(machine.client)).includes(`beta/${name}`));
			await until(`${name}: the viewer is told`, () => listening.heard.has(`beta/${name}`));
		};
		await using listening = disposed(await viewer.listen());
		await used("first");
		await servers.kill(0);
		await until("the loss is told", async () => !(await viewer.status()).connected);
		await servers.restart(0);
		await used("restarted");
		const connection = await servers.connect("admin");
		const manager = await jetstreamManager(connection);
		for (const stream of Object.values(STREAMS)) await manager.streams.delete(stream);
		await used("lost");
		const names = await namesOf(viewer.client);
		for (const name of ["first", "restarted", "lost"]) expect(names).toContain(`beta/${name}`);
		// What has gone while nobody could know is not listed for ever.
		expect(await codeOf(called(agent.client, "close", { session: "beta/first", forget: true }))).toBe("done");
		await until("it is gone", async () => !(await namesOf(viewer.client)).includes("beta/first"));
	});
});
