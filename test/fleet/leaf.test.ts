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
	/** Of the same servers, with a leaf node of its own. */
	let rivalLeaf: BrokerNode;
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
		brokers = await Brokers.start({ nodes: 3, tenants: ["main", "rival"] });
		const places = await loopbackPlaces(2);
		const [ours, theirs] = [
			{ tenant: "main", name: "site" },
			{ tenant: "rival", name: "rival-site" },
		].map(({ tenant, name }, index) => {
			const server = { name, host: places[index]!.host, port: 4222 };
			return new BrokerNode(server, addLeaf(brokers.directory, tenant, server), []);
		});
		[leaf, rivalLeaf] = [ours!, theirs!];
		addUser(brokers.directory, "main", { name: "bot", role: "drive", owner: "bot", host: null });
		for (const index of brokers.nodes.keys()) {
			await brokers.kill(index);
			await brokers.restart(index);
		}
		for (const node of [leaf, rivalLeaf]) {
			node.start();
			await node.listening();
		}
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
		await rivalLeaf?.kill();
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

	test(
		"is heard by no other tenant, at a leaf node or a server, nor known there",
		needing(...BROKER_NEEDS),
		async () => {
			const [hubNode] = brokers.nodes;
			const inboxOf = (tenant: string) =>
				openedInbox(readCredentials(brokers.credentials("admin", tenant)).inboxPrefix, "x");
			const subjects = [
				"dt.open.hub.admin._",
				"dt.up.hub.admin._.link",
				"dt.down.admin._.link",
				"dt.down.drive.bot.link",
			];
			const heard: string[] = [];
			const listenAs = async (tenant: string, where: string, node: BrokerNode) => {
				const connection = await brokers.connect("admin", { tenant, node });
				for (const subject of [
					"dt.open.*.*.*",
					"dt.up.*.*.*.*",
					"dt.down.admin._.*",
					"dt.down.drive.*.*",
					inboxOf(tenant),
				])
					connection.subscribe(subject, {
						callback: (_, message) => void heard.push(`${tenant} ${where} ${message.subject} ${message.string()}`),
					});
				await connection.flush();
				return connection;
			};
			const listeners = [
				await listenAs("rival", "leaf", rivalLeaf),
				await listenAs("rival", "hub", hubNode!),
				await listenAs("main", "hub", hubNode!),
			];
			const sayAs = async (tenant: string, node: BrokerNode, text: string) => {
				const connection = await brokers.connect("admin", { tenant, node });
				for (const subject of [...subjects, inboxOf("main"), inboxOf("rival")]) connection.publish(subject, text);
				await connection.flush();
				await connection.close();
			};
			const arrivedOf = (tenant: string, where: string, text: string) =>
				[...subjects, inboxOf(tenant)].every((subject) => heard.includes(`${tenant} ${where} ${subject} ${text}`));
			await until("our own hear it", async () => {
				await sayAs("main", leaf, "ours");
				return arrivedOf("main", "hub", "ours");
			});
			await until("theirs hear their own, which was said later", async () => {
				await sayAs("rival", rivalLeaf, "theirs");
				return arrivedOf("rival", "hub", "theirs") && arrivedOf("rival", "leaf", "theirs");
			});
			expect(heard.filter((each) => each.startsWith("rival") !== each.endsWith("theirs"))).toEqual([]);
			for (const connection of listeners) await connection.close();
			await expect(brokers.connect("admin", { tenant: "rival", node: leaf })).rejects.toThrow(/authorization/i);
		},
	);

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
