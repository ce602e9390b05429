// Which harms are done in one run of the chaos test, in which order and for how long: each kind once, each server alone, one
// that loses a machine for so long that all must tell it, a time in which nothing is harmed, and then by chance.

import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../fuzz/random.ts";
import { type Harms, harm, type Kind, SETTLES_MS } from "./harms.ts";
import type { JoinedMachines } from "./joined-machines.ts";
import { TOLD_MS } from "./row-check.ts";

/** How long a harm lasts and the pause after it, in seconds: the least, and the most. */
const LASTS: readonly [number, number] = [2, 14];
const PAUSE: readonly [number, number] = [1, 6];
/** So long that what is lost must have been told for a while. */
const LONG: readonly [number, number] = [TOLD_MS / 1000 + 8, TOLD_MS / 1000 + 14];
/** Until it has settled, and for a while after. */
const calmAfter = (kind: Kind): readonly [number, number] => [
	SETTLES_MS[kind] / 1000 + 12,
	SETTLES_MS[kind] / 1000 + 15,
];
const LOSES_A_MACHINE: readonly Kind[] = ["kill daemon", "pause daemon", "cut link", "link down"];
const SERVERS = 3;

interface Step {
	readonly kind: Kind;
	readonly lasts: readonly [number, number];
	readonly pause: readonly [number, number];
	/** Another one may be done meanwhile. */
	readonly isAlone: boolean;
}

export interface Disturbed {
	readonly machines: JoinedMachines;
	readonly harms: Harms;
}

/** Harms until the time is over, or something went wrong; how often each. */
export async function disturb(
	parts: Disturbed,
	{ seconds, kinds }: { readonly seconds: number; readonly kinds: readonly Kind[] },
	random: Random,
	isFailed: () => boolean,
): Promise<Record<string, number>> {
	const counts: Record<string, number> = {};
	const end = Date.now() + seconds * 1000;
	const first = planned(kinds, random);
	while ((Date.now() < end || first.length > 0) && !isFailed()) {
		const step = first.shift() ?? byChance(random.pick(kinds), random);
		const both = [step.kind, ...(step.isAlone ? [] : beside(step.kind, kinds, random))];
		for (const one of both) counts[one] = (counts[one] ?? 0) + 1;
		await oneOrTwo(parts, both, random, step.lasts);
		await delay(1000 * between(random, step.pause));
	}
	return counts;
}

const usual = (kind: Kind): Step => ({ kind, lasts: LASTS, pause: PAUSE, isAlone: false });

const byChance = (kind: Kind, random: Random): Step => ({
	...usual(kind),
	lasts: random.chance(0.2) ? LONG : LASTS,
	pause: random.chance(0.1) ? calmAfter(kind) : PAUSE,
});

/** What each run has. */
function planned(kinds: readonly Kind[], random: Random): Step[] {
	const steps = kinds.flatMap((kind) => Array(kind === "kill one server" ? SERVERS : 1).fill(usual(kind)) as Step[]);
	const losing = kinds.filter((kind) => LOSES_A_MACHINE.includes(kind));
	if (losing.length > 0) {
		const kind = random.pick(losing);
		steps.push({ kind, lasts: LONG, pause: calmAfter(kind), isAlone: true });
	}
	for (let last = steps.length - 1; last > 0; last--) {
		const other = random.int(last + 1);
		[steps[last], steps[other]] = [steps[other]!, steps[last]!];
	}
	return steps;
}

/** What is done at the same time, sometimes. Two that are done to the servers would start what is running. */
function beside(kind: Kind, kinds: readonly Kind[], random: Random): readonly Kind[] {
	if (!random.chance(0.3)) return [];
	const other = random.pick(kinds);
	return /server/.test(kind) && /server/.test(other) ? [] : [other];
}

/** A harm, or two at once on different machines, of these lengths. */
async function oneOrTwo(
	parts: Disturbed,
	kinds: readonly Kind[],
	random: Random,
	seconds: readonly [number, number],
): Promise<void> {
	const first = random.int(3);
	await Promise.all(
		kinds.map(async (kind, index) => {
			await delay(index * random.int(3000));
			const ms = 1000 * between(random, seconds);
			await harm(parts, kind, { machine: parts.machines.machines[(first + index) % 3]!, random }, () => delay(ms));
		}),
	);
}

const between = (random: Random, [least, most]: readonly [number, number]): number =>
	least + random.int(1 + most - least);
