// A site with a leaf node: its machine connects to that alone, with the credentials that it would use with the cluster.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readCredentials } from "../../src/fleet/credentials.ts";
import { addLeaf, addUser } from "../../src/fleet/init.ts";
import { openedInbox } from "../../src/fleet/permissions.ts";
import type { Client } from "../../src/tools/client.ts";
import { until } from "../condition.ts";
import { Home } from "../daemon/home.ts";
import { missing, needing } from "../programs.ts";
import { BROKER_NEEDS, BrokerNode, Brokers, loopbackPlaces } from "./broker.ts";
import { called, codeOf } from "./two-hosts.ts";

const patient = { timeoutMs: 60_000 };

describe("issue 15: a machine behind a leaf node", () => {
	let brokers: Brokers;
	let leaf: BrokerNode;
	const homes: Home[] = [];
	let hub: Client;
	let site: Client;

	const join = async (home: Home, host: string, credentials: string, servers: readonly string[]) => {
		const client = await home.connect();
		await client.fleet({ servers, credentials, host, labels: {} });
		return client;
	};

	beforeAll(async () => {
		if (missing(...BROKER_NEEDS).length > 0) return;
		brokers = await Brokers.start({ nodes: 3 });
		const [{ host = "" } = {}] = await loopbackPlaces(1);
		const server = { name: "site", host, port: 4222 };
		const directory = addLeaf(brokers.directory, "main", server);
		addUser(brokers.directory, "main", { name: "bot", role: "drive", owner: "bot", host: null });
		for (const index of brokers.nodes.keys()) {
			await brokers.kill(index);
			await brokers.restart(index);
		}
		leaf = new BrokerNode(server, directory, []);
		leaf.start();
		await leaf.listening();
		homes.push(new Home(), new Home());
		hub = await join(homes[0]!, "hub", brokers.credentials("admin"), []);
		site = await join(homes[1]!, "site", brokers.credentials("admin"), [leaf.address]);
		for (const [client, other] of [
			[hub, "site"],
			[site, "hub"],
		] as const)
			await until(`${other} is known`, async () => (await codeOf(called(client, "list", { host: other }))) === "done");
	}, 120_000);
	afterAll(async () => {
		for (const home of homes) {
			await home.cli("daemon", "stop", "--sessions");
			await home[Symbol.asyncDispose]();
		}
		await leaf?.kill();
		await brokers?.[Symbol.asyncDispose]();
	});

	test("uses and serves sessions, both ways, and is placed on", needing(...BROKER_NEEDS), async () => {
		for (const [client, other] of [
			[hub, "site"],
			[site, "hub"],
		] as const) {
			await called(client, "start", { host: other, name: "cat", argv: ["cat"], ...patient });
			const said = await called(client, "send", { session: `${other}/cat`, text: "hello", submit: true, ...patient });
			expect(said.text).toContain("hello");
			const placed = { name: `from-${other}`, argv: ["cat"], placement: { host: other }, ...patient };
			const [once, again] = [await called(client, "start", placed), await codeOf(called(client, "start", placed))];
			expect(once.facts).toMatchObject({ name: `${other}/from-${other}` });
			expect(again).toBe("name_taken");
			await until("all are listed", async () => {
				const { sessions } = (await called(client, "list", {})).facts as { sessions: { name: string }[] };
				return [`${other}/cat`, `${other}/from-${other}`].every((each) => sessions.some(({ name }) => name === each));
			});
		}
	});

	test("hears the events of the others", needing(...BROKER_NEEDS), async () => {
		const stop = new AbortController();
		const heard: string[] = [];
		const hearing = (async () => {
			for await (const event of site.events({ signal: stop.signal }))
				if (event.event !== "dropped") heard.push(`${event.event} ${event.name}`);
		})();
		await until("its end is told", async () => {
			await called(hub, "run", { command: "true", ...patient });
			return heard.some((event) => event.includes("hub/main"));
		});
		stop.abort();
		await hearing.catch(() => {});
	});

	test("may there what it may elsewhere, and no more", needing(...BROKER_NEEDS), async () => {
		const connection = await brokers.connect("bot", { node: leaf });
		const refused: string[] = [];
		void (async () => {
			for await (const status of connection.status()) if (status.type === "error") refused.push(String(status.error));
		})();
		const reply = openedInbox(readCredentials(brokers.credentials("bot")).inboxPrefix, "x");
		const answer = (subject: string) =>
			connection.request(subject, "{}", { timeout: 1000, noMux: true, reply }).then(
				() => "answered",
				() => "refused", // where the leaf node has named another subject in its refusal, by the timeout
			);
		expect(await answer("dt.open.hub.drive.bot")).toBe("answered");
		for (const subject of [
			"dt.open.hub.drive.other",
			"dt.open.hub.admin._",
			"$JS.API.STREAM.DELETE.DT_EVENTS",
			"$JS.dialtone.API.STREAM.DELETE.DT_EVENTS",
			"$JS.API.STREAM.INFO.KV_dt_sessions",
			"$KV.dt_hosts.hub",
		]) {
			refused.length = 0;
			expect(await answer(subject)).toBe("refused");
			await until(`${subject} is refused by name`, () => refused.some((text) => /permissions violation/i.test(text)));
		}
		await connection.close();
	});

	test("is unreachable without it, works by itself, and is back with it", needing(...BROKER_NEEDS), async () => {
		await called(hub, "start", { host: "site", name: "far", argv: ["cat"], ...patient });
		await leaf.kill();
		await until(
			"the site is told of it",
			async () => (await codeOf(called(site, "read", { session: "hub/none" }))) === "fleet_unreachable",
		);
		expect((await called(site, "run", { command: "echo here", ...patient })).facts).toMatchObject({ text: "here\n" });
		expect(await codeOf(called(hub, "read", { session: "site/far" }))).toBe("host_unreachable");
		leaf.start();
		await leaf.listening();
		await until("it is back", async () => (await codeOf(called(hub, "read", { session: "site/far" }))) === "done");
		const said = await called(hub, "send", { session: "site/far", text: "again", submit: true, ...patient });
		expect(said.text).toContain("again");
	});
});
