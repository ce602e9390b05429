import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Fault } from "../protocol/fault.ts";
import type { Pin, PinStore, PinTo } from "./pins.ts";
import { type PlacedStart, Placer } from "./placed-start.ts";
import { place, type Wanted } from "./placement.ts";
import { Reservations } from "./reservations.ts";
import type { HostView } from "./view.ts";

const host = (
	name: string,
	more: {
		running?: number;
		sessions?: number;
		load?: number;
		labels?: Record<string, string>;
		reachable?: boolean;
	} = {},
): HostView => {
	const { running = 0, sessions = 4, load = 0, labels = {}, reachable = true } = more;
	const lease = {
		host: name,
		bootId: "b",
		home: "h",
		daemonEpoch: 1,
		version: "1",
		labels,
		capacity: { sessions },
		running,
		load,
		since: 0,
	};
	return { host: name, lease, reachable, since: 0 };
};

const someHost = fc
	.record({
		running: fc.nat(6),
		sessions: fc.integer({ min: 1, max: 6 }),
		load: fc.double({ min: 0, max: 4, noNaN: true }),
		reachable: fc.boolean(),
		labels: fc.constantFrom({}, { gpu: "a" }, { gpu: "b" }),
	})
	.map((more) => more);
const someHosts = fc.array(someHost, { maxLength: 6 }).map((all) => all.map((more, i) => host(`h${i}`, more)));
const someWanted = fc.constantFrom<Wanted>("least-loaded", { labels: { gpu: "a" } }, { host: "h1" });

/** The host, or null where none fits. */
function placed(wanted: Wanted, candidates: Parameters<typeof place>[1]): string | null {
	try {
		return place(wanted, candidates);
	} catch (error) {
		expect(error).toBeInstanceOf(Fault);
		expect((error as Fault).code).toBe("no_host_fits");
		return null;
	}
}

describe("a host", () => {
	test("is chosen only where it fits, and always where one does; the same start gets the same one", () => {
		fc.assert(
			fc.property(someHosts, someWanted, fc.string(), (hosts, wanted, key) => {
				const chosen = placed(wanted, { hosts, key });
				const fits = ({ host: name, lease, reachable }: HostView) =>
					reachable &&
					lease!.running < lease!.capacity.sessions &&
					(wanted === "least-loaded" ||
						("host" in wanted ? wanted.host === name : lease!.labels.gpu === wanted.labels.gpu));
				const fitting = hosts.filter(fits).map((view) => view.host);
				if (chosen === null) expect(fitting).toEqual([]);
				else expect(fitting).toContain(chosen);
				expect(placed(wanted, { hosts: [...hosts].reverse(), key })).toBe(chosen);
			}),
		);
	});

	test("is never given more than it takes, however many choose before its lease says so", () => {
		fc.assert(
			fc.property(someHosts, fc.array(fc.string(), { maxLength: 40 }), (hosts, keys) => {
				const reservations = new Reservations(() => 0);
				const given = new Map<string, number>();
				for (const key of keys) {
					const chosen = placed("least-loaded", { hosts, reserved: reservations.count(hosts), key });
					if (chosen === null) continue;
					reservations.make(chosen);
					given.set(chosen, (given.get(chosen) ?? 0) + 1);
				}
				for (const { host: name, lease } of hosts)
					expect(lease!.running + (given.get(name) ?? 0)).toBeLessThanOrEqual(
						Math.max(lease!.running, lease!.capacity.sessions),
					);
			}),
		);
	});

	test("that is emptier is preferred, and equal ones share what comes", () => {
		expect(place("least-loaded", { hosts: [host("a", { running: 3 }), host("b", { running: 1 })], key: "x" })).toBe(
			"b",
		);
		const hosts = Array.from({ length: 10 }, (_, i) => host(`h${i}`, { sessions: 1000 }));
		const chosen = new Set(Array.from({ length: 200 }, (_, i) => place("least-loaded", { hosts, key: `k${i}` })));
		expect(chosen.size).toBe(10);
	});

	test("is said of each why it does not fit", () => {
		const hosts = [host("full", { running: 4 }), host("away", { reachable: false }), host("plain")];
		const fault = (() => {
			try {
				place({ labels: { gpu: "a" } }, { hosts, key: "x", refused: new Map([["plain", "no room"]]) });
				return null;
			} catch (error) {
				return error as Fault;
			}
		})();
		expect(fault?.message).toMatch(/full: has no label gpu; away: unreachable since .*; plain: no room/);
	});
});

