import { once } from "node:events";
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync as readlink } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { newestLock } from "../../src/daemon/daemon-lock.ts";
import type { SessionFacts } from "../../src/protocol/answer.ts";
import { places } from "../../src/pty/places.ts";
import { holderOf as holderOfProgram } from "../../src/pty/process-tree.ts";
import type { Client } from "../../src/tools/client.ts";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";
import { Home } from "./home.ts";

const facts = async (client: Client, tool: string, input: object) =>
	(await client.call(tool, input)).facts as SessionFacts;
const patient = { timeoutMs: 60_000 };

describe("R4.7 sessions outlive their daemon", () => {
	test("a daemon killed in the middle of a send: the program keeps running, the answer is there afterwards", async () => {
		await using home = new Home();
		const first = await home.connect();
		const { pid } = await first.status();
		await facts(first, "start", { name: "sh", argv: ["bash", "--norc"], ...patient });
		const sending = first.call("send", {
			session: "sh",
			text: "for i in 1 2 3 4 5 6; do echo tick $i; sleep 0.2; done; echo finis''hed",
			submit: true,
			id: "once",
			...patient,
		});
		const output = first.output("sh", { from: 0, signal: AbortSignal.timeout(60_000) });
		let seen = "";
		for await (const chunk of output) {
			if ("bytes" in chunk) seen += Buffer.from(chunk.bytes).toString();
			if (seen.includes("tick 2")) break;
		}
		process.kill(pid, "SIGKILL");
		await expect(sending).rejects.toMatchObject({ code: "daemon_replaced" });

		await using second = await home.connect();
		expect((await second.status()).pid).not.toBe(pid);
		// The same write again, as a client that saw no answer would: it is not typed twice.
		const answer = await facts(second, "send", {
			session: "sh",
			text: "for i in 1 2 3 4 5 6; do echo tick $i; sleep 0.2; done; echo finis''hed",
			submit: true,
			id: "once",
			...patient,
		});
		expect(answer.returned).toBe("waiting");
		// The wait that was cut off goes on by offset: what came out while no daemon ran counts as new.
		const matched = await facts(second, "wait", {
			session: "sh",
			from: 0,
			until: { text: "finished", only: true },
			...patient,
		});
		expect(matched.returned).toBe("matched");
		const all = await facts(second, "read", { session: "sh", view: "lines", lines: 100 });
		expect(all.text.match(/^tick \d$/gm)).toEqual(["tick 1", "tick 2", "tick 3", "tick 4", "tick 5", "tick 6"]);
	});

	test("what ended while no daemon ran is known with its exit code, and nothing claims to run that does not", async () => {
		await using home = new Home();
		const first = await home.connect();
		await facts(first, "start", { name: "late", command: "echo begun; sleep 1; echo done; exit 42", timeoutMs: 0 });
		const here = { until: { text: "here", only: true }, ...patient };
		await facts(first, "start", { name: "lost", command: "echo here; sleep 1000", ...here });
		const { sessions } = (await first.call("list", {})).facts;
		const lost = sessions.find(({ name }) => name === "lost")!;
		const { pid } = await first.status();
		process.kill(pid, "SIGKILL");
		// Its holder is killed too, so that nobody can say how it ended.
		const holder = holderOf(home, lost.session);
		process.kill(holder, "SIGKILL");

		await using second = await home.connect();
		const ended = await facts(second, "wait", { session: "late", ...patient });
		expect(ended).toMatchObject({ status: "failed", exit: { code: 42 } });
		expect(ended.text).toContain("done");
		expect(await facts(second, "read", { session: "lost", view: "lines", lines: 9 })).toMatchObject({
			status: "stream_lost",
			text: "here",
		});
	});

	test("a screen in the middle of a full-screen program is rebuilt from the log", needing("vim"), async () => {
		await using home = new Home();
		const first = await home.connect();
		await facts(first, "start", { name: "vim", argv: ["vim", "-u", "NONE", "-N"], cwd: home.path, ...patient });
		const before = await facts(first, "send", { session: "vim", text: "ifirst line", ...patient });
		expect(before.view).not.toBe("lines");
		await home.cli("daemon", "stop");
		await using second = await home.connect();
		const after = await facts(second, "read", { session: "vim", view: "screen" });
		expect(after.text).toContain("first line");
		expect(after.cursor).toEqual(before.cursor);
		// Arrow keys must follow the mode that vim asked for before the restart.
		const moved = await facts(second, "send", { session: "vim", keys: ["left"], ...patient });
		expect(moved.cursor).toEqual({ row: before.cursor!.row, column: before.cursor!.column - 1 });
	});

	test("however much a program printed, its screen is the same after a restart, and only what is new is told", async () => {
		await using home = new Home({ DIALTONE_REPLAY_BYTES: "65536" });
		const first = await home.connect();
		// The mode is set before 2 MB of output: only a saved screen can know it afterwards.
		const command = "printf '\\033[?1h'; seq 1 300000; read -p 'more? ' x; echo you request $x; read y";
		const before = await facts(first, "start", { name: "long", command, ...patient });
		expect(before.text).toMatch(/300000\nmore\?$/);
		await home.cli("daemon", "stop");
		await using second = await home.connect();
		const screen = await facts(second, "read", { session: "long", view: "screen" });
		expect(screen.text).toMatch(/299999\n300000\nmore\? $/);
		const after = await facts(second, "send", { session: "long", text: "yes", submit: true, ...patient });
		expect(after.text).toBe("you request yes");
		const arrow = await facts(second, "send", { session: "long", keys: ["up"], timeoutMs: 500 });
		expect(arrow.text).toContain("^[OA");
	});

	test("a wait goes on by offset after an orderly restart, also for what came out before it", async () => {
		await using home = new Home();
		const first = await home.connect();
		const { offset } = await facts(first, "start", { name: "s", argv: ["cat"], ...patient });
		await facts(first, "send", { session: "s", text: "the answer", submit: true, ...patient });
		await home.cli("daemon", "stop");
		await using second = await home.connect();
		const until = { text: "the answer", only: true };
		expect(await facts(second, "wait", { session: "s", from: offset, until, ...patient })).toMatchObject({
			returned: "matched",
		});
		const { offset: now } = await facts(second, "read", { session: "s" });
		expect(await facts(second, "wait", { session: "s", from: now, until, timeoutMs: 300 })).toMatchObject({
			returned: "timeout",
		});
	});

	test("one call tells what changed in all sessions since a time", async () => {
		await using home = new Home();
		await using client = await home.connect();
		await facts(client, "start", { name: "old", command: "echo old; read x", ...patient });
		const { now } = (await client.call("list", {})).facts;
		await facts(client, "start", { name: "new", command: "echo new; read x", ...patient });
		const { sessions } = (await client.call("list", { since: now + 1 })).facts;
		expect(sessions.map(({ name, lastLine }) => [name, lastLine])).toEqual([["new", "new"]]);
	});
});

