// The model of what a daemon may be asked: random batches of calls at the same moment, and what
// must be true after each of them. Runs over real holders, over a real daemon that is killed,
// and over fakes.

import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { sessionIds } from "../../src/journal/session-directories.ts";
import { Fault } from "../../src/protocol/fault.ts";
import type { Places } from "../../src/pty/places.ts";
import { within } from "../../src/pty/wait.ts";
import { hasEnded } from "../../src/session/lifecycle.ts";
import type { Sessions } from "../../src/session/sessions.ts";
import type { Caller } from "../../src/session/start-spec.ts";
import type { Client } from "../../src/tools/client.ts";
import { until } from "../condition.ts";
import type { SlotWatch } from "./slot-watch.ts";

/** A daemon, and the programs that really run. */
export interface World {
	readonly places: Places;
	/** The current one. */
	client: Client;
	/** Where the daemon is in this process: what can only be seen from inside. */
	inside?: { readonly sessions: Sessions; readonly slots: SlotWatch; readonly problems: readonly string[] };
	restarting?: Promise<void>;
	/** The next daemon: after the one before has let go of everything, or without that. */
	restart(how: "stop" | "kill"): Promise<void>;
	/** The sessions whose main program runs. */
	alive(): ReadonlySet<string>;
	/** Settles with the promise; a scheduler decides meanwhile what comes first. */
	settle<T>(promise: Promise<T>): Promise<T>;
	readonly start: { readonly argv: string[]; readonly env?: Record<string, string> };
	/** Names belong to their owner: each has its own `a` and `b`. */
	readonly caller: (owner: string) => Caller;
}

/** What we know for certain: which sessions were handed to a caller, by which name, which were removed, and how each ended. */
interface Model {
	readonly known: Map<string, string>;
	readonly removed: Set<string>;
	/** Names whose removal was cut off: it may have been done before the answer was lost. */
	readonly cutOff: Set<string>;
	readonly ended: Map<string, string>;
}

/** None of the calls waits for anything but the system; a close has a grace of half a second. */
const CALL_TIMEOUT_MS = 20_000;
const NAMES = ["a", "b"] as const;
const OWNERS = ["one", "other"] as const;

type Named = { readonly name: string; readonly owner: string };
type Call =
	| ({ readonly do: "start"; readonly ifExists: "fail" | "use" | "replace" } & Named)
	| ({ readonly do: "again" | "find" | "send" | "close" | "keep" | "forget" | "exit" | "evict" } & Named)
	| { readonly do: "restart"; readonly how: "stop" | "kill" };

const named = { name: fc.constantFrom(...NAMES), owner: fc.constantFrom(...OWNERS) };
const use = fc.record({ do: fc.constant("start" as const), ifExists: fc.constant("use" as const), ...named });
const restart: fc.Arbitrary<Call> = fc.record({
	do: fc.constant("restart" as const),
	how: fc.constantFrom("stop" as const, "kill" as const),
});
const call: fc.Arbitrary<Call> = fc.oneof(
	{
		weight: 6,
		arbitrary: fc.record({
			do: fc.constant("start" as const),
			ifExists: fc.constantFrom("fail" as const, "use" as const, "replace" as const),
			...named,
		}),
	},
	{
		weight: 9,
		arbitrary: fc.record({
			do: fc.constantFrom("again", "find", "send", "close", "keep", "forget", "exit", "evict" as const),
			...named,
		}) as fc.Arbitrary<Call>,
	},
	{ weight: 2, arbitrary: restart },
);
/** Several at the same moment: anything, or two that want the same session while something else happens. */
const batch: fc.Arbitrary<readonly Call[]> = fc.oneof(
	{ weight: 4, arbitrary: fc.array(call, { minLength: 1, maxLength: 4, size: "max" }) },
	{ weight: 1, arbitrary: fc.tuple(use, fc.oneof(call, restart)).map(([one, other]) => [one, one, other]) },
);

