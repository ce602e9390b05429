// The corpus from the command line: npm run corpus -- [name, or part of one …] [options]
//
//   --runs N      plays everything N times
//   --user NAME   as that user (needs root)
//   --load N      with N busy loops beside it
//   --lanes N     cases played at once
//   --sandbox     in a sandbox, and the cases that can be played there outside as well
//   --quick       leaves out three of four cases that look the same for every user
//   --json FILE   writes the outcomes there instead of judging them
//
// Prints the score, what was wrong, and the costs. Fails where the goals of docs/attention.md are missed.

import { type ChildProcess, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { Dialtone } from "../../src/index.ts";
import { playAsUser } from "./as-user.ts";
import { corpus } from "./corpus.ts";
import { type Outcome, playAll } from "./play.ts";
import { rows, scoreOf, summary } from "./score.ts";

const { values, positionals } = parseArgs({
	allowPositionals: true,
	options: {
		runs: { type: "string", default: "1" },
		user: { type: "string" },
		load: { type: "string", default: "0" },
		lanes: { type: "string", default: "4" },
		sandbox: { type: "boolean", default: false },
		quick: { type: "boolean", default: false },
		json: { type: "string" },
	},
});

if (values.sandbox && values.user !== undefined) throw new Error("give --sandbox or --user, not both");

/** The same cases outside, where they were played in a sandbox. */
const outsideToo: Outcome[] = [];

/** A loop ends by itself, too, should this process be killed. */
const LONGEST_LOAD_S = "1800";

async function playHere(): Promise<Outcome[]> {
	const { cases: all, skipped } = await corpus();
	if (skipped.length > 0) console.error(`left out: ${skipped.map(({ part, program }) => `${part} (${program})`)}`);
	// A whole name means that case; anything else is part of one.
	const names = new Set(all.map((one) => one.name));
	const isChosen = (name: string) =>
		positionals.length === 0 || positionals.some((part) => (names.has(part) ? name === part : name.includes(part)));
	const cases = all
		.filter((one) => isChosen(one.name))
		.filter((one, index) => !values.quick || one.user !== undefined || index % 4 === 0);
	await using dialtone = await Dialtone.open({ options: { maxSessions: 100 } });
	const lanes = Number(values.lanes);
	if (!values.sandbox) return await playAll(cases, dialtone, lanes);
	const inside = await playAll(cases, dialtone, lanes, (name, because) =>
		console.log(`not applicable: ${name} ${because}`),
	);
	const played = new Set(inside.map((it) => it.case));
	outsideToo.push(
		...(await playAll(
			cases.filter(({ name }) => played.has(name)),
			dialtone,
			lanes,
		)),
	);
	return inside;
}

function playThere(user: string): Promise<Outcome[]> {
	return playAsUser(user, [...positionals, "--lanes", values.lanes, ...(values.quick ? ["--quick"] : [])]);
}

const load: ChildProcess[] = Array.from({ length: Number(values.load) }, () =>
	spawn("timeout", [LONGEST_LOAD_S, "sh", "-c", "while :; do :; done"], { stdio: "ignore" }),
);
const runs: Outcome[][] = [];
try {
	for (let run = 1; run <= Number(values.runs); run++) {
		const begun = Date.now();
		runs.push(values.user === undefined ? await playHere() : await playThere(values.user));
		console.error(`run ${run}: ${Math.round((Date.now() - begun) / 1000)} s`);
	}
} finally {
	for (const loop of load) loop.kill();
}
const outcomes = runs.flat();
if (values.json !== undefined) {
	writeFileSync(values.json, JSON.stringify(outcomes));
} else {
	if (positionals.length > 0) console.log(rows(outcomes));
	console.log(summary(outcomes));
	const score = scoreOf(outcomes);
	const outside = scoreOf(outsideToo);
	if (values.sandbox) {
		console.log(`\nthe same cases outside: ${outside.right} of ${outside.steps} right; wrong there:`);
		for (const it of outside.wrong) console.log(`  ${it.case} #${it.step}: ${it.told} (${it.certainty})`);
	}
	const missed =
		(values.sandbox && score.right / score.steps < outside.right / outside.steps - 0.01) ||
		score.wrongButCertain.length > 0 ||
		score.right / score.steps < 0.99 ||
		(score.kinds - score.wrongKinds.length) / Math.max(1, score.kinds) < 0.97;
	process.exitCode = missed ? 1 : 0;
}
