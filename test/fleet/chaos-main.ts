// `npm run soak:fleet -- [--minutes 10] [--seed 1]`

import { parseArgs } from "node:util";
import { fleetChaos } from "./chaos.ts";
import { KINDS, type Kind } from "./harms.ts";

const { values } = parseArgs({
	options: {
		minutes: { type: "string", default: "10" },
		seed: { type: "string", default: String(Date.now() % 1_000_000) },
		/** Only these; else all. */
		kind: { type: "string", multiple: true },
	},
});
const kinds = values.kind === undefined ? KINDS : KINDS.filter((kind: Kind) => values.kind!.includes(kind));
const report = await fleetChaos({
	seconds: Number(values.minutes) * 60,
	seed: Number(values.seed),
	kinds,
	say: (line) => console.error(`${new Date().toISOString().slice(11, 23)} ${line}`),
});
console.log(JSON.stringify(report, null, "\t"));
