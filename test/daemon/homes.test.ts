// S14 A home that cannot be used: every command says so at once, and leaves no process behind.

import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { reachDaemon } from "../../src/daemon/reach.ts";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";
import { as, dialtone, type Ended, run, VICTIM } from "./people.ts";

/** It takes half a second where nothing else runs, and took eight on a machine with 20 times the load; 0.1.0 never answered. */
const SOON_MS = 30_000;
const VERBS = ["ls", "start true", "run true", "serve", "daemon restart", "daemon run"];

let directory: string;
beforeEach(() => {
	directory = mkdtempSync(join(tmpdir(), "dt-homes-"));
	chmodSync(directory, 0o755);
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const env = (home: string) => ({ ...process.env, DIALTONE_HOME: home });

/** Processes that have this home. */
function processesOf(home: string): string[] {
	return readdirSync("/proc").filter((pid) => {
		try {
			return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, "utf8").includes(`DIALTONE_HOME=${home}\0`);
		} catch {
			return false; // ended
		}
	});
}

async function refused(home: string, ended: Ended, says: string): Promise<void> {
	expect(ended.err).toContain(says);
	expect([1, 7, 125]).toContain(ended.code);
	expect(ended.ms).toBeLessThan(SOON_MS);
	await until("no process is left", () => processesOf(home).length === 0);
}

describe("S14 a home that cannot be made", () => {
	test.each(VERBS)("under /proc: dialtone %s", async (verb) => {
		const home = "/proc/nope/x";
		await refused(home, await run(dialtone(...verb.split(" ")), env(home)), "cannot keep its files in /proc/nope");
	});

	test.each(VERBS)("because a file is in its place: dialtone %s", async (verb) => {
		const home = join(directory, "file");
		writeFileSync(home, "");
		await refused(home, await run(dialtone(...verb.split(" ")), env(home)), `${home}: not a directory`);
	});

	test("where its user may not write", needing("second user"), async () => {
		const home = join(directory, "not-yours");
		for (const verb of VERBS) {
			const ended = await run(as(VICTIM, dialtone(...verb.split(" "))), { ...env(home), HOME: directory });
			await refused(home, ended, `${home}: permission denied`);
		}
	});

	test("a token is not made there either", async () => {
		const home = "/proc/nope/x";
		await refused(home, await run(dialtone("token", "create"), env(home)), "cannot keep its files in /proc/nope");
	});
});

describe("S14 a home that cannot be written", () => {
	/** Runs all verbs in a mount namespace of their own; returns how each ended. */
	async function mounted(mount: string, home: string): Promise<Ended[]> {
		const ends: Ended[] = [];
		for (const verb of VERBS) {
			const line = `${mount} && exec "$@"`;
			ends.push(await run(["unshare", "-m", "sh", "-c", line, "sh", ...dialtone(...verb.split(" "))], env(home)));
		}
		return ends;
	}

	test("because its file system is read-only", needing("mounts"), async () => {
		const home = join(directory, "home");
		mkdirSync(home, { mode: 0o700 });
		const mount = `mount --bind ${home} ${home} && mount -o remount,bind,ro ${home}`;
		for (const ended of await mounted(mount, home)) await refused(home, ended, "the file system is read-only");
		const made = `mount -t tmpfs -o mode=700 tmpfs ${home} && mkdir -m 700 ${home}/run ${home}/sessions && mount -o remount,ro ${home}`;
		for (const ended of await mounted(made, home)) await refused(home, ended, "the file system is read-only");
	});

	test("because its disk is full", needing("mounts"), async () => {
		const home = join(directory, "home");
		mkdirSync(home, { mode: 0o700 });
		const fill = `dd if=/dev/zero of=${home}/ballast bs=4096 2>/dev/null`;
		const full = `mount -t tmpfs -o size=1m,mode=700 tmpfs ${home} && mkdir -m 700 ${home}/run ${home}/sessions; ${fill}; true`;
		for (const ended of await mounted(full, home)) await refused(home, ended, "no space is left");
	});
});

test("a daemon with a relative home is the one that its callers look for", async () => {
	const env = { ...process.env, DIALTONE_HOME: "here" };
	const at = (...args: string[]) => run(["sh", "-c", `cd ${directory} && exec "$@"`, "sh", ...dialtone(...args)], env);
	expect((await at("ls")).code).toBe(0);
	expect((await at("daemon", "status")).code).toBe(0);
	expect(readdirSync(join(directory, "here"))).toContain("run");
	expect((await at("daemon", "stop")).code).toBe(0);
});

describe("S14 a daemon that does not get ready", () => {
	const start = (home: string, command: readonly string[], readyTimeoutMs?: number) => {
		const caller = { owner: "test", cwd: "/", env: {} };
		const options = { run: join(home, "run"), version: "1", caller, command, env: env(home) };
		return reachDaemon(readyTimeoutMs === undefined ? options : { ...options, readyTimeoutMs });
	};

	test("is ended, and its callers are told what its log says", async () => {
		const home = join(directory, "home");
		mkdirSync(home, { mode: 0o700 });
		const error = { level: 50, time: 1, pid: 1, err: { message: "the disk is odd" }, msg: "could not open" };
		writeFileSync(join(home, "daemon.log"), `${JSON.stringify(error)}\n{"level":30,"msg":"stopped"}\n`);
		await expect(start(home, ["sleep", "1000"], 200)).rejects.toMatchObject({
			code: "no_daemon",
			message: expect.stringContaining("it was not ready after 0.2 s: could not open: the disk is odd"),
		});
		await until("no process is left", () => processesOf(home).length === 0);
	});

	test("because it fails is told with its own words", async () => {
		const home = join(directory, "home");
		await expect(start(home, ["sh", "-c", "echo nothing works >&2; exit 3"])).rejects.toMatchObject({
			message: expect.stringContaining("exit 3: nothing works"),
		});
	});
});
