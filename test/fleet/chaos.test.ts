// The short version; `npm run soak:fleet` goes on for as long as one likes.

import { expect, test } from "vitest";
import { needing } from "../programs.ts";
import { fleetChaos } from "./chaos.ts";
import { KINDS } from "./harms.ts";
import { MACHINES_NEED } from "./joined-machines.ts";

test("issue 15: three machines whose daemons, servers and links are killed, stopped, cut and slowed lose nothing, do nothing twice and say what is so", {
	...needing(...MACHINES_NEED, "python3"),
	timeout: 900_000,
}, async () => {
	const report = await fleetChaos({ seed: 3, seconds: 60, say: () => {} });
	console.log(JSON.stringify(report));
	for (const kind of KINDS) expect(report.harms[kind]).toBeGreaterThan(0);
	expect(Math.min(...report.killedAlone)).toBeGreaterThan(0);
	expect(report.killedLeaders).toBeGreaterThan(0);
	// What was judged while nothing excuses anything, and of machines that were lost for long.
	expect(report.rows.calm).toBeGreaterThan(100);
	expect(report.calls.calm).toBeGreaterThan(100);
	expect(report.rows.lost).toBeGreaterThan(10);
	expect(report.commands).toBeGreaterThan(50);
	expect(report.lines).toBeGreaterThan(50);
	expect(report.starts).toBeGreaterThan(5);
	expect(report.leases).toBeGreaterThan(10);
	expect(report.local.harmed.p50).toBeLessThan(5 * report.local.calm.p50 + 100);
});
