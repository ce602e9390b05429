// What a view says of a fleet, against what happened: hosts that come, vanish, restart and boot anew, sessions that
// change, and a broker that is killed and started again, in random order.

import { Kvm } from "@nats-io/kv";
import { describe, expect, vi, test as vitestTest } from "vitest";
import { openBuckets } from "../../src/fleet/buckets.ts";
import { othersSessions } from "../../src/fleet/fleet-list.ts";
import type { OwnHost, OwnSessions } from "../../src/fleet/publisher.ts";
import { FleetRegistry } from "../../src/fleet/registry.ts";
import { keyToken } from "../../src/fleet/subjects.ts";
import type { SessionRecord } from "../../src/journal/records.ts";
import { Listeners } from "../../src/protocol/listeners.ts";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";
import { SHORT } from "./member.ts";
import { OneServer } from "./one-server.ts";

const test = (name: string, run: () => Promise<void>) => vitestTest(name, needing("nats-server"), run);

type State = "running" | "failed" | "succeeded" | "stream_lost";

/** The sessions of a host that is only told of. */
class FakeSessions implements OwnSessions {
	readonly states = new Map<string, State>();
	boot = "";
	readonly #events = new Listeners<void>("fake event");
	readonly events = { onEvent: (listener: () => void) => this.#events.add(listener) };

	set(id: string, state: State | null): void {
		if (state === null) this.states.delete(id);
		else this.states.set(id, state);
		this.#events.emit();
	}

	list() {
		return [...this.states].map(([id, state]) => ({ record: recordOf(id, state, this.boot), session: null }));
	}

	runningCount(): number {
		return [...this.states.values()].filter((state) => state === "running").length;
	}

	onCount(): () => void {
		return () => {};
	}
}

const recordOf = (id: string, state: State, bootId: string) =>
	({
		id,
		name: `n-${id}`,
		command: "cat",
		state,
		owner: "o",
		createdAt: 1,
		exit: null,
		sandbox: null,
		bootId,
	}) as unknown as SessionRecord;

/** A host that can lose its daemon or boot anew; its sessions run on in the first case and are lost in the second. */
class FakeHost {
	readonly sessions = new FakeSessions();
	boot = 0;
	registry: FleetRegistry | null = null;
	/** When its last daemon vanished without a word. */
	downSince = 0;
	readonly #server: OneServer;
	readonly name: string;
	#nats: Awaited<ReturnType<OneServer["connect"]>> | null = null;

	constructor(server: OneServer, name: string) {
		this.#server = server;
		this.name = name;
	}

