import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Approval } from "../protocol/approval.ts";
import { oneLine } from "../protocol/clean.ts";
import { Fault } from "../protocol/fault.ts";
import { Listeners, openSubscriptions, reportListenerErrors } from "../protocol/listeners.ts";
import type { PersonSession } from "../protocol/person-session.ts";
import type { FleetSeen, ListChange } from "../protocol/session-list.ts";
import { onAbort, until } from "../pty/wait.ts";
import type { Scope } from "../session/scope.ts";
import type { Client, PeopleOptions } from "../tools/client.ts";
import { SessionList } from "../tools/session-list.ts";
import type { Lease } from "./buckets.ts";
import { FleetPeople } from "./fleet-people.ts";
import type { FleetSession, HostView } from "./view.ts";

const row = (session: string, more: Partial<PersonSession> = {}): PersonSession =>
	({
		session,
		name: oneLine(`name-${session}`),
		command: oneLine("cat"),
		status: "running",
		activity: "waiting",
		waitingFor: "line",
		because: oneLine("it reads"),
		cwd: oneLine("/"),
		exit: null,
		pid: 7,
		createdAt: 1,
		updatedAt: 1,
		offset: 0,
		lines: 0,
		lastLine: oneLine(""),
		truncated: false,
		owner: "cli",
		mine: true,
		byName: true,
		parent: null,
		keep: false,
		inherit: null,
		sandbox: "none",
		state: "waiting",
		cols: 80,
		rows: 24,
		ports: [],
		driver: { kind: "agent" },
		needs: null,
		...more,
	}) satisfies PersonSession;

/** A host, and what it tells over a link. */
class FakeHost implements Pick<Client, "people"> {
	readonly list = new SessionList();
	readonly rows = new Map<string, PersonSession>();
	links = 0;
	/** A link is open, and nothing comes. */
	isSilent = false;
	#cut = new AbortController();

	put(one: PersonSession): void {
		this.rows.set(one.session, one);
		this.list.put(one);
		this.list.tell();
	}
	remove(id: string): void {
		this.rows.delete(id);
		this.list.remove(id);
		this.list.tell();
	}
	/** The link breaks; the next one works. */
	cut(): void {
		this.#cut.abort();
		this.#cut = new AbortController();
	}
	async *people({ signal, ...options }: PeopleOptions): AsyncGenerator<ListChange> {
		const over = new AbortController();
		const { signal: cut } = this.#cut;
		const undo = [signal, cut].map((one) => onAbort(one)(() => over.abort()));
		this.links++;
		try {
			const changes = this.list.changes({ ...options, signal: over.signal });
			if (this.isSilent) await until(() => over.signal.aborted, onAbort(over.signal));
			else yield* changes;
			if (cut.aborted) throw new Fault("host_unreachable", { host: "it", since: null });
		} finally {
			this.links--;
			for (const each of undo) each();
		}
	}
}

class FakeRegistry {
	awaySince: number | null = null;
	readonly views = new Map<string, HostView>();
	readonly records: FleetSession[] = [];
	readonly changes = new Listeners<void>("fake registry");
	asked = 0;

	set(host: string, reachable: boolean, since = 5, version = "1"): void {
		const lease = { version, labels: {}, running: 0, capacity: { sessions: 10 }, load: 0.123 } as unknown as Lease;
		this.views.set(host, { host, lease, reachable, since });
		this.changes.emit();
	}
	hosts = (): readonly HostView[] => [...this.views.values()];
	onChange = (listener: () => void) => this.changes.add(listener);
	async withSessions(): Promise<void> {
		this.asked++;
	}
	*sessions({ host }: { host?: string } = {}): Generator<FleetSession> {
		for (const one of this.records) if (one.host === host) yield one;
	}
}

/** What a page keeps. */
class Reader {
	readonly rows = new Map<string, PersonSession>();
	fleet: FleetSeen | null = null;
	approvals: readonly Approval[] = [];
	/** The ids in its first message. */
	first: readonly string[] | null = null;
	failure: unknown = null;
	readonly #stop = new AbortController();
	readonly #reading: Promise<void>;

	constructor(people: FleetPeople, scope: Scope | null = null) {
		this.#reading = this.#read(people.changes({ scope, decides: true, signal: this.#stop.signal })).catch((error) => {
			this.failure = error;
		});
	}
	async #read(changes: AsyncIterable<ListChange>): Promise<void> {
		for await (const { full, sessions, removed, fleet, approvals } of changes) {
			this.first ??= sessions.map(({ session }) => session).sort();
			if (full) this.rows.clear();
			for (const one of sessions) this.rows.set(one.session, one);
			for (const id of removed) this.rows.delete(id);
			this.fleet = fleet ?? (full ? null : this.fleet);
			this.approvals = approvals ?? this.approvals;
		}
	}
	shown(): readonly string[] {
		return [...this.rows.values()].map(shownRow).sort();
	}
	async end(): Promise<void> {
		this.#stop.abort();
		await this.#reading;
	}
}

