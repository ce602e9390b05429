// Three machines whose daemons, servers and links are killed, stopped, cut and slowed by chance, with callers on each that
// use the sessions of all (fleet-callers.ts), and a checker that knows what was done (checker.ts).

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { noticesIn } from "../../src/protocol/answer.ts";
import type { Client } from "../../src/tools/client.ts";
import { until } from "../condition.ts";
import { Random } from "../fuzz/random.ts";
import { errorsLogged } from "../robustness/stage.ts";
import { COUNTER } from "../soak/actors.ts";
import { Checker } from "./checker.ts";
import { disturb } from "./disturb.ts";
import {
	checkDrivers,
	driver,
	follower,
	lister,
	localReader,
	QUIET,
	ranOn,
	runner,
	type Scene,
	starter,
	typist,
} from "./fleet-callers.ts";
import { Harms, KINDS, type Kind } from "./harms.ts";
import { type JoinedMachine, JoinedMachines } from "./joined-machines.ts";
import { doingOf } from "./row-check.ts";

export interface FleetChaosOptions {
	readonly seed: number;
	/** Each kind of harm is done at least once, however short this is. */
	readonly seconds: number;
	readonly kinds?: readonly Kind[];
	readonly say?: (line: string) => void;
}

export interface FleetChaosReport {
	readonly seed: number;
	readonly seconds: number;
	readonly harms: Readonly<Record<string, number>>;
	/** What callers were told, by code. */
	readonly faults: Readonly<Record<string, number>>;
	readonly lines: number;
	readonly followedBytes: number;
	readonly starts: number;
	/** Of these, by a daemon that was killed while it launched. */
	readonly startsLost: number;
	readonly leases: number;
	readonly commands: number;
	/** See Harms. */
	readonly killedAlone: readonly number[];
	readonly killedLeaders: number;
	/** See Checker. */
	readonly told: Checker["told"];
	readonly calls: Checker["calls"];
	readonly rows: Checker["rows"];
	readonly lists: number;
	/** How long a call to a machine's own daemon took, in ms, while nothing was harmed and while something else was. */
	readonly local: Readonly<
		Record<"calm" | "harmed", { readonly p50: number; readonly p99: number; readonly most: number }>
	>;
	/** See Checker.slowestMs. */
	readonly slowestMs: Readonly<Record<string, number>>;
	/** See Checker.toldMs. */
	readonly toldMs: number;
	/** See Checker.settledMs. */
	readonly settledMs: Readonly<Record<string, number>>;
	/** How long after the last harm every machine listed everything as it is. */
	readonly allListedMs: number;
}

/** The sessions of each machine that run all the time, and what their programs do: nobody types into `idle`. */
const FOREVER: Readonly<Record<string, readonly string[] | null>> = {
	idle: ["waiting for line"],
	quiet: ["waiting for secret", "working"],
	driven: ["waiting for secret", "working"],
	counter: null,
};
const SETTLED_MS = 120_000;
/** As one daemon publishes all that it has begun with, on a busy machine. */
const FURNISHED_MS = 30_000;

export async function fleetChaos(options: FleetChaosOptions): Promise<FleetChaosReport> {
	const { seed, say = () => {} } = options;
	const random = new Random(seed);
	await using machines = await JoinedMachines.start();
	const harms = new Harms(say);
	const checker = new Checker(harms);
	let over = false;
	const scene: Scene = { machines, checker, isOver: () => over || checker.problems.length > 20 };
	const stop = join(machines.machines[0]!.home.path, "stop");
	for (const [index, machine] of machines.machines.entries()) await furnish(machine, stop, seed + index);
	await until("each lists all", async () => (await unlisted(machines)).length === 0, { withinMs: FURNISHED_MS }).catch(
		async (error: unknown) => {
			throw new Error((await unlisted(machines)).join("\n"), { cause: error });
		},
	);
	for (const { name } of machines.machines)
		for (const [session, does] of Object.entries(FOREVER)) checker.runs(name, session, { isTold: true, does });
	const begun = Date.now();
	const each = <T>(act: (machine: JoinedMachine, chance: Random) => Promise<T>) =>
		Promise.all(machines.machines.map((machine, index) => act(machine, new Random(seed * 10 + index))));
	const followed = each((by) => Promise.all(machines.machines.map((on) => follower(scene, by, on))));
	const working = Promise.all([
		each((by, chance) => typist(scene, by, chance)),
		each((by, chance) => starter(scene, by, chance)),
		each((by, chance) => driver(scene, by, chance)),
		each((by, chance) => runner(scene, by, chance)),
		each((by) => lister(scene, by)),
		each((by) => localReader(scene, by)),
	]);
	try {
		await delay(3000);
		const { seconds, kinds = KINDS } = options;
		const counts = await disturb({ machines, harms }, { seconds, kinds }, random, () => checker.problems.length > 0);
		const healedAt = Date.now();
		await until("each lists all again", async () => (await unlisted(machines)).length === 0, {
			withinMs: SETTLED_MS,
		}).catch(async () => {
			for (const problem of await unlisted(machines)) checker.problem(`after all was healed, ${problem}`);
		});
		const allListedMs = Date.now() - healedAt;
		over = true;
		const [lines, starts, leases, commands] = await working;
		writeFileSync(stop, "");
		const bytes = (await followed).flat();
		for (const machine of machines.machines) await checkOutputs(machines, machine, checker);
		if (checker.problems.length > 0)
			throw new Error(
				`seed ${seed}: ${checker.problems.length} problems:\n${[...checker.problems.slice(0, 20), ...logged(machines)].join("\n")}`,
			);
		return {
			seed,
			seconds: Math.round((Date.now() - begun) / 1000),
			harms: counts,
			faults: checker.faults,
			lines: sum(lines),
			followedBytes: sum(bytes),
			starts: sum(starts),
			startsLost: checker.startsLost,
			leases: sum(leases),
			commands: sum(commands),
			killedAlone: harms.killedAlone,
			killedLeaders: harms.killedLeaders,
			told: checker.told,
			calls: checker.calls,
			rows: checker.rows,
			lists: checker.lists,
			local: { calm: quantiles(checker.local.calm), harmed: quantiles(checker.local.harmed) },
			slowestMs: checker.slowestMs,
			toldMs: checker.toldMs,
			settledMs: checker.settledMs,
			allListedMs,
		};
	} finally {
		over = true;
		writeFileSync(stop, "");
		await Promise.allSettled([working, followed]);
	}
}

