// The adversary's suite from the command line: npx tsx test/adversary/main.ts [part of a name …] [--json FILE] [--lanes N]

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { cases } from "./cases.ts";
import { build, outside, playAll, report } from "./play.ts";

const { values, positionals } = parseArgs({
	allowPositionals: true,
	options: { json: { type: "string" }, lanes: { type: "string", default: "4" } },
});
const directory = mkdtempSync(join(tmpdir(), "dialtone-adversary-"));
try {
	const outsideSocket = join(directory, "outside");
	using _server = await outside(outsideSocket);
	const all = cases({ ...build(directory), outsideSocket })
		.filter((one) => one.needs !== "root" || process.getuid?.() === 0)
		.filter((one) => positionals.length === 0 || positionals.some((part) => one.name.includes(part)));
	const verdicts = await playAll(all, Number(values.lanes));
	if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(verdicts));
	console.log(report(verdicts));
} finally {
	rmSync(directory, { recursive: true, force: true });
}
