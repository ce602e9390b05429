// The model of sessions over real holders: after whatever was asked at the same moment, the
// programs that run are exactly the sessions that run, and in the end nothing is left.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { places, preparePlaces } from "../../src/pty/places.ts";
import { resolveOptions } from "../../src/session/options.ts";
import { Sessions } from "../../src/session/sessions.ts";
import { until } from "../condition.ts";
import { LeakCheck } from "./leaks.ts";
import { batches, forAWhile, newModel, type World } from "./slot-model.ts";

const RUN_MS = 45_000;

/** Processes that were started with this in their environment. */
function processesWith(marker: string): number[] {
	return readdirSync("/proc").flatMap((name) => {
		if (!/^\d+$/.test(name)) return [];
		try {
			return readFileSync(`/proc/${name}/environ`, "latin1").includes(marker) ? [Number(name)] : [];
		} catch {
			return []; // gone meanwhile, or not ours
		}
	});
}

async function inAWorld(use: (world: World) => Promise<void>): Promise<void> {
	const home = mkdtempSync(join(tmpdir(), "dt-model-"));
	const where = places({ DIALTONE_HOME: home });
	preparePlaces(where);
	let epoch = 0;
	const open = () =>
		Sessions.open({
			places: where,
			options: resolveOptions({ evictMs: 5, rememberEnded: 2, endGraceMs: 500 }),
			epoch: ++epoch,
			onProblem: () => {}, // what matters is what is true afterwards
			onFenced: () => {},
		});
	const marker = `DT_MODEL=${home}`;
	/** By what is on disk, whatever the daemon says. */
	const alive = () => {
		const pids = new Set(processesWith(marker));
		for (const id of readdirSync(where.sessions)) {
			try {
				const { pid } = JSON.parse(readFileSync(join(where.sessions, id, "meta.json"), "utf8")) as { pid: number };
				if (pids.delete(pid)) found.add(id);
			} catch {
				// No record yet, or no more.
			}
		}
	};
	const found = new Set<string>();
	const world: World = {
		places: where,
		sessions: await open(),
		restart: async () => {
			await world.sessions[Symbol.asyncDispose]();
			world.sessions = await open();
		},
		alive: () => {
			found.clear();
			alive();
			return new Set(found);
		},
		exit: async (session) => {
			await session.type(Uint8Array.of(4)); // Ctrl+D
			await until("it has ended", () => session.ended, { withinMs: 5000 });
		},
		settle: (promise) => promise,
		start: { argv: ["cat"], env: { DT_MODEL: home } },
	};
	try {
		await use(world);
		expect(await world.sessions.endAll()).toEqual([]);
		await until("no process is left", () => processesWith(marker).length === 0);
		await until("no holder is left", () => readdirSync(where.run).every((name) => !name.endsWith(".sock")));
	} finally {
		await world.sessions.endAll();
		await world.sessions[Symbol.asyncDispose]();
		rmSync(home, { recursive: true, force: true, maxRetries: 5 });
	}
}

test("S1 S7 S12: whatever is asked at the same moment, no session is mislaid, doubled or left running unowned", async () => {
	const property = fc.asyncProperty(batches(10), async (commands) => {
		await using _leaks = new LeakCheck();
		await inAWorld((world) => fc.asyncModelRun(() => ({ model: newModel(), real: world }), commands));
	});
	await forAWhile(RUN_MS, () => fc.assert(property, { numRuns: 5, endOnFailure: true }));
}, 120_000);