const shownRow = (one: PersonSession) =>
	`${one.session} ${one.name} ${one.host} ${one.state} ${one.unreachableSince} ${one.lastLine}`;
/** As it is shown of another host; `since`: lost since then. */
const expected = (host: string, one: PersonSession, since?: number) =>
	shownRow({
		...one,
		session: `${host}/${one.session}`,
		name: oneLine(`${host}/${one.name}`),
		host,
		...(since !== undefined && one.status === "running" && { state: "unreachable", unreachableSince: since }),
	});

/** More than 21,000 rows are here. */
const MOST_CHARS = 10_000_000;

let registry: FakeRegistry;
let own: FakeHost;
let hosts: Record<"beta" | "gamma", FakeHost>;
let people: FleetPeople;
let subscriptions = 0;
const settle = () => vi.advanceTimersByTimeAsync(1500);
beforeEach(async () => {
	vi.useFakeTimers();
	subscriptions = openSubscriptions();
	registry = new FakeRegistry();
	own = new FakeHost();
	hosts = { beta: new FakeHost(), gamma: new FakeHost() };
	for (const host of ["alpha", "beta", "gamma"]) registry.set(host, true);
	const clientOf = (host: string) => hosts[host as "beta"];
	people = new FleetPeople({ local: own, registry, host: "alpha", version: "1", clientOf, mostChars: MOST_CHARS });
});
afterEach(async () => {
	await people[Symbol.asyncDispose]();
	vi.useRealTimers();
});

test("a reader has the sessions of all hosts, and nothing is open when the last one is gone", async () => {
	own.put(row("a"));
	hosts.beta.put(row("b"));
	const readers = [new Reader(people), new Reader(people)];
	await settle();
	const all = [shownRow(row("a")), expected("beta", row("b"))].sort();
	expect(readers.map(({ first }) => first)).toEqual([
		["a", "beta/b"],
		["a", "beta/b"],
	]);
	for (const reader of readers) expect(reader.shown()).toEqual(all);
	expect([hosts.beta.links, hosts.gamma.links, own.links]).toEqual([1, 1, 1]);
	expect(readers[0]!.fleet).toMatchObject({
		host: "alpha",
		awaySince: null,
		hosts: [{}, { host: "beta", load: 0.1 }, {}],
	});
	await readers[0]!.end();
	expect(hosts.beta.links).toBe(1);
	await readers[1]!.end();
	await settle();
	expect([hosts.beta.links, hosts.gamma.links, own.links, vi.getTimerCount()]).toEqual([0, 0, 0, 0]);
	expect(openSubscriptions()).toBe(subscriptions);
});

test("hosts that are lost, however many, take no link from one that is there", async () => {
	for (let i = 0; i < 150; i++) registry.set(`a${i}`, false);
	const reader = new Reader(people);
	await settle();
	expect([hosts.beta.links, hosts.gamma.links]).toEqual([1, 1]);
	await reader.end();
});

test("a host that is lost keeps its rows, marked and never ended, until it has told all anew", async () => {
	hosts.beta.put(row("b", { lastLine: oneLine("before") }));
	hosts.beta.put(row("over", { status: "succeeded", state: "ended" }));
	const reader = new Reader(people);
	await settle();
	registry.set("beta", false, 77);
	await settle();
	const before = row("b", { lastLine: oneLine("before") });
	const over = expected("beta", row("over", { status: "succeeded", state: "ended" }));
	expect(reader.shown()).toEqual([expected("beta", before, 77), over].sort());
	expect([...reader.rows.values()].map(({ needs }) => needs)).toEqual([null, null]);
	expect(hosts.beta.links).toBe(0);
	const after = row("b", { lastLine: oneLine("after") });
	hosts.beta.put(after);
	await settle();
	expect(reader.shown()).toEqual([expected("beta", before, 77), over].sort());
	// Its lease is back before it answers: what is known of it is as old as before.
	hosts.beta.isSilent = true;
	registry.set("beta", true);
	await settle();
	expect(reader.shown()).toEqual([expected("beta", before, 77), over].sort());
	hosts.beta.isSilent = false;
	hosts.beta.cut();
	await settle();
	expect(reader.shown()).toEqual([expected("beta", after), over].sort());
	await reader.end();
});