/** What a caller may be told when others do something else at the same moment. */
const EXPECTED = new Set([
	"name_taken",
	"session_not_found",
	"session_ended",
	"session_unreachable",
	"not_allowed",
	"no_daemon",
	// Of a session that was let go of, or taken over, in the middle of a call.
	"daemon_replaced",
	"disconnected",
	"fenced",
	"ended",
	"taken_over",
]);

/** Told by the caller's own side, which does not know whether it was done. */
const CUT_OFF = new Set(["daemon_replaced", "disconnected", "no_daemon"]);

class Batch implements fc.AsyncCommand<Model, World> {
	readonly #calls: readonly Call[];

	constructor(calls: readonly Call[]) {
		this.#calls = calls;
	}

	check = () => true;
	toString = () => `[${this.#calls.map((it) => Object.values(it).join(" ")).join(" | ")}]`;

	async run(model: Model, world: World): Promise<void> {
		const calls = this.#calls.map((it) =>
			within(CALL_TIMEOUT_MS, Object.values(it).join(" "), perform(it, model, world)),
		);
		const results = await world.settle(Promise.allSettled(calls));
		for (const [index, result] of results.entries()) {
			if (result.status === "fulfilled") continue;
			const { code } = result.reason as { code?: string };
			const asked = this.#calls[index]!;
			// Whoever uses or replaces what has the name is never told that it is taken.
			const mayBeTaken = asked.do !== "start" || asked.ifExists === "fail";
			if (code === undefined || !EXPECTED.has(code) || (code === "name_taken" && !mayBeTaken)) throw result.reason;
		}
		await world.settle(checkAll(model, world));
	}
}

async function perform(it: Call, model: Model, world: World): Promise<unknown> {
	const { client } = world;
	const by = { caller: world.caller("owner" in it ? it.owner : OWNERS[0]) };
	// Whoever has none of that name means another's.
	const name = "name" in it ? it.name : "";
	const known = async (answer: Promise<{ facts: { session: string } }>) =>
		model.known.set((await answer).facts.session, name);
	switch (it.do) {
		case "start":
			return known(client.call("start", { ...world.start, name: it.name, ifExists: it.ifExists, timeoutMs: 0 }, by));
		case "again":
			return known(client.call("start", { again: it.name, timeoutMs: 0 }, by));
		case "find":
			return client.call("read", { session: it.name }, by);
		case "send":
			return client.call("send", { session: it.name, text: "x", submit: true, timeoutMs: 0 }, by);
		case "close":
		case "keep":
			return client.call("close", { session: it.name, force: true, keep: it.do === "keep" }, by);
		case "forget": {
			const { facts } = await client
				.call("close", { session: it.name, force: true, forget: true }, by)
				.catch((error: { code?: string }) => {
					if (CUT_OFF.has(error.code ?? "")) model.cutOff.add(name);
					throw error;
				});
			return model.removed.add(facts.session);
		}
		case "exit":
			return client.call("send", { session: it.name, keys: ["ctrl+d"], timeoutMs: 0 }, by);
		case "evict":
			return until(
				"what has ended has left memory",
				() =>
					world.inside?.sessions.list().every(({ record, session }) => record.terminalOpen || session === null) ?? true,
				{ withinMs: CALL_TIMEOUT_MS / 2 },
			);
		case "restart":
			// Of one daemon there is one restart at a time.
			world.restarting = (world.restarting ?? Promise.resolve()).then(() => world.restart(it.how));
			return world.restarting;
	}
}