describe("one daemon per user", () => {
	test("starts on demand, and eight starts at once give one daemon", async () => {
		await using home = new Home();
		const exchanges = await Promise.all(Array.from({ length: 8 }, () => home.connect()));
		const pids = await Promise.all(exchanges.map(async (client) => (await client.status()).pid));
		expect(new Set(pids).size).toBe(1);
		expect(readdirSync(join(home.path, "run")).filter((name) => /^daemon\.\d+$/.test(name))).toHaveLength(1);
		for (const client of exchanges) await client[Symbol.asyncDispose]();
	});

	test("a second daemon reports the first and exits", async () => {
		await using home = new Home();
		await using client = await home.connect();
		const second = home.spawnDaemon();
		const [code] = await once(second, "exit");
		expect(code).toBe(0);
		expect((await client.status()).pid).not.toBe(second.pid);
	});

	test("its socket can be opened only by its user", async () => {
		await using home = new Home();
		await using client = await home.connect();
		const { socket } = await client.status();
		expect(lstatSync(socket!).mode & 0o777).toBe(0o600);
		expect(lstatSync(join(home.path, "run")).mode & 0o777).toBe(0o700);
		expect(lstatSync(join(home.path, "daemon.log")).mode & 0o777).toBe(0o600);
	});

	test("an older client is told which version runs and what to do, and replaces nothing", async () => {
		await using home = new Home();
		await using client = await home.connect();
		await expect(home.connect({ version: "0.0.9" })).rejects.toMatchObject({
			code: "version_mismatch",
			message: expect.stringContaining("0.0.9"),
			next: expect.stringContaining("dialtone daemon restart"),
		});
		expect(client.lost).toBe(false);
	});

	test("stop --sessions says which sessions it could not end, and fails", async () => {
		await using home = new Home({ DIALTONE_END_GRACE_MS: "100" });
		const { session } = JSON.parse((await home.cli("call", "start", '{"name":"stuck","argv":["cat"]}')).stdout);
		const { sessions } = JSON.parse((await home.cli("call", "list", "{}")).stdout);
		const holder = holderOfProgram(sessions[0].pid);
		process.kill(holder, "SIGSTOP");
		try {
			const { code, stdout } = await home.cli("daemon", "stop", "--sessions");
			expect({ code, stdout }).toEqual({ code: 6, stdout: expect.stringContaining("keep running: stuck.") });
		} finally {
			process.kill(holder, "SIGCONT");
		}
		expect((await home.cli("daemon", "stop", "--sessions")).code).toBe(0);
		expect(existsSync(join(home.path, "run", `${session}.sock`))).toBe(false);
	});

	test("stop tells apart the sessions of several owners that have the same name", async () => {
		await using home = new Home();
		for (const owner of ["alice", "bob"]) {
			const caller = { owner, cwd: home.path, env: home.env as Record<string, string> };
			await using client = await home.connect({ caller });
			await client.call("start", { name: "build", argv: ["cat"], ...patient });
		}
		expect((await home.cli("daemon", "stop")).stdout).toContain("keep running: build (bob), build (alice).");
	});

	test("the socket of a holder that was killed is removed with its session", async () => {
		await using home = new Home();
		await using client = await home.connect();
		const { session } = await facts(client, "start", { name: "dead", argv: ["cat"], ...patient });
		const socket = join(places(home.env).run, `${session}.sock`);
		expect(existsSync(socket)).toBe(true);
		const { sessions } = (await client.call("list", {})).facts;
		process.kill(holderOfProgram(sessions[0]!.pid!), "SIGKILL");
		await facts(client, "close", { session, forget: true });
		await until("its socket is removed", () => !existsSync(socket));
	});

	test("a client that asks for more while the daemon stops still gets the answers that were sent", async () => {
		await using home = new Home();
		await using client = await home.connect();
		const stopping = client.stop({ sessions: false });
		// Nothing is read meanwhile: the answer has been sent, and the daemon is closing its socket.
		const pause = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
		while (newestLock(places(home.env).run) !== null) pause(10);
		pause(100);
		const asked = client.status().catch(({ code }) => code);
		expect(await stopping).toMatchObject({ left: [] });
		expect(await asked).toBe("daemon_replaced");
	});

	test("stop leaves the sessions running, stop --sessions ends them too", async () => {
		await using home = new Home();
		const started = JSON.parse((await home.cli("call", "start", '{"name":"sh","argv":["bash","--norc"]}')).stdout);
		expect(started).toMatchObject({ status: "running", waitingFor: "line" });
		expect((await home.cli("daemon", "stop")).stdout).toContain("These sessions keep running: sh");
		const status = JSON.parse((await home.cli("daemon", "status", "--json")).stdout);
		expect(status).toEqual({ running: false });
		const { sessions } = JSON.parse((await home.cli("call", "list", "{}")).stdout);
		expect(sessions).toMatchObject([{ name: "sh", status: "running" }]);
		// Also when no daemon runs: the sessions are what is meant.
		await home.cli("daemon", "stop");
		expect((await home.cli("daemon", "stop", "--sessions")).stdout).toContain("No sessions are running");
		const after = JSON.parse((await home.cli("call", "list", "{}")).stdout);
		expect(after.sessions).toMatchObject([{ name: "sh", status: "cancelled" }]);
	});
});

