// What one look at a program costs the holder, in processor time: a small program, and one with 100 sockets and 500 threads,
// at rest and with a thread that runs every 3 ms, so that no look may rely on the one before.

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import { Client, cleanUp, launch } from "../test/holder/raw-holder.ts";

const GOAL_MS = 2;
const LOOKS = 50;
const APART_MS = 10;
const sizes = [
	{ sockets: 0, threads: 0, tickMs: 0 },
	{ sockets: 100, threads: 500, tickMs: 0 },
	{ sockets: 100, threads: 500, tickMs: 3 },
];

export async function lookCost(directory: string): Promise<void> {
	const crowd = join(directory, "crowd");
	const source = join(import.meta.dirname, "../test/fixtures/crowd.c");
	execFileSync("cc", ["-O1", "-o", crowd, source, "-lpthread"]);
	console.log("\nprocessor time of one look, ms");
	try {
		for (const { sockets, threads, tickMs } of sizes) {
			const session = await launch({ argv: [crowd, String(sockets), String(threads), String(tickMs)] });
			const client = await Client.open(session.socket);
			await client.until(() => client.text.includes("ready"));
			const costs: number[] = [];
			for (let look = 0; look <= LOOKS; look++) {
				await after(APART_MS);
				const before = spentMs(session.holder);
				await client.facts();
				costs.push(spentMs(session.holder) - before);
			}
			const [first = 0, ...later] = costs;
			later.sort((a, b) => a - b);
			const p50 = later[LOOKS / 2] ?? 0;
			const what = `${sockets} sockets, ${threads} threads${tickMs > 0 ? `, one runs every ${tickMs} ms` : ""}`;
			console.log(
				`  ${what.padEnd(48)} first ${first.toFixed(2)}, then p50 ${p50.toFixed(2)} p90 ${(later[LOOKS * 0.9] ?? 0).toFixed(2)} (goal ≤ ${GOAL_MS})`,
			);
			client.close();
		}
	} finally {
		await cleanUp();
	}
}

function spentMs(pid: number): number {
	return readdirSync(`/proc/${pid}/task`).reduce(
		(sum, task) => sum + Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]) / 1e6,
		0,
	);
}
