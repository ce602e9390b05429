// R2.10: what a session may use as a whole. Every hog here has an end of its own.

import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { needing } from "../programs.ts";
import { Client, cleanUp, gone, HOLDER, launch, lives, record, sessionDirectory, Tag, u32, u64 } from "./raw-holder.ts";

afterEach(cleanUp);

const Limit = { cpu: 0, memory: 1, processes: 2, output: 6 } as const;
const limit = (which: number, value: number) => record(Tag.limit, Buffer.concat([u32(which, 0), u64(value)]));

/** Runs it once there is a client to be told how it ended. */
async function ended(script: string, ...records: Buffer[]) {
	const dir = sessionDirectory();
	const go = join(dir, "go");
	execFileSync("mkfifo", [go]);
	const session = await launch({ argv: ["bash", "-c", `: < ${go}; ${script}`], records, dir });
	const client = await Client.open(session.socket);
	await writeFile(go, "");
	const exit = await client.exited();
	await gone(session.holder);
	return { exit, client, session };
}

/** 2^10 processes at most, in ten generations, each of which sleeps for a minute at most. */
const BOMB = `bomb() { if [ $1 -ge 10 ]; then exec sleep 60; fi; bomb $(($1+1)) & bomb $(($1+1)) & wait; }; bomb 0`;

describe("R2.10 the limits of a session", () => {
	test("processes: a fork bomb is ended as a whole, and the exit says why", async () => {
		// Not before there is a client to be told.
		const argv = ["bash", "-c", `read go; ${BOMB}`];
		const session = await launch({ argv, records: [limit(Limit.processes, 40)] });
		const client = await Client.open(session.socket);
		await client.type("\n");
		expect(await client.exited()).toMatchObject({ signal: 9, reason: "processes", survivors: [] });
		expect(client.events).toContainEqual({ event: "ending", reason: "processes" });
	});

	test("processes: those that left by setsid and a double fork count as well", async () => {
		const away = "for i in $(seq 30); do (setsid sleep 60 &) ; done; sleep 60";
		const { exit } = await ended(away, limit(Limit.processes, 20));
		expect(exit).toMatchObject({ reason: "processes", survivors: [] });
	});

	test("memory: all processes together, none of which has more than the limit", async () => {
		// tail keeps a line of 60 MB in memory, until it ends.
		const hogs = "for i in 1 2 3 4; do (head -c 60000000 /dev/zero; sleep 60) | tail -n 1 > /dev/null & done; wait";
		const { exit } = await ended(hogs, limit(Limit.memory, 100 * 2 ** 20));
		expect(exit).toMatchObject({ signal: 9, reason: "memory", survivors: [] });
	});

	test("memory: what processes share after a fork counts once", needing("python3"), async () => {
		const shared = `python3 -c '
import os, time
kept = bytearray(60 * 2**20)
for i in range(5):
    if os.fork() == 0:
        time.sleep(3); os._exit(0)
for i in range(5): os.wait()
os._exit(7)'`;
		const { exit } = await ended(shared, limit(Limit.memory, 150 * 2 ** 20));
		expect(exit).toMatchObject({ code: 7, reason: "exit" });
	});

	test("memory: what is reserved but not used does not count", needing("python3"), async () => {
		const reserved = `python3 -c '
import mmap, time
kept = mmap.mmap(-1, 2**33, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
time.sleep(1)'`;
		const { exit } = await ended(reserved, limit(Limit.memory, 100 * 2 ** 20));
		expect(exit).toMatchObject({ code: 0, reason: "exit" });
	});

	test("CPU time: of many short processes, none of which reaches it", async () => {
		const busy = "while :; do for i in {1..20000}; do :; done | true; (for i in {1..20000}; do :; done); done";
		const { exit } = await ended(busy, limit(Limit.cpu, 1));
		expect(exit).toMatchObject({ reason: "cpu_time", survivors: [] });
	});

	test("CPU time: a single process is told first, by SIGXCPU", async () => {
		const { exit } = await ended("trap 'exit 5' XCPU; while :; do :; done", limit(Limit.cpu, 1));
		expect(exit).toMatchObject({ code: 5, reason: "exit" });
	});

	test("output: what comes too fast waits in the terminal, and nothing is lost", async () => {
		const { exit, client } = await ended("head -c 900000 /dev/zero | tr '\\0' x", limit(Limit.output, 100_000));
		expect(exit).toMatchObject({ code: 0, reason: "exit", size: 900_000 });
		expect(client.text).toBe("x".repeat(900_000));
		// 400 KB at once, and what the terminal holds when the program ends; the rest at that rate.
		expect(exit.endedAt - exit.startedAt).toBeGreaterThan(2000);
	});

	test("output: a program that is slowed ends when it is told to, at once", async () => {
		const session = await launch({ argv: ["yes"], records: [limit(Limit.output, 1000)] });
		const client = await Client.open(session.socket);
		await client.until(() => client.bytes > 3900);
		expect(await client.end(0)).toEqual({ done: 0 });
		expect(await client.exited()).toMatchObject({ signal: 9, reason: "end" });
	});

	test("G7 nothing gets out of its limits by leaving the session", async () => {
		const leaves = `setsid sh -c "${HOLDER} leave; echo left=\\$?; for i in $(seq -s ' ' 30); do sleep 60 & done; wait" & wait`;
		const { exit, client } = await ended(leaves, limit(Limit.processes, 20));
		expect(exit).toMatchObject({ reason: "processes", survivors: [] });
		expect(exit.released).toBeUndefined();
		expect(client.text).toContain("left=1");
	});

	test("below them nothing ends, and what is being ended loses its grace when it exceeds one", async () => {
		const stubborn = "trap '' TERM HUP; echo up; read x; for i in $(seq 30); do sleep 60 & done; wait";
		const session = await launch({ argv: ["bash", "-c", stubborn], records: [limit(Limit.processes, 20)] });
		const client = await Client.open(session.socket);
		await client.until(() => client.text.includes("up"));
		const end = client.end(600_000);
		await client.type("\n");
		expect(await end).toEqual({ done: 0 });
		expect(await client.exited()).toMatchObject({ signal: 9, reason: "end" });
		expect(lives(session.pid)).toBe(false);
	});
});
