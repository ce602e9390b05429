// T2: the transcript of a real flood: over a killed daemon, within its share of time, memory and disk.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { until } from "../condition.ts";
import { Home } from "../daemon/home.ts";
import { measured } from "../limits/loop-meter.ts";

const patient = { timeoutMs: 60_000 };
const textFiles = (home: string, session: string) =>
	readdirSync(join(home, "sessions", session)).filter((name) => name.startsWith("text."));

test("T2: a daemon that is killed in the middle of a flood loses no line and has none twice", async () => {
	await using home = new Home();
	let client = await home.connect();
	// Long enough that the transcript is saved before it ends.
	const command = "seq -f 'line %.0f of the flood' 1 2000000; read x";
	const { facts } = await client.call("start", { name: "flood", command, timeoutMs: 0 });
	for (let kills = 0; kills < 2; kills++) {
		await client.call("read", { session: "flood", search: "nowhere" });
		await until("the transcript is saved", () => textFiles(home.path, facts.session).includes("text.json"));
		process.kill((await client.status()).pid, "SIGKILL");
		await until("the connection is lost", () => client.lost);
		client = await home.connect();
	}
	const read = async (input: object) => (await client.call("read", { session: "flood", ...input })).facts;
	await client.call("wait", { session: "flood", until: { text: "line 2000000 of the flood" }, ...patient });
	// A wait ends early where a busy machine leaves the holder without an answer for seconds.
	const isOver = async () => (await read({ view: "lines", lines: 1 })).text.includes("line 2000000 of the flood");
	await until("all of it is printed", isOver, { withinMs: patient.timeoutMs });
	const all = await read({ search: "of the flood" });
	expect(all).toMatchObject({ matches: { count: 2_000_000 }, lines: { from: 1, to: 2_000_000, total: 2_000_000 } });
	// If one were missing and another there twice, some number would not be its own.
	for (const from of [1, 499_990, 999_990, 1_499_990, 1_999_990]) {
		const { text } = await read({ view: "lines", from, to: from + 10 });
		const expected = Array.from({ length: Math.min(11, 2_000_001 - from) }, (_, i) => `line ${from + i} of the flood`);
		expect(text.trimEnd().split("\n")).toEqual(expected);
	}
	await client[Symbol.asyncDispose]();
});

describe("T2 100 MB of output", () => {
	test("are rendered and searched while others have their turn, in little memory", async () => {
		await using dialtone = await Dialtone.open({ owner: "test" });
		const argv = [
			"seq",
			"-f",
			"%.0f: the quick brown fox jumps over the lazy dog, again and again and again",
			"1",
			"1250000",
		];
		await dialtone.client.call("start", { name: "s", argv, ...patient });
		const { facts } = await dialtone.client.call("wait", { session: "s", ...patient });
		expect(facts.status).toBe("succeeded");
		const search = async (what: object) =>
			(await dialtone.client.call("read", { session: "s", ...what })).facts.matches;
		const counts: unknown[] = [];
		const took: object[] = [];
		for (const what of [
			{ search: "9: the" },
			{ search: "9: the" },
			{ pattern: "^\\d+99: the" },
			{ pattern: "[0-9]{6}9:" },
		]) {
			const startedAt = performance.now();
			took.push({
				...what,
				...(await measured(async () => counts.push((await search(what))?.count))),
				ms: Math.round(performance.now() - startedAt),
			});
		}
		expect(counts).toEqual([125_000, 125_000, 12_499, 25_000]);
		for (const { stallMs, grewMb } of took as { stallMs: number; grewMb: number }[]) {
			expect(stallMs).toBeLessThan(100);
			expect(grewMb).toBeLessThan(150);
		}
	});

	test("count twice in the total quota once they are rendered", async () => {
		const totalBytes = 12 << 20;
		await using dialtone = await Dialtone.open({ owner: "test", options: { totalBytes } });
		const print = async (name: string) =>
			(await dialtone.client.call("start", { name, argv: ["seq", "1", "600000"], ...patient })).facts.session;
		const first = await print("first");
		expect((await dialtone.client.call("read", { session: first, search: "600000" })).facts.matches?.count).toBe(1);
		await print("second");
		const known = async () => (await dialtone.list({ status: "ended" })).sessions.map(({ session }) => session);
		await until("the first one is removed", async () => !(await known()).includes(first));
	});
});
