// The model of sessions over real holders, in this process and in a daemon that is killed:
// after whatever was asked at the same moment, the programs that run are exactly the sessions
// that run, and in the end nothing is left.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { SocketClient } from "../../src/daemon/socket-client.ts";
import { type Places, places, preparePlaces } from "../../src/pty/places.ts";
import { until } from "../condition.ts";
import { Home } from "../daemon/home.ts";
import { LeakCheck } from "./leaks.ts";
import { batches, forAWhile, newModel, type World } from "./slot-model.ts";
import { InProcessWorld } from "./slot-world.ts";

const RUN_MS = 15_000;
const OPTIONS = { evictMs: 5, rememberEnded: 2, endGraceMs: 500 };

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

/** The sessions whose program runs, by what is on disk, whatever the daemon says. */
function aliveIn({ sessions }: Places, marker: string): ReadonlySet<string> {
	const pids = new Set(processesWith(marker));
	const found = new Set<string>();
	for (const id of readdirSync(sessions)) {
		try {
			const { pid } = JSON.parse(readFileSync(join(sessions, id, "meta.json"), "utf8")) as { pid: number };
			if (pids.delete(pid)) found.add(id);
		} catch {
			// No record yet, or no more.
		}
	}
	return found;
}

async function nothingIsLeft({ run }: Places, marker: string): Promise<void> {
	await until("no process is left", () => processesWith(marker).length === 0);
	await until("no holder is left", () => readdirSync(run).every((name) => !/^\w{26}\.sock$/.test(name)));
}

async function inThisProcess(use: (world: World) => Promise<void>): Promise<void> {
	const home = mkdtempSync(join(tmpdir(), "dt-model-"));
	const where = places({ DIALTONE_HOME: home });
	await preparePlaces(where);
	const marker = `DT_MODEL=${home}`;
	try {
		await using world = await InProcessWorld.open({
			places: where,
			options: OPTIONS,
			alive: () => aliveIn(where, marker),
			settle: (promise) => promise,
			start: { argv: ["cat"], env: { DT_MODEL: home } },
		});
		try {
			await use(world);
		} finally {
			expect(await world.endAll()).toEqual([]);
			await nothingIsLeft(where, marker);
		}
	} finally {
		rmSync(home, { recursive: true, force: true, maxRetries: 5 });
	}
}

/** In a daemon of its own, which restarts by `daemon stop` and by kill -9. */
async function inADaemon(use: (world: World) => Promise<void>): Promise<void> {
	await using home = new Home({ DIALTONE_EVICT_MS: "5", DIALTONE_REMEMBER_ENDED: "2", DIALTONE_END_GRACE_MS: "500" });
	const where = places(home.env);
	const marker = `DT_MODEL=${home.path}`;
	let client = await home.connect();
	const world: World = {
		places: where,
		get client(): SocketClient {
			return client;
		},
		restart: async (how) => {
			const before = client;
			if (how === "kill") process.kill((await before.status()).pid, "SIGKILL");
			else await before.stop({ sessions: false });
			await before[Symbol.asyncDispose]();
			client = await home.connect();
		},
		alive: () => aliveIn(where, marker),
		settle: (promise) => promise,
		start: { argv: ["cat"], env: { DT_MODEL: home.path } },
		caller: (owner) => ({ owner, cwd: "/", env: { PATH: process.env.PATH ?? "/usr/bin:/bin" } }),
	};
	try {
		await use(world);
		expect(await client.stop({ sessions: true })).toMatchObject({ left: [] });
		await nothingIsLeft(where, marker);
	} finally {
		await client[Symbol.asyncDispose]();
	}
}

for (const [where, inAWorld] of [
	["in this process", inThisProcess],
	["in a daemon that is stopped and killed", inADaemon],
] as const) {
	test(`S1 S7 S12: whatever is asked at the same moment ${where}, no session is mislaid, doubled or left running unowned`, async () => {
		const property = fc.asyncProperty(batches(10), async (commands) => {
			await using _leaks = new LeakCheck();
			await inAWorld((world) => fc.asyncModelRun(() => ({ model: newModel(), real: world }), commands));
		});
		await forAWhile(RUN_MS, (random) => fc.assert(property, { ...random, numRuns: 1, endOnFailure: true }));
	}, 150_000);
}
