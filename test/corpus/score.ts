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
	readonly byCertainty: Readonly<Record<string, { right: number; wrong: number }>>;
}

export function scoreOf(outcomes: readonly Outcome[]): Score {
	const byCertainty: Record<string, { right: number; wrong: number }> = {};
	for (const { certainty, right } of outcomes) {
		const row = byCertainty[certainty || "ended"] ?? { right: 0, wrong: 0 };
		row[right ? "right" : "wrong"]++;
		byCertainty[certainty || "ended"] = row;
	}
	const wrong = outcomes.filter((it) => !it.right);
	return {
		kinds: outcomes.filter((it) => it.kindRight !== null).length,
		wrongKinds: outcomes.filter((it) => it.kindRight === false),
		steps: outcomes.length,
		right: outcomes.length - wrong.length,
		wrong,
		wrongButCertain: wrong.filter((it) => it.certainty === "certain"),
		byCertainty,
	};
}

export function percentile(values: readonly number[], share: number): number {
	const sorted = [...values].sort((a, b) => a - b);
	return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function table(outcomes: readonly Outcome[]): string {
	const score = scoreOf(outcomes);
	const lines = ["", "step                                        truth     told                 certainty"];
	for (const it of outcomes) {
		const mark = it.right && it.kindRight !== false ? " " : it.known === null ? "✗" : "~";
		lines.push(
			`${mark} ${`${it.case} #${it.step}`.padEnd(42)}${it.truth.padEnd(10)}${it.told.padEnd(21)}${it.certainty.padEnd(8)} ${it.because}`,
		);
	}
	const share = (part: number, whole: number) =>
		`${part} of ${whole} right (${((100 * part) / Math.max(1, whole)).toFixed(1)} %)`;
	lines.push(
		"",
		`${share(score.right, score.steps)}; wrong among certain: ${score.wrongButCertain.length}`,
		`kinds: ${share(score.kinds - score.wrongKinds.length, score.kinds)}`,
	);
	for (const [name, { right, wrong }] of Object.entries(score.byCertainty)) {
		lines.push(`  ${name.padEnd(8)} ${right} right, ${wrong} wrong`);
	}
	for (const it of [...score.wrong, ...score.wrongKinds]) {
		lines.push(
			"",
			`✗ ${it.case} #${it.step}: ${it.truth}, told ${it.told} (${it.certainty})${it.known ? ` – ${it.known}` : ""}`,
		);
		lines.push(
			`  ${it.because}`,
			...it.screen
				.split("\n")
				.slice(-6)
				.map((row) => `  | ${row}`),
		);
	}
	return lines.join("\n");
}
