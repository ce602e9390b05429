import { closeSync, existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { FleetControl } from "../../src/daemon/fleet-control.ts";
import { fileLog } from "../../src/daemon/log.ts";
import { becomeDaemon, type DaemonSessions } from "../../src/daemon/run.ts";
import { SocketClient } from "../../src/daemon/socket-client.ts";
import type { FleetStatus } from "../../src/protocol/fleet.ts";
import { anyCaller } from "../any-caller.ts";
import { FakeClient } from "../fake-client.ts";

const NO_FLEET: FleetControl = {
	status: () => null,
	join: async () => MEMBER,
	leave: async () => {},
	forget: async () => 0,
};

/** That has not reached its fleet yet. */
const MEMBER: FleetStatus = {
	...{ host: "alpha", servers: [], role: "admin", owner: null, serves: true, labels: {} },
	...{ connected: false, problem: null, since: 0, hosts: [] },
};

/** A daemon over sessions that are fake: only their comings and goings matter here. */
async function daemonWith(idleMs: number) {
	const run = mkdtempSync(join(tmpdir(), "dt-idle-"));
	let running = 1; // or it could stop before the first client has connected
	let isMember = false;
	let tell = () => {};
	const sessions: DaemonSessions = {
		client: new FakeClient(),
		callers: anyCaller,
		limits: { connections: 100, callsPerConnection: 10 },
		runningSessions: () => running,
		onSessions: (listener) => {
			tell = listener;
			return () => {};
		},
		fleet: { ...NO_FLEET, status: () => (isMember ? MEMBER : null) },
		endAll: async () => [],
		close: async () => {},
	};
	const log = { info: () => {}, error: () => {} };
	const daemon = (await becomeDaemon({ run, state: run, version: "1", log, idleMs, open: async () => sessions }))!;
	return {
		run,
		daemon,
		setRunning: (count: number) => {
			running = count;
			tell();
		},
		setMember: (is: boolean) => {
			isMember = is;
			tell();
		},
	};
}

const stays = (left: Promise<void>, ms: number) =>
	Promise.race([left.then(() => false), new Promise<boolean>((resolve) => setTimeout(() => resolve(true), ms))]);

describe("a daemon without sessions and clients", () => {
	test("stops by itself and removes its lock; with a client or a session it stays", async () => {
		const { run, daemon, setRunning } = await daemonWith(200);
		const client = await SocketClient.connect(daemon.lock.socket, { owner: "t", cwd: "/", env: {} });
		setRunning(0);
		expect(await stays(daemon.stopped, 600)).toBe(true);
		setRunning(1);
		await client[Symbol.asyncDispose]();
		expect(await stays(daemon.stopped, 600)).toBe(true);
		setRunning(0);
		await daemon.stopped;
		expect(readdirSync(run).sort()).toEqual(["daemon-place", "epoch"]);
		rmSync(run, { recursive: true });
	});
});

describe("a daemon that is a member of a fleet", () => {
	test("stays without sessions and clients, until it has left", async () => {
		const { run, daemon, setRunning, setMember } = await daemonWith(200);
		setMember(true);
		setRunning(0);
		expect(await stays(daemon.stopped, 600)).toBe(true);
		setMember(false);
		await daemon.stopped;
		rmSync(run, { recursive: true });
	});
});

describe("the daemon's log", () => {
	test("is rotated when it has grown", () => {
		const directory = mkdtempSync(join(tmpdir(), "dt-log-"));
		const path = join(directory, "daemon.log");
		const log = fileLog(path);
		const long = "x".repeat(20_000);
		for (let line = 0; line < 600; line++) log.info({ long }, "line");
		expect(existsSync(`${path}.1`)).toBe(true);
		// The daemon keeps its log open until it exits.
		const isLog = (fd: string) => existsSync(`/proc/self/fd/${fd}`) && readlinkSync(`/proc/self/fd/${fd}`) === path;
		for (const fd of readdirSync("/proc/self/fd").filter(isLog)) closeSync(Number(fd));
		rmSync(directory, { recursive: true });
	});
});
