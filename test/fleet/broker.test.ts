// The servers that the product's configuration makes: one, a cluster, one of them killed, a user added while they run.

import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { expect, test } from "vitest";
import { addTenant, addUser, initFleet, removeUser } from "../../src/fleet/init.ts";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";
import { BROKER_NEEDS, Brokers } from "./broker.ts";

const NEEDS = needing(...BROKER_NEEDS);

test("issue 15: a cluster goes on without one server, which catches up when it is back", NEEDS, async () => {
	await using brokers = await Brokers.start({ nodes: 3 });
	const [first, second, third] = await Promise.all(brokers.nodes.map((node) => brokers.connect("admin", { node })));
	const kv = await new Kvm(first!).create("dt_hosts", { replicas: 3 });
	await kv.put("a", "1");
	const read = async (connection: typeof first, key: string) =>
		(await (await new Kvm(connection!).open("dt_hosts", { allow_direct: true })).get(key))?.string();
	await until("the second has it", async () => (await read(second, "a")) === "1");
	expect(third!.isClosed()).toBe(false);
	await brokers.kill(2);
	await until("it is written without the third", () => kv.put("b", "2").catch(() => null));
	expect(await read(second, "b")).toBe("2");
	await brokers.restart(2);
	const again = await brokers.connect("admin", { node: brokers.nodes[2]! });
	const jsm = await jetstreamManager(again);
	await until("all three are current", async () => {
		const { cluster } = await jsm.streams.info("KV_dt_hosts");
		return cluster?.leader !== undefined && cluster.replicas?.every(({ current, offline }) => current && !offline);
	});
	await until("it is read through the third", async () => (await read(again, "b")) === "2");
});

test("what a server has stored is there after kill -9", NEEDS, async () => {
	await using brokers = await Brokers.start();
	const before = await brokers.connect("admin");
	await (await new Kvm(before).create("dt_hosts")).put("a", "kept");
	await brokers.kill(0);
	await expect(brokers.connect("admin")).rejects.toThrow();
	await brokers.restart(0);
	const after = await brokers.connect("admin");
	expect((await (await new Kvm(after).open("dt_hosts")).get("a"))?.string()).toBe("kept");
});

test("a user and a tenant that are added later are known after a reload, and a removed one is out", NEEDS, async () => {
	await using brokers = await Brokers.start();
	const before = await brokers.connect("admin");
	addUser(brokers.directory, "main", { name: "agent", role: "drive", owner: "mcp:claude", host: null });
	addTenant(brokers.directory, "other", [{ name: "host", role: "host", owner: null, host: "h1" }]);
	await expect(brokers.connect("agent")).rejects.toThrow(/authorization/i);
	await brokers.reload();
	const agent = await brokers.connect("agent");
	await agent.flush();
	await (await brokers.connect("host", { tenant: "other" })).flush();
	removeUser(brokers.directory, "main", "agent");
	await brokers.reload();
	await agent.closed();
	// Others stay connected.
	await before.flush();
});

test("a fleet's files are private, and an existing directory is left alone", NEEDS, async () => {
	await using brokers = await Brokers.start();
	for (const path of ["fleet.json", "ca.key", "nodes/n1/key.pem", "nodes/n1/server.conf", "nodes/n1/accounts.conf"])
		expect(statSync(join(brokers.directory, path)).mode & 0o777, path).toBe(0o600);
	expect(statSync(brokers.credentials("admin")).mode & 0o777).toBe(0o600);
	expect(statSync(brokers.directory).mode & 0o777).toBe(0o700);
	expect(() => initFleet(brokers.directory)).toThrow(/exists already/);
});

test("a fleet that cannot be is refused in words, and nothing is left of it", needing("openssl"), () => {
	const outer = mkdtempSync(join(tmpdir(), "dt-fleet-"));
	const directory = join(outer, "fleet");
	const node = { name: "a", host: "127.0.0.1", port: 4222 };
	const user = { name: "x", role: "drive", owner: "me", host: null } as const;
	for (const [options, problem] of [
		[{ tenants: ["Acme"] }, /not a name/],
		[{ tenants: ["acme_store"] }, /not a name/],
		[{ tenants: ["a", "a"] }, /already/],
		[{ nodes: [node, node] }, /two nodes have one name/],
		[{ nodes: [{ ...node, host: "a b" }] }, /not as it should be/],
		[{ nodes: [{ ...node, name: "../a" }] }, /not a name/],
		[{ nodes: [{ ...node, port: 65_000 }] }, /not as it should be/],
		[{ users: [user, user] }, /already/],
		[{ users: [{ ...user, owner: null }] }, /for an owner/],
		[{ users: [{ ...user, role: "admin" }] }, /for all owners/],
		[{ users: [{ ...user, role: "host", owner: null }] }, /for a host/],
		[{ users: [{ ...user, host: "a.>" }] }, /not as it should be|not a name/],
	] as const) {
		expect(() => initFleet(directory, options), JSON.stringify(options)).toThrow(problem);
		expect(existsSync(directory)).toBe(false);
	}
	initFleet(directory);
	expect(() => addUser(directory, "none", user)).toThrow(/no tenant/);
	expect(() => removeUser(directory, "main", "none")).toThrow(/no user/);
	rmSync(outer, { recursive: true });
});