/** The last errors of each daemon. */
const logged = ({ machines }: JoinedMachines): readonly string[] =>
	machines.flatMap(({ name, home }) =>
		errorsLogged(home.path)
			.slice(-12)
			.map((line) => `${name}: ${line.slice(0, 300)}`),
	);

async function furnish(machine: JoinedMachine, stop: string, seed: number): Promise<void> {
	const { client } = machine;
	writeFileSync(ranOn(machine), "");
	const ready = { until: { text: "ready" }, timeoutMs: 60_000 };
	await client.call("start", { name: "idle", argv: ["sh", "-c", "echo ready; exec cat"], ...ready });
	for (const session of ["quiet", "driven"]) await client.call("start", { name: session, argv: [...QUIET], ...ready });
	await client.call("start", { name: "counter", argv: ["python3", COUNTER, stop, String(seed)], timeoutMs: 0 });
}

/** What the lists of the machines lack or say wrongly, while nothing is harmed. */
async function unlisted({ machines }: JoinedMachines): Promise<readonly string[]> {
	const wrong: string[] = [];
	for (const by of machines) {
		const { facts } = await by.client.call("list", {});
		for (const notice of noticesIn(facts)) wrong.push(`${by.name} still says: ${notice}`);
		for (const on of machines)
			for (const [name, does] of Object.entries(FOREVER)) {
				const wanted = by === on ? name : `${on.name}/${name}`;
				const found = facts.sessions.find((one) => one.name === wanted);
				const isSo = found?.status === "running" && (does === null || does.includes(doingOf(found)));
				if (!isSo || found.unreachableSince !== undefined)
					wrong.push(`${by.name} lists ${wanted} as ${found === undefined ? "nothing" : JSON.stringify(found)}`);
			}
	}
	return wrong;
}

/** What the programs of a machine have printed, as the machine itself and the others read it. */
async function checkOutputs({ machines }: JoinedMachines, on: JoinedMachine, checker: Checker): Promise<void> {
	for (const name of ["quiet", "driven"]) {
		const own = await wholeOutput(on.client, name);
		for (const by of machines)
			if (by !== on && !(await wholeOutput(by.client, `${on.name}/${name}`)).equals(own))
				checker.problem(`${by.name} reads other bytes of ${on.name}/${name} than its owner`);
		checker.printed(`${on.name}/${name}`, own.toString().split("\r\n"));
		if (name === "driven") checkDrivers(checker, on.name, own.toString());
	}
	checker.printed(`${on.name}/ran`, readFileSync(ranOn(on), "utf8").split("\n"));
}

/** All that a session has printed until now. */
async function wholeOutput(client: Client, session: string): Promise<Buffer> {
	const stop = new AbortController();
	const { offset } = (await client.call("read", { session, view: "screen" })).facts;
	const pieces: Uint8Array[] = [];
	for await (const chunk of client.output(session, { from: 0, signal: stop.signal })) {
		if (!("bytes" in chunk)) throw new Error(`a gap in ${session}`);
		pieces.push(chunk.bytes);
		if (chunk.offset + chunk.bytes.length >= offset) stop.abort();
	}
	return Buffer.concat(pieces);
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

function quantiles(values: readonly number[]): { p50: number; p99: number; most: number } {
	const sorted = values.toSorted((a, b) => a - b);
	const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
	return { p50: at(0.5), p99: at(0.99), most: at(1) };
}
