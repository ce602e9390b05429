// What is done to the machines of a fleet (joined-machines.ts), and when: the one account of it that the checker has.

import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../fuzz/random.ts";
import type { JoinedMachine, JoinedMachines } from "./joined-machines.ts";
import type { Slowness } from "./network.ts";

/** What a harm takes away: the daemon of a machine, its link, or a majority of the servers. */
export type Lost = "daemon" | "link" | "servers";

export interface Harm {
	readonly what: string;
	/** The machines; all of them where servers are harmed. */
	readonly on: readonly string[];
	/** Null where everything is still reached: one server of three, a slow or lossy link. */
	readonly lost: Lost | null;
	/** Whether it is so, is not known: it may be over already, or never have been. */
	readonly isUnsure?: boolean;
	/** Ms since 1970. */
	readonly from: number;
	/** Infinity while it lasts. */
	to: number;
}

export class Harms {
	readonly all: Harm[] = [];
	readonly #say: (line: string) => void;

	constructor(say: (line: string) => void) {
		this.#say = say;
	}

	/** Whether something was harmed on one of these machines in that time, or less than `graceMs` before. */
	touched([since, until]: readonly [number, number], on: readonly string[], graceMs: number): boolean {
		return this.#of(on).some(({ from, to }) => from <= until && since <= to + graceMs);
	}

	/** Since when one of these was harmed without an end until then, with pauses shorter than `graceMs`; null where it was not. */
	since(at: number, on: readonly string[], graceMs: number): number | null {
		let since: number | null = null;
		for (const { from, to } of this.#of(on, true).sort((a, b) => b.from - a.from))
			if (from <= at && (since ?? at) <= to + graceMs) since = Math.min(since ?? from, from);
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
		const found = this.#of(on, true).filter(({ from, to, isUnsure }) => !isUnsure && from <= at && at < to);
		return found.length === 0 ? null : Math.min(...found.map(({ from }) => from));
	}

	#of(on: readonly string[], lost = false): Harm[] {
		return this.all.filter((harm) => (!lost || harm.lost !== null) && harm.on.some((name) => on.includes(name)));
	}

	/** Something that is over by itself, by then. */
	add(harm: Pick<Harm, "what" | "on" | "lost">, lastsMs: number): void {
		this.all.push({ ...harm, isUnsure: true, from: Date.now(), to: Date.now() + lastsMs });
	}

	/** Does it, and undoes it when `during` settles. */
	async during(
		harm: Pick<Harm, "what" | "on" | "lost">,
		{ act, undo }: { act: () => unknown; undo: () => unknown },
		during: () => Promise<unknown>,
	): Promise<void> {
		const one: Harm = { ...harm, from: Date.now(), to: Number.POSITIVE_INFINITY };
		this.all.push(one);
		this.#say(`${harm.what}: ${harm.on.join(", ")}`);
		await act();
		try {
			await during();
		} finally {
			await undo();
			one.to = Date.now();
			this.#say(`${harm.what}: over`);
		}
	}
}

const RECONNECTED_MS = 20_000;

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

/** One harm of a kind for as long as `during` takes. */
export function harm(
	{ machines, harms }: { readonly machines: JoinedMachines; readonly harms: Harms },
	kind: Kind,
	{ machine, random }: { readonly machine: JoinedMachine; readonly random: Random },
	during: () => Promise<unknown>,
): Promise<void> {
	const on = [machine.name];
	const link = machine.machine;
	const servers = { "kill one server": 1, "kill two servers": 2, "kill all servers": 3 }[kind as string];
	if (servers !== undefined) {
		const first = random.int(3);
		const killed = [0, 1, 2].slice(0, servers).map((index) => (first + index) % 3);
		const { brokers } = machines;
		return harms.during(
			{
				what: `${kind} (${killed.map((index) => brokers.nodes[index]!.name).join(", ")})`,
				on: machines.names,
				lost: servers > 1 ? "servers" : null,
			},
			{
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
				{ what: kind, on, lost: "daemon" },
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
				{ what: kind, on, lost: "daemon" },
				{ act: () => machine.signal("SIGSTOP"), undo: () => machine.signal("SIGCONT") },
				during,
			);
		case "cut link":
		case "link down": {
			// Its server is cut off, too: a daemon that is connected to it notices by unanswered pings, and tries it again.
			harms.add({ what: "cut server", on: machines.names, lost: "servers" }, RECONNECTED_MS);
			const acts =
				kind === "cut link"
					? { act: () => link.cut(), undo: () => link.heal() }
					: { act: () => link.down(), undo: () => link.up() };
			return harms.during({ what: kind, on, lost: "link" }, acts, during);
		}
		default:
			return harms.during(
				{ what: kind, on, lost: null },
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

/** A harm, or two at once on different machines, of these lengths. */
export async function oneOrTwo(
	parts: { readonly machines: JoinedMachines; readonly harms: Harms },
	kinds: readonly Kind[],
	random: Random,
	seconds: readonly [number, number],
): Promise<void> {
	const first = random.int(3);
	await Promise.all(
		kinds.map(async (kind, index) => {
			await delay(index * random.int(3000));
			const ms = 1000 * (seconds[0] + random.int(1 + seconds[1] - seconds[0]));
			await harm(parts, kind, { machine: parts.machines.machines[(first + index) % 3]!, random }, () => delay(ms));
		}),
	);
}
