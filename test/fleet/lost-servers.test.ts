// What lists say while the servers of a fleet are away, and of hosts that were lost before a daemon began; and of hosts that
// have left for good. Real daemons and servers.

import { describe, expect, test } from "vitest";
import type { ListFacts } from "../../src/protocol/answer.ts";
import type { FleetStatus } from "../../src/protocol/fleet.ts";
import { gone } from "../alive.ts";
import { until } from "../condition.ts";
import type { Home } from "../daemon/home.ts";
import { needing } from "../programs.ts";
import { BROKER_NEEDS } from "./broker.ts";
import { called, codeOf, TwoHosts } from "./two-hosts.ts";

const status = async (home: Home): Promise<FleetStatus> =>
	JSON.parse((await home.cli("fleet", "status", "--json")).stdout);
const hostIn = async (home: Home, host: string) => (await status(home)).hosts.find((one) => one.host === host);
const rowOf = async ({ client }: Pick<TwoHosts, "client">, name: string) =>
	((await called(client, "list", {})).facts as ListFacts).sessions.find((one) => one.name === name);

async function withCat(nodes: 1 | 3): Promise<TwoHosts> {
	const hosts = await TwoHosts.start({ nodes });
	await using own = await hosts.beta.connect();
	await own.call("start", { name: "cat", argv: ["cat"], timeoutMs: 60_000 });
	await until("it is listed", async () => (await rowOf(hosts, "beta/cat"))?.unreachableSince === undefined);
	return hosts;
}

describe("issue 15: what is not heard of is not told as if it were", () => {
	test(
		"without servers other hosts and their sessions are told as unreachable since then, and this one is not",
		needing(...BROKER_NEEDS),
		async () => {
			await using hosts = await withCat(1);
			const killedAt = Date.now();
			await hosts.brokers.kill(0);
			const row = await until("it is told", async () => {
				const found = await rowOf(hosts, "beta/cat");
				return found?.unreachableSince !== undefined && found;
			});
			expect(row).toMatchObject({ status: "running", activity: "unresponsive" });
			expect(Math.abs(row.unreachableSince! - killedAt)).toBeLessThan(5000);
			expect((await hosts.alpha.cli("ls")).stdout).toMatch(/beta\/cat +unreachable for \d+s/);
			expect(await hostIn(hosts.alpha, "beta")).toMatchObject({ reachable: false });
			expect(await hostIn(hosts.alpha, "alpha")).toMatchObject({ reachable: true });
			const backAt = Date.now();
			await hosts.brokers.restart(0);
			await until("it is back", async () => (await rowOf(hosts, "beta/cat"))?.unreachableSince === undefined);
			await until("so is its host", async () => (await hostIn(hosts.alpha, "beta"))?.reachable);
			const { connected, since } = await status(hosts.alpha);
			expect(connected).toBe(true);
			expect(since).toBeGreaterThanOrEqual(backAt);
		},
	);

	test("while the servers answer and keep nothing, it is said, too", needing(...BROKER_NEEDS), async () => {
		await using hosts = await withCat(3);
		const { servers } = await status(hosts.alpha);
		expect(servers).toHaveLength(3);
		for (const index of [1, 2]) await hosts.brokers.kill(index);
		await until("it is told", async () => {
			const { connected, problem } = await status(hosts.alpha);
			return connected && /keep nothing/.test(problem ?? "");
		});
		await until("so are the others", async () => (await hostIn(hosts.alpha, "beta"))?.reachable === false);
		for (const index of [1, 2]) await hosts.brokers.restart(index);
		await until("all is well", async () => {
			const { problem, hosts: seen } = await status(hosts.alpha);
			return problem === null && seen.every(({ reachable }) => reachable);
		});
	});

	test("a daemon that began after a host was lost does not say since when", needing(...BROKER_NEEDS), async () => {
		await using hosts = await withCat(1);
		await using own = await hosts.beta.connect();
		const { daemonPid } = own;
		process.kill(daemonPid, "SIGKILL");
		await gone(daemonPid);
		await until("it is lost", async () => (await hostIn(hosts.alpha, "beta"))?.reachable === false);
		expect((await hosts.alpha.cli("daemon", "restart")).code).toBe(0);
		await using next = await hosts.alpha.connect();
		const row = await until("it is listed", () => rowOf({ client: next }, "beta/cat"));
		expect(row.unreachableSince).toBeNull();
		expect((await hosts.alpha.cli("ls")).stdout).toMatch(/beta\/cat +unreachable +(?!for)/);
	});
});

describe("issue 15: a machine that is gone for good", () => {
	test("and leaves is listed no more, nor are its sessions, which run on", needing(...BROKER_NEEDS), async () => {
		await using hosts = await withCat(1);
		expect((await hosts.beta.cli("fleet", "leave")).code).toBe(0);
		await until("it is forgotten", async () => (await hostIn(hosts.alpha, "beta")) === undefined);
		expect(await rowOf(hosts, "beta/cat")).toBeUndefined();
		expect(await codeOf(called(hosts.client, "read", { session: "beta/cat" }))).not.toBe("host_unreachable");
		expect((await hosts.beta.cli("ls")).stdout).toContain("cat");
		// Under another name it is one machine.
		const join = ["join", "--creds", hosts.brokers.credentials("admin"), "--as"];
		for (const name of ["delta", "epsilon"]) expect((await hosts.beta.cli(...join, name)).code).toBe(0);
		await until("it is listed", () => rowOf(hosts, "epsilon/cat"));
		expect(await rowOf(hosts, "delta/cat")).toBeUndefined();
		expect(await hostIn(hosts.alpha, "delta")).toBeUndefined();
	});

	test("without a word is removed by a command, and one that is there is not", needing(...BROKER_NEEDS), async () => {
		await using hosts = await withCat(1);
		const forget = async () => JSON.parse((await hosts.alpha.cli("fleet", "forget", "beta", "--json")).stdout);
		expect(await forget()).toMatchObject({ fault: "host_in_use" });
		// Nor is a pattern of hosts the name of one.
		const all = await hosts.alpha.cli("fleet", "forget", "*", "--json");
		expect(JSON.parse(all.stdout)).toMatchObject({ fault: "unknown_host" });
		expect((await hostIn(hosts.alpha, "beta"))?.reachable).toBe(true);
		expect(await rowOf(hosts, "beta/cat")).toBeDefined();
		await using own = await hosts.beta.connect();
		const { daemonPid } = own;
		process.kill(daemonPid, "SIGKILL");
		await gone(daemonPid);
		await until("it is lost", async () => (await hostIn(hosts.alpha, "beta"))?.reachable === false);
		expect(await forget()).toEqual({ forgot: "beta", sessions: 1 });
		await until("it is forgotten", async () => (await hostIn(hosts.alpha, "beta")) === undefined);
		expect(await rowOf(hosts, "beta/cat")).toBeUndefined();
		expect(await forget()).toMatchObject({ fault: "unknown_host" });
		// It may come back.
		await using _again = await hosts.beta.connect();
		await until("it is back", async () => (await rowOf(hosts, "beta/cat"))?.unreachableSince === undefined);
	});
});
