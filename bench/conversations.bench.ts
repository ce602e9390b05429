// 25 conversations with real programs, with our tools, tmux and pexpect: calls, tokens, and whether the task was achieved.
//
// The whole writes docs/conversations.md; `--quick` plays a few and prints their rows. In both it is an error if ours
// does not achieve a task, or if another way needs fewer calls.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { missing } from "../test/programs.ts";
import { WAYS, type Way } from "./conversations/agents.ts";
import { type Played, play } from "./conversations/play.ts";
import { type Row, report, rowOf } from "./conversations/report.ts";
import { conversations } from "./conversations/table.ts";

const REPORT = join(import.meta.dirname, "../docs/conversations.md");

export async function run({ quick }: { quick: boolean }): Promise<void> {
	const rows: Row[] = [];
	for (const conversation of conversations.filter((it) => !quick || it.quick)) {
		const lacks = missing(...conversation.needs, "tmux");
		if (lacks.length > 0) {
			console.log(`${conversation.name}: not played, needs ${lacks.join(", ")}`);
			process.exitCode = 1;
			continue;
		}
		const played = {} as Record<Way, Played>;
		// Beside each other: each has a scene of its own, and two of them mostly sleep.
		await Promise.all(
			WAYS.map(async (way) => {
				played[way] = await play(conversation, way);
			}),
		);
		const row = { conversation, ...played };
		rows.push(row);
		console.log(rowOf(row));
		if (!row.ours.achieved || WAYS.some((way) => row[way].achieved && row[way].calls < row.ours.calls)) {
			console.log(row.ours.exchanges.map(({ wrote, read }) => `> ${wrote}\n${read}`).join("\n"));
			process.exitCode = 1;
		}
	}
	if (quick || rows.length < conversations.length) return;
	writeFileSync(REPORT, report(rows));
	execFileSync("npx", ["biome", "format", "--write", REPORT], { stdio: "ignore" });
}
