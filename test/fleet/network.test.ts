// Three servers on three machines whose links are cut, healed and slowed.

import { execFileSync } from "node:child_process";
import { jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { expect, test } from "vitest";
import { until } from "../condition.ts";
import { find, needing } from "../programs.ts";
import { BROKER_NEEDS, Brokers } from "./broker.ts";
import { NETWORK_NEEDS, Network } from "./network.ts";

const NEEDS = needing(...NETWORK_NEEDS, ...BROKER_NEEDS);

const placesOf = (network: Network) => network.machines.map(({ address, prefix }) => ({ host: address, prefix }));

test(
	"issue 15: with one link cut the majority goes on, and the third catches up when it is healed",
	NEEDS,
	async () => {
		using network = new Network();
		await using brokers = await Brokers.start({ nodes: 3, places: placesOf(network) });
		const [first, second, third] = await Promise.all(
			brokers.nodes.map((node) => brokers.connect("admin", { node, pingInterval: 1000, maxPingOut: 3 })),
		);
		const kv = await new Kvm(first!).create("dt_hosts", { replicas: 3 });
		await kv.put("a", "1");
		const read = async (connection: NatsConnection, key: string) =>
			(await (await new Kvm(connection).open("dt_hosts", { allow_direct: true })).get(key))?.string();
		await until("each has it", async () => {
			const values = await Promise.all([second!, third!].map((connection) => read(connection, "a")));
			return values.every((value) => value === "1");
		});

		network.machines[2]!.cut();
		// The connection to it is silent, and given up.
		await third!.closed();
		await until("it is written by the other two", () => kv.put("b", "2").catch(() => null));
		await until("it is read on the second", async () => (await read(second!, "b").catch(() => null)) === "2");

		network.machines[2]!.heal();
		await brokers.ready(brokers.nodes[2]!);
		const again = await brokers.connect("admin", { node: brokers.nodes[2]! });
		const jsm = await jetstreamManager(again);
		await until("all three are current", async () => {
			const info = await jsm.streams.info("KV_dt_hosts").catch(() => null);
			const { leader, replicas = [] } = info?.cluster ?? {};
			return leader !== undefined && replicas.length === 2 && replicas.every((one) => one.current && !one.offline);
		});
		await until("it is read on the third", async () => (await read(again, "b").catch(() => null)) === "2");
	},
);

test("a link that is slowed is slow until it is not", NEEDS, async () => {
	using network = new Network();
	const [machine] = network.machines;
	await using brokers = await Brokers.start({ places: placesOf(network).slice(0, 1) });
	const connection = await brokers.connect("admin");
	const host = await new Kvm(connection).create("dt_hosts");
	const value = new Uint8Array(100_000);
	const timed = async () => {
		const before = performance.now();
		await host.put("a", value, { timeout: 60_000 });
		return performance.now() - before;
	};
	machine!.slow({ kilobitsPerSecond: 1000 });
	// A hundred thousand bytes are 800 kilobits.
	expect(await timed()).toBeGreaterThan(500);
	machine!.unslow();
	await until("it is quick again", async () => (await timed()) < 400);
});

test("a link delays what it carries", needing(...NETWORK_NEEDS, ...BROKER_NEEDS, "netem"), async () => {
	using network = new Network();
	await using brokers = await Brokers.start({ places: placesOf(network).slice(0, 1) });
	const connection = await brokers.connect("admin");
	network.machines[0]!.slow({ delayMs: 50 });
	expect(await connection.rtt()).toBeGreaterThan(95);
	network.machines[0]!.unslow();
	await until("it is quick again", async () => (await connection.rtt()) < 50);
});

test("nothing is left of a network", needing(...NETWORK_NEEDS), () => {
	const left = () =>
		[
			["netns", "list"],
			["-brief", "link"],
		]
			.map((args) => execFileSync(find("ip")!, args, { encoding: "utf8" }))
			.join("")
			.includes(`dtf${process.pid}`);
	{
		using _network = new Network();
		expect(left()).toBe(true);
		// One that was not disposed of is removed by the next.
		using _next = new Network();
		expect(left()).toBe(true);
	}
	expect(left()).toBe(false);
});
