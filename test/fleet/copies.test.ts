// How many copies the servers keep: three in a cluster, whichever address a machine was given.

import { jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { expect, test } from "vitest";
import { STREAMS } from "../../src/fleet/permissions.ts";
import { until } from "../condition.ts";
import { Home } from "../daemon/home.ts";
import { needing } from "../programs.ts";
import { BROKER_NEEDS, Brokers } from "./broker.ts";
import { called } from "./two-hosts.ts";

async function copies(brokers: Brokers): Promise<readonly number[]> {
	const manager = await jetstreamManager(await brokers.connect("admin"), { checkAPI: false });
	const found = await Promise.all(Object.values(STREAMS).map((stream) => manager.streams.info(stream)));
	return found.map(({ config }) => config.num_replicas);
}

async function join(home: Home, brokers: Brokers): Promise<void> {
	await using client = await home.connect();
	await client.fleet({
		servers: [brokers.nodes[0]!.address],
		credentials: brokers.credentials("admin"),
		host: "alpha",
		labels: {},
	});
}

test("a machine that was given one address of a cluster has three made", needing(...BROKER_NEEDS), async () => {
	await using brokers = await Brokers.start({ nodes: 3 });
	await using home = new Home();
	await join(home, brokers);
	expect(await copies(brokers)).toEqual([3, 3, 3, 3]);
});

test(
	"an admin's machine has three made of what had one, and nothing of it is lost",
	needing(...BROKER_NEEDS),
	async () => {
		await using brokers = await Brokers.start({ nodes: 3 });
		const buckets = new Kvm(await brokers.connect("admin"));
		const kept = await buckets.create("dt_pins", { replicas: 1 });
		await kept.put("of.session.before", "kept");
		await using home = new Home();
		await join(home, brokers);
		await until("three are kept", async () => (await copies(brokers)).every((count) => count === 3));
		expect((await kept.get("of.session.before"))?.string()).toBe("kept");
	},
);

test("one server keeps one", needing(...BROKER_NEEDS), async () => {
	await using brokers = await Brokers.start({ nodes: 1 });
	await using home = new Home();
	await join(home, brokers);
	expect(await copies(brokers)).toEqual([1, 1, 1, 1]);
	await using client = await home.connect();
	expect((await called(client, "list", {})).facts).toMatchObject({ sessions: [] });
});
