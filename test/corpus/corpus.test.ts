// The corpus, played as the current user and as a normal one, and the delay from blocked to reported.
//
// One test for many programs: what counts is the score, of one run. Every third case, and all that were once found wrong or
// need a certain user; `npm run corpus` plays all of them and has the goals. Delays are printed and belong
// in docs/benchmarks.md; how long they are depends on the machine's load, so only a hang fails here.
// `npm run corpus -- NAME` plays one case.

import { describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { needing } from "../programs.ts";
import { isReachable, playAsUser } from "./as-user.ts";
import { corpus } from "./corpus.ts";
import { delayTable, measure, type Way, ways } from "./delay.ts";
import { type Outcome, playAll } from "./play.ts";
import { percentile, scoreOf, summary } from "./score.ts";

const LANES = 6;
/** Far above any delay of a loaded machine, far below a timeout. */
const HANG_MS = 2_000;

function expectScore(outcomes: readonly Outcome[], least: { readonly turns: number; readonly kinds: number }): void {
	console.log(summary(outcomes));
	const score = scoreOf(outcomes);
	expect(score.steps).toBeGreaterThan(50);
	expect(score.wrongButCertain.map((it) => `${it.case} #${it.step}: ${it.told}`)).toEqual([]);
	expect(score.right / score.steps).toBeGreaterThanOrEqual(least.turns);
	expect(1 - score.wrongKinds.length / score.kinds).toBeGreaterThanOrEqual(least.kinds);
}

describe("R1.4 R5.5 whose turn it is, over real programs", () => {
	test("C1 X1 A5 never wrong when certain, right in 98 of 100, and what it waits for in 93", {
		timeout: 420_000,
	}, async ({ task }) => {
		const { cases, skipped } = await corpus();
		task.meta.missing = skipped;
		await using dialtone = await Dialtone.open({ options: { maxSessions: 100 } });
		const some = cases.filter(({ name, user }, index) => index % 3 === 0 || user !== undefined || /^A\d/.test(name));
		// Relays and findings are a larger part of these than of the whole, and their kinds are wrong more often (dvtm, tmux in script).
		expectScore(await playAll(some, dialtone, LANES), { turns: 0.98, kinds: 0.93 });
	});

	// The kernel does not let a normal user look into set-uid programs: the answer is a guess, and says so.
	const options = { timeout: 420_000, ...needing("root", "python3", "less") };
	test("the same for a normal user, who may not look into everything", options, async ({ skip }) => {
		if (!isReachable("nobody")) skip("other users may not read this checkout");
		const outcomes = await playAsUser("nobody", ["--quick", "--lanes", String(LANES)]);
		expect(outcomes.filter((it) => it.certainty === "guess").length).toBeGreaterThan(10);
		expectScore(outcomes, { turns: 0.93, kinds: 0.95 });
	});
});

describe("from blocked to reported", () => {
	const options = { timeout: 120_000, ...needing("python3") };
	test("X1 never before the program blocks, and never only by a timeout", options, async () => {
		await using dialtone = await Dialtone.open();
		const rows = [];
		for (const way of Object.keys(ways) as Way[]) rows.push(await measure(dialtone, way, 60));
		console.log(delayTable(rows));
		expect(rows.map((row) => [row.way, row.early])).toEqual(rows.map((row) => [row.way, 0]));
		expect(
			percentile(
				rows.flatMap((row) => row.all),
				0.99,
			),
		).toBeLessThan(HANG_MS);
	});
});
