// Plays cases in batches, checks after each, and narrows a failing batch down to the case that does it. What
// once failed is kept under corpus/TARGET and played first from then on.

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Usage } from "../robustness/stage.ts";
import { Random } from "./random.ts";

export interface Target<C> {
	readonly name: string;
	/** Cases between two checks. */
	readonly batch: number;
	make(random: Random): C;
	open(): Promise<Ring<C>>;
}

/** Where cases are played. */
export interface Ring<C> extends AsyncDisposable {
	play(cases: readonly C[]): Promise<void>;
	/** Fails when something that must hold does not. */
	check(): Promise<void>;
	/** What the daemon uses; null where every batch has a daemon of its own. */
	usage(): Promise<Usage | null>;
}

export interface Finding {
	readonly problem: string;
	/** Number of the run's first case in the batch; `--seed S --skip N` plays from there. */
	readonly first: number;
	/** The fewest cases that still show it. */
	readonly cases: readonly unknown[];
}

export interface Outcome {
	readonly target: string;
	readonly seed: number;
	cases: number;
	seconds: number;
	longestStallMs: number;
	readonly findings: Finding[];
	/** Per thousand cases. */
	growth: { bytes: number; subscriptions: number } | null;
}

export interface RunOptions {
	readonly seed: number;
	readonly seconds: number;
	readonly maxCases?: number;
	/** Passes over this many cases first. */
	readonly skip?: number;
	/** Ends after this many findings. */
	readonly maxFindings?: number;
	/** Adds what fails to the corpus. */
	readonly keep?: boolean;
	readonly say?: (line: string) => void;
}

const CORPUS = join(import.meta.dirname, "corpus");
/** Memory settles: pools fill, code is compiled. */
const WARM_CASES = 2000;
/** What a run of at least so many thousand cases may grow by, per thousand. */
const GROWTH_LIMIT = { thousands: 8, bytes: 2 << 20, subscriptions: 0.5 };

export function kept<C>(target: string): readonly C[] {
	try {
		const directory = join(CORPUS, target);
		return readdirSync(directory)
			.sort()
			.flatMap((file) => JSON.parse(readFileSync(join(directory, file), "utf8")) as C[]);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return []; // nothing has failed yet
		throw error;
	}
}

export async function fuzz<C>(target: Target<C>, options: RunOptions): Promise<Outcome> {
	const { seed, seconds, maxCases = Number.POSITIVE_INFINITY, maxFindings = 3, say = () => {} } = options;
	const outcome: Outcome = {
		target: target.name,
		seed,
		cases: 0,
		seconds: 0,
		longestStallMs: 0,
		findings: [],
		growth: null,
	};
	const begun = performance.now();
	let ring = await target.open();
	let warm: { usage: Usage; cases: number } | null = null;
	let opened = 0;
	const corpus = kept<C>(target.name);
	const next = (): readonly C[] => {
		const from = outcome.cases;
		const old = corpus.slice(from, from + target.batch);
		if (old.length > 0) return old;
		return Array.from({ length: Math.min(target.batch, maxCases - from) }, (_, i) =>
			target.make(caseRandom(seed, from + i + (options.skip ?? 0))),
		);
	};
	try {
		while (performance.now() - begun < seconds * 1000 && outcome.cases < maxCases) {
			const cases = next();
			const problem = await problemOf(ring, cases);
			if (problem !== null) {
				await ring[Symbol.asyncDispose]();
				say(
					`${target.name}: ${problem}\nnarrowing down ${cases.length} cases, from ${outcome.cases} of seed ${seed} …`,
				);
				const fewest = await narrow(target, cases, kindOf(problem));
				outcome.findings.push({ problem, first: outcome.cases, cases: fewest });
				if (options.keep) keep(target.name, fewest);
				ring = await target.open();
				warm = null;
				opened = outcome.cases + cases.length;
			}
			outcome.cases += cases.length;
			if (outcome.findings.length >= maxFindings) break;
			const usage = await ring.usage();
			say(`${target.name}: ${outcome.cases} cases, ${JSON.stringify(usage)}`);
			if (usage === null) continue;
			outcome.longestStallMs = Math.max(outcome.longestStallMs, usage.longestStallMs);
			if (warm === null && outcome.cases - opened >= WARM_CASES) warm = { usage, cases: outcome.cases };
			if (warm !== null && outcome.cases > warm.cases) {
				const thousands = (outcome.cases - warm.cases) / 1000;
				outcome.growth = {
					bytes: Math.round((usage.heap - warm.usage.heap) / thousands),
					subscriptions: (usage.subscriptions - warm.usage.subscriptions) / thousands,
				};
			}
		}
	} finally {
		await ring[Symbol.asyncDispose]();
	}
	const { growth } = outcome;
	const grows =
		growth !== null && (growth.bytes > GROWTH_LIMIT.bytes || growth.subscriptions > GROWTH_LIMIT.subscriptions);
	if (grows && warm !== null && outcome.cases - warm.cases >= GROWTH_LIMIT.thousands * 1000)
		outcome.findings.push({
			problem: `the daemon grows: ${JSON.stringify(growth)} per 1000 cases`,
			first: warm.cases,
			cases: [],
		});
	outcome.seconds = Math.round((performance.now() - begun) / 1000);
	return outcome;
}

/** Each case has chance of its own, so that one can be made again without the others. */
const caseRandom = (seed: number, index: number) =>
	new Random(Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b));

async function problemOf<C>(ring: Ring<C>, cases: readonly C[]): Promise<string | null> {
	try {
		await ring.play(cases);
		await ring.check();
		return null;
	} catch (error) {
		// A case that ended the daemon makes the playing fail first; the check says it in better words.
		const checked = await ring.check().then(
			() => null,
			(second: Error) => second,
		);
		return String((checked ?? (error as Error)).message).slice(0, 3000);
	}
}

/** The part of a problem's text that is the same each time. */
const kindOf = (problem: string) => problem.slice(0, 40).replaceAll(/\d+/g, "");

/** Halves the cases as long as one half still fails on a ring of its own. */
async function narrow<C>(target: Target<C>, cases: readonly C[], kind: string): Promise<readonly C[]> {
	let fewest = cases;
	const fails = async (some: readonly C[]) => {
		await using ring = await target.open();
		const problem = await problemOf(ring, some);
		return problem !== null && kindOf(problem) === kind;
	};
	while (fewest.length > 1) {
		const middle = Math.ceil(fewest.length / 2);
		const half = (await fails(fewest.slice(0, middle)))
			? fewest.slice(0, middle)
			: (await fails(fewest.slice(middle)))
				? fewest.slice(middle)
				: null;
		if (half === null) break; // it takes several together, or luck
		fewest = half;
	}
	return fewest;
}

function keep(target: string, cases: readonly unknown[]): void {
	const text = `${JSON.stringify(cases, null, "\t")}\n`;
	if (text.length > 50_000) return; // too many to be of use
	mkdirSync(join(CORPUS, target), { recursive: true });
	writeFileSync(join(CORPUS, target, `${createHash("sha256").update(text).digest("hex").slice(0, 12)}.json`), text);
}
