// `npm run fuzz:daemon -- [--seconds N] [--target socket|upgrade|http|mcp|state] [--seed S] [--keep]`

import { parseArgs } from "node:util";
import { fuzz } from "./runner.ts";
import { targets } from "./targets.ts";

const { values } = parseArgs({
	options: {
		seconds: { type: "string", default: "60" },
		target: { type: "string", multiple: true },
		seed: { type: "string", default: String(Date.now() % 1_000_000) },
		skip: { type: "string", default: "0" },
		cases: { type: "string" },
		findings: { type: "string", default: "3" },
		keep: { type: "boolean", default: false },
	},
});
const names = values.target ?? Object.keys(targets);
const seconds = Number(values.seconds) / names.length;
for (const name of names) {
	const target = targets[name];
	if (target === undefined) throw new Error(`there is no target "${name}", only ${Object.keys(targets).join(", ")}`);
	const outcome = await fuzz(target, {
		seed: Number(values.seed),
		seconds,
		skip: Number(values.skip),
		...(values.cases !== undefined && { maxCases: Number(values.cases) }),
		maxFindings: Number(values.findings),
		keep: values.keep,
		say: (line) => console.error(line),
	});
	console.log(JSON.stringify({ ...outcome, findings: outcome.findings.length }));
	for (const finding of outcome.findings) {
		console.log(`FINDING in ${name} (seed ${outcome.seed}, from case ${finding.first}): ${finding.problem}`);
		console.log(JSON.stringify(finding.cases).slice(0, 4000));
		process.exitCode = 1;
	}
}