test("a host that was away before anybody looked is shown by its records", async () => {
	const entry = {
		name: "old",
		command: "cat",
		status: "running",
		activity: "waiting",
		waitingFor: "line",
		owner: "cli",
	};
	const told = { ...entry, createdAt: 3, updatedAt: 4, exit: null, sandbox: null, boot: "x" };
	const record = { host: "beta", id: "r1", entry: told, state: "unreachable", since: 77, key: "beta.cli.r1" };
	registry.records.push(record as FleetSession);
	registry.set("beta", false, 77);
	const reader = new Reader(people);
	await settle();
	expect(registry.asked).toBe(1);
	expect([...reader.rows.values()]).toMatchObject([
		{ session: "beta/r1", name: "beta/old", host: "beta", state: "unreachable", unreachableSince: 77, needs: null },
	]);
	await reader.end();
});

test("it can be left while the records are not known", async () => {
	registry.set("beta", false, 77);
	registry.withSessions = () => new Promise(() => {});
	const reader = new Reader(people);
	await settle();
	await people[Symbol.asyncDispose]();
	await reader.end();
	expect(reader.failure).toBeNull();
});

test("a host of another version is not asked: its records are shown", async () => {
	registry.set("beta", true, 5, "2");
	const reader = new Reader(people);
	await settle();
	expect([hosts.beta.links, hosts.gamma.links, registry.asked]).toEqual([0, 1, 1]);
	await reader.end();
});

test.each([
	[{ owner: "cli" }, ["a"]],
	[{ parent: "p" }, ["a"]],
	[{ session: "a" }, ["a"]],
	[{ session: "b" }, []],
	// By the id that it has here, which a shared link has.
	[{ session: "beta/b" }, ["beta/b"]],
] as const)("who is limited to %j sees %j of all hosts, and nothing of the fleet", async (scope, seen) => {
	own.put(row("a", { parent: "p" }));
	for (const id of ["b", "c"]) hosts.beta.put(row(id, { parent: "p" }));
	hosts.gamma.put(row("b"));
	const reader = new Reader(people, scope);
	await settle();
	expect([...reader.rows.keys()]).toEqual(seen);
	hosts.beta.put(row("d", { parent: "p" }));
	hosts.beta.list.remove("c");
	hosts.beta.list.tell();
	await settle();
	expect([[...reader.rows.keys()], reader.fleet]).toEqual([seen, null]);
	await reader.end();
});

test("what waits for a person on another host is told with its names here, and not while it is lost", async () => {
	const line = oneLine("-");
	const rest = { owner: line, token: null, parent: null, tool: line, effect: "types", what: line } as const;
	const approval = (id: string, at: number): Approval => ({
		...{ ...rest, id, at, session: "s", name: oneLine("n"), cwd: null, sandbox: line, because: null },
	});
	own.list.setApprovals([approval("x", 2)]);
	own.list.tell();
	hosts.beta.list.setApprovals([approval("y", 1)]);
	hosts.beta.list.tell();
	const reader = new Reader(people);
	await settle();
	expect(reader.approvals).toMatchObject([{ id: "beta/y", session: "beta/s", name: "beta/n" }, { id: "x" }]);
	registry.set("beta", false, 9);
	await settle();
	expect(reader.approvals).toMatchObject([{ id: "x" }]);
	await reader.end();
});

test("of what another host tells, only what is a session is shown, in one line each", async () => {
	const hostile = [
		null,
		5,
		{},
		{ ...row("long"), ports: undefined },
		{ ...row("named"), name: "a\u001b[2Jb" },
		{ ...row("late"), updatedAt: 1e300 },
		{ ...row("a\nb") },
	] as unknown as readonly PersonSession[];
	const people_ = async function* ({ signal }: PeopleOptions): AsyncGenerator<ListChange> {
		yield { version: 1, full: true, now: 1, sessions: hostile, removed: [], approvals: [null as never] };
		await until(() => signal.aborted, onAbort(signal));
	};
	hosts.beta = { people: people_ } as unknown as FakeHost;
	const reader = new Reader(people);
	await settle();
	expect([...reader.rows.keys()]).toEqual(["beta/a↵b"]);
	expect(reader.approvals).toEqual([]);
	await reader.end();
});

