// The corpus as a table: right, wrong, and how sure it was when it was wrong.

import type { Outcome } from "./play.ts";

export interface Score {
	readonly steps: number;
	readonly right: number;
	readonly wrong: readonly Outcome[];
	/** The ones that must not exist. */
	readonly wrongButCertain: readonly Outcome[];
	/** Steps whose kind of input was told, and those of them that were told another. */
	readonly kinds: number;
	readonly wrongKinds: readonly Outcome[];
}

export function scoreOf(outcomes: readonly Outcome[]): Score {
	const wrong = outcomes.filter((it) => !it.right);
	return {
		kinds: outcomes.filter((it) => it.kindRight !== null).length,
		wrongKinds: outcomes.filter((it) => it.kindRight === false),
		steps: outcomes.length,
		right: outcomes.length - wrong.length,
		wrong,
		wrongButCertain: wrong.filter((it) => it.certainty === "certain"),
	};
}

export function percentile(values: readonly number[], share: number): number {
	const sorted = [...values].sort((a, b) => a - b);
	return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** One line for each step. */
export function rows(outcomes: readonly Outcome[]): string {
	const lines = ["", "step                                        truth     told                 certainty"];
	for (const it of outcomes) {
		const mark = it.right && it.kindRight !== false ? " " : it.known === null ? "✗" : "~";
		lines.push(
			`${mark} ${`${it.case} #${it.step}`.padEnd(42)}${it.truth.padEnd(10)}${it.told.padEnd(21)}${it.certainty.padEnd(8)} ${it.because}`,
		);
	}
	return lines.join("\n");
}

const share = (part: number, whole: number) =>
	`${part} of ${whole} right (${((100 * part) / Math.max(1, whole)).toFixed(1)} %)`;

/** How many were right, by what was true and by how sure the answer was; then every wrong one with its screen. */
export function summary(outcomes: readonly Outcome[]): string {
	const score = scoreOf(outcomes);
	const cases = new Set(outcomes.map((it) => it.case)).size;
	const lines = [
		"",
		`${cases} cases: ${share(score.right, score.steps)}; wrong among certain: ${score.wrongButCertain.length}`,
		`kinds: ${share(score.kinds - score.wrongKinds.length, score.kinds)}`,
		...countedBy(outcomes, (it) => it.truth),
		...countedBy(outcomes, (it) => it.certainty || "ended"),
		...costs(outcomes),
	];
	for (const it of [...score.wrong, ...score.wrongKinds]) {
		lines.push(
			"",
			`✗ ${it.case} #${it.step}: ${it.truth}, told ${it.told} (${it.certainty})${it.known ? ` – ${it.known}` : ""}`,
			`  ${it.because}`,
			...it.screen
				.split("\n")
				.slice(-6)
				.map((row) => `  | ${row}`),
		);
	}
	return lines.join("\n");
}

function countedBy(outcomes: readonly Outcome[], classOf: (outcome: Outcome) => string): string[] {
	return [...new Set(outcomes.map(classOf))].map((name) => {
		const of = outcomes.filter((it) => classOf(it) === name);
		return `  ${name.padEnd(8)} ${share(of.filter((it) => it.right).length, of.length)}`;
	});
}

const WORST = 8;

/** What watching costs while it is not the caller's turn: the holder's share of a processor. */
function costs(outcomes: readonly Outcome[]): string[] {
	const watched = outcomes.filter((it) => it.holderCpu !== null);
	const shares = watched.map((it) => it.holderCpu ?? 0);
	const percent = (value: number) => `${(100 * value).toFixed(1)} %`;
	return [
		`holder while watched: p50 ${percent(percentile(shares, 0.5))}, p99 ${percent(percentile(shares, 0.99))} of a core; the most:`,
		...watched
			.sort((a, b) => (b.holderCpu ?? 0) - (a.holderCpu ?? 0))
			.slice(0, WORST)
			.map((it) => `  ${percent(it.holderCpu ?? 0)} ${it.case} #${it.step}`),
	];
}
