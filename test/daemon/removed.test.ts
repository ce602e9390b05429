// H2: what a logout or a cleaner removes under running sessions does not lose them.

import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SocketClient } from "../../src/daemon/socket-client.ts";
import { places } from "../../src/pty/places.ts";
import { isAlive } from "../../src/pty/process-stat.ts";
import { holderOf } from "../../src/pty/process-tree.ts";
import { until } from "../condition.ts";
import { Home } from "./home.ts";

const patient = { timeoutMs: 60_000 };
const COUNTER = "i=0; while :; do i=$((i+1)); echo line $i; sleep 0.02; done";

async function kill(client: SocketClient): Promise<void> {
	const { pid } = await client.status();
	process.kill(pid, "SIGKILL");
	await until("the daemon is dead", () => !isAlive({ pid, born: null }));
	await client[Symbol.asyncDispose]();
}

/** Every line from the first on, in order, and more of them than there were. */
async function expectAllOf(client: SocketClient, after: number): Promise<number> {
	const text = `line ${after + 20}`;
	const { facts } = await client.call("wait", { session: "count", until: { text }, ...patient });
	expect(facts.status).toBe("running");
	const { facts: all } = await client.call("read", { session: "count", view: "lines", from: 0, lines: after + 20 });
	const lines = all.text.trimEnd().split("\n");
	expect(lines.slice(0, after + 20)).toEqual(Array.from({ length: after + 20 }, (_, index) => `line ${index + 1}`));
	return lines.length;
}

test.each([
	["with the daemon", true, "its contents"],
	["while no daemon runs", false, "its contents"],
	["while no daemon runs", false, "the directory"],
	["with the daemon", true, "the directory"],
	["while no daemon runs", false, "by another name"],
])("H2 $RUN removed %s (%s, %s): the session is found again with every byte", async (_when, alive, how) => {
	await using home = new Home();
	const { run } = places(home.env);
	let client = await home.connect();
	await client.call("start", { name: "count", argv: ["sh", "-c", COUNTER], timeoutMs: 100 });
	const before = await expectAllOf(client, 0);
	if (!alive) await kill(client);
	if (how === "by another name") renameSync(run, `${run}.old`);
	else rmSync(run, { recursive: true });
	if (how === "its contents") mkdirSync(run, { mode: 0o700 });
	if (alive) {
		await until("the daemon that lost its lock has left", () => client.lost);
		await client[Symbol.asyncDispose]();
	}
	client = await home.connect();
	await expectAllOf(client, before);
	await client.call("close", { session: "count" });
	await client[Symbol.asyncDispose]();
});

test("H2 XDG_RUNTIME_DIR removed, as after a logout, and the daemon with it: the session goes on", async () => {
	const runtime = mkdtempSync(join(tmpdir(), "dt-runtime-"));
	await using home = new Home({ XDG_RUNTIME_DIR: runtime });
	let client = await home.connect();
	await client.call("start", { name: "count", argv: ["sh", "-c", COUNTER], timeoutMs: 100 });
	const before = await expectAllOf(client, 0);
	await kill(client);
	rmSync(runtime, { recursive: true });
	client = await home.connect();
	await expectAllOf(client, before);
	expect(existsSync(runtime)).toBe(false);
	await client[Symbol.asyncDispose]();
});

test("H2 a session is stream_lost only when its holder is dead", async () => {
	await using home = new Home();
	const { run } = places(home.env);
	let client = await home.connect();
	await client.call("start", { name: "count", argv: ["sh", "-c", COUNTER], timeoutMs: 100 });
	await expectAllOf(client, 0);
	const { facts } = await client.call("list", {});
	const pid = facts.sessions[0]?.pid ?? 0;
	await kill(client);
	rmSync(run, { recursive: true });
	process.kill(holderOf(pid), "SIGKILL");
	client = await home.connect();
	const { facts: read } = await client.call("read", { session: "count" });
	expect(read.status).toBe("stream_lost");
	await client[Symbol.asyncDispose]();
});
