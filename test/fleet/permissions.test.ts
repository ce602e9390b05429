// Every kind of user tries every subject of the fleet, its own and others', with a real server.
//
// What is expected here is written in terms of users and what they are for, not of the lists in
// src/fleet/permissions.ts: the two have to agree.

import { DeliverPolicy, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { headers, type NatsConnection, PermissionViolationError } from "@nats-io/transport-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readCredentials } from "../../src/fleet/credentials.ts";
import type { NewUser } from "../../src/fleet/init.ts";
import { inboxPrefix, openedInbox, permissionsOf, STREAMS } from "../../src/fleet/permissions.ts";
import { tokenOf } from "../../src/fleet/subjects.ts";
import { within } from "../../src/pty/wait.ts";
import { until as eventually, HANG_MS } from "../condition.ts";
import { needing } from "../programs.ts";
import { BROKER_NEEDS, Brokers } from "./broker.ts";

const [OWN, OTHER] = ["mcp:claude", "_"];
/** One is filled with what the others have tried. */
const [TENANT, RIVAL, TRIED] = ["acme", "rival", "tried"];
const HOSTS = ["h1", "h2"] as const;
const ROLES = ["admin", "drive", "view", "approve"] as const;

const user = (name: string, role: NewUser["role"], owner: string | null, host: string | null): NewUser => ({
	name,
	role,
	owner,
	host,
});
/** Beside `admin`, which the servers of the tests always have: an admin on any host. */
const USERS: readonly NewUser[] = [
	user("host-h1", "host", null, "h1"),
	user("person", "admin", null, null),
	user("agent", "drive", OWN, null),
	user("agent-h1", "drive", OWN, "h1"),
	user("viewer", "view", OWN, null),
	user("views-all", "view", null, null),
	user("approver", "approve", OWN, null),
	user("approves-all", "approve", null, null),
];

/** A subject, and who is to be allowed it. */
interface Row {
	readonly subject: string;
	readonly may: (one: NewUser) => boolean;
}

/** An admin also as any owner. */
const asksAs = (one: NewUser, role: string, owner: string | null) =>
	(one.role !== "host" && one.role === role && one.owner === owner) || (one.role === "admin" && role === "drive");
const reads = (one: NewUser, owner: string) => one.role !== "host" && (one.owner === null || one.owner === owner);
const readsAll = (one: NewUser) => one.role !== "host" && one.owner === null;
const serves = (one: NewUser, host: string) => one.host === host || one.host === "*";
const starts = (one: NewUser) => one.role === "admin" || one.role === "drive";
const isHost = (one: NewUser) => one.host !== null;
const isAdmin = (one: NewUser) => one.role === "admin";
const nobody = () => false;
const everybody = () => true;
const token = (owner: string | null) => (owner === null ? "_" : tokenOf(owner));
const OWNERS = [OWN, OTHER, null] as const;
const pairs = HOSTS.flatMap((host) => ([OWN, OTHER] as const).map((owner) => [host, owner] as const));
const create = (stream: string, filter: string) => `$JS.API.CONSUMER.CREATE.${stream}.some.${filter}`;
const get = (stream: string, key: string) => `$JS.API.DIRECT.GET.${stream}.${key}`;

const PUBLISH: readonly Row[] = [
	...HOSTS.flatMap((host) =>
		ROLES.flatMap((role) =>
			OWNERS.flatMap((owner): Row[] => [
				{ subject: `dt.open.${host}.${role}.${token(owner)}`, may: (one) => asksAs(one, role, owner) },
				{ subject: `dt.up.${host}.${role}.${token(owner)}.link`, may: (one) => asksAs(one, role, owner) },
			]),
		),
	),
	...ROLES.flatMap((role) =>
		OWNERS.map((owner): Row => ({ subject: `dt.down.${role}.${token(owner)}.link`, may: isHost })),
	),
	...pairs.flatMap(([host, owner]): Row[] => [
		{ subject: `dt.event.${host}.${token(owner)}.s1`, may: (one) => serves(one, host) },
		{ subject: `$KV.dt_sessions.${host}.${token(owner)}.s1`, may: (one) => serves(one, host) || isAdmin(one) },
		{
			subject: get(STREAMS.sessions, `$KV.dt_sessions.${host}.${token(owner)}.s1`),
			may: (one) => reads(one, owner) || serves(one, host),
		},
		{
			subject: create(STREAMS.sessions, `$KV.dt_sessions.${host}.${token(owner)}.>`),
			may: (one) => reads(one, owner) || serves(one, host),
		},
		{ subject: create(STREAMS.events, `dt.event.${host}.${token(owner)}.>`), may: (one) => reads(one, owner) },
	]),
	...([OWN, OTHER] as const).flatMap((owner): Row[] => [
		{
			subject: create(STREAMS.sessions, `$KV.dt_sessions.*.${token(owner)}.>`),
			may: (one) => reads(one, owner) || one.host === "*",
		},
		{ subject: create(STREAMS.events, `dt.event.*.${token(owner)}.>`), may: (one) => reads(one, owner) },
		{ subject: `$KV.dt_pins.${token(owner)}.session.s1`, may: (one) => starts(one) && reads(one, owner) },
		{
			subject: get(STREAMS.pins, `$KV.dt_pins.${token(owner)}.session.s1`),
			may: (one) => starts(one) && reads(one, owner),
		},
		{ subject: create(STREAMS.pins, `$KV.dt_pins.${token(owner)}.>`), may: nobody },
	]),
	...HOSTS.flatMap((host): Row[] => [
		{ subject: `$KV.dt_hosts.${host}`, may: (one) => serves(one, host) || isAdmin(one) },
		{ subject: get(STREAMS.hosts, `$KV.dt_hosts.${host}`), may: everybody },
		{
			subject: create(STREAMS.sessions, `$KV.dt_sessions.${host}.>`),
			may: (one) => readsAll(one) || serves(one, host),
		},
	]),
	{ subject: create(STREAMS.hosts, "$KV.dt_hosts.>"), may: everybody },
	{ subject: create(STREAMS.sessions, "$KV.dt_sessions.>"), may: readsAll },
	{ subject: create(STREAMS.sessions, "$KV.dt_sessions.*.*.>"), may: (one) => readsAll(one) || one.host === "*" },
	{ subject: create(STREAMS.sessions, ">"), may: nobody },
	{ subject: create(STREAMS.events, "dt.event.>"), may: readsAll },
	{ subject: create(STREAMS.events, "dt.event.*.*.*"), may: readsAll },
	{ subject: create(STREAMS.events, ">"), may: nobody },
	...Object.values(STREAMS).flatMap((stream): Row[] => [
		{ subject: `$JS.API.STREAM.INFO.${stream}`, may: (one) => isHost(one) || isAdmin(one) },
		{ subject: `$JS.API.STREAM.CREATE.${stream}`, may: (one) => isHost(one) || isAdmin(one) },
		...["UPDATE", "DELETE", "PURGE", "MSG.GET"].map((act) => ({
			subject: `$JS.API.STREAM.${act}.${stream}`,
			may: isAdmin,
		})),
		...["LIST", "NAMES"].map((act) => ({ subject: `$JS.API.CONSUMER.${act}.${stream}`, may: isAdmin })),
		...["STREAM.MSG.DELETE", "STREAM.SNAPSHOT", "STREAM.RESTORE", "STREAM.LEADER.STEPDOWN", "DIRECT.GET"].map(
			(act) => ({ subject: `$JS.API.${act}.${stream}`, may: nobody }),
		),
		// Without a filter in the subject, or with the older requests, a consumer could be of anything.
		...["CREATE", "DURABLE.CREATE"].flatMap((act) => [
			{ subject: `$JS.API.CONSUMER.${act}.${stream}`, may: nobody },
			{ subject: `$JS.API.CONSUMER.${act}.${stream}.some`, may: nobody },
		]),
		{ subject: `$JS.API.CONSUMER.MSG.NEXT.${stream}.some`, may: nobody },
		...[...["INFO", "DELETE"].map((act) => `$JS.API.CONSUMER.${act}.${stream}.some`), `$JS.FC.${stream}.some`].map(
			(subject) => ({
				subject,
				may: (one: NewUser) =>
					stream !== STREAMS.pins &&
					(stream === STREAMS.hosts || one.role !== "host" || (stream === STREAMS.sessions && isHost(one))),
			}),
		),
	]),
	{ subject: "$JS.API.INFO", may: (one) => isHost(one) || isAdmin(one) },
	...["$JS.API.STREAM.LIST", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.CREATE.other", "$JS.API.ACCOUNT.PURGE.acme"].map(
		(subject) => ({ subject, may: nobody }),
	),
	{ subject: "$KV.other.key", may: nobody },
	{ subject: "$JS.ACK.DT_EVENTS.some.1.1.1.1.1", may: nobody },
	{ subject: "$SYS.REQ.SERVER.PING", may: nobody },
	{ subject: "dt.other", may: nobody },
	{ subject: "other", may: nobody },
];

const SUBSCRIBE: readonly Row[] = [
	...ROLES.flatMap((role) =>
		OWNERS.map(
			(owner): Row => ({ subject: `dt.down.${role}.${token(owner)}.*`, may: (one) => asksAs(one, role, owner) }),
		),
	),
	...HOSTS.flatMap((host) =>
		[`dt.open.${host}.*.*`, `dt.up.${host}.*.*.*`].map(
			(subject): Row => ({ subject, may: (one) => serves(one, host) }),
		),
	),
	...["dt.open.*.*.*", "dt.up.*.*.*.*"].map((subject): Row => ({ subject, may: (one) => one.host === "*" })),
	...[
		...[">", "*", "dt.>", "dt.down.>", "dt.down.drive.>", "dt.open.>", "dt.event.>", "$KV.>", "$KV.dt_sessions.>"],
		...[
			"$KV.dt_hosts.>",
			"$JS.>",
			"$JS.API.>",
			"$JS.EVENT.ADVISORY.>",
			"$JS.ACK.>",
			"$SYS.>",
			"_INBOX.>",
			"_INBOX.*.*",
		],
		...["_R_.>", "_GR_.>", "$JSC.>", "$NRG.>"],
	].map((subject) => ({ subject, may: nobody })),
];

describe.each([1, 3] as const)(
	"issue 15: what the users of a fleet of %i servers may",
	needing(...BROKER_NEEDS),
	(nodes) => {
		let brokers: Brokers;
		let host: NatsConnection;
		beforeAll(async () => {
			brokers = await Brokers.start({ nodes, tenants: [TENANT, RIVAL, TRIED], users: USERS });
			// Any host makes what is needed: here the one that may only serve as h1.
			for (const tenant of [TENANT, RIVAL, TRIED]) {
				const connection = await brokers.connect("host-h1", { tenant });
				if (tenant === TENANT) host = connection;
				const buckets = new Kvm(connection);
				await (await buckets.create("dt_hosts", { ttl: 600_000, replicas: nodes })).put("h1", `h1 of ${tenant}`);
				const sessions = await buckets.create("dt_sessions", { replicas: nodes });
				await buckets.create("dt_pins", { replicas: nodes });
				const manager = await jetstreamManager(connection);
				await manager.streams.add({ name: STREAMS.events, subjects: ["dt.event.>"], num_replicas: nodes });
				for (const owner of [OWN, OTHER]) {
					await sessions.put(`h1.${token(owner)}.s1`, `${owner} of ${tenant}`);
					await jetstream(connection).publish(`dt.event.h1.${token(owner)}.s1`, `${owner} of ${tenant}`);
				}
			}
		});
		afterAll(() => brokers?.[Symbol.asyncDispose]());

		const everyone = [...USERS, user("admin", "admin", null, "*")];

		/** What is wrong when `one` tries everything, if it is to be allowed what `as` is for. */
		async function wrongs(one: NewUser, as = one): Promise<readonly string[]> {
			const connection = await brokers.connect(one.name, { tenant: TRIED });
			const refused = watchRefusals(connection);
			const prefix = (name: string) => readCredentials(brokers.credentials(name, TRIED)).inboxPrefix;
			const inbox = (name: string) => `${prefix(name)}.x`;
			const published: readonly Row[] = [
				...PUBLISH,
				...everyone.map(({ name }) => ({ subject: inbox(name), may: nobody })),
				...everyone.map(({ name }) => ({ subject: `${prefix(name)}.opened.x`, may: isHost })),
				{ subject: "_INBOX.x", may: nobody },
			];
			const subscribed: readonly Row[] = [
				...SUBSCRIBE,
				...everyone.map(({ name }) => ({ subject: inbox(name), may: (asked: NewUser) => asked.name === name })),
			];
			// A text that is no request, so that what is allowed does nothing.
			for (const { subject } of published) connection.publish(subject, "?");
			for (const { subject } of subscribed) connection.subscribe(subject, { callback: () => {} });
			await connection.flush();
			await connection.close();
			await refused.all;
			const wrong = (operation: string, rows: readonly Row[]) =>
				rows
					.map(({ subject, may }) => ({ act: `${operation} ${subject}`, allowed: may(as) }))
					.filter(({ act, allowed }) => allowed === refused.has(act))
					.map(({ act, allowed }) => `${allowed ? "refused" : "allowed"}: ${act}`);
			return [...wrong("publish", published), ...wrong("subscription", subscribed)];
		}

		test.each(everyone)("$name publishes and subscribes what it is for, and nothing else", async (one) => {
			expect(await wrongs(one)).toEqual([]);
		});

		test("this test can fail: no two of them are allowed the same", async () => {
			for (const [index, one] of everyone.entries())
				expect(await wrongs(one, everyone[(index + 1) % everyone.length]), one.name).not.toEqual([]);
		});

		test("an agent asks a host and is answered; a host that is away is told at once", async () => {
			const agent = await brokers.connect("agent", { tenant: TENANT });
			const link = `drive.${token(OWN)}`;
			const opens = host.subscribe("dt.open.h1.*.*", {
				callback: (_, message) => void message.respond(message.subject),
			});
			const ups = host.subscribe("dt.up.h1.*.*.*", {
				callback: (_, message) => host.publish(`dt.down.${link}.l1`, message.data),
			});
			const heard: string[] = [];
			agent.subscribe(`dt.down.${link}.*`, { callback: (_, message) => void heard.push(message.string()) });
			// In a cluster a server learns a little later what was subscribed at another.
			const own = readCredentials(brokers.credentials("agent", TENANT)).inboxPrefix;
			const ask = (subject: string, timeout = 1000) =>
				agent.request(subject, "", { timeout, noMux: true, reply: openedInbox(own, "x") });
			const answer = await eventually("the host answers", () => ask(`dt.open.h1.${link}`).catch(() => null));
			expect(answer.string()).toBe(`dt.open.h1.${link}`);
			await eventually("a frame comes back", async () => {
				agent.publish(`dt.up.h1.${link}.l1`, "frame");
				await agent.flush();
				return heard.length > 0;
			});
			expect(heard[0]).toBe("frame");
			await expect(ask(`dt.open.h2.${link}`, HANG_MS)).rejects.toThrow(/no responders/);
			opens.unsubscribe();
			ups.unsubscribe();
		});

		test("each reads the hosts, and the sessions and events of its owners: once, and as they change", async () => {
			for (const one of everyone.filter(({ role }) => role !== "host")) {
				const connection = await brokers.connect(one.name, { tenant: TENANT });
				const seen = [OWN, OTHER].filter((owner) => reads(one, owner)).map((owner) => `${owner} of ${TENANT}`);
				const key = one.owner === null ? "*.*.*" : `*.${token(one.owner)}.*`;
				const hosts = await new Kvm(connection).open("dt_hosts", { allow_direct: true });
				expect((await hosts.get("h1"))?.string(), one.name).toBe(`h1 of ${TENANT}`);
				expect(await collected(await hosts.watch(), 1), one.name).toEqual([`h1 of ${TENANT}`]);
				const sessions = await new Kvm(connection).open("dt_sessions", { allow_direct: true });
				for (const owner of [OWN, OTHER].filter((named) => reads(one, named)))
					expect((await sessions.get(`h1.${token(owner)}.s1`))?.string(), one.name).toBe(`${owner} of ${TENANT}`);
				expect(await sessions.get(`h1.${token(one.owner ?? OWN)}.none`), one.name).toBe(null);
				const watch = await sessions.watch({ key });
				const next = reader(watch);
				expect((await next(seen.length)).sort(), one.name).toEqual([...seen].sort());
				const owner = one.owner ?? OWN;
				await (await new Kvm(host).open("dt_sessions")).put(`h1.${token(owner)}.s1`, `${owner} of ${TENANT}`);
				expect(await next(1), one.name).toEqual([`${owner} of ${TENANT}`]);
				watch.stop();
				const events = await jetstream(connection).consumers.getPushConsumer(STREAMS.events, {
					filter_subjects: one.owner === null ? "dt.event.>" : `dt.event.*.${token(one.owner)}.>`,
					deliver_policy: DeliverPolicy.All,
				});
				expect((await collected(await events.consume(), seen.length)).sort(), one.name).toEqual([...seen].sort());
				await connection.close();
			}
		});

		test("a consumer whose request names another filter than its subject is refused", async () => {
			const agent = await brokers.connect("agent", { tenant: TENANT });
			const mine = `$KV.dt_sessions.*.${token(OWN)}.>`;
			for (const config of [
				{ filter_subject: `$KV.dt_sessions.*.${token(OTHER)}.>` },
				{ filter_subject: "" },
				{ filter_subjects: ["$KV.dt_sessions.>"] },
				{},
			]) {
				const request = { stream_name: STREAMS.sessions, config: { ...config, name: "some", ack_policy: "none" } };
				const answer = await agent.request(create(STREAMS.sessions, mine), JSON.stringify(request));
				expect(answer.json(), JSON.stringify(config)).toMatchObject({ error: { code: 400 } });
			}
		});

		test("an answer of the store that is sent elsewhere changes nothing there", async () => {
			const agent = await brokers.connect("agent", { tenant: TENANT });
			const agentHost = await brokers.connect("agent-h1", { tenant: TENANT });
			const admin = await brokers.connect("admin", { tenant: TENANT });
			const manager = await jetstreamManager(admin);
			const before = await stateOf(manager);
			const [mine, none] = ["s1", "none"].map((id) => get(STREAMS.sessions, `$KV.dt_sessions.h1.${token(OWN)}.${id}`));
			const targets = [
				...Object.values(STREAMS).flatMap((stream) =>
					["DELETE", "PURGE"].map((act) => `$JS.API.STREAM.${act}.${stream}`),
				),
				...[`$KV.dt_sessions.h2.${token(OTHER)}.forged`, "$KV.dt_hosts.h2", `dt.event.h2.${token(OTHER)}.forged`],
			];
			for (const reply of targets) {
				for (const request of [mine!, none!, get(STREAMS.hosts, "$KV.dt_hosts.none")]) {
					agent.publish(request, "", { reply });
					agentHost.publish(request, "", { reply });
				}
				agentHost.publish(`$JS.API.STREAM.INFO.${STREAMS.events}`, "", { reply });
				agentHost.publish("$JS.API.INFO", "", { reply });
				// Delivered where nobody has literally subscribed to it, a consumer does not begin.
				const filter = `$KV.dt_sessions.*.${token(OWN)}.>`;
				const config = { filter_subject: filter, ack_policy: "none", deliver_subject: reply, headers_only: true };
				const request = { stream_name: STREAMS.sessions, config: { ...config, name: "some" } };
				await agent.request(create(STREAMS.sessions, filter), JSON.stringify(request));
				await agent.request(`$JS.API.CONSUMER.DELETE.${STREAMS.sessions}.some`);
			}
			// A publication's acknowledgement, too. This one is meant to be stored.
			const said = headers();
			said.set("Nats-Msg-Id", "once");
			agentHost.publish("$KV.dt_sessions.h1.x.ack", "", { reply: "$KV.dt_hosts.h2", headers: said });
			await Promise.all([agent.flush(), agentHost.flush()]);
			await eventually("it is stored", async () => (await stateOf(manager))["$KV.dt_sessions.h1.x.ack"] === 1);
			expect(await stateOf(manager)).toEqual({ ...before, "$KV.dt_sessions.h1.x.ack": 1 });
		});

		const keyOf = (name: string, tenant: string) =>
			readCredentials(brokers.credentials(name, tenant)).inboxPrefix.replace(/^_INBOX\./, "");
		const openedOf = (tenant: string) => everyone.map(({ name }) => openedInbox(inboxPrefix(keyOf(name, tenant)), "x"));
		const inboxesOf = (tenant: string) => [
			...everyone.map(({ name }) => `${inboxPrefix(keyOf(name, tenant))}.x`),
			...openedOf(tenant),
		];
		const triedBy = (one: NewUser, tenant: string) => [
			...PUBLISH.map(({ subject }) => subject),
			...inboxesOf(tenant),
			...permissionsOf(one, keyOf(one.name, tenant)).publish.map(madeLiteral),
		];

		test("what one tenant publishes arrives in no other, whoever tries, whatever the subject", async () => {
			// On one server, so that what was said first also arrives first.
			const [node] = brokers.nodes;
			const admin = await brokers.connect("admin", { tenant: RIVAL, node: node! });
			const manager = await jetstreamManager(admin);
			const before = await everythingOf(manager);
			const heard: string[] = [];
			const listeners = await Promise.all(
				everyone.map(async (one) => {
					const connection = await brokers.connect(one.name, { tenant: RIVAL, node: node! });
					const mine = permissionsOf(one, keyOf(one.name, RIVAL)).subscribe;
					for (const subject of mine)
						connection.subscribe(subject, {
							callback: (_, message) => void heard.push(`${one.name} ${subject}: ${message.string()}`),
						});
					await connection.flush();
					return { one, connection, mine };
				}),
			);
			for (const one of everyone) {
				const ours = await brokers.connect(one.name, { tenant: TRIED, node: node! });
				const theirs = `${inboxPrefix(keyOf(one.name, RIVAL))}.x`;
				for (const subject of [...triedBy(one, TRIED), ...inboxesOf(RIVAL)]) {
					ours.publish(subject, "ours");
					ours.publish(subject, "ours", { reply: theirs });
				}
				await ours.flush();
				// By then the store has answered, wherever it is meant to.
				if (isAdmin(one)) await everythingOf(await jetstreamManager(ours));
				await ours.close();
			}

			// What they say to themselves does arrive, and what we said would have been before it.
			for (const inbox of openedOf(RIVAL)) admin.publish(inbox, "last");
			const last = everyone.map(({ name }) => `${name} ${inboxPrefix(keyOf(name, RIVAL))}.>: last`);
			await eventually("the last one arrives everywhere", () => last.every((each) => heard.includes(each)));
			expect(heard.sort()).toEqual(last.sort());
			expect(await everythingOf(manager)).toEqual(before);

			// This test can fail: each would have heard, on all that it listens to.
			for (const { one, connection } of listeners)
				for (const subject of triedBy(one, RIVAL)) connection.publish(subject, "own");
			const all = listeners.flatMap(({ one, mine }) => mine.map((subject) => `${one.name} ${subject}: own`));
			await eventually("they hear their own on each", () => all.every((each) => heard.includes(each)));
			for (const { connection } of [...listeners, { connection: admin }]) await connection.close();
		});

		test("the subjects that are tried are all that are declared", () => {
			const tried = [...PUBLISH.map(({ subject }) => subject), ...inboxesOf(TRIED)];
			const untried = everyone.flatMap((one) =>
				permissionsOf(one, keyOf(one.name, TRIED)).publish.filter(
					(pattern) => !tried.some((subject) => matches(pattern, subject)),
				),
			);
			expect(untried).toEqual([]);
		});

		test("nobody connects without a key of the fleet, or without TLS", async () => {
			const options = { tenant: TENANT };
			await expect(brokers.connect("agent", { ...options, authenticator: [] })).rejects.toThrow(/authorization/i);
			await expect(brokers.connect("agent", { ...options, tls: {} })).rejects.toThrow(/certificate/i);
			await expect(brokers.connect("agent", { ...options, tls: null })).rejects.toThrow(/tls|secure/i);
		});
	},
);

/** What the server refuses to this connection: `publish SUBJECT` or `subscription SUBJECT`. */
function watchRefusals(connection: NatsConnection): ReadonlySet<string> & { readonly all: Promise<void> } {
	const refused = new Set<string>();
	const all = (async () => {
		for await (const status of connection.status())
			if (status.type === "error" && status.error instanceof PermissionViolationError)
				refused.add(`${status.error.operation} ${status.error.subject}`);
	})();
	return Object.assign(refused, { all });
}

type Items = AsyncIterable<{ string(): string }> & { stop(): void };

/** Reads the texts of the next messages or entries. */
function reader(items: Items): (count: number) => Promise<string[]> {
	const iterator = items[Symbol.asyncIterator]();
	return async (count) => {
		const texts: string[] = [];
		while (texts.length < count) {
			const next = await within(HANG_MS, "the next one", iterator.next());
			if (next.done) break;
			texts.push(next.value.string());
		}
		return texts;
	};
}

/** The first ones; then it is stopped. */
async function collected(items: Items, count: number): Promise<string[]> {
	const texts = await reader(items)(count);
	items.stop();
	return texts;
}

/** Subject → how many messages of it are stored, over all streams. */
async function stateOf(manager: Awaited<ReturnType<typeof jetstreamManager>>): Promise<Record<string, number>> {
	const infos = await Promise.all(
		Object.values(STREAMS).map((stream) => manager.streams.info(stream, { subjects_filter: ">" })),
	);
	return Object.assign({}, ...infos.map(({ state }) => state.subjects ?? {}));
}

/** All that writing, removing or asking would change, of all streams. */
async function everythingOf(manager: Awaited<ReturnType<typeof jetstreamManager>>): Promise<unknown> {
	const infos = await Promise.all(
		Object.values(STREAMS).map((stream) => manager.streams.info(stream, { subjects_filter: ">" })),
	);
	return infos.map(({ config, state }) => ({ name: config.name, state }));
}

/** A subject of this pattern. */
const madeLiteral = (pattern: string): string => pattern.replaceAll(/\*|>/g, "some");

/** Whether a user who may publish on this pattern may on this subject. */
function matches(pattern: string, subject: string): boolean {
	const tokens = subject.split(".");
	const parts = pattern.split(".");
	const fits = parts.every((part, index) =>
		part === ">" ? index < tokens.length : part === "*" ? tokens[index] !== undefined : part === tokens[index],
	);
	return fits && (parts.at(-1) === ">" || parts.length === tokens.length);
}
