// Ending a session ends everything it started; what cannot be ended is named.

import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, copyFileSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { needing } from "../programs.ts";
import {
	Client,
	cleanUp,
	exitFile,
	gone,
	HOLDER,
	launch,
	lives,
	record,
	SLOWED,
	sessionDirectory,
	Tag,
	u64,
} from "./raw-holder.ts";

afterEach(cleanUp);

/** A tree that leaves by every door: session, double fork, empty environment, ignored signals, closed terminal. */
const escapist = `
trap '' TERM HUP
(setsid sleep 301 &)
( (trap '' TERM HUP INT; exec sleep 302) & )
env -i setsid sh -c 'trap "" TERM HUP; sleep 303; sleep 303' </dev/null >/dev/null 2>&1 &
(setsid sh -c '(sleep 304 </dev/null >/dev/null 2>&1 &) ; exec sleep 305' &)
sh -c 'kill -STOP $$; sleep 306' &
sleep 307 & sleep 308
`;

/** Processes below a pid, by the kernel's own list. */
function below(pid: number): number[] {
	try {
		const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
			readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter(Boolean).map(Number),
		);
		return [...children, ...children.flatMap(below)];
	} catch {
		return []; // gone meanwhile
	}
}

describe("R4.4 ending the tree", () => {
	test("a tree that ignores TERM and HUP and left by setsid, double fork and env -i is gone afterwards", async () => {
		const session = await launch({ argv: ["bash", "-c", escapist] });
		const client = await Client.open(session.socket);
		let tree: number[] = [];
		while (tree.length < 9) tree = below(session.holder);
		expect(await client.end(200)).toEqual({ done: 0 });
		expect(tree.filter(lives)).toEqual([]);
		expect(await client.exited()).toMatchObject({ reason: "end", closed: true, survivors: [] });
		await gone(session.holder);
		expect(readdirSync(session.dir).sort()).toEqual(["exit", "out.00000000000000000000", "timing"]);
	});

	test("a program that goes when asked is not killed, and its last words are kept", async () => {
		const session = await launch({
			argv: ["bash", "-c", "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.02; done"],
		});
		const client = await Client.open(session.socket);
		await client.until(() => client.text.includes("up"));
		expect(await client.end(10_000)).toEqual({ done: 0 });
		expect(await client.exited()).toMatchObject({ code: 0, signal: null, reason: "end" });
		expect(client.text).toContain("bye");
	});

	test("an interactive shell, which ignores TERM, goes by the hang-up", async () => {
		const session = await launch({ argv: ["bash", "--norc", "-i"] });
		const client = await Client.open(session.socket);
		await client.until(() => /[$#] $/.test(client.text));
		expect(await client.end(10_000)).toEqual({ done: 0 });
		expect(await client.exited()).toMatchObject({ code: null, signal: 1, reason: "end" });
	});

	test("a second END kills at once, and both are answered", async () => {
		const session = await launch({ argv: ["bash", "-c", "trap '' TERM HUP; echo up; while :; do sleep 1; done"] });
		const client = await Client.open(session.socket);
		await client.until(() => client.text.includes("up"));
		const first = client.end(600_000);
		const second = client.end(600_000);
		expect(await Promise.all([first, second])).toEqual([{ done: 0 }, { done: 0 }]);
		expect(await client.exited()).toMatchObject({ signal: 9, reason: "end" });
	});

	test("a fork bomb loses", async () => {
		const session = await launch({
			argv: [
				"bash",
				"-c",
				"trap '' TERM HUP; n=0; while [ $n -lt 300 ]; do n=$((n+1)); (trap '' TERM; sleep 300; sleep 300) & done; echo up; while [ $n -lt 2000 ]; do n=$((n+1)); (sleep 0.01; sleep 300) & sleep 0.005; done; sleep 300",
			],
		});
		const client = await Client.open(session.socket);
		await client.until(() => client.text.includes("up"));
		const tree = below(session.holder);
		expect(tree.length).toBeGreaterThan(300);
		expect(await client.end(0)).toEqual({ done: 0 });
		expect(tree.filter(lives)).toEqual([]);
	});

	test(
		"what may not be signalled goes by the kernel's hang-up, and what ignores that is named",
		needing("root"),
		async () => {
			const dir = sessionDirectory();
			chmodSync(dir, 0o777);
			// A holder of nobody's, and a program that makes itself root's, as su and sudo do.
			const setpriv = execFileSync("sh", ["-c", "command -v setpriv"], { encoding: "utf8" }).trim();
			for (const [name, from] of [
				["holder", HOLDER],
				["become-root", setpriv],
			] as const) {
				copyFileSync(from, join(dir, name));
				chmodSync(join(dir, name), name === "holder" ? 0o755 : 0o4755);
			}
			const become = [join(dir, "become-root"), "--reuid=0", "--regid=0", "--clear-groups"];
			const asNobody = [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups"];
			for (const [program, survivors] of [
				["echo up; sleep 300", 0],
				["trap '' HUP; echo up; sleep 300; sleep 300", 2],
			] as const) {
				const own = join(dir, String(survivors));
				mkdirSync(own);
				chownSync(own, 65534, 65534);
				const session = await launch({
					argv: [...become, "sh", "-c", program],
					dir: own,
					through: asNobody,
					holder: join(dir, "holder"),
				});
				const client = await Client.open(session.socket);
				await client.until(() => client.text.includes("up"));
				expect(await client.end(0)).toEqual({ done: survivors });
				if (survivors === 0) {
					expect(await client.exited()).toMatchObject({ signal: 1, reason: "end", survivors: [] });
					continue;
				}
				const told = client.events.find((event) => event.event === "survivors");
				expect(told.survivors.map((one: { command: string }) => one.command)).toEqual(["sh", "sleep"]);
				// All of its group at once: who lives between two kills is a survivor of the first.
				process.kill(-session.pid, "SIGKILL");
				expect(await client.exited()).toMatchObject({ signal: 9, reason: "end", survivors: [] });
			}
		},
	);

	test("H12 a process that has the pid of one that was listed is not signalled", needing("root", "gcc"), () => {
		const program = join(sessionDirectory(), "recycled-pid");
		const here = (name: string) => join(import.meta.dirname, name);
		const sources = [
			"recycled-pid.c",
			"../../holder/tree-linux.c",
			"../../holder/identity-linux.c",
			"../../holder/leaving-linux.c",
			"../../holder/os-linux.c",
			"../../holder/proc-linux.c",
		].map(here);
		execFileSync("gcc", ["-D_GNU_SOURCE", "-o", program, ...sources]);
		expect(execFileSync(program, { encoding: "utf8" })).toBe("lives, errno 3\n");
	});

	test("TERM to the holder ends the session in order", async () => {
		const session = await launch({ argv: ["sleep", "300"] });
		process.kill(session.holder, "SIGTERM");
		await gone(session.holder);
		expect(exitFile(session)).toMatchObject({ signal: 15, reason: "end", closed: true });
	});

	test("HUP, INT, QUIT, USR1, TSTP and PIPE do not end a holder", async () => {
		const session = await launch({ argv: ["cat"] });
		for (const signal of ["SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGTSTP", "SIGPIPE"] as const)
			process.kill(session.holder, signal);
		const client = await Client.open(session.socket);
		await client.type("still\n");
		await client.until(() => client.text.includes("still"));
	});

	test("a holder killed with -9 leaves an exact prefix of the output and no exit", async () => {
		const session = await launch({ argv: ["sh", "-c", "echo before; exec sleep 300"] });
		const client = await Client.open(session.socket);
		await client.until(() => client.text.includes("before"));
		process.kill(session.holder, "SIGKILL");
		await gone(session.holder);
		expect(readFileSync(`${session.dir}/out.00000000000000000000`, "utf8")).toBe("before\r\n");
		expect(readdirSync(session.dir)).not.toContain("exit");
		await gone(session.pid); // the terminal hung up under it
	});
});

describe("R2.10 the wall-clock limit", () => {
	test("ends the tree and says so", async () => {
		const session = await launch({
			argv: ["sh", "-c", "setsid sleep 300 & sleep 300"],
			// Long enough for a client to be there: a holder without one goes with its program.
			records: [record(Tag.wall, u64(1500))],
		});
		const client = await Client.open(session.socket);
		const exit = await client.exited();
		expect(exit).toMatchObject({ reason: "wall_clock", survivors: [], closed: true });
		expect(exit.endedAt - exit.startedAt).toBeGreaterThanOrEqual(1490);
	});

	test("H12 counts while the machine sleeps: its clock is CLOCK_BOOTTIME", async () => {
		const session = await launch({ argv: ["cat"], records: [record(Tag.wall, u64(3_600_000))] });
		const timers = readdirSync(`/proc/${session.holder}/fdinfo`)
			.map((fd) => readFileSync(`/proc/${session.holder}/fdinfo/${fd}`, "utf8"))
			.filter((info) => info.includes("clockid:"));
		expect(timers).toHaveLength(1);
		expect(timers[0]).toContain("clockid: 7");
		expect(Number(/it_value: \((\d+)/.exec(timers[0] ?? "")?.[1])).toBeGreaterThan(3500);
	});
});

describe("signals", () => {
	test("reach the foreground group, the main process, or the whole tree", async () => {
		const session = await launch({
			argv: [
				"bash",
				"-c",
				"trap 'echo main-usr1' USR1; setsid bash -c 'trap \"echo far-usr1\" USR1; echo far; while :; do sleep 0.02; done' & echo up; while :; do sleep 0.02; done",
			],
		});
		const client = await Client.open(session.socket);
		await client.until(() => client.text.includes("up") && client.text.includes("far"));
		expect(await client.signal(10, 1)).toEqual({ done: 0 });
		await client.until(() => client.text.includes("main-usr1"));
		expect(client.text).not.toContain("far-usr1");
		expect(await client.signal(19, 2)).toEqual({ done: 0 });
		expect(await client.signal(18, 2)).toEqual({ done: 0 });
		expect(await client.signal(0, 0)).toMatchObject({ refused: "bad_signal" });
		expect(await client.signal(200, 0)).toMatchObject({ refused: "bad_signal" });
		expect(await client.signal(9, 0)).toEqual({ done: 0 });
		await client.until(() => client.events.some((event) => event.event === "main_exited" && event.signal === 9));
		expect(await client.end(0)).toEqual({ done: 0 });
	});
});

describe("nothing is left", () => {
	test("after 500 sessions there is no process, descriptor, socket or file of theirs", async () => {
		const descriptors = readdirSync("/proc/self/fd").length;
		for (let i = 0; i < (SLOWED ? 10 : 500); i++) {
			const session = await launch({ argv: i % 2 ? ["true"] : ["sleep", "300"] });
			expect(session.ok).toBe(true);
			if (i % 2 === 0) {
				const client = await Client.open(session.socket);
				expect(await client.end(1000)).toEqual({ done: 0 });
				await client.exited();
				client.close();
			}
			await gone(session.holder);
			expect(readdirSync(session.dir).sort()).toEqual(["exit", "out.00000000000000000000", "timing"]);
			await cleanUp();
		}
		expect(readdirSync("/proc/self/fd").length).toBeLessThanOrEqual(descriptors + 2);
		const zombies = readdirSync("/proc").filter((pid) => isOurZombie(pid));
		expect(zombies).toEqual([]);
	});
});

function isOurZombie(pid: string): boolean {
	try {
		return readFileSync(`/proc/${pid}/stat`, "utf8").includes(`) Z ${process.pid} `);
	} catch {
		return false; // no process, or gone meanwhile
	}
}

describe("H9 only Dialtone itself leaves a session", { timeout: 60_000 }, () => {
	/** Starts a process that means to stay, asks the holder in its own way, and prints the pid. */
	const asks = (how: string) => `
import ctypes, os, signal, struct, sys, time
holder = os.getppid()
pid = os.fork()
if pid == 0:
    for one in (signal.SIGHUP, signal.SIGTERM): signal.signal(one, signal.SIG_IGN)
    ${how === "signal" ? "os.kill(holder, 50)" : "pass"}
    time.sleep(600)
info = ctypes.create_string_buffer(128)
struct.pack_into("iiiiII", info, 0, 50, 0, -1, 0, pid, os.getuid())
if ${how === "forged" ? "True" : "False"}: ctypes.CDLL(None).syscall(129, holder, 50, info)
time.sleep(0.2)
print("ready", pid, flush=True)
time.sleep(600)
`;
	test.for(["signal", "forged"])("not a program that sends its %s", needing("python3"), async (how, { skip }) => {
		if (how === "forged" && process.arch !== "x64") skip("the number of the call is another one");
		const session = await launch({ argv: ["python3", "-c", asks(how)] });
		const client = await Client.open(session.socket);
		await client.until(() => /ready \d+\r\n/.test(client.text));
		const child = Number(/ready (\d+)/.exec(client.text)?.[1]);
		expect(await client.end(100)).toEqual({ done: 0 });
		expect(lives(child)).toBe(false);
		await client.until(() => client.exit?.closed === true);
		expect(client.exit).toMatchObject({ survivors: [] });
		expect(client.exit).not.toHaveProperty("released");
	});

	test("no other signal than TERM ends a session, and those that act do only what they are for", async ({ skip }) => {
		if (SLOWED) skip("valgrind has signals of its own");
		const session = await launch({ argv: ["cat"] });
		const client = await Client.open(session.socket);
		const status = readFileSync(`/proc/${session.holder}/status`, "utf8");
		const mask = (field: string) => BigInt(`0x${new RegExp(`^${field}:\\s*([0-9a-f]+)`, "m").exec(status)?.[1]}`);
		const has = (field: string, signal: number) => ((mask(field) >> BigInt(signal - 1)) & 1n) === 1n;
		const signals = Array.from({ length: 64 }, (_, index) => index + 1);
		expect(signals.filter((signal) => has("SigCgt", signal))).toEqual([10, 15, 17, 50]);
		const sent = signals.filter((signal) => ![4, 5, 7, 8, 9, 11, 15, 19, 20, 21, 22, 31, 32, 33].includes(signal));
		for (const signal of sent) execFileSync("kill", ["-s", String(signal), String(session.holder)]);
		await client.type("still here\n");
		await client.until(() => client.text.includes("still here\r\nstill here\r\n"));
		expect(lives(session.pid)).toBe(true);
		process.kill(session.holder, "SIGTERM");
		expect(await client.exited()).toMatchObject({ reason: "end" });
	});
});
