import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Fault } from "../protocol/fault.ts";
import type { Pin, PinStore } from "./pins.ts";
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

	async set(key: string, to: { host: string; session: string | null }, before: Pin | null): Promise<Pin> {
		const known = this.#pins.get(key);
		if ((known?.revision ?? 0) !== (before?.revision ?? 0)) return known!;
		const pin = { ...to, revision: ++this.#revision };
		this.#pins.set(key, pin);
		return pin;
	}
}

describe("a start that is repeated", () => {
	type Fate = "answered" | "lost" | "refused" | "full" | "away";
	const fates = fc.array(fc.constantFrom<Fate>("answered", "lost", "refused", "full", "away"), {
		minLength: 1,
		maxLength: 12,
	});

	test("starts at most one session, through whichever daemon and whatever becomes of each try", async () => {
		await fc.assert(
			fc.asyncProperty(fates, fc.array(fc.nat(2), { minLength: 1, maxLength: 8 }), async (script, choosers) => {
				const hosts = [host("a"), host("b"), host("c")];
				const pins = new MemoryPins();
				const running = new Map<string, string>(); // host → session
				const parts = {
					pins,
					hosts: () => hosts,
					hasEnded: async () => false,
					running: async () => [...running.keys()][0] ?? null,
				};
				// One that has died is another with the same pins.
				const all = [new Placer(parts), new Placer(parts), new Placer(parts)];
				const rest = [...script];
				const asked: PlacedStart = {
					wanted: "least-loaded",
					owner: "me",
					name: { kind: "session", name: "x" },
					start: async (at) => {
						const fate = rest.shift() ?? "answered";
						if (fate === "away") throw new Fault("host_unreachable", { host: at, since: null });
						if (running.has(at)) throw new Fault("name_taken", { name: "x" });
						if (fate === "full") throw new Fault("too_many_sessions", { limit: 1, open: [] });
						if (fate === "refused")
							throw new Fault("spawn_failed", { stage: "exec", code: "ENOENT", message: "", command: "x" });
						running.set(at, `id-${at}`);
						if (fate === "lost") throw new Fault("host_unreachable", { host: at, since: null, maybeDone: true });
						return { facts: { session: `${at}/id-${at}` }, text: "" };
					},
				};
				for (const chooser of choosers) {
					await all[chooser]!.start(asked).catch((error: unknown) => expect(error).toBeInstanceOf(Fault));
					expect(running.size).toBeLessThanOrEqual(1);
				}
			}),
		);
	});
});