describe("of a host that tells more than a host can have", () => {
	const many = Array.from({ length: 21_000 }, (_, at) => row(`s${at}`));
	const long = oneLine("x".repeat(90_000), 90_000);

	test.each([
		["rows in one list", [{ full: true, sessions: many }]],
		[
			"rows one after the other",
			[0, 7000, 14_000].map((at) => ({ full: at === 0, sessions: many.slice(at, at + 7000) })),
		],
		[
			"text",
			[0, 1, 2].map((at) => ({
				full: at === 0,
				sessions: many.slice(50 * at, 50 * (at + 1)).map((one) => ({ ...one, command: long })),
			})),
		],
	])("%s, the records are shown, and it is not asked again", async (_what, changes) => {
		const problems: string[] = [];
		const before = reportListenerErrors((_error, origin) => void problems.push(origin));
		onTestFinished(() => void reportListenerErrors(before));
		const hostile = {
			asked: 0,
			async *people({ signal }: PeopleOptions): AsyncGenerator<ListChange> {
				hostile.asked++;
				for (const change of changes) yield { version: 1, now: 1, removed: [], ...change };
				await until(() => signal.aborted, onAbort(signal));
			},
		};
		hosts.beta = hostile as unknown as FakeHost;
		hosts.gamma.put(row("c"));
		const reader = new Reader(people);
		await vi.advanceTimersByTimeAsync(20_000);
		expect(reader.shown()).toEqual([expected("gamma", row("c"))]);
		expect([hostile.asked, registry.asked]).toEqual([1, 1]);
		expect(problems).toEqual(["the list of beta"]);
		await reader.end();
	});
});

test("what another host tells by another clock is told by this one's, also when that is known later", async () => {
	const needs = { kind: "question", since: 1000, question: null, reason: null, program: oneLine("p") } as const;
	const [at, command, host] = [1000, oneLine("c"), null];
	const driver = { kind: "person", who: "w", since: at, epoch: 1 } as const;
	hosts.beta.put(row("b", { createdAt: at, updatedAt: at, driver, needs: { ...needs, command, host } }));
	const reader = new Reader(people);
	await settle();
	const times = () =>
		[...reader.rows.values()].map((one) => [one.createdAt, one.updatedAt, one.needs?.since, Object(one.driver).since]);
	expect(times()).toEqual([[1000, 1000, 1000, 1000]]);
	registry.views.set("beta", { ...registry.views.get("beta")!, clockMs: 600_000 });
	registry.changes.emit();
	await settle();
	expect(times()).toEqual([[601_000, 601_000, 601_000, 601_000]]);
	expect(hosts.beta.links).toBe(1);
	await reader.end();
});

test("the end of this host's own list is the end of all", async () => {
	const reader = new Reader(people);
	await settle();
	own.cut();
	await settle();
	expect(reader.failure).toMatchObject({ code: "host_unreachable" });
	await reader.end();
});

describe("whatever happens in which order, a reader has what the hosts have", () => {
	test.each(Array.from({ length: 25 }, (_, seed) => seed))("%i", async (seed) => {
		const random = numbers(seed);
		const reader = new Reader(people);
		const late: Reader[] = [];
		await settle();
		/** Since when each is lost. */
		const lost = new Map<string, number>();
		const known = new Map<string, Map<string, PersonSession>>();
		const remember = (host: "beta" | "gamma") => known.set(host, new Map(hosts[host].rows));
		for (let step = 0; step < 40; step++) {
			const host = random(2) === 0 ? "beta" : "gamma";
			const at = [own, hosts[host]][random(2)]!;
			const id = `s${random(5)}`;
			switch (random(8)) {
				case 0:
					at.remove(id);
					break;
				case 1:
					registry.set(host, false, 100 + step);
					if (registry.awaySince === null && !lost.has(host)) remember(host);
					lost.set(host, 100 + step);
					break;
				case 2:
					registry.set(host, true);
					lost.delete(host);
					break;
				case 3:
					if (registry.awaySince === null)
						for (const name of ["beta", "gamma"] as const) if (!lost.has(name)) remember(name);
					registry.awaySince = registry.awaySince === null ? 1000 + step : null;
					registry.changes.emit();
					break;
				case 4:
					hosts[host].cut();
					break;
				default:
					at.put(
						row(id, { lastLine: oneLine(`${step}`), ...(random(4) === 0 && { status: "failed", state: "ended" }) }),
					);
			}
			if (step === 20) late.push(new Reader(people));
			await vi.advanceTimersByTimeAsync(12_000);
			const all = [...own.rows.values()].map(shownRow);
			for (const name of ["beta", "gamma"] as const) {
				const since = lost.get(name) ?? registry.awaySince ?? undefined;
				const rows = since === undefined ? hosts[name].rows : known.get(name)!;
				all.push(...[...rows.values()].map((one) => expected(name, one, since)));
			}
			for (const one of [reader, ...late]) expect(one.shown(), `step ${step}`).toEqual(all.sort());
		}
		for (const one of [reader, ...late]) await one.end();
	});
});

/** The same for the same seed. */
function numbers(seed: number): (below: number) => number {
	let state = seed + 1;
	return (below) => {
		state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
		return (state >>> 8) % below;
	};
}
