// The lease of a joined daemon, with the real figures, as an admin of the fleet reads it at the servers.

import { availableParallelism, loadavg } from "node:os";
import { jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { expect, test } from "vitest";
import { LEASE, type Lease } from "../../src/fleet/buckets.ts";
import { STREAMS } from "../../src/fleet/permissions.ts";
import { bootId } from "../../src/pty/boot-id.ts";
import { within } from "../../src/pty/wait.ts";
import { VERSION } from "../../src/version.ts";
import { HANG_MS } from "../condition.ts";
import { Home } from "../daemon/home.ts";
import { needing } from "../programs.ts";
import { BROKER_NEEDS, Brokers } from "./broker.ts";
import { called } from "./two-hosts.ts";

const loadNow = () => loadavg()[0]! / availableParallelism();

test(
	"issue 15: a lease lasts 10 s, is refreshed every 3 s, and says how much a machine takes and has, and what it is",
	needing(...BROKER_NEEDS),
	async () => {
		await using brokers = await Brokers.start();
		await using home = new Home({ DIALTONE_MAX_SESSIONS: "7" });
		await using client = await home.connect();
		const before = Date.now();
		const labels = { gpu: "a100", site: "here" };
		await client.fleet({ servers: [], credentials: brokers.credentials("admin"), host: "alpha", labels });

		expect(LEASE).toEqual({ refreshMs: 3000, ttlMs: 10_000 });
		const admin = await brokers.connect("admin");
		const { config } = await (await jetstreamManager(admin)).streams.info(STREAMS.hosts);
		expect(config).toMatchObject({ max_age: 10_000_000_000, max_msgs_per_subject: 1 });

		const leases = (await (await new Kvm(admin).open("dt_hosts")).watch({ key: "alpha" }))[Symbol.asyncIterator]();
		const next = async () => {
			const { value, done } = await within(HANG_MS, "the next lease", leases.next());
			if (done) throw new Error("there are no more leases");
			return { ...value.json<Lease>(), at: value.created.getTime() };
		};
		const first = await next();
		expect(first).toMatchObject({
			...{
				host: "alpha",
				labels,
				version: VERSION,
				bootId: bootId(),
				home: expect.stringMatching(/^\d+-\d+$/),
				daemonEpoch: 1,
			},
			...{ capacity: { sessions: 7 }, running: 0 },
		});
		expect(first.since).toBeGreaterThanOrEqual(before);
		expect(first.since).toBeLessThanOrEqual(first.at + 1);

		await called(client, "start", { name: "cat", argv: ["cat"], timeoutMs: 60_000 });
		const times = [first.at];
		let loadBefore = loadNow();
		for (let count = 0; count < 3; count++) {
			const lease = await next();
			times.push(lease.at);
			expect(lease).toMatchObject({ running: 1, since: first.since });
			const load = loadNow();
			expect(lease.load).toBeGreaterThan(Math.min(load, loadBefore) - 0.02);
			expect(lease.load).toBeLessThan(Math.max(load, loadBefore) + 0.02);
			loadBefore = load;
		}
		const gaps = times.slice(1).map((at, index) => at - times[index]!);
		// A busy machine is late with one, and so much sooner comes the next.
		expect((times.at(-1)! - times[0]!) / gaps.length).toBeGreaterThan(2000);
		for (const gap of gaps) expect(gap).toBeLessThan(LEASE.ttlMs);
		expect(Math.min(...gaps)).toBeLessThan(3500);
	},
);