test("a reservation counts until a lease that was written after the answer", () => {
	const reservations = new Reservations(() => 0);
	const before = host("a");
	const made = reservations.make("a");
	expect(reservations.count([before]).get("a")).toBe(1);
	made.answered(before.lease);
	expect(reservations.count([before]).get("a")).toBe(1);
	expect(reservations.count([host("a", { running: 1 })]).get("a")).toBeUndefined();
});

/** Pins as the broker keeps them. */
class MemoryPins implements PinStore {
	readonly #pins = new Map<string, Pin>();
	#revision = 0;

	async find(key: string): Promise<Pin | null> {
		return this.#pins.get(key) ?? null;
	}

	async set(key: string, to: PinTo, before: Pin | null): Promise<{ pin: Pin; isOurs: boolean }> {
		const known = this.#pins.get(key);
		if ((known?.revision ?? 0) !== (before?.revision ?? 0)) return { pin: known!, isOurs: false };
		const pin = { ...to, revision: ++this.#revision };
		this.#pins.set(key, pin);
		return { pin, isOurs: true };
	}
}

describe("a start that is repeated", () => {
	const FATES = ["answered", "ended", "lost", "refused", "bad", "full", "away", "gone"] as const;
	type Fate = (typeof FATES)[number];
	const fates = fc.array(fc.constantFrom<Fate>(...FATES), {
		minLength: 1,
		maxLength: 12,
	});
	/** Where three ask at the same moment, and what one has started ends meanwhile, two others may run: each was asked for. */
	const lastingFates = fates.map((script) => script.map((fate) => (fate === "ended" ? "answered" : fate)));
	const name = { kind: "session", name: "x" } as const;

	/** Hosts that do with each start what the script says, in the order in which the starts arrive. */
	function fleetOf(script: readonly Fate[], arrive: () => Promise<unknown> = async () => {}) {
		const hosts = [host("a"), host("b"), host("c")];
		const running = new Map<string, string>(); // host → session
		const ran: string[] = [];
		const ids = new Map<string, string>(); // host and the caller's id → session
		const rest = [...script];
		const parts = {
			pins: new MemoryPins(),
			hosts: () => hosts,
			hasEnded: async (at: string, session: string) => running.get(at) !== session,
			// Records are read when they have arrived: the pins alone have to do.
			running: async () => null,
		};
		const startAs =
			(id: string | null): PlacedStart["start"] =>
			async (at) => {
				const fate = rest.shift() ?? "answered";
				if (fate === "away") throw new Fault("host_unreachable", { host: at, since: null });
				await arrive();
				if (fate === "gone") throw new Fault("host_unreachable", { host: at, since: null, maybeDone: true });
				// What is wrong with a call is said before its name is looked at.
				if (fate === "bad") throw new Fault("bad_input", { problems: ["cwd is not a directory"] });
				const known = id === null ? undefined : ids.get(`${at} ${id}`);
				if (known !== undefined) return { facts: { session: `${at}/${known}` }, text: "" };
				if (running.has(at)) throw new Fault("name_taken", { name: "x" });
				if (fate === "full") throw new Fault("too_many_sessions", { limit: 1, open: [] });
				if (fate === "refused")
					throw new Fault("spawn_failed", { stage: "exec", code: "ENOENT", message: "", command: "x" });
				const session = `${at}-${ran.length}`;
				ran.push(at);
				if (id !== null) ids.set(`${at} ${id}`, session);
				running.set(at, session);
				await arrive();
				if (fate === "ended") running.delete(at);
				if (fate === "lost") throw new Fault("host_unreachable", { host: at, since: null, maybeDone: true });
				return { facts: { session: `${at}/${session}` }, text: "" };
			};
		const asked: PlacedStart = { wanted: "least-loaded", owner: "me", name, id: null, start: startAs(null) };
		const withId = (id: string, called: PlacedStart["name"]) => ({ ...asked, id, name: called, start: startAs(id) });
		// A daemon that has died is another with the same pins.
		const all = [new Placer(parts), new Placer(parts), new Placer(parts)] as const;
		return { asked, withId, parts, running, ran, all };
	}

	test("starts at most one session, through whichever daemon and whatever becomes of each try", async () => {
		await fc.assert(
			fc.asyncProperty(fates, fc.array(fc.nat(2), { minLength: 1, maxLength: 8 }), async (script, choosers) => {
				const { asked, running, all } = fleetOf(script);
				for (const chooser of choosers) {
					await all[chooser]!.start(asked).catch((error: unknown) => expect(error).toBeInstanceOf(Fault));
					expect(running.size).toBeLessThanOrEqual(1);
				}
			}),
		);
	});

	test("starts at most one session, also where several ask at the same moment", async () => {
		await fc.assert(
			fc.asyncProperty(
				fc.scheduler(),
				lastingFates,
				fc.array(fc.nat(2), { minLength: 2, maxLength: 5 }),
				async (scheduler, script, choosers) => {
					const { asked, running, all } = fleetOf(script, async () => {
						await scheduler.schedule(Promise.resolve());
						expect(running.size).toBeLessThanOrEqual(1);
					});
					const refused = (error: unknown) => expect(error).toBeInstanceOf(Fault);
					const asking = choosers.map((chooser) => all[chooser]!.start(asked).catch(refused));
					await scheduler.waitFor(Promise.all(asking));
					expect(running.size).toBeLessThanOrEqual(1);
					// And whoever asks later is sent there.
					await scheduler.waitFor(all[0].start(asked).catch(refused));
					expect(running.size).toBeLessThanOrEqual(1);
				},
			),
			{ numRuns: 500 },
		);
	});

	test("runs its program once where it has an id, also when that has ended, with a name or without", async () => {
		await fc.assert(
			fc.asyncProperty(
				fc.scheduler(),
				fates,
				fc.array(fc.nat(2), { minLength: 2, maxLength: 5 }),
				fc.constantFrom(name, null),
				async (scheduler, script, choosers, called) => {
					const { withId, ran, all } = fleetOf(script, () => scheduler.schedule(Promise.resolve()));
					const asked = withId("one", called);
					const refused = (error: unknown) => expect(error).toBeInstanceOf(Fault);
					const asking = choosers.map((chooser) => all[chooser]!.start(asked).catch(refused));
					await scheduler.waitFor(Promise.all(asking));
					await scheduler.waitFor(all[0].start(asked).catch(refused));
					expect(ran.length).toBeLessThanOrEqual(1);
				},
			),
			{ numRuns: 500 },
		);
	});

	test("that is refused stays with the session that runs", async () => {
		const { asked, ran, all } = fleetOf(["answered", "bad"]);
		await all[0].start(asked);
		await expect(all[1].start(asked)).rejects.toMatchObject({ code: "bad_input" });
		await expect(all[2].start(asked)).rejects.toMatchObject({ code: "name_taken" });
		expect(ran).toHaveLength(1);
	});

	test("is not kept by a host that took nothing", async () => {
		const { asked, parts, ran, all } = fleetOf(["full", "full", "away"]);
		await expect(all[0].start(asked)).rejects.toMatchObject({ code: "no_host_fits" });
		const key = "me.session.x";
		const pinned = (await parts.pins.find(key))!.host;
		const others = new Placer({ ...parts, hosts: () => parts.hosts().filter((view) => view.host !== pinned) });
		await others.start(asked);
		expect(ran).toHaveLength(1);
		expect(ran).not.toContain(pinned);
	});

	test("reserves nothing on its host; each of many that are placed at the same moment reserves its own", async () => {
		const { asked, parts } = fleetOf([]);
		const given = new Map<string, number>();
		const start: PlacedStart["start"] = async (at) => {
			given.set(at, (given.get(at) ?? 0) + 1);
			return { facts: { session: `${at}/id` }, text: "" };
		};
		const placer = new Placer({ ...parts, hasEnded: async () => false });
		for (let i = 0; i < 10; i++) await placer.start({ ...asked, start });
		given.clear();
		// Four fit on each of three hosts, and one has its first.
		const more = Array.from({ length: 11 }, (_, i) => ({ kind: "session" as const, name: `more-${i}` }));
		await Promise.all(more.map((other) => placer.start({ ...asked, start, name: other })));
		expect([...given.values()].sort()).toEqual([3, 4, 4]);
		const last = placer.start({ ...asked, start, name: { kind: "session", name: "last" } });
		await expect(last).rejects.toMatchObject({ code: "no_host_fits" });
	});
});