/** No session is mislaid, doubled, changed after its end, or left running unowned. */
async function checkAll(model: Model, world: World): Promise<void> {
	const { client, places, inside } = world;
	const list = async () => (await client.call("list", {})).facts.sessions;
	await until("the programs that run are the sessions that run", async () => {
		const listed = (await list()).filter(({ status }) => !hasEnded(status)).map(({ session }) => session);
		return [...world.alive()].sort().join() === listed.sort().join();
	});
	const running = (await list()).filter(({ status }) => status === "running");
	const names = running.map(({ name: used, owner }) => `${used} of ${owner}`);
	if (new Set(names).size !== names.length) throw new Error(`doubled: ${names}`);
	for (const { name: used, session: id, owner } of running) {
		const by = { caller: world.caller(owner ?? "") };
		const { facts } = await client.call("send", { session: used, text: "y", submit: true, timeoutMs: 0 }, by);
		if (facts.session !== id) throw new Error(`${used} means ${facts.session}, but ${id} runs`);
		if (facts.status !== "running") throw new Error(`${used} runs, and its session is ${facts.status}`);
	}
	// A start that was cut off may have left a session, too: it is found like any other. One that was cut off before it
	// was recorded has left an empty directory, and no program: that is launched after the record is written.
	const onDisk = new Set<string>();
	for (const id of await sessionIds(places.sessions)) {
		const files = await readdir(join(places.sessions, id)).catch(() => []);
		if (files.some((name) => !/^meta\.json\..*\.tmp$/.test(name))) onDisk.add(id);
	}
	for (const [id, name] of model.known) if (!onDisk.has(id) && model.cutOff.has(name)) model.removed.add(id);
	model.cutOff.clear();
	for (const id of new Set([...model.known.keys(), ...onDisk])) await checkOne(id, model, world, onDisk);
	if (inside === undefined) return;
	inside.slots.check();
	if (inside.problems.length > 0) throw new Error(`problems: ${inside.problems}`);
}

async function checkOne(id: string, model: Model, world: World, onDisk: ReadonlySet<string>): Promise<void> {
	const { client, places, inside } = world;
	if (model.removed.has(id)) {
		if (existsSync(join(places.sessions, id))) throw new Error(`${id} was removed and has files`);
		const found = await client.call("read", { session: id }).catch((error) => error);
		if (!(found instanceof Fault && found.code === "session_not_found"))
			throw new Error(`${id} was removed and is found`);
		return;
	}
	if (!onDisk.has(id)) throw new Error(`${id} has no files`);
	if (inside !== undefined) {
		const [first, second] = await Promise.all([inside.sessions.find(id), inside.sessions.find(id)]);
		if (first !== second) throw new Error(`${id} has two sessions`);
	}
	const { status, exit } = (await client.call("read", { session: id })).facts;
	if (hasEnded(status) === world.alive().has(id)) throw new Error(`${id} is ${status}, which is not true`);
	if (status === "stream_lost" && model.known.has(id)) throw new Error(`${id} became stream_lost`);
	if (!hasEnded(status)) return;
	const how = `${status} ${JSON.stringify(exit)}`;
	const before = model.ended.get(id) ?? how;
	if (how !== before) throw new Error(`${id} ended as ${before}, and now as ${how}`);
	model.ended.set(id, how);
}

/** Random batches of one to four calls at once. Never few: what goes wrong needs a start, an end and a restart before it. */
export const batches = (most: number): fc.Arbitrary<Iterable<fc.AsyncCommand<Model, World>>> =>
	fc.array(
		batch.map((calls) => new Batch(calls)),
		{ minLength: Math.ceil(most / 2), maxLength: most, size: "max" },
	);

export const newModel = (): Model => ({ known: new Map(), removed: new Set(), cutOff: new Set(), ended: new Map() });

/** Again and again until the time is up, each time with other values; never cut short in the middle, where a hang would hide. */
export async function forAWhile(
	ms: number,
	act: (random: { readonly seed: number }) => Promise<unknown>,
): Promise<void> {
	const base = fc.readConfigureGlobal().seed ?? Date.now();
	for (let [round, end] = [0, Date.now() + ms]; Date.now() < end; round++) await act({ seed: base + round });
}
