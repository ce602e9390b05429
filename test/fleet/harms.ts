// What is done to the machines of a fleet (joined-machines.ts), and when: the one account of it that the checker has.

import { BUCKET_PREFIX, BUCKETS } from "../../src/fleet/buckets.ts";
import type { Random } from "../fuzz/random.ts";
import type { Brokers } from "./broker.ts";
import type { JoinedMachine, JoinedMachines } from "./joined-machines.ts";
import type { Slowness } from "./network.ts";

export const KINDS = [
	"kill daemon",
	"pause daemon",
	"cut link",
	"link down",
	"slow link",
	"lossy link",
	"kill one server",
	"kill two servers",
	"kill all servers",
] as const;
export type Kind = (typeof KINDS)[number];
/** A server is cut off with its machine, which others notice who use it; and when it is back, the servers elect anew. */
export type HarmKind = Kind | "cut server";

/**
 * How long after a harm of each kind it may still be felt. Measured (Checker.settledMs) on two busy cores, and about doubled:
 * a daemon is back within 1 s; servers elect within 15 s when two or all of them are back, and in less than 6 s otherwise. A
 * server that was cut off for half a minute has a higher term when its link is healed and unseats every leader: until the
 * third election or so, and the next lease that is read, it took 21 s, and once more than 25 s.
 */
export const SETTLES_MS: Readonly<Record<HarmKind, number>> = {
	"kill daemon": 15_000,
	"pause daemon": 15_000,
	"cut link": 40_000,
	"link down": 40_000,
	"slow link": 10_000,
	"lossy link": 10_000,
	"kill one server": 15_000,
	"kill two servers": 25_000,
	"kill all servers": 25_000,
	"cut server": 40_000,
};

/** What a harm takes away: the daemon of a machine, its link, or a majority of the servers. */
export type Lost = "daemon" | "link" | "servers";

export interface Harm {
	readonly kind: HarmKind;
	/** The machines; all of them where servers are harmed. */
	readonly on: readonly string[];
	/** Null where everything is still reached: one server of three, a slow or lossy link. */
	readonly lost: Lost | null;
	/** Whether it is so, is not known: it may be over already, or never have been. */
	readonly isUnsure?: boolean;
	/** Ms since 1970. */
	readonly from: number;
	/** When it began to be undone: from then on it may be over. */
	undoing?: number;
	/** Infinity while it lasts. */
	to: number;
}

export class Harms {
	readonly all: Harm[] = [];
	/** How often each server was killed alone, and how often that was the one that led the records of machines. */
	readonly killedAlone = [0, 0, 0];
	killedLeaders = 0;
	readonly #say: (line: string) => void;

	constructor(say: (line: string) => void) {
		this.#say = say;
	}

	/** What was done to one of these machines in that time, or could still be felt then. */
	near([since, until]: readonly [number, number], on: readonly string[]): readonly Harm[] {
		return this.#of(on).filter(({ kind, from, to }) => from <= until && since <= to + SETTLES_MS[kind]);
	}

	/** Whether something was being done to one of these. */
	isDuring([since, until]: readonly [number, number], on: readonly string[]): boolean {
		return this.#of(on).some(({ from, to }) => from <= until && since <= to);
	}

	/** What was done last so to these machines and is over by then; null where something is not over, or may be newer. */
	lastOver(at: number, on: readonly string[], kinds: readonly HarmKind[]): Harm | null {
		const [last, ...others] = this.#of(on)
			.filter(({ kind, from }) => kinds.includes(kind) && from <= at)
			.sort((a, b) => Number(a.isUnsure ?? false) - Number(b.isUnsure ?? false) || b.to - a.to);
		if (last === undefined || last.isUnsure || last.to > at) return null;
		return others.some(({ isUnsure, from }) => isUnsure && from > last.to) ? null : last;
	}

	/** Since when one of these was harmed so until then, without a time in which that was not felt; null where it was not. */
	since(at: number, on: readonly string[], kinds: readonly HarmKind[]): number | null {
		let since: number | null = null;
		const harms = this.#of(on).filter(({ kind }) => kinds.includes(kind));
		for (const { kind, from, to } of harms.sort((a, b) => b.from - a.from))
			if (from <= at && (since ?? at) <= to + SETTLES_MS[kind]) since = Math.min(since ?? from, from);
		return since;
	}

	/** When these, all of which may have been heard of until then, were cut off last; ms since 1970. */
	lastLost(on: readonly string[]): number {
		const harms = this.#of(on, true);
		const isCutOffAt = (at: number) => harms.some(({ from, to, isUnsure }) => !isUnsure && from < at && at < to);
		return Math.max(0, ...harms.map(({ from }) => from).filter((from) => !isCutOffAt(from)));
	}

