import { describe, expect, test } from "vitest";
import { Fault } from "../protocol/fault.ts";
import { Listeners } from "../protocol/listeners.ts";
import type { Scope } from "../session/scope.ts";
import type { Client } from "../tools/client.ts";
import { type FleetState, SwitchClient } from "./switch-client.ts";

const missing = () => new Fault("session_not_found", { id: "beta/quiet", open: [] } as never);
const { signal } = new AbortController();

/** A daemon with no sessions. */
const local = {
	call: async (tool: string) => {
		if (tool !== "list") throw missing();
		return { facts: { sessions: [] }, text: "no sessions" };
	},
	// biome-ignore lint/correctness/useYield: it has none
	output: async function* () {
		throw missing();
	},
	act: async () => {
		throw missing();
	},
} as unknown as Client;

test("a daemon that has not reached its fleet yet says so of sessions of other hosts, and in its list", async () => {
	const state = () => ({ host: null, asks: true, problem: "no servers", since: 0 });
	const client = new SwitchClient({ local, events: local, state, onChange: () => () => {} });
	const away = { code: "fleet_unreachable", facts: { problem: "no servers" } };
	await expect(client.call("read", { session: "beta/quiet" })).rejects.toMatchObject(away);
	await expect(client.call("run", { command: "true", shell: "beta/main" })).rejects.toMatchObject(away);
	await expect(client.call("start", { command: "true", name: "beta/new" })).rejects.toMatchObject(away);
	await expect(client.output("beta/quiet", { from: 0, signal })[Symbol.asyncIterator]().next()).rejects.toMatchObject(
		away,
	);
	await expect(client.act("beta/quiet", { act: "take", who: "somebody" })).rejects.toMatchObject(away);
	await expect(client.act("quiet", { act: "take", who: "somebody" })).rejects.toMatchObject({
		code: "session_not_found",
	});
	const { facts, text } = await client.call("list", {});
	expect(facts).toMatchObject({ notices: [expect.stringContaining("sessions of other hosts are not listed")] });
	expect(text).toMatch(/^no sessions\nnot connected to the fleet since 1970-/);
});

/** Says what it was asked. */
const echo = {
	call: async (tool: string, input: unknown) => ({ facts: { tool, input }, text: "" }),
	output: async function* (session: string) {
		yield session;
	},
	act: async (session: string) => session,
} as unknown as Client;

describe.each<[string, FleetState, string]>([
	["has not reached its fleet", { host: "alpha", asks: true, problem: "no servers", since: 0 }, "fleet_unreachable"],
	["only serves", { client: echo, host: "alpha", asks: false }, "serves_only"],
])("a daemon that %s", (_what, state, code) => {
	const client = new SwitchClient({ local: echo, events: local, state: () => state, onChange: () => () => {} });

	test("takes its own name for itself, wherever a session or a host is named", async () => {
		for (const [tool, input, meant] of [
			["read", { session: "alpha/x" }, { session: "x" }],
			["read", { host: "Alpha", session: "x" }, { session: "x" }],
			["start", { host: "alpha", argv: ["cat"] }, { argv: ["cat"] }],
			["run", { command: "true", shell: "alpha/dev" }, { command: "true", shell: "dev" }],
			["list", { host: "alpha" }, {}],
		] as const)
			expect((await client.call(tool as never, input as never)).facts).toMatchObject({ tool, input: meant });
		expect(await client.act("alpha/x", { act: "take", who: "me" })).toBe("x");
		expect((await client.output("alpha/x", { from: 0, signal })[Symbol.asyncIterator]().next()).value).toBe("x");
	});

	test("refuses what names another, and why is said", async () => {
		const missed = new SwitchClient({ local, events: local, state: () => state, onChange: () => () => {} });
		await expect(missed.call("read", { session: "beta/x" })).rejects.toMatchObject({ code });
		for (const [tool, input] of [
			["start", { host: "beta", argv: ["cat"] }],
			["start", { placement: "least-loaded", argv: ["cat"] }],
			["list", { host: "beta" }],
		] as const)
			await expect(client.call(tool as never, input as never)).rejects.toMatchObject({ code });
	});
});

