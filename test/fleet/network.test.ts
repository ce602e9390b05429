// Three servers on three machines whose links are cut, healed and slowed.

import { execFile, execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { expect, test } from "vitest";
import { readCredentials } from "../../src/fleet/credentials.ts";
import { openedInbox } from "../../src/fleet/permissions.ts";
import { until } from "../condition.ts";
import { find, needing } from "../programs.ts";
import { BROKER_NEEDS, Brokers } from "./broker.ts";
import { type Machine, NETWORK_NEEDS, Network } from "./network.ts";

const NEEDS = needing(...NETWORK_NEEDS, ...BROKER_NEEDS);

const placesOf = (network: Network) => network.machines.map(({ address, prefix }) => ({ host: address, prefix }));

test(
	"issue 15: with one link cut the majority goes on, and the third catches up when it is healed",
	NEEDS,
	async () => {
		await using network = await Network.start();
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
	await using network = await Network.start();
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
	await machine!.slow({ kilobitsPerSecond: 1000 });
	// A hundred thousand bytes are 800 kilobits.
	expect(await timed()).toBeGreaterThan(500);
	await machine!.unslow();
	await until("it is quick again", async () => (await timed()) < 400);
});

/** What ping says of so many packets to a machine and back: how many came back, and the times in ms. */
async function pinged(machine: Machine, count: number): Promise<{ received: number; least: number; most: number }> {
	const args = ["-q", "-n", "-i", "0.01", "-W", "2", "-c", String(count), machine.address];
	const { stdout } = await promisify(execFile)(find("ping")!, args).catch((error: { stdout: string }) => error);
	const [, received] = / (\d+) received/.exec(stdout)!;
	const [, least, most] = /= ([\d.]+)\/[\d.]+\/([\d.]+)\//.exec(stdout)!;
	return { received: Number(received), least: Number(least), most: Number(most) };
}

test(
	"a link delays each packet in both directions, some more than others",
	needing(...NETWORK_NEEDS, "ping"),
	async () => {
		await using network = await Network.start();
		const [machine, other] = network.machines;
		await machine!.slow({ delayMs: 40, jitterMs: 30 });
		const { received, least, most } = await pinged(machine!, 50);
		expect(received).toBe(50);
		expect(least).toBeGreaterThan(80);
		expect(most).toBeGreaterThan(least + 10);
		expect((await pinged(other!, 5)).least).toBeLessThan(40);
		await machine!.unslow();
		expect((await pinged(machine!, 5)).least).toBeLessThan(40);
	},
);

test(
	"a link loses a part of the packets, and what uses it sends them again",
	needing(...NETWORK_NEEDS, "ping", "nats-server", "openssl"),
	async () => {
		await using network = await Network.start();
		const [machine] = network.machines;
		await using brokers = await Brokers.start({ places: placesOf(network).slice(0, 1) });
		const connection = await brokers.connect("admin");
		await machine!.slow({ lossPercent: 10 });
		// Of a packet and its answer both arrive with a chance of 81 %.
		const { received } = await pinged(machine!, 400);
		expect(received).toBeGreaterThan(400 * 0.7);
		expect(received).toBeLessThan(400 * 0.9);
		const heard: string[] = [];
		connection.subscribe("dt.open.h1.*.*", { callback: (_, message) => void heard.push(message.string()) });
		const sent = Array.from({ length: 500 }, (_, index) => `${index} ${"x".repeat(1000)}`);
		for (const text of sent) connection.publish("dt.open.h1.admin._", text);
		await until("all are heard", () => heard.length === sent.length);
		expect(heard).toEqual(sent);
	},
);

const HOST = `
	import { connect, nkeyAuthenticator } from "@nats-io/transport-node";
	const { servers, inboxPrefix, seed, ca } = JSON.parse(process.argv[1]);
	const authenticator = nkeyAuthenticator(Buffer.from(seed));
	const host = await connect({ servers, inboxPrefix, authenticator, tls: { ca } });
	host.subscribe("dt.open.h1.*.*", { callback: (_, message) => message.respond("here") });
	await host.flush();
	console.log("ready");
`;

function joining(brokers: Brokers): string {
	const { seed, inboxPrefix, member } = readCredentials(brokers.credentials("admin"));
	return JSON.stringify({ servers: brokers.servers, inboxPrefix, seed: Buffer.from(seed).toString(), ca: member?.ca });
}

/** Whether this process's kernel has an open connection to that address, as \`/proc\` has it: in hexadecimal, the last byte first. */
function isConnectedTo(pid: number, address: string): boolean {
	const bytes = address.split(".").map((byte) => Number(byte).toString(16).padStart(2, "0"));
	const remote = bytes.reverse().join("").toUpperCase();
	return new RegExp(` ${remote}:[0-9A-F]+ 01 `).test(readFileSync(`/proc/${pid}/net/tcp`, "utf8"));
}

test("a machine from which nothing comes any more is given up by the server within seconds", NEEDS, async () => {
	await using network = await Network.start();
	const [, machine] = network.machines;
	await using brokers = await Brokers.start({ places: placesOf(network).slice(0, 1) });
	const near = await brokers.connect("admin");
	using far = machine!.spawn([process.execPath, "--input-type=module", "-e", HOST, joining(brokers)], {
		stdio: ["ignore", "pipe", "inherit"],
	});
	await once(far.stdout!, "data");
	const reply = openedInbox(readCredentials(brokers.credentials("admin")).inboxPrefix, "x");
	const ask = () => near.request("dt.open.h1.admin._", "", { timeout: 500, noMux: true, reply });
	expect((await ask()).string()).toBe("here");
	const isConnected = () => isConnectedTo(brokers.nodes[0]!.pid, machine!.address);
	expect(isConnected()).toBe(true);
	machine!.cut();
	await expect(ask()).rejects.toThrow(/timeout/i);
	// Not asked in the meantime: the server sends no pings to a client that it sends other things to.
	await until("the server has closed its end", () => !isConnected());
	await expect(ask()).rejects.toThrow(/no responders/);
});

test("nothing is left of a network", needing(...NETWORK_NEEDS), async () => {
	const left = () =>
		[
			["netns", "list"],
			["-brief", "link"],
		]
			.map((args) => execFileSync(find("ip")!, args, { encoding: "utf8" }))
			.join("")
			.includes(`dtf${process.pid}`);
	{
		await using _network = await Network.start();
		expect(left()).toBe(true);
		// One that was not disposed of is removed by the next.
		await using _next = await Network.start();
		expect(left()).toBe(true);
	}
	expect(left()).toBe(false);
});
