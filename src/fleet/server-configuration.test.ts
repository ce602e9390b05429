import { describe, expect, test } from "vitest";
import { permissionsOf } from "./permissions.ts";
import {
	accountsConfiguration,
	type FleetNode,
	type FleetUser,
	serverAddress,
	serverConfiguration,
} from "./server-configuration.ts";
import { tokenOf } from "./subjects.ts";

const node = (name: string, host: string): FleetNode => ({ name, host, port: 4222 });
const plan = (nodes: readonly FleetNode[], users: readonly FleetUser[] = []) => ({
	nodes,
	leaves: [],
	tenants: ["acme"],
	users,
});

describe("a server's configuration", () => {
	test("of one server has no cluster", () => {
		const text = serverConfiguration(plan([node("a", "127.0.0.1")]), node("a", "127.0.0.1"), "pw");
		expect(text).toContain('listen: "127.0.0.1:4222"');
		expect(text).not.toContain("cluster");
		expect(text).not.toContain("pw");
	});

	test("of several names the others, with the password and certificates that they check", () => {
		const nodes = [node("a", "10.0.0.1"), node("b", "b.example"), node("c", "fd00::3")];
		const [first, second, third] = nodes.map((one) => serverConfiguration(plan(nodes), one, "pw"));
		expect(first!.match(/nats-route:\S+/g)).toEqual([
			'nats-route://route:pw@b.example:6222"',
			'nats-route://route:pw@[fd00::3]:6222"',
		]);
		expect(first).toContain("verify: true");
		expect(second).toContain('listen: "0.0.0.0:6222"');
		expect(third).toContain('listen: "[fd00::3]:6222"');
		expect(nodes.map(serverAddress)).toEqual(["tls://10.0.0.1:4222", "tls://b.example:4222", "tls://[fd00::3]:4222"]);
	});
});

describe("the accounts", () => {
	const agent = { tenant: "acme", name: "agent", role: "drive", owner: "mcp:x", host: null, key: "UAGENT" } as const;

	test("of a tenant: one with its users and without JetStream, one with JetStream and without users", () => {
		const text = accountsConfiguration(plan([], [agent, { ...agent, tenant: "other", key: "UOTHER" }]));
		const [before, after] = text.split('  "acme": {');
		expect(before).toContain('"acme_store": {');
		expect(before).toContain("jetstream");
		expect(before).not.toContain("nkey");
		expect(after).not.toContain("jetstream:");
		expect(after).toContain('nkey: "UAGENT"');
		expect(text).not.toContain("UOTHER");
	});

	test("what an agent may names its owner in each subject that leads to sessions", () => {
		const { publish, subscribe } = permissionsOf(agent, agent.key);
		const about = [...publish, ...subscribe].filter((subject) => /dt\.|\$KV\.dt_sessions/.test(subject));
		expect(about.filter((subject) => !subject.includes(".mcp=3Ax"))).toEqual([]);
		expect(about).toContain("dt.open.*.drive.mcp=3Ax");
		expect(subscribe).toEqual(["_INBOX.UAGENT.>", "dt.down.drive.mcp=3Ax.*"]);
	});
});

test("an owner's name is one token of a subject, and none is mistaken for another or for all owners", () => {
	const names = ["a", "A", "mcp:claude", "mcp=3Aclaude", "a.b", "a b", "*", ">", "_", "__", "é", "\n", "=5F"];
	const tokens = names.map(tokenOf);
	expect(new Set(tokens).size).toBe(names.length);
	for (const token of tokens) expect(token).toMatch(/^[A-Za-z0-9_=-]+$/);
	expect(tokens).not.toContain("_");
	expect(() => tokenOf("")).toThrow();
});
