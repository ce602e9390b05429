// What a daemon says of the fleet while the store changes under it, or does not answer although a server does.

import { Kvm } from "@nats-io/kv";
import { expect, test } from "vitest";
import { FleetRegistry } from "../../src/fleet/registry.ts";
import { within } from "../../src/pty/wait.ts";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";
import { BROKER_NEEDS, Brokers } from "./broker.ts";
import { SHORT } from "./member.ts";
import { OneServer } from "./one-server.ts";

const record = (name: string) => ({
	...{ name, command: "cat", status: "running", activity: null, waitingFor: null, owner: "test", createdAt: 0 },
	...{ updatedAt: 0, exit: null, sandbox: "none", boot: "12345678" },
});

test("records are read to their end while they are written", needing("nats-server"), async () => {
	await using server = await OneServer.start();
	const nats = await server.connect();
	const registry = await FleetRegistry.open({ nats, onProblem: () => {} });
	try {
		const kv = await new Kvm(nats).open("dt_sessions");
		const keys = Array.from({ length: 200 }, (_, index) => `h1.test.s${index}`);
		const write = () => Promise.all(keys.map((key) => kv.put(key, JSON.stringify(record(key)))));
		await write();
		for (let times = 0; times < 10; times++) {
			const writing = write();
			expect(await within(10_000, "reading", registry.running("test", "h1.test.s7"))).toEqual(["h1"]);
			await writing;
		}
	} finally {
		await registry[Symbol.asyncDispose]();
	}
});

test(
	"while the servers have no majority no host is told as lost, and that nothing is heard is",
	needing(...BROKER_NEEDS),
	async () => {
		await using brokers = await Brokers.start({ nodes: 3 });
		const [first] = brokers.nodes;
		const own = {
			...{ host: "h1", labels: {}, version: "1", bootId: "12345678", home: "h", daemonEpoch: 1, capacity: 1 },
			sessions: { list: () => [], events: { onEvent: () => () => {} }, runningCount: () => 0, onCount: () => () => {} },
		};
		const lasting = { reconnect: true, maxReconnectAttempts: -1, reconnectTimeWait: 100 };
		const theirs = await brokers.connect("admin", lasting);
		const ours = await brokers.connect("admin", { node: first!, ...lasting });
		const parts = { onProblem: () => {}, ...SHORT };
		const host = await FleetRegistry.open({ nats: theirs, own, ...parts });
		const registry = await FleetRegistry.open({ nats: ours, ...parts });
		try {
			await until("it is heard of", () => registry.host("h1")?.reachable);
			for (const index of [1, 2]) await brokers.kill(index);
			await until("nothing is heard", () => registry.awaySince !== null || registry.unheardSince !== null);
			const since = Date.now();
			await until("leases would have ended", () => Date.now() - since > 3 * SHORT.ttlMs);
			expect(registry.awaySince).toBe(null);
			expect(registry.unheardSince).toBeLessThan(since);
			expect(registry.host("h1")?.reachable).toBe(true);
			for (const index of [1, 2]) await brokers.restart(index);
			await until("it is heard of again", () => registry.unheardSince === null && registry.host("h1")?.reachable);
		} finally {
			await registry[Symbol.asyncDispose]();
			await host[Symbol.asyncDispose]();
		}
	},
);
