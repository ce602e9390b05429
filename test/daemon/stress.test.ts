// S24: serves that come and go, calls of several programs and versions, and kill -9 at random moments. Afterwards exactly
// one daemon remains, calls succeed, and the epoch has grown only with what ended a daemon. In 0.1.0 `serve` and the
// daemons that clients start replaced each other from then on. DIALTONE_STRESS_MS makes it longer than CI needs.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { newestLock } from "../../src/daemon/daemon-lock.ts";
import { until } from "../condition.ts";
import { Home } from "./home.ts";
import { versioned } from "./versioned.ts";

const RUN_MS = Number(process.env.DIALTONE_STRESS_MS ?? 15_000);

/** The processes that run a daemon of this home. */
function daemons(home: Home): number[] {
	return readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name))
		.filter((pid) => {
			try {
				const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").join(" ");
				return (
					/main\.js daemon run|daemon\.cjs/.test(command) &&
					!/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8")) &&
					readFileSync(`/proc/${pid}/environ`, "utf8").includes(home.path)
				);
			} catch {
				return false; // ended meanwhile
			}
		})
		.map(Number);
}

test("S24: one daemon remains, and calls succeed", { timeout: RUN_MS + 120_000 }, async () => {
	const newer = versioned("99.0.0");
	const older = versioned("0.0.1");
	const children = new Set<ChildProcess>();
	{
		await using home = new Home();
		const run = join(home.path, "run");
		const start = (main: string, ...args: string[]) => {
			const child = spawn(process.execPath, [join(main, "dist/main.js"), ...args], {
				env: home.env,
				stdio: ["ignore", "pipe", "pipe"],
			});
			children.add(child);
			let said = "";
			for (const stream of [child.stdout, child.stderr]) {
				stream.setEncoding("utf8").on("data", (text: string) => {
					said = (said + text).slice(-2000);
				});
			}
			child.on("close", () => children.delete(child));
			return { child, said: () => said, code: once(child, "close").then(([code]) => code as number | null) };
		};
		await start(newer, "start", "--name", "cat", "cat").code;
		expect(newestLock(run)?.version).toBe("99.0.0");
		const before = newestLock(run)!.epoch;
		const deadline = Date.now() + RUN_MS;
		let kills = 0;
		let calls = 0;
		const failures: string[] = [];
		const calling = async (nth: number) => {
			while (Date.now() < deadline) {
				const { code, said } = start(newer, "send", "cat", `from ${nth}`, "--timeout", "5s");
				calls++;
				if ((await code) !== 0) failures.push(said());
			}
		};
		const refusing = async () => {
			while (Date.now() < deadline) {
				const { code, said } = start(older, "ls");
				await code;
				expect(said()).not.toMatch(/internal|failed/);
				await delay(200);
			}
		};
		const serving = async () => {
			while (Date.now() < deadline) {
				const { child, code } = start(newer, "serve", "--foreground", "--port", "0");
				await Promise.race([delay(500 + 2000 * Math.random()), code]);
				child.kill("SIGINT");
				await code;
			}
		};
		const killing = async () => {
			while (Date.now() < deadline) {
				await delay(1000 + 2000 * Math.random());
				const lock = newestLock(run);
				if (lock === null) continue;
				try {
					process.kill(lock.pid, "SIGKILL");
					kills++;
				} catch {
					// Gone already: the next one has not taken its lock yet.
				}
			}
		};
		await Promise.all([calling(1), calling(2), refusing(), serving(), serving(), killing()]);
		expect(failures, failures.join("\n---\n")).toEqual([]);
		// The last act may have been a kill: this call starts the one that remains.
		expect(await start(newer, "send", "cat", "at the end").code).toBe(0);
		await until("one daemon remains", () => daemons(home).length === 1);
		const lock = newestLock(run)!;
		expect(daemons(home)).toEqual([lock.pid]);
		expect(lock.version).toBe("99.0.0");
		process.stdout.write(`stress: ${calls} calls, ${kills} kills, epoch ${before} → ${lock.epoch}\n`);
		// After a kill the older version may be the first to start a daemon, which the newer one then replaces.
		expect(lock.epoch - before).toBeLessThanOrEqual(2 * kills + 1);
		expect(calls).toBeGreaterThan(0);
		await start(newer, "daemon", "stop", "--sessions").code;
		await until("all are gone", () => children.size === 0 && daemons(home).length === 0);
	}
	for (const directory of [newer, older]) rmSync(directory, { recursive: true });
});