	/** Since when nobody can reach this machine, or it nobody, by this one harm; null where that is not sure. */
	cutOff(at: number, on: readonly string[]): number | null {
		const found = this.#of(on, true).filter(
			({ from, undoing, to, isUnsure }) => !isUnsure && from <= at && at < (undoing ?? to),
		);
		return found.length === 0 ? null : Math.min(...found.map(({ from }) => from));
	}

	#of(on: readonly string[], lost = false): Harm[] {
		return this.all.filter((harm) => (!lost || harm.lost !== null) && harm.on.some((name) => on.includes(name)));
	}

	/** The server to kill, so that each is: the one that leads, if it is its turn as much as another's. */
	async oneServer(brokers: Brokers): Promise<number> {
		const leader = await brokers.leaderOf(`${BUCKET_PREFIX}${BUCKETS.hosts}`);
		const least = Math.min(...this.killedAlone);
		const next = [0, 1, 2].filter((index) => this.killedAlone[index] === least);
		const index = next.find((one) => brokers.nodes[one]!.name === leader) ?? next[0]!;
		this.killedAlone[index]!++;
		if (brokers.nodes[index]!.name === leader) this.killedLeaders++;
		return index;
	}

	/** Something that is over by itself, by then. */
	add(harm: Pick<Harm, "kind" | "on" | "lost">, lastsMs: number): void {
		this.all.push({ ...harm, isUnsure: true, from: Date.now(), to: Date.now() + lastsMs });
	}

	/** Does it, and undoes it when `during` settles. */
	async during(
		harm: Pick<Harm, "kind" | "on" | "lost">,
		{ act, undo, which = "" }: { act: () => unknown; undo: () => unknown; which?: string },
		during: () => Promise<unknown>,
	): Promise<void> {
		const one: Harm = { ...harm, from: Date.now(), to: Number.POSITIVE_INFINITY };
		this.all.push(one);
		this.#say(`${harm.kind}: ${which || harm.on.join(", ")}`);
		await act();
		try {
			await during();
		} finally {
			one.undoing = Date.now();
			await undo();
			one.to = Date.now();
			this.#say(`${harm.kind}: over`);
		}
	}
}

const RECONNECTED_MS = 20_000;

/** One harm of a kind for as long as `during` takes. */
export async function harm(
	{ machines, harms }: { readonly machines: JoinedMachines; readonly harms: Harms },
	kind: Kind,
	{ machine, random }: { readonly machine: JoinedMachine; readonly random: Random },
	during: () => Promise<unknown>,
): Promise<void> {
	const on = [machine.name];
	const link = machine.machine;
	const servers = { "kill one server": 1, "kill two servers": 2, "kill all servers": 3 }[kind as string];
	if (servers !== undefined) {
		const { brokers } = machines;
		const first = random.int(3);
		const killed =
			servers === 1
				? [await harms.oneServer(brokers)]
				: [0, 1, 2].slice(0, servers).map((index) => (first + index) % 3);
		return harms.during(
			{ kind, on: machines.names, lost: servers > 1 ? "servers" : null },
			{
				which: killed.map((index) => brokers.nodes[index]!.name).join(", "),
				act: () => Promise.all(killed.map((index) => brokers.kill(index))),
				undo: async () => {
					for (const index of killed) brokers.nodes[index]!.start();
					await Promise.all(killed.map((index) => brokers.nodes[index]!.listening()));
				},
			},
			during,
		);
	}
	switch (kind) {
		case "kill daemon":
			return harms.during(
				{ kind, on, lost: "daemon" },
				{
					act: () => {
						machine.isDeserted = true;
						return machine.kill();
					},
					undo: async () => {
						machine.isDeserted = false;
						await (await machine.connect())[Symbol.asyncDispose]();
					},
				},
				during,
			);
		case "pause daemon":
			return harms.during(
				{ kind, on, lost: "daemon" },
				{ act: () => machine.signal("SIGSTOP"), undo: () => machine.signal("SIGCONT") },
				during,
			);
		case "cut link":
		case "link down": {
			// Its server is cut off, too: a daemon that is connected to it notices by unanswered pings, and tries it again. When it
			// is back it asks for an election, which the others did without it.
			const cutServer = (ms: number) => harms.add({ kind: "cut server", on: machines.names, lost: "servers" }, ms);
			const [cut, heal] =
				kind === "cut link" ? [() => link.cut(), () => link.heal()] : [() => link.down(), () => link.up()];
			cutServer(RECONNECTED_MS);
			const undo = () => {
				heal();
				cutServer(0);
			};
			return harms.during({ kind, on, lost: "link" }, { act: cut, undo }, during);
		}
		default:
			return harms.during(
				{ kind, on, lost: null },
				{ act: () => link.slow(kind === "lossy link" ? lossy(random) : narrow(random)), undo: () => link.unslow() },
				during,
			);
	}
}

const narrow = (random: Random): Slowness => ({ kilobitsPerSecond: 300 + random.int(3000) });

/** As over an ocean, or by a bad radio. */
const lossy = (random: Random): Slowness => ({
	delayMs: 20 + random.int(80),
	jitterMs: random.int(50),
	lossPercent: 1 + random.int(5),
});
