import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readTurns, type TurnEntry } from "../journal/turns.ts";
import { TurnLog } from "./turn-log.ts";

let directory: string;
let log: TurnLog;
let offset = 0;
beforeEach(async () => {
	vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
	directory = await mkdtemp(join(tmpdir(), "dt-turn-log-"));
	offset = 0;
	log = new TurnLog({ directory, offset: () => offset });
});
afterEach(async () => {
	vi.useRealTimers();
	await log[Symbol.asyncDispose]();
	await rm(directory, { recursive: true });
});

const agent = { by: "agent", who: "mcp:a" } as const;
const person = { by: "person", who: "ann" } as const;
const type = (text: string, typist: typeof agent | typeof person = agent, secret = false) =>
	log.typed(Buffer.from(text), { typist, secret });

async function written(): Promise<readonly TurnEntry[]> {
	await log[Symbol.asyncDispose]();
	return (await readTurns(directory)).entries;
}

test("a turn is what a caller types until its wait returns, with the reason and the time", async () => {
	offset = 7;
	type("ls");
	type("\r");
	offset = 100;
	const returned = log.waits("mcp:a");
	vi.advanceTimersByTime(5000);
	returned("waiting");
	expect(await written()).toMatchObject([
		{ kind: "turn", ...agent, keys: 3, lines: 0, offset: 7, returned: "waiting", tookMs: 5000 },
	]);
});

test("a wait of somebody who has not typed ends no turn, and one that fails has no reason", async () => {
	type("x");
	log.waits("somebody")("waiting");
	log.waits("mcp:a")(null);
	log.waits("mcp:a")("ended");
	expect(await written()).toMatchObject([{ keys: 1, returned: null, tookMs: null }]);
});

test("keys of a person are one turn until they pause, or go on for long", async () => {
	for (const key of "hello") {
		type(key, person);
		vi.advanceTimersByTime(200);
	}
	vi.advanceTimersByTime(2000);
	for (let i = 0; i < 40; i++) {
		type("x", person);
		vi.advanceTimersByTime(500);
	}
	const turns = await written();
	expect(turns[0]).toMatchObject({ ...person, keys: 5, returned: null });
	expect(turns.length).toBeGreaterThan(2);
	expect(turns.reduce((sum, turn) => sum + (turn.kind === "turn" ? turn.keys : 0), 0)).toBe(45);
});

test("two who type at the same time have a turn each", async () => {
	type("a");
	type("b", person);
	type("c");
	expect(await written()).toMatchObject([
		{ ...agent, keys: 2 },
		{ ...person, keys: 1 },
	]);
});

test("of a secret nothing is known but that it was typed", async () => {
	type("hunter2\r", agent, true);
	const [turn] = await written();
	expect(turn).toMatchObject({ keys: 0, lines: 0, secret: true });
	expect(JSON.stringify(turn)).not.toContain("hunter2");
});

test("who drives is recorded with their note, after what was typed before", async () => {
	type("q", person);
	log.driver({ kind: "person", who: "ann" });
	log.driver({ kind: "agent" }, "fixed the \x1b[31mpath");
	expect(await written()).toMatchObject([
		{ kind: "turn", ...person },
		{ kind: "driver", driver: { kind: "person", who: "ann" } },
		{ kind: "driver", driver: { kind: "agent" }, note: expect.stringMatching(/^fixed the .*path$/) },
	]);
});

test("a state is recorded when it changes", async () => {
	for (const waitingFor of ["line", "line", "secret"] as const) log.state({ activity: "waiting", waitingFor });
	log.state({ activity: "working", waitingFor: null });
	expect((await written()).map((entry) => entry.kind === "state" && entry.state)).toEqual([
		"waiting",
		"secret",
		"working",
	]);
});

test("what no caller types is no turn", async () => {
	log.typed(Uint8Array.of(3), { typist: null, secret: false });
	log.typed(new Uint8Array(), { typist: agent, secret: false });
	expect(await written()).toEqual([]);
});

test("commands that ended without a daemon are recorded by the next one, and none twice", async () => {
	const ended = (to: number) => ({ from: to - 5, to, exitCode: 0, shown: to === 10 ? "make" : null });
	log.command(ended(10));
	log.command(ended(20));
	await log[Symbol.asyncDispose]();
	log = new TurnLog({ directory, offset: () => offset });
	for (const to of [10, 20, 30]) log.command(ended(to), { replayed: true });
	log.command(ended(40));
	expect((await written()).map((entry) => entry.kind === "command" && entry.to)).toEqual([10, 20, 30, 40]);
});
