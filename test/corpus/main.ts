// The corpus from the command line: tsx test/corpus/main.ts [part of a name …] [--json FILE]
//
// Prints the table. corpus.test.ts runs this same file as a normal user.

import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { Dialtone } from "../../src/index.ts";
import { corpus } from "./corpus.ts";
import { endShared, type Outcome, play } from "./play.ts";
import { table } from "./score.ts";

const { values, positionals } = parseArgs({
	allowPositionals: true,
	options: { json: { type: "string" }, lanes: { type: "string", default: "3" } },
});
const cases = (await corpus()).filter(
	(one) => positionals.length === 0 || positionals.some((part) => one.name.includes(part)),
);
const outcomes: Outcome[] = [];
{
	await using dialtone = await Dialtone.open({ options: { maxSessions: 100 } });
	const left = [...cases];
	const lane = async () => {
		for (let one = left.shift(); one !== undefined; one = left.shift()) {
			try {
				outcomes.push(...(await play(one, dialtone)));
			} catch (error) {
				console.error(`${one.name}: ${error}`);
				process.exitCode = 1;
			}
		}
	};
	await Promise.all(Array.from({ length: Number(values.lanes) }, lane));
	await endShared();
}
outcomes.sort((a, b) => a.case.localeCompare(b.case) || a.step - b.step);
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(outcomes));
console.log(table(outcomes));
