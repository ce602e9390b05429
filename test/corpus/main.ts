// The corpus from the command line: npx tsx test/corpus/main.ts [part of a name …] [--json FILE] [--lanes N]
//
// Prints the table. `--quick` leaves out what looks the same for every user.

import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { Dialtone } from "../../src/index.ts";
import { corpus } from "./corpus.ts";
import { playAll } from "./play.ts";
import { table } from "./score.ts";

const { values, positionals } = parseArgs({
	allowPositionals: true,
	options: {
		json: { type: "string" },
		lanes: { type: "string", default: "3" },
		quick: { type: "boolean", default: false },
	},
});
const all = (await corpus()).cases;
// A whole name means that case; anything else is part of one.
const names = new Set(all.map((one) => one.name));
const chosen = (name: string) =>
	positionals.length === 0 || positionals.some((part) => (names.has(part) ? name === part : name.includes(part)));
const cases = all
	.filter((one) => chosen(one.name))
	.filter((one, index) => !values.quick || one.user !== undefined || index % 4 === 0);
await using dialtone = await Dialtone.open({ options: { maxSessions: 100 } });
const outcomes = await playAll(cases, dialtone, Number(values.lanes));
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(outcomes));
console.log(table(outcomes));