describe("R2.11 a session's environment and directory", () => {
	test("come from its caller, allow-listed, not from the process that started the daemon", async () => {
		await using home = new Home({ SECRET_OF_THE_DAEMON: "1", ANTHROPIC_API_KEY: "sk-1" });
		await using client = await home.connect();
		const caller = {
			owner: "another",
			cwd: "/usr",
			env: { PATH: process.env.PATH!, HOME: "/root", LANG: "C.UTF-8", ANTHROPIC_API_KEY: "sk-2", SHELL: "/bin/sh" },
		};
		const answer = await client.call("start", { argv: ["env"], env: { MINE: "yes" }, ...patient }, { caller });
		const { text, cwd } = answer.facts as SessionFacts;
		const names = text.split("\n").map((line) => line.split("=")[0]);
		expect(names).toEqual(expect.arrayContaining(["PATH", "HOME", "LANG", "TERM", "MINE", "SHELL"]));
		expect(text).not.toContain("sk-");
		expect(text).not.toContain("SECRET");
		expect(cwd).toBe("/usr");
	});
});

describe("many at once (R2.9)", () => {
	test("1000 waits on 20 sessions, each told when its own program asks", async () => {
		await using home = new Home();
		await using client = await home.connect();
		const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
		for (const name of names) await client.call("start", { name, argv: ["cat"], ...patient });
		let returned = 0;
		const waits = names.flatMap((session) =>
			Array.from({ length: 50 }, async () => {
				const answer = await facts(client, "wait", {
					session,
					until: { text: `go ${session}.`, only: true },
					...patient,
				});
				expect(answer.returned).toBe("matched");
				returned++;
			}),
		);
		// A wait never blocks a call to another session, nor to its own.
		for (const session of names) {
			const answer = await facts(client, "send", { session, text: `go ${session}.`, submit: true, ...patient });
			expect(answer.returned).toBe("waiting");
		}
		await Promise.all(waits);
		expect(returned).toBe(1000);
	});

	test("writes of many callers on one session are never interleaved", async () => {
		await using home = new Home();
		await using client = await home.connect();
		await client.call("start", { name: "cat", command: "stty -echo; cat", ...patient });
		const lines = Array.from({ length: 100 }, (_, index) => `${String(index).padStart(3, "0")}:${"x".repeat(500)}`);
		await Promise.all(
			lines.map((text) => client.call("send", { session: "cat", text, submit: true, timeoutMs: 10_000 })),
		);
		const { base64 } = (await client.call("read", { session: "cat", view: "raw", from: 0, maxTokens: 100_000 }))
			.facts as {
			base64: string;
		};
		const request = Buffer.from(base64, "base64").toString().split("\r\n").filter(Boolean);
		expect([...request].sort()).toEqual(lines);
	});

	test("a caller that goes away ends its wait and nothing else", async () => {
		await using home = new Home();
		const first = await home.connect();
		await first.call("start", { name: "cat", argv: ["cat"], ...patient });
		const waiting = first.call("wait", { session: "cat", until: { text: "never", only: true }, ...patient });
		waiting.catch(() => {}); // looked at below
		await first[Symbol.asyncDispose]();
		await expect(waiting).rejects.toThrow();
		await using second = await home.connect();
		const answer = await facts(second, "send", { session: "cat", text: "still here", submit: true, ...patient });
		expect(answer).toMatchObject({ status: "running", returned: "waiting" });
	});
});

/** The holder is the parent of the session's main program. */
function holderOf(home: Home, id: string): number {
	for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
		const link = join("/proc", pid, "fd");
		try {
			// The daemon, killed a moment ago, may not be gone yet and have the log open too.
			if (!readFileSync(join("/proc", pid, "cmdline"), "utf8").includes("dialtone-holder")) continue;
			for (const fd of readdirSync(link)) {
				const target = readlink(join(link, fd));
				if (target.startsWith(join(home.path, "sessions", id))) return Number(pid);
			}
		} catch {
			// gone meanwhile
		}
	}
	throw new Error(`no process holds the log of ${id}`);
}