	async up(): Promise<void> {
		if (this.registry !== null) return;
		const bootId = `${this.name}-${this.boot}`.padEnd(8, ".");
		this.sessions.boot = bootId;
		const own: OwnHost = {
			...{ host: this.name, labels: {}, version: "1", bootId, home: "h", daemonEpoch: 1 },
			...{ capacity: 100, sessions: this.sessions },
		};
		this.#nats = await this.#server.connect();
		this.registry = await FleetRegistry.open({ nats: this.#nats, own, onProblem: () => {}, ...SHORT });
	}

	/** Without a word: its connection is gone before it could say so. */
	async vanish(): Promise<void> {
		if (this.registry === null) return;
		await this.#nats!.close();
		await this.registry[Symbol.asyncDispose]();
		this.registry = null;
		this.downSince = performance.now();
	}

	async reboot(): Promise<void> {
		await this.vanish();
		this.boot++;
		for (const [id, state] of this.sessions.states)
			if (state === "running") this.sessions.states.set(id, "stream_lost");
	}
}

/** After this, a lease that nobody refreshes is gone for everybody, on a busy machine. */
const GONE_MS = SHORT.ttlMs + 1500;

test("what a hostile host has written under its own name is left out, and hides nothing of others", async () => {
	await using server = await OneServer.start();
	const nats = await server.connect();
	const honest = new FakeHost(server, "honest");
	honest.sessions.set("s1", "running");
	await honest.up();
	await honest.registry!.told();
	const { sessions } = await openBuckets(await server.connect());
	const o = keyToken("o");
	const entry = { name: "n-s1", command: "cat", status: "running", owner: "o", createdAt: 1, updatedAt: 1, boot: "" };
	const whole = { ...entry, activity: null, waitingFor: null, exit: null, sandbox: null };
	await sessions.put(`evil.${o}.ok`, JSON.stringify({ ...whole, name: "a\x1b[2Jb" }));
	await sessions.put(`evil.${o}.garbage`, "{");
	await sessions.put(`evil.${o}.nothing`, "null");
	await sessions.put(`evil.${o}.part`, JSON.stringify({ ...whole, name: undefined }));
	const large = sessions.put(`evil.${o}.large`, JSON.stringify({ ...whole, command: "x".repeat(900_000) }));
	await expect(large).rejects.toThrow(/message size/);
	await nats.request(`$KV.dt_sessions.evil.${o}.a\x1b[2Jb`, JSON.stringify(whole));
	await using view = await FleetRegistry.open({ nats, onProblem: () => {}, ...SHORT });
	await view.withSessions();
	const listed = [...view.sessions()].map(({ host, id, entry: { name } }) => `${host}/${id} ${name}`);
	expect(listed).toEqual(["evil/ok a[2Jb", "honest/s1 n-s1"]);
	expect(await view.running("o", "n-s1")).toEqual(["honest"]);
	expect(await view.find("evil", "garbage")).toBeNull();
	// Also what cannot be read.
	expect(await view.forget("evil")).toBe(4);
	await honest.vanish();
});

test("the sessions of a host whose clock is another one have the age that they have", async () => {
	await using server = await OneServer.start();
	const nats = await server.connect();
	await using view = await FleetRegistry.open({ nats, onProblem: () => {}, ...SHORT });
	const { hosts, sessions } = await openBuckets(await server.connect());
	const minute = 60_000;
	for (const [host, minutes] of [
		["ahead", 10],
		["behind", -10],
		["late", -0.1],
	] as const) {
		const now = Date.now() + minutes * minute;
		const lease = {
			host,
			bootId: "b",
			daemonEpoch: 1,
			version: "1",
			labels: {},
			capacity: { sessions: 1 },
			running: 1,
		};
		await hosts.put(host, JSON.stringify({ ...lease, load: 0, since: now, now }));
		const entry = { name: "n", command: "cat", status: "running", owner: "o", activity: null, waitingFor: null };
		const times = { createdAt: now - 3 * minute, updatedAt: now - 2 * minute };
		const record = { ...entry, ...times, exit: null, sandbox: null, boot: "b" };
		await sessions.put(`${host}.${keyToken("o")}.s`, JSON.stringify(record));
	}
	await until("all are heard of", () => view.hosts().length === 3);
	await view.withSessions();
	const request = { limit: 10, owner: "o", scope: undefined, version: "1" };
	const listed = (minutes: number) =>
		othersSessions(view, { ...request, since: Date.now() - minutes * minute }).sessions.map(({ host }) => host);
	expect(listed(5)).toEqual(["ahead", "behind", "late"]);
	expect(listed(1)).toEqual([]);
	for (const { host, createdAt } of othersSessions(view, { ...request, since: 0 }).sessions)
		expect(Math.abs(Date.now() - createdAt - 3 * minute), host).toBeLessThan(30_000);
});

describe("what a view says", () => {
	const random = (seed: number) => {
		let state = seed;
		return (below: number) => {
			state = (Math.imul(state, 1103515245) + 12345) >>> 0;
			return Math.floor((state / 2 ** 32) * below);
		};
	};

	for (const seed of [1, 2, 3])
		test(`is never wrong and becomes complete, whatever happens (${seed})`, async () => {
			const next = random(seed * 7919);
			const server = await OneServer.start();
			const nats = await server.connect();
			const view = await FleetRegistry.open({ nats, onProblem: () => {}, ...SHORT });
			await view.withSessions();
			const hosts = ["h0", "h1", "h2"].map((name) => new FakeHost(server, name));
			let brokerIsUp = true;
			let brokerBackAt = 0;
			/** Ids that have ended, by what was true: only these may be told as ended. */
			const ended = new Set<string>();
			let ids = 0;
			let goneSeen = 0;
			const said: string[] = [];
			const check = (): void => {
				for (const { host, id, entry, state } of view.sessions()) {
					const about = `${host}/${id} ${entry.status} ${state}; ${said.slice(-8).join(", ")}`;
					if (entry.status !== "running") expect(ended.has(id), about).toBe(true);
					const { registry, downSince } = hosts.find(({ name }) => name === host)!;
					const isGone = registry === null && performance.now() - Math.max(downSince, brokerBackAt) > GONE_MS;
					if (!isGone || !brokerIsUp || entry.status !== "running") continue;
					goneSeen++;
					expect(state, about).toBe("unreachable");
				}
			};
			const undo = view.onChange(check);
			const acts: Readonly<Record<string, (host: FakeHost) => Promise<void>>> = {
				up: (host) => (brokerIsUp ? host.up() : Promise.resolve()),
				vanish: (host) => host.vanish(),
				reboot: async (host) => {
					await host.vanish();
					for (const [id, state] of host.sessions.states) if (state === "running") ended.add(id);
					await host.reboot();
				},
				start: async (host) => {
					if (host.registry !== null) host.sessions.set(`s${ids++}`, "running");
				},
				end: async (host) => {
					const [id] = [...host.sessions.states].filter(([, state]) => state === "running").map(([one]) => one);
					if (id === undefined || host.registry === null) return;
					ended.add(id);
					host.sessions.set(id, "failed");
				},
				remove: async (host) => {
					const [id] = [...host.sessions.states].filter(([, state]) => state !== "running").map(([one]) => one);
					if (id !== undefined) host.sessions.set(id, null);
				},
				broker: async () => {
					if (brokerIsUp) await server.down();
					else await server.up();
					brokerIsUp = !brokerIsUp;
					brokerBackAt = performance.now();
				},
				pause: async () => {
					const end = performance.now() + next(2 * GONE_MS);
					await until("some time has passed", () => performance.now() > end);
				},
			};
			const names = [
				"up",
				"up",
				"up",
				"start",
				"start",
				"start",
				"end",
				"remove",
				"vanish",
				"reboot",
				"broker",
				"pause",
			];
			try {
				for (let i = 0; i < 60; i++) {
					const act = names[next(names.length)]!;
					const host = hosts[next(hosts.length)]!;
					said.push(`${act} ${host.name}`);
					await acts[act]!(host);
					check();
				}
				if (!brokerIsUp) await acts.broker!(hosts[0]!);
				const expected = () =>
					hosts.flatMap(({ name, sessions, registry }) =>
						[...sessions.states].map(([id, state]) => {
							const isTold = registry !== null || state !== "running";
							return `${name}/${id} ${state} ${isTold ? "told" : "unreachable"}`;
						}),
					);
				// What a host that is down has not told of before is not known: the others are complete.
				const shown = () =>
					[...view.sessions()].map(({ host, id, entry, state }) => `${host}/${id} ${entry.status} ${state}`);
				const living = (all: string[]) =>
					all
						.filter((one) => hosts.some(({ name, registry }) => registry !== null && one.startsWith(`${name}/`)))
						.sort();
				await until("it says how things are", () => {
					check();
					const isHost = hosts.every(
						({ name, registry }) => (view.host(name)?.reachable ?? false) === (registry !== null),
					);
					return isHost && living(shown()).join("\n") === living(expected()).join("\n");
				});
				const [host] = hosts as [FakeHost];
				await host.up();
				await acts.start!(host);
				await host.registry!.told();
				await host.vanish();
				const end = performance.now() + 2 * GONE_MS;
				await until("a lease is gone", () => performance.now() > end);
				check();
				expect(goneSeen).toBeGreaterThan(0); // the check has looked
			} finally {
				undo();
				if (!brokerIsUp) await server.up();
				for (const host of hosts) await host.vanish();
				await view[Symbol.asyncDispose]();
				await server[Symbol.asyncDispose]();
			}
		});
});

interface OneHost {
	readonly server: OneServer;
	readonly view: FleetRegistry;
	/** `h0`, which is heard of. */
	readonly host: FakeHost;
}

async function ofOneHost(look: (parts: OneHost) => Promise<void>): Promise<void> {
	const server = await OneServer.start();
	const view = await FleetRegistry.open({ nats: await server.connect(), onProblem: () => {}, ...SHORT });
	const host = new FakeHost(server, "h0");
	try {
		await host.up();
		await until("it is heard of", () => view.host("h0")?.reachable);
		await look({ server, view, host });
	} finally {
		await host.vanish();
		await view[Symbol.asyncDispose]();
		await server[Symbol.asyncDispose]();
	}
}

test("a host is heard of by what it writes, not by what is read again", () =>
	ofOneHost(async ({ view, host }) => {
		const vanishedAt = Date.now();
		await host.vanish();
		// When nothing comes for a while the leases are read again, among them its last one.
		await until("it is lost", () => view.host("h0")?.reachable === false);
		expect(view.host("h0")!.since).toBeLessThan(vanishedAt + 300);
	}));

test("a host that vanished is not known for ever", () =>
	ofOneHost(async ({ view, host }) => {
		await host.vanish();
		await until("it is lost", () => view.host("h0")?.reachable === false);
		const day = 86_400_000;
		vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 6 * day });
		try {
			expect(view.hosts().map((one) => one.host)).toEqual(["h0"]);
			vi.setSystemTime(Date.now() + 1.1 * day);
			expect([view.hosts(), view.host("h0")]).toEqual([[], undefined]);
		} finally {
			vi.useRealTimers();
		}
	}));

test("a host that died while the broker was away is in doubt when that is back, until it is lost", () =>
	ofOneHost(async ({ server, view, host }) => {
		expect(view.doubtful()).toEqual([]);
		await server.down();
		await host.vanish();
		const vanishedAt = Date.now();
		await until("its lease would have ended", () => Date.now() - vanishedAt > 1.5 * SHORT.ttlMs);
		await server.up();
		await until("the broker is back", () => view.awaySince === null);
		expect(view.host("h0")!.reachable).toBe(true);
		await until("it is lost", () => {
			if (!view.host("h0")!.reachable) return true;
			expect(view.doubtful()).toEqual([{ host: "h0", since: expect.any(Number) }]);
			return false;
		});
		expect(view.doubtful()).toEqual([]);
		expect(view.host("h0")!.since).toBeLessThanOrEqual(vanishedAt);
	}));

test("a host is not lost because the broker did not answer for some time", async () => {
	const ttlMs = 5000;
	await using server = await OneServer.start();
	const nats = await server.connect();
	const view = await FleetRegistry.open({ nats, onProblem: () => {}, ttlMs });
	try {
		const hosts = await new Kvm(nats).open("dt_hosts");
		const lease = { host: "h0", bootId: "h0-0....", home: "h", daemonEpoch: 1, version: "1", labels: {} };
		const written = performance.now();
		await hosts.put("h0", JSON.stringify({ ...lease, capacity: { sessions: 1 }, running: 0, load: 0, since: 0 }));
		await until("it is heard of", () => view.host("h0")?.reachable);
		process.kill(server.pid(), "SIGSTOP");
		await until("a part of its time has passed", () => performance.now() - written > 0.55 * ttlMs);
		process.kill(server.pid(), "SIGCONT");
		await until("all of its time has passed", () => performance.now() - written > 1.05 * ttlMs);
		expect(view.unheardSince).toBe(null);
		expect(view.host("h0")?.reachable).toBe(true);
		await until("it is lost all the same", () => view.host("h0")?.reachable === false);
		expect(performance.now() - written).toBeLessThan(2 * ttlMs);
	} finally {
		process.kill(server.pid(), "SIGCONT");
		await view[Symbol.asyncDispose]();
	}
});

describe("what is written", () => {
	test("is little: nothing for idle sessions, two a second for one that flaps, and after a restart only what differs", async () => {
		const server = await OneServer.start();
		const nats = await server.connect();
		const view = await FleetRegistry.open({ nats, onProblem: () => {}, ...SHORT });
		const host = new FakeHost(server, "h0");
		for (let i = 0; i < 50; i++) host.sessions.states.set(`s${i}`, "running");
		const { jetstreamManager } = await import("@nats-io/jetstream");
		const manager = await jetstreamManager(nats);
		const written = async () => (await manager.streams.info("KV_dt_sessions")).state.last_seq;
		try {
			await host.up();
			await host.registry!.told();
			expect(await written()).toBe(50);
			const leases = (await manager.streams.info("KV_dt_hosts")).state.last_seq;
			await until("leases go on", async () => (await manager.streams.info("KV_dt_hosts")).state.last_seq > leases + 3);
			expect(await written()).toBe(50);
			// The daemon is restarted; one session ended meanwhile.
			await host.vanish();
			host.sessions.states.set("s0", "failed");
			await host.up();
			await host.registry!.told();
			expect(await written()).toBe(51);
			// The broker is restarted; nothing has changed.
			await server.down();
			await server.up();
			await until("both are back", () => host.registry!.awaySince === null && view.awaySince === null);
			await host.registry!.told();
			expect(await written()).toBe(51);
			const since = performance.now();
			let flaps = 0;
			while (performance.now() - since < 2000) {
				host.sessions.set("s1", flaps++ % 2 === 0 ? "succeeded" : "running");
				await new Promise(setImmediate);
			}
			host.sessions.set("s1", "failed");
			await host.registry!.told();
			expect(flaps).toBeGreaterThan(20);
			expect((await written()) - 51).toBeLessThanOrEqual(Math.ceil((performance.now() - since) / 500) + 1);
			await view.withSessions();
			await until(
				"the last state is told",
				() => [...view.sessions()].find(({ id }) => id === "s1")?.entry.status === "failed",
			);
		} finally {
			await host.vanish();
			await view[Symbol.asyncDispose]();
			await server[Symbol.asyncDispose]();
		}
	});

	for (const [done, next] of [
		["written over", "succeeded"],
		["removed", null],
	] as const)
		test(`is ${done} only by who has the lease, where another has written it meanwhile`, async () => {
			await using server = await OneServer.start();
			const nats = await server.connect();
			const sessions = new FakeSessions();
			const bootId = "boot-one";
			sessions.boot = bootId;
			const own: OwnHost = {
				...{ host: "same", labels: {}, version: "1", bootId, home: "h", daemonEpoch: 1, capacity: 1, sessions },
			};
			// By itself it does not look whose the lease is while this takes.
			const slow = { refreshMs: 600_000, ttlMs: 1_200_000 };
			await using registry = await FleetRegistry.open({ nats, own, onProblem: () => {}, ...slow });
			const [records, hosts] = await Promise.all(["dt_sessions", "dt_hosts"].map((name) => new Kvm(nats).open(name)));
			const said = async () => (await records!.get("same.o.s1"))?.string() ?? "";
			sessions.set("s1", "running");
			await registry.told();

			await records!.put("same.o.s1", "something");
			sessions.set("s1", next);
			await registry.told();
			if (next === null) expect(await said()).toBe("");
			else expect(JSON.parse(await said())).toMatchObject({ status: next });

			sessions.set("s1", "running");
			await registry.told();
			const lease = (await hosts!.get("same"))!.json<object>();
			await hosts!.put("same", JSON.stringify({ ...lease, bootId: "boot-two" }));
			await records!.put("same.o.s1", "theirs");
			sessions.set("s1", next);
			await until("it has done it, or found out", async () => {
				return registry.lease?.isHeld === false || (await said()) !== "theirs";
			});
			await registry.leave(); // by then all has been written
			expect(await said()).toBe("theirs");
		});

	test("belongs to who has the lease: another machine of the same name waits, a later daemon takes over", async () => {
		const server = await OneServer.start();
		const problems: string[] = [];
		const open = async (bootId: string) => {
			const own = {
				host: "same",
				labels: {},
				version: "1",
				bootId,
				home: "h",
				daemonEpoch: 1,
				capacity: 1,
				sessions: new FakeSessions(),
			};
			const onProblem = (problem: unknown) => void problems.push(String(problem));
			return FleetRegistry.open({ nats: await server.connect(), own, onProblem, ...SHORT });
		};
		const first = await open("boot-one");
		const bootOf = () => first.host("same")?.lease?.bootId;
		await until("it is there", () => bootOf() === "boot-one");
		const second = await open("boot-two");
		try {
			await until("it is told", () => problems.some((one) => one.includes("in the fleet as same")));
			expect(bootOf()).toBe("boot-one");
			await first[Symbol.asyncDispose]();
			await until(
				"it has taken over",
				() => second.host("same")?.lease?.bootId === "boot-two" && second.host("same")!.reachable,
			);
		} finally {
			await second[Symbol.asyncDispose]();
			await server[Symbol.asyncDispose]();
		}
	});
});
