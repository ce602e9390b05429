// Short versions of the soaks; `npm run soak -- churn` and `npm run soak -- chaos` are the long ones.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { missing, needing } from "../programs.ts";
import type { ChaosReport } from "./chaos.ts";
import { churn } from "./churn.ts";

const SEED = 20261116;
/** On a loaded machine a single turn may wait this long for the processor. */
const NOISE_MS = 5000;
const MIB = 1 << 20;

test(
	"clients that vanish in mid-message disturb no conversation and leave nothing behind",
	needing("python3"),
	async () => {
		const { quiet, churn: during, before, after } = await churn({ clients: 100, conversations: 5, seed: SEED });
		expect(during.p99).toBeLessThan(Math.max(3 * quiet.p99, NOISE_MS));
		expect(after.heap - before.heap).toBeLessThan(16 * MIB);
		expect(during.turns).toBeGreaterThan(10);
	},
);

test(
	"R4.7 after kills and stops of daemon and holders and a full disk nothing is lost, nothing is left",
	needing("python3"),
	async ({ task }) => {
		const lacks = missing("mounts");
		task.meta.missing = lacks.map((program) => ({ program, part: "the full disk of the chaos" }));
		const size = ["--minutes", "0.3", "--counters", "3", "--talks", "3", "--seed", String(SEED)];
		const args = ["chaos", ...size, ...(lacks.length > 0 ? ["--no-disk"] : [])];
		const main = join(import.meta.dirname, "main.ts");
		const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", main, ...args]);
		const report = JSON.parse(stdout) as ChaosReport;
		expect(report.done["kill -9 daemon"]).toBeGreaterThan(0);
		expect(report.turns).toBeGreaterThan(20);
	},
);
