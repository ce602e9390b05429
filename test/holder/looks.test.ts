// What one look finds in big programs, and what it never asks.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";
import { compiled } from "../pty/stage.ts";
import { Client, cleanUp, launch } from "./raw-holder.ts";

let directory: string;
let crowd: string;

beforeAll(() => {
	directory = mkdtempSync(join(tmpdir(), "dth-looks-"));
	crowd = join(directory, "crowd");
	execFileSync("cc", ["-O1", "-o", crowd, join(import.meta.dirname, "../fixtures/crowd.c"), "-lpthread"]);
});
afterEach(cleanUp);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

type Thread = { doing: string; others?: number; tid: number; risks?: string[] };

async function started(argv: string[], ready: string) {
	const session = await launch({ argv });
	const client = await Client.open(session.socket);
	await client.until(() => client.text.includes(ready));
	return { session, client };
}

describe("A2 H6 a look is complete, or says that it is not", needing("gcc"), () => {
	test("of 500 threads and 100 sockets nothing is left out", async () => {
		const { client } = await started([crowd, "100", "500", "0"], "ready");
		const settled = async () => (await client.facts()).threads.some(({ doing }: Thread) => doing === "tty-poll");
		await until("it polls", settled);
		// The second look is the one that relies on the first.
		for (let look = 0; look < 2; look++) {
			const facts = await client.facts();
			expect(facts).toMatchObject({ doubts: [], more: 0, threads: [{ doing: "tty-poll", others: 100 }] });
			expect(facts.wakesMs).toBeUndefined();
		}
	});

	test("that one of 500 threads ticks is told", async () => {
		const { client } = await started([crowd, "0", "500", "40"], "ready");
		const ticks = async () => {
			const { threads, wakesMs } = await client.facts();
			return threads.length === 1 && threads[0].doing === "tty-poll" && wakesMs === 40;
		};
		await until("the tick is told", ticks);
	});

	for (const others of ["0", "500"])
		test(`a thread that was idle and waits for another session now is found, among ${others}`, async () => {
			const { client } = await started([compiled("changes-wait", "-pthread"), others], "ready");
			const doings = async () => (await client.facts()).threads.map(({ doing }: Thread) => doing);
			await until("only the reader counts", async () => (await doings()).join() === "tty-read");
			// By a look that relies on the one before.
			expect(await doings()).toEqual(["tty-read"]);
			await client.type("x\n");
			await until("the other one counts, too", async () => (await doings()).length === 2);
			// By a look that relies on the one before.
			await until("it reads again", async () => (await doings()).includes("tty-read"));
			expect((await doings()).length).toBe(2);
		});

	test("whether processes share their memory is in doubt where kcmp fails", async () => {
		const argv = ["sh", "-c", "echo ready; cat; true"];
		const risks = async (through: string[]) => {
			const session = await launch({ argv, through });
			const client = await Client.open(session.socket);
			const reader = async () => (await client.facts()).threads.find(({ doing }: Thread) => doing === "tty-read");
			await until("cat reads", async () => (await reader()) !== undefined);
			return (await reader()).risks ?? [];
		};
		expect(await risks([])).toEqual([]);
		expect(await risks([compiled("without-kcmp")])).toEqual(["shares"]);
	});

	test("one of 500 threads that begins to work is found by the next look", async () => {
		const { client } = await started([crowd, "0", "500", "-1"], "ready");
		const working = ({ doing }: Thread) => doing === "running" || doing === "disk";
		const idle = async () => {
			const { threads } = await client.facts();
			return threads.some(({ doing }: Thread) => doing === "tty-poll") && !threads.some(working);
		};
		await until("all threads sleep", idle);
		// SIGUSR1 makes one of them run.
		await client.signal(10, 1);
		const works = async () => (await client.facts()).threads.some(working);
		await until("the work is seen", works);
	});

	test("that a reader went on by itself is told, but not what typing made it do", async () => {
		const script =
			"import signal, sys\nsignal.signal(signal.SIGALRM, lambda *_: None)\nprint('ready', flush=True)\n" +
			"while sys.stdin.readline() != 'tick\\n': print('asked', flush=True)\n" +
			"signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)\nprint('ticking', flush=True)\nsys.stdin.readline()";
		const { client } = await started(["python3", "-c", script], "ready");
		const reader = async (): Promise<Thread | undefined> => {
			const { threads, unread } = await client.facts();
			return unread === 0 ? threads.find(({ doing }: Thread) => doing === "tty-read") : undefined;
		};
		for (let line = 1; line <= 5; line++) {
			await until("it reads", async () => (await reader()) !== undefined);
			expect((await reader())?.risks).toBeUndefined();
			await client.type("\n");
			await client.until(() => client.text.split("asked").length > line);
		}
		await client.type("tick\n");
		await client.until(() => client.text.includes("ticking"));
		await until("it is told", async () => (await reader())?.risks?.includes("woken") === true);
	});

	test("the reader among 100 processes is listed, and that others are not", async () => {
		const script = "for i in $(seq 100); do sleep 300 & done; echo ready; exec head -n 1";
		const { client } = await started(["sh", "-c", script], "ready");
		const reads = async () => (await client.facts()).threads.some(({ doing }: Thread) => doing === "tty-read");
		await until("the reader is seen", reads);
		const facts = await client.facts();
		expect(facts.more).toBeGreaterThan(0);
		expect(facts.doubts).toContain("list");
	});
});

