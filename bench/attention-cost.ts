// What attention costs while nobody asks, and while somebody waits: processor time of the holders and the daemon.
//
// Read from /proc/PID/task/*/schedstat: the same time as utime + stime in
// /proc/PID/stat, in nanoseconds instead of ticks of 10 ms, of which an idle holder would never show one.

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import { connected } from "./peers/dialtone.ts";

/** Half a minute after its last use a screen is put away, and then garbage is collected: after that a session is idle. */
const SETTLED_MS = 45_000;
const MAIN = join(import.meta.dirname, "../dist/main.js");

export async function attentionCost(
	{ home, env }: { home: string; env: Record<string, string> },
	quick: boolean,
): Promise<void> {
	await using dialtone = await connected(home);
	const spanMs = quick ? 3000 : 10_000;
	const status = JSON.parse(
		execFileSync(process.execPath, [MAIN, "daemon", "status", "--json"], { env, encoding: "utf8" }),
	) as { pid: number };
	const before = new Set(holders(home));
	console.log("\nprocessor time, of one core");

	const awaited = {
		sleeps: ["sleep", "600"],
		"prints ten times a second": ["bash", "-c", "while sleep 0.1; do echo .; done"],
	};
	for (const [what, argv] of Object.entries(awaited)) {
		const terminal = await dialtone.start({ argv, timeoutMs: 0 });
		const holder = holders(home).filter((pid) => !before.has(pid));
		const waiting = terminal.wait({ timeoutMs: spanMs + 5000 });
		await after(500); // past the dense looks right after the start
		say(`one awaited session (${what})`, await spent({ holders: holder, daemon: [status.pid] }, spanMs), 2);
		await terminal.close({ force: true });
		await waiting.catch(() => null); // it ended, which is an answer too
	}

	const count = quick ? 50 : 1000;
	// Starting takes its time on a busy machine; what is there by then is measured, and scaled.
	const deadline = performance.now() + (quick ? 10_000 : 40_000);
	let started = 0;
	const lane = async () => {
		while (started < count && performance.now() < deadline) {
			started++;
			await dialtone.start({ argv: ["cat"], timeoutMs: 20_000 });
		}
	};
	await Promise.all(Array.from({ length: 4 }, lane));
	await after(SETTLED_MS);
	const idle = holders(home).filter((pid) => !before.has(pid));
	const shares = await spent({ holders: idle, daemon: [status.pid] }, spanMs);
	const scale = 1000 / idle.length;
	const note = idle.length === 1000 ? "" : `, scaled from ${idle.length}`;
	say(`1000 idle sessions${note}`, { holders: shares.holders * scale, daemon: shares.daemon * scale }, 0.1);
}

/** The holders of a home: those that write their log in it. */
function holders(home: string): number[] {
	return readdirSync("/proc")
		.filter((entry) => /^\d+$/.test(entry))
		.map(Number)
		.filter((pid) => {
			try {
				if (!readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("dialtone-holder")) return false;
				const files = `/proc/${pid}/fd`;
				return readdirSync(files).some((fd) => readlinkSync(join(files, fd)).startsWith(home));
			} catch {
				return false; // it ended while we looked
			}
		});
}

interface Shares {
	readonly holders: number;
	readonly daemon: number;
}

/** The share of one core that these processes took over a span, in percent. */
async function spent(pids: Record<keyof Shares, readonly number[]>, spanMs: number): Promise<Shares> {
	const total = (of: keyof Shares) => pids[of].reduce((sum, pid) => sum + nanoseconds(pid), 0);
	const before = { holders: total("holders"), daemon: total("daemon") };
	const began = performance.now();
	await after(spanMs);
	const share = (of: keyof Shares) => (total(of) - before[of]) / 1e4 / (performance.now() - began);
	return { holders: share("holders"), daemon: share("daemon") };
}

function nanoseconds(pid: number): number {
	return readdirSync(`/proc/${pid}/task`).reduce(
		(sum, task) => sum + Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]),
		0,
	);
}

function say(what: string, { holders: theirs, daemon }: Shares, goal: number): void {
	const parts = `holders ${theirs.toFixed(2)} % + daemon ${daemon.toFixed(2)} %`;
	console.log(`  ${what.padEnd(48)} ${(theirs + daemon).toFixed(2)} % = ${parts} (goal ≤ ${goal} %)`);
}
