// The model of what sessions may do: random batches of calls at the same moment, and what
// must be true after each of them. Runs over real holders and over fakes.

import { existsSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { Fault } from "../../src/protocol/fault.ts";
import type { Places } from "../../src/pty/places.ts";
import { within } from "../../src/session/deadline.ts";
import { hasEnded } from "../../src/session/lifecycle.ts";
import type { Session } from "../../src/session/session.ts";
import type { Sessions } from "../../src/session/sessions.ts";
import { until } from "../condition.ts";

/** The daemon's sessions, and the programs that really run. */
export interface World {
	readonly places: Places;
	sessions: Sessions;
	restarting?: Promise<void>;
	/** Lets go of everything and opens it again, as the next daemon does. */
	restart(): Promise<void>;
	/** The sessions whose main program runs. */
	alive(): ReadonlySet<string>;
	/** The program ends by itself. */
	exit(session: Session): Promise<unknown>;
	/** Settles with the promise; a scheduler decides meanwhile what comes first. */
	settle<T>(promise: Promise<T>): Promise<T>;
	readonly start: { readonly argv: readonly string[]; readonly env?: Readonly<Record<string, string>> };
}

/** What we know for certain: which sessions were handed to a caller, and which were removed. */
interface Model {
	readonly known: Set<string>;
	readonly removed: Set<string>;
}

/** None of the calls waits for anything but the system; a close has a grace of half a second. */
const CALL_TIMEOUT_MS = 10_000;
const NAMES = ["a", "b"] as const;
const caller = { owner: "model", cwd: "/", env: { PATH: process.env.PATH ?? "/usr/bin:/bin" } };

type Call =
	| { readonly do: "start"; readonly name: string; readonly ifExists: "fail" | "use" | "replace" }
	| { readonly do: "again" | "find" | "send" | "close" | "keep" | "remove" | "exit" | "evict"; readonly name: string }
	| { readonly do: "restart" };

const name = fc.constantFrom(...NAMES);
const call: fc.Arbitrary<Call> = fc.oneof(
	{
		weight: 6,
		arbitrary: fc.record({
			do: fc.constant("start" as const),
			name,
			ifExists: fc.constantFrom("fail" as const, "use" as const, "replace" as const),
		}),
	},
	{
		weight: 9,
		arbitrary: fc.record({
			do: fc.constantFrom("again", "find", "send", "close", "keep", "remove", "exit", "evict" as const),
			name,
		}) as fc.Arbitrary<Call>,
	},
	{ weight: 1, arbitrary: fc.constant({ do: "restart" as const }) },
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
	"disconnected",
	"fenced",
	"ended",
	"handed_over",
]);

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
	const { sessions } = world;
	switch (it.do) {
		case "start": {
			const session = await sessions.start({ ...world.start, name: it.name, ifExists: it.ifExists, caller });
			return model.known.add(session.id);
		}
		case "again": {
			const { argv, env, name: again } = await sessions.endedRecord(it.name);
			return model.known.add((await sessions.start({ argv, env, name: again, caller })).id);
		}
		case "find":
			return sessions.find(it.name);
		case "send":
			return (await sessions.find(it.name)).type(Buffer.from("x\n"));
		case "close":
		case "keep":
			return sessions.close(await sessions.find(it.name), { force: true, keep: it.do === "keep" });
		case "remove": {
			const { id } = await sessions.find(it.name);
			await sessions.remove(id);
			return model.removed.add(id);
		}
		case "exit":
			return world.exit(await sessions.find(it.name));
		case "evict":
			return until(
				"what has ended has left memory",
				() => sessions.list().every(({ record, session }) => record.terminalOpen || session === null),
				{ withinMs: CALL_TIMEOUT_MS / 2 },
			);
		case "restart":
			// Of one daemon there is one restart at a time.
			world.restarting = (world.restarting ?? Promise.resolve()).then(() => world.restart());
			return world.restarting;
	}
}

/** No session is mislaid, doubled, or left running unowned. */
async function checkAll({ known, removed }: Model, world: World): Promise<void> {
	const { sessions, places } = world;
	const running = () => sessions.list().filter(({ record }) => !hasEnded(record.state));
	await until(
		"the programs that run are the sessions that run",
		() => {
			const [real, listed] = [[...world.alive()].sort(), running().map(({ record }) => record.id)];
			return real.join() === listed.sort().join();
		},
		{ withinMs: 10_000 },
	);
	const names = running().map(({ record }) => record.name);
	if (new Set(names).size !== names.length) throw new Error(`doubled: ${names}`);
	for (const { record } of running()) {
		const session = await sessions.find(record.name);
		if (session.id !== record.id) throw new Error(`${record.name} means ${session.id}, but ${record.id} runs`);
		if (session.status !== "running") throw new Error(`${record.name} runs, and its session is ${session.status}`);
		await session.type(Buffer.from("y\n"));
	}
	for (const id of known) {
		if (removed.has(id)) {
			if (existsSync(join(places.sessions, id))) throw new Error(`${id} was removed and has files`);
			const found = await sessions.find(id).catch((error) => error);
			if (!(found instanceof Fault && found.code === "session_not_found"))
				throw new Error(`${id} was removed and is found`);
			continue;
		}
		const session = await sessions.find(id);
		if (session.ended === world.alive().has(id)) throw new Error(`${id} is ${session.status}, which is not true`);
		if (session.status === "stream_lost") throw new Error(`${id} became stream_lost`);
	}
}

/** Random batches of one to four calls at once. */
export const batches = (maxCommands: number): fc.Arbitrary<Iterable<fc.AsyncCommand<Model, World>>> =>
	fc.commands([fc.array(call, { minLength: 1, maxLength: 4 }).map((calls) => new Batch(calls))], { maxCommands });

export const newModel = (): Model => ({ known: new Set(), removed: new Set() });

/** Again and again until the time is up; never cut short in the middle, where a hang would hide. */
export async function forAWhile(ms: number, act: () => Promise<unknown>): Promise<void> {
	for (const end = Date.now() + ms; Date.now() < end; ) await act();
}