const FIFO = `import os, select, sys
os.mkfifo(sys.argv[1])
file, fifo = open(os.__file__), os.open(sys.argv[1], os.O_RDWR)
print("ready")
select.select([0, fifo], [], [])`;

test("H1 a look asks no file system but /proc and the terminal", needing("root", "strace", "python3"), async () => {
	const { session, client } = await started(["python3", "-c", FIFO, join(directory, "fifo")], "ready");
	const trace = join(directory, "trace");
	const calls = "trace=openat,open,stat,lstat,newfstatat,statx,readlink,readlinkat,access,getxattr";
	const strace = spawn("strace", ["-f", "-qq", "-e", calls, "-o", trace, "-p", String(session.holder)], {
		stdio: "ignore",
	});
	try {
		const traced = () => /TracerPid:\s+[1-9]/.test(readFileSync(`/proc/${session.holder}/status`, "utf8"));
		await until("strace watches", traced);
		await client.watch(true);
		for (let look = 0; look < 20; look++) {
			await client.type("\x1b"); // so that the look before it does not stand
			await client.facts();
		}
	} finally {
		strace.kill();
		await once(strace, "exit");
	}
	const asked = readFileSync(trace, "utf8")
		.split("\n")
		.filter((line) => line.includes('"'));
	expect(asked.filter((line) => line.includes("statx(")).length).toBeGreaterThan(5);
	const harmless = [
		/newfstatat\(\d+, "", .*AT_EMPTY_PATH/, // opendir, of what it has just opened
		/openat\(AT_FDCWD, "\/proc\//,
		/readlink(at)?\((AT_FDCWD, )?"\/proc\//,
		/lstat\("\/proc\/|newfstatat\(AT_FDCWD, "\/proc\/\d+\/fd\/\d+", .*AT_SYMLINK_NOFOLLOW/,
		/newfstatat\(AT_FDCWD, "\/proc\/\d+", |stat\("\/proc\/\d+", /,
		/statx\(AT_FDCWD, "\/proc\/\d+\/fd\/\d+", AT_STATX_DONT_SYNC\|AT_NO_AUTOMOUNT|statx\(AT_FDCWD, "\/proc\/\d+\/fd\/\d+", AT_NO_AUTOMOUNT\|AT_STATX_DONT_SYNC/,
		/getxattr\("\/proc\/\d+\/fd\/\d+", "system.sockprotoname"/,
	];
	const opened = /openat\(AT_FDCWD, "\/proc\/\d+\/fd\//; // would open the file itself
	expect(asked.filter((line) => !harmless.some((one) => one.test(line)) || opened.test(line))).toEqual([]);
});
