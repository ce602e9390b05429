// What a daemon says of the fleet while the store changes under it, or does not answer although a server does.

import { jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { expect, test } from "vitest";
import { openBuckets } from "../../src/fleet/buckets.ts";
import { Connected } from "../../src/fleet/connected.ts";
import { EventStream } from "../../src/fleet/event-stream.ts";
import { STREAMS } from "../../src/fleet/permissions.ts";
import { FleetRegistry } from "../../src/fleet/registry.ts";
import { reportListenerErrors } from "../../src/protocol/listeners.ts";
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

test("a record that cannot be read is left out, counted and removed as any other", needing("nats-server"), async () => {
	await using server = await OneServer.start();
	const nats = await server.connect();
	const registry = await FleetRegistry.open({ nats, onProblem: () => {} });
	try {
		const kv = await new Kvm(nats).open("dt_sessions");
		for (const [id, text] of Object.entries({ a: "?", b: "null", c: "[]", d: '{"name":"job"}' }))
			await kv.put(`h1.test.${id}`, text);
		await kv.put("h2.test.e", JSON.stringify(record("job")));
		expect(await registry.running("test", "job")).toEqual(["h2"]);
		expect(await registry.find("h1", "a")).toBe(null);
		expect(await registry.forget("h1")).toBe(4);
		await expect(registry.forget("h1")).rejects.toMatchObject({ code: "unknown_host" });
	} finally {
		await registry[Symbol.asyncDispose]();
	}
});

test("what a tenant may have the servers keep is bounded, and so is each value", needing("nats-server"), async () => {
	await using server = await OneServer.start();
	const nats = await server.connect();
	const buckets = await openBuckets(nats);
	await new EventStream({ nats, connected: new Connected(nats) }).ensure();
	const manager = await jetstreamManager(nats);
	let reserved = 0;
	for (const stream of Object.values(STREAMS)) {
		const { config } = await manager.streams.info(stream);
		expect(config.max_bytes, stream).toBeGreaterThan(1 << 20);
		reserved += config.max_bytes;
	}
	expect(reserved).toBeLessThan(1 << 30);
	const large = "x".repeat(64 * 1024);
	for (const bucket of [buckets.hosts, buckets.sessions, buckets.pins])
		await expect(bucket.put("h1.test.large", large)).rejects.toThrow(/message size exceeds maximum/);
});

test("an event that the servers refuse is offered again with growing pauses", needing("nats-server"), async () => {
	await using server = await OneServer.start();
	const nats = await server.connect();
	const over = new AbortController();
	const reported: string[] = [];
	const before = reportListenerErrors((_, origin) => reported.push(origin));
	const event = { seq: 1, at: 0, event: "dropped", dropped: 1 } as const;
	const local = {
		async *events() {
			yield event;
		},
	};
	// Who may not make the stream is refused at once: nobody keeps it.
	const events = new EventStream({ nats, connected: new Connected(nats), makes: false });
	const sent = nats.stats().outMsgs;
	const published = events.publish({ host: "h1", local, ownerOf: () => null, epoch: "1", signal: over.signal });
	await within(1000, "publishing", published).catch(() => {}); // it goes on
	expect(nats.stats().outMsgs - sent).toBeLessThan(10);
	await new EventStream({ nats, connected: new Connected(nats) }).ensure();
	await published;
	over.abort();
	reportListenerErrors(before);
	expect(reported.every((origin) => origin === "telling the fleet of an event")).toBe(true);
	expect((await (await jetstreamManager(nats)).streams.info(STREAMS.events)).state.messages).toBe(1);
});

test("who waits to be a member is told when no server says which hosts there are", needing("nats-server"), async () => {
	await using server = await OneServer.start({ stores: false });
	const nats = await server.connect();
	const opening = FleetRegistry.open({ nats, makes: false, onProblem: () => {} });
	await expect(opening).rejects.toThrow(/reading the fleet's hosts/);
});