describe("a daemon that has just started, and was a member before", () => {
	const far = {
		call: async (tool: string) => ({ facts: { tool }, text: "there" }),
		act: async () => ({ done: "there" }),
		decide: async () => ({ done: "there" }),
		output: async function* () {
			yield "there";
		},
	} as unknown as Client;

	function starting() {
		const changed = new Listeners<void>("membership");
		let state: FleetState = { host: null, asks: true, problem: null, since: 0 };
		const client = new SwitchClient({
			local,
			events: local,
			state: () => state,
			onChange: (listener) => changed.add(listener),
		});
		const become = (next: FleetState) => {
			state = next;
			changed.emit();
		};
		return { client, changed, become };
	}

	test.each<[string, (client: Client) => Promise<unknown>]>([
		["a session by name", (client) => client.call("read", { session: "beta/quiet" })],
		[
			"one by number",
			(client) => client.call("write_stdin" as never, { session_id: 2 ** 30 } as never, { sets: ["exec"] }),
		],
		["input as JSON", (client) => client.call("read", JSON.stringify({ session: "beta/quiet" }) as never)],
		["another spelling", (client) => client.call("read", { sessionId: "beta/quiet" } as never)],
		["a host", (client) => client.call("start", { host: "beta", argv: ["cat"] })],
		["a placement", (client) => client.call("start", { placement: "least-loaded", argv: ["cat"] })],
		["a name for what is new", (client) => client.call("start", { name: "beta/new", argv: ["cat"] })],
		["a list", (client) => client.call("list", {})],
		["an act", (client) => client.act("beta/quiet", { act: "take", who: "somebody" })],
		["a decision", (client) => client.decide("beta/a1", { approve: true, by: "somebody" } as never)],
		["a stream", (client) => client.output("beta/quiet", { from: 0, signal })[Symbol.asyncIterator]().next()],
	])("asks others once it is one again: %s", async (_what, ask) => {
		const { client, changed, become } = starting();
		const asked = ask(client);
		await Promise.resolve();
		expect(changed.size).toBe(1);
		become({ client: far, host: "alpha", asks: true });
		expect(JSON.stringify(await asked)).toContain("there");
		expect(changed.size).toBe(0);
	});

	test("says that it is not one as soon as the first try has failed", async () => {
		const { client, become } = starting();
		const asked = client.call("read", { session: "beta/quiet" });
		const refused = expect(asked).rejects.toMatchObject({ code: "fleet_unreachable", facts: { problem: "refused" } });
		become({ host: null, asks: true, problem: "refused", since: 0 });
		await refused;
	});

	test("does not take its own list for the next page of all", async () => {
		const { client, become } = starting();
		const asked = client.call("list", { after: "beta.o.s1" });
		become({ host: null, asks: true, problem: "refused", since: 0 });
		await expect(asked).rejects.toMatchObject({ code: "fleet_unreachable" });
	});

	test("does not wait with what is for itself", async () => {
		const { client, changed } = starting();
		const asked = [
			client.call("read", { session: "quiet" }),
			client.call("read", { session: 7 } as never),
			client.act("quiet", { act: "take", who: "somebody" }),
		];
		expect(changed.size).toBe(0);
		for (const each of asked) await expect(each).rejects.toMatchObject({ code: "session_not_found" });
	});
});

describe("a daemon that does not reach its fleet", () => {
	const problem = "/home/me/fleet/admin.creds cannot be read";
	const state: FleetState = { host: "alpha", asks: true, problem, since: 0 };
	const client = new SwitchClient({ local, events: local, state: () => state, onChange: () => () => {} });
	const by = (scope: Scope) => ({ caller: { owner: "bot", cwd: "/", env: {}, scope } });

	test("says nothing of it to a token that has nothing there, and keeps it waiting for nothing", async () => {
		const scopes: Scope[] = [{ session: "abc" }, { owner: "mcp:*" }, { parent: "p" }];
		for (const scope of scopes) {
			expect((await client.call("list", {}, by(scope))).text).toBe("no sessions");
			for (const input of [{ host: "beta" }, { placement: "least-loaded" }] as const) {
				const refused = client.call("start", { ...input, argv: ["cat"] }, by(scope));
				await expect(refused).rejects.toMatchObject({ code: "not_in_fleet" });
			}
		}
		let changes = 0;
		const starting = new SwitchClient({
			local,
			events: local,
			state: () => ({ ...state, problem: null }),
			onChange: () => {
				changes++;
				return () => {};
			},
		});
		await starting.call("list", {}, by({ session: "abc" }));
		expect(changes).toBe(0);
	});

	test("does not name files or servers to a token", async () => {
		const { text } = await client.call("list", {}, by({ owner: "bot" }));
		expect(text).toContain("sessions of other hosts are not listed");
		const refused = await client.call("read", { session: "beta/quiet" }, by({ owner: "bot" })).catch((error) => error);
		expect(refused).toMatchObject({ code: "fleet_unreachable" });
		expect(text + JSON.stringify(refused)).not.toContain("creds");
		expect((await client.call("list", {})).text).toContain(problem);
	});
});

test("a daemon in no fleet says nothing of one", async () => {
	const client = new SwitchClient({ local, events: local, state: () => "in no fleet", onChange: () => () => {} });
	await expect(client.output("beta/quiet", { from: 0, signal })[Symbol.asyncIterator]().next()).rejects.toMatchObject({
		code: "session_not_found",
	});
	expect((await client.call("list", {})).text).toBe("no sessions");
});
