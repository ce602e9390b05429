// What a program gets, and what the caller is told when it cannot be started.

import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";
import {
	Client,
	cleanUp,
	exitFile,
	gone,
	HOLDER,
	KEEP,
	launch,
	launchBlock,
	lives,
	processesIn,
	record,
	say,
	sessionDirectory,
	Tag,
	u16,
	u32,
	u64,
} from "./raw-holder.ts";

afterEach(cleanUp);

const limit = (which: number, value: number) => record(Tag.limit, Buffer.concat([u32(which, 0), u64(value)]));

const rlimit = (which: number, soft: number | bigint, hard: number | bigint) =>
	record(Tag.rlimit, Buffer.concat([u32(which, 0), u64(soft, hard)]));
const UNLIMITED = 2n ** 64n - 1n;

const withRecord = (...records: Buffer[]) => launchBlock("/tmp", { argv: ["true"], records });

/** Runs a program to its end and gives what it printed. */
async function run(options: Parameters<typeof launch>[0]): Promise<string> {
	const session = await launch(options);
	if (!session.ok) throw new Error(`${session.stage}: ${session.message}`);
	await gone(session.holder);
	return readFileSync(join(session.dir, "out.00000000000000000000"), "utf8").replaceAll("\r", "");
}

describe("R3.1 R3.4 what the program gets", () => {
	test("its arguments, environment and directory, exactly", async () => {
		const said = await run({
			argv: ["sh", "-c", 'pwd; printf "%s|" "$@"; echo; env | sort', "me", "", "a b", "ü\n"],
			cwd: "/usr",
			env: { EMPTY: "", PATH: "/usr/bin:/bin" },
		});
		expect(said).toBe("/usr\n|a b|ü\n|\nEMPTY=\nLANG=C.UTF-8\nPATH=/usr/bin:/bin\nPWD=/usr\nTERM=xterm-256color\n");
	});

	test(
		"the terminal as its controlling terminal, in the size asked for, in a session and foreground group of its own",
		needing("ps"),
		async () => {
			const said = await run({
				argv: ["sh", "-c", "stty size; tty; echo > /dev/tty; ps -o pid=,pgid=,sid=,tpgid= -p $$"],
				records: [record(Tag.size, u16(132, 43, 0, 0))],
			});
			const [size, tty, , ids] = said.split("\n");
			expect(size).toBe("43 132");
			expect(tty).toMatch(/^\/dev\/pts\/\d+$/);
			expect(new Set(ids!.trim().split(/\s+/)).size).toBe(1);
		},
	);

	test("only descriptors 0 to 2, default signals, an empty mask, the caller's umask", async () => {
		const said = await run({
			argv: [
				"sh",
				"-c",
				"ls -1 /proc/$$/fd | tr '\\n' ' '; grep -E 'Sig(Blk|Ign)' /proc/self/status | tr -d '\\n\\t'; umask",
			],
			records: [record(Tag.umask, u32(0o027))],
		});
		expect(said).toMatch(/^0 1 2 (10 )?/); // dash keeps a copy of its script's descriptor at 10 in some versions
		expect(said).toContain("SigBlk:0000000000000000SigIgn:0000000000000000");
		expect(said).toMatch(/0027\n$/);
	});

	test("a terminal that is stdio but not controlling, for sandboxes", async () => {
		const said = await run({
			argv: ["sh", "-c", "tty; echo x > /dev/tty || echo none"],
			records: [record(Tag.flags, u32(1))],
		});
		expect(said).toMatch(/^\/dev\/pts\/\d+\n.*none\n$/s);
	});

	test("R2.10 its limits", async () => {
		const said = await run({
			argv: ["bash", "-c", "ulimit -t; ulimit -n; ulimit -f; ulimit -c"],
			records: [limit(0, 77), limit(3, 99), limit(4, 1024 * 1000), limit(5, 0)],
		});
		expect(said.trim().split("\n")).toEqual(["77", "99", "1000", "0"]);
	});

	test("G6 the soft and hard limits and the nice value of its caller, not of the holder", async () => {
		const said = await run({
			argv: ["bash", "-c", "ulimit -St; ulimit -Ht; ulimit -Sn; ulimit -Hn; ulimit -Sc; nice"],
			// The launcher's own are lower than that, and would end a holder that kept them.
			through: ["prlimit", "--cpu=1:3000", "--nofile=50:5000", "nice", "-n", "2"],
			records: [rlimit(0, 1000, 2000), rlimit(7, 99, 4000), rlimit(4, 0, UNLIMITED), record(Tag.nice, u32(20 + 7))],
		});
		expect(said.trim().split("\n")).toEqual(["1000", "2000", "99", "4000", "0", "7"]);
	});

	test(
		"G6 what is above the holder's hard limit or better than its nice value, only as far as may be",
		needing("root"),
		async () => {
			const dir = sessionDirectory();
			chmodSync(dir, 0o777);
			const become = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
			const said = await run({
				argv: ["bash", "-c", "ulimit -Sn; ulimit -Hn; nice"],
				dir,
				through: ["prlimit", "--nofile=500:500", "nice", "-n", "3", ...become],
				records: [rlimit(7, 600, 7000), record(Tag.nice, u32(20))],
			});
			expect(said.trim().split("\n")).toEqual(["500", "500", "3"]);
		},
	);

	test("another identity, without the groups of the one before, owning its terminal", needing("root"), async () => {
		const dir = sessionDirectory();
		const said = await run({
			argv: ["sh", "-c", "id -u; id -g; id -G; stat -c %u $(tty); echo > $(tty)"],
			dir,
			records: [record(Tag.identity, u32(65534, 65534))],
		});
		expect(said).toBe("65534\n65534\n65534\n65534\n\n");
	});

	test("a program named apart from its first argument, and a script without #!", async () => {
		expect(await run({ argv: ["-sh", "-c", "echo $0"], records: [record(Tag.program, "/bin/sh")] })).toBe("-sh\n");
		const dir = sessionDirectory();
		writeFileSync(join(dir, "script"), "echo plain $1\n");
		chmodSync(join(dir, "script"), 0o755);
		expect(await run({ argv: ["script", "word"], env: { PATH: `/nowhere:${dir}:/bin` } })).toBe("plain word\n");
	});

	test("OOM: the program goes before its holder, which goes last where that may be set", needing("root"), async () => {
		const CAP_SYS_RESOURCE = 24n;
		const capabilities = BigInt(`0x${/CapEff:\s*(\w+)/.exec(readFileSync("/proc/self/status", "utf8"))![1]}`);
		const lowest = (capabilities >> CAP_SYS_RESOURCE) & 1n ? -900 : 0;
		const become = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
		for (const [user, expected] of [
			[[], [lowest, 100]],
			[become, [0, 100]],
		] as const) {
			const dir = sessionDirectory();
			chmodSync(dir, 0o777);
			const session = await launch({ argv: ["sleep", "300"], dir, through: ["choom", "-n", "0", "--", ...user] });
			const adjusted = (pid: number) => Number(readFileSync(`/proc/${pid}/oom_score_adj`, "utf8"));
			expect([adjusted(session.holder), adjusted(session.pid)]).toEqual(expected);
		}
	});

	test("a parent that is nobody's child and holds nothing of its launcher", async () => {
		const session = await launch({ argv: ["cat"] });
		const stat = (pid: number | "self") => {
			const [, parent, , session] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ").map(Number);
			return { parent, session };
		};
		expect(stat(session.holder).parent).toBeGreaterThan(0);
		expect(stat(session.holder).parent).not.toBe(process.pid);
		expect(stat(session.holder).session).toBeGreaterThan(0);
		expect(stat(session.holder).session).not.toBe(stat("self").session);
		expect(readdirSync(`/proc/${session.holder}/fd`).length).toBeLessThan(16);
	});
});

describe("R3.3 what cannot be started says at which stage and why, and leaves nothing", () => {
	const nothing = (dir: string) => expect(readdirSync(dir)).toEqual([]);

	test.each([
		["a missing program", { argv: ["no-such-program"] }, "exec", "ENOENT"],
		["a program in a missing place", { argv: ["/no/such/program"] }, "exec", "ENOENT"],
		["a file that may not be executed", { argv: ["/etc/passwd"] }, "exec", "EACCES"],
		["a directory as program", { argv: ["/tmp"] }, "exec", "EACCES"],
		["an empty name", { argv: [""] }, "exec", "ENOENT"],
		["a missing directory", { argv: ["true"], cwd: "/no/such" }, "chdir", "ENOENT"],
		["a file as directory", { argv: ["true"], cwd: "/etc/passwd" }, "chdir", "ENOTDIR"],
	])("%s", async (_name, options, stage, code) => {
		const session = await launch(options);
		expect(session).toMatchObject({ ok: false, stage, code });
		nothing(session.dir);
	});

	test("a directory that does not exist, a socket that is there already, an address that is too long", async () => {
		expect(await launch({ argv: ["true"], dir: "/no/such/dir" })).toMatchObject({
			ok: false,
			stage: "log",
			code: "ENOENT",
		});
		const dir = sessionDirectory();
		writeFileSync(join(dir, "s"), "mine");
		expect(await launch({ argv: ["true"], dir })).toMatchObject({ ok: false, stage: "socket", code: "EADDRINUSE" });
		expect(readFileSync(join(dir, "s"), "utf8")).toBe("mine");
		expect(readdirSync(dir)).toEqual(["s"]);
	});

	test("a second session in the directory of a first leaves the first alone", async () => {
		const first = await launch({ argv: ["cat"] });
		const second = await launch({ argv: ["cat"], dir: first.dir });
		expect(second).toMatchObject({ ok: false, stage: "log", code: "EEXIST" });
		const client = await Client.open(first.socket);
		await client.type("mine\n");
		await client.until(() => client.text.includes("mine"));
	});

	test.each([
		["nothing", Buffer.alloc(0)],
		["half a record", Buffer.from([1, 0, 0, 0, 4, 0])],
		["a length beyond all", Buffer.from([4, 0, 0, 0, 255, 255, 255, 255, 0])],
		["an unknown tag", record(99, "x")],
		[
			"no arguments",
			Buffer.concat([
				record(Tag.protocol, u32(1)),
				record(Tag.dir, "/tmp"),
				record(Tag.socket, "/tmp/s"),
				record(Tag.cwd, "/"),
				record(0, ""),
			]),
		],
		[
			"another protocol",
			Buffer.concat([record(Tag.protocol, u32(2)), launchBlock("/tmp", { argv: ["true"] }).subarray(12)]),
		],
		["a repeated record", Buffer.concat([record(Tag.protocol, u32(1)), launchBlock("/tmp", { argv: ["true"] })])],
		["a soft limit above the hard one", withRecord(rlimit(7, 2, 1))],
		["a limit of nothing", withRecord(rlimit(16, 1, 1))],
		["a repeated limit", withRecord(rlimit(7, 1, 1), rlimit(7, 1, 1))],
		["an impossible nice value", withRecord(record(Tag.nice, u32(40)))],
		["a NUL in a string", launchBlock("/tmp", { argv: ["a\0b"] })],
		["a relative path", launchBlock("tmp", { argv: ["true"] })],
	])("a launch block with %s", async (_name, block) => {
		const { line, status } = await say(block);
		expect(JSON.parse(line)).toMatchObject({ ok: false, stage: "block", code: "EINVAL" });
		expect(status).toBe(1);
	});
});

describe("H7 a launch that is given up", () => {
	const started = (argv: string[]) => {
		const dir = sessionDirectory();
		const launcher = spawn(HOLDER, [], { stdio: ["pipe", "pipe", "inherit"] });
		const status = new Promise((resolve) => launcher.once("close", resolve));
		launcher.stdin.write(launchBlock(dir, { argv }).subarray(0, -1)); // without the word that it is kept
		return {
			dir,
			launcher,
			status,
			line: new Promise<string>((resolve) => launcher.stdout.once("data", (data) => resolve(String(data)))),
		};
	};

	test.each([
		["by closing its input", (launcher: ChildProcess) => launcher.stdin?.destroy()],
		["by killing it", (launcher: ChildProcess) => launcher.kill("SIGKILL")],
	])("after its answer %s: the program is ended at once", async (_how, giveUp) => {
		const { launcher, status, line } = started(["sh", "-c", "trap '' TERM HUP; sleep 300 & sleep 300"]);
		const { holder, pid } = JSON.parse(await line);
		giveUp(launcher);
		await status;
		await gone(pid);
		await gone(holder);
	});

	test("before its answer: no process is left", async () => {
		const { dir, launcher, status } = started(["sh", "-c", "echo $$ > $DIR/ran; sleep 300"]);
		launcher.stdin.destroy();
		expect(await status).toBe(1);
		await until("no process is left", () => processesIn(dir).length === 0);
	});

	test("the session stays when its launcher goes after it was kept", async () => {
		const { dir, launcher, status, line } = started(["cat"]);
		const { holder } = JSON.parse(await line);
		launcher.stdin.end(KEEP);
		expect(await status).toBe(0);
		const client = await Client.open(join(dir, "s"));
		await client.type("here\n");
		await client.until(() => client.text.includes("here\r\nhere"));
		await client.end(0);
		client.close();
		await gone(holder);
	});
});

describe("R3.3 when the machine has no more", () => {
	test("no more terminals: the third of three is refused, the others go on", needing("mounts"), async () => {
		const dir = sessionDirectory();
		for (const name of ["1", "2", "3"]) mkdirSync(join(dir, name));
		for (const name of ["1", "2", "3"])
			writeFileSync(join(dir, `block${name}`), launchBlock(join(dir, name), { argv: ["cat"] }));
		const script = `mount -t devpts -o newinstance,ptmxmode=0666,max=2 devpts /dev/pts && mount --bind /dev/pts/ptmx /dev/ptmx && for n in 1 2 3; do ${HOLDER} < ${dir}/block$n; done; exit 0`;
		const { line } = await sayWith(["unshare", "-m", "sh", "-c", script]);
		const [first, second, third] = line
			.trim()
			.split("\n")
			.map((one) => JSON.parse(one));
		expect([first.ok, second.ok]).toEqual([true, true]);
		expect(third).toMatchObject({ ok: false, stage: "pty", code: "ENOSPC" });
		nothingIn(join(dir, "3"));
		for (const name of ["1", "2"]) {
			const client = await Client.open(join(dir, name, "s"));
			await client.type("well\n");
			await client.until(() => client.text.includes("well\r\nwell"));
			await client.end(0);
			await client.exited();
			client.close();
		}
		await gone(first.holder);
		await gone(second.holder);
	});

	test("no more processes", needing("root"), async () => {
		const dir = sessionDirectory();
		chmodSync(dir, 0o777);
		const holder = join(dir, "dialtone-holder");
		writeFileSync(holder, readFileSync(HOLDER));
		chmodSync(holder, 0o755);
		mkdirSync(join(dir, "1"));
		chmodSync(join(dir, "1"), 0o777);
		writeFileSync(join(dir, "block"), launchBlock(join(dir, "1"), { argv: ["true"] }));
		// A user nobody else is, so that the count is ours: one process is the launcher itself.
		const { line } = await sayWith([
			"setpriv",
			"--reuid=64321",
			"--regid=64321",
			"--clear-groups",
			"prlimit",
			"--nproc=1",
			"sh",
			"-c",
			`exec ${holder} < ${dir}/block`,
		]);
		expect(JSON.parse(line)).toMatchObject({ ok: false, stage: "fork", code: "EAGAIN" });
		nothingIn(join(dir, "1"));
	});

	test("no more descriptors", async () => {
		const dir = sessionDirectory();
		const results = [];
		for (const files of [4, 5, 6, 7, 8, 9, 10, 11, 12]) {
			mkdirSync(join(dir, String(files)));
			const { line } = await say(launchBlock(join(dir, String(files)), { argv: ["sleep", "300"] }), [
				"env",
				`ASAN_OPTIONS=${process.env.ASAN_OPTIONS}:detect_leaks=0`, // with so few a leak checker never ends
				"prlimit",
				`--nofile=${files}`,
			]);
			results.push(JSON.parse(line));
			if (!results.at(-1).ok) nothingIn(join(dir, String(files)));
		}
		const failed = results.filter((result) => !result.ok);
		expect(failed.length).toBeGreaterThan(2);
		for (const result of failed) expect(result).toMatchObject({ code: "EMFILE" });
		for (const result of results.filter((one) => one.ok)) {
			process.kill(result.holder, "SIGTERM");
			await gone(result.holder);
		}
	});

	test(
		"a full disk stops neither the program nor the exit; the gap is told, and the log comes back",
		needing("mounts"),
		async () => {
			const program =
				"stty -opost -echo; echo start; read x; head -c 3000000 /dev/zero | tr '\\0' x; echo full; read x; echo back; read x; exit 6";
			await using small = await onSmallDisk(2, program);
			writeFileSync(join(small.inside, "ballast"), Buffer.alloc(300_000));
			const client = await Client.open(small.socket);
			await client.until(() => client.text.includes("start"));
			await client.type("\n");
			await client.until(() => client.cursor === 3_000_011); // it ran on to the end
			await client.until(() => client.events.some((event) => event.event === "log_lost"));
			const lost = client.events.find((event) => event.event === "log_lost");
			expect(lost).toMatchObject({ errno: 28 });
			const late = await Client.open(small.socket, { owner: false });
			await late.until(() => late.cursor === client.cursor);
			expect(late.gaps[0]!.from).toBe(lost.from);
			writeFileSync(join(small.inside, "ballast"), "");
			await new Promise((resolve) => setTimeout(resolve, 300)); // longer than the pause before it tries again
			await client.type("\n");
			await client.until(() => client.events.some((event) => event.event === "log_back"));
			expect(readdirSync(small.inside)).toContain("out.00000000000003000011");
			await client.type("\n");
			const exit = await client.exited();
			expect(exit).toMatchObject({ code: 6, size: 3_000_016, closed: true });
			expect(exit.lost).toBe(late.gaps.reduce((sum, gap) => sum + gap.to - gap.from, 0));
		},
	);

	test("the exit is written twice although the disk is full to the last block", needing("mounts"), async () => {
		await using small = await onSmallDisk(1, "cat /dev/zero > $DISK/ballast; trap '' HUP; (sleep 0.3; echo) & exit 8");
		const client = await Client.open(small.socket);
		await client.until(() => client.exits.length === 1);
		expect(exitFile({ dir: small.inside })).toMatchObject({ code: 8, closed: false });
		const exit = await client.exited();
		expect(exit.lost).toBeGreaterThan(0);
		await gone(small.holder);
		expect(exitFile({ dir: small.inside })).toEqual(exit);
		expect(readdirSync(small.inside).filter((name) => name.includes("tmp"))).toEqual([]);
	});
});

/** A session whose log is on a tmpfs of so many megabytes that only it sees; `inside` is the way to it from here. */
async function onSmallDisk(megabytes: number, program: string) {
	const dir = sessionDirectory();
	const disk = join(dir, "disk");
	mkdirSync(disk);
	const block = launchBlock(disk, { argv: ["sh", "-c", program], env: { DISK: disk } });
	writeFileSync(join(dir, "block"), block);
	const script = `mount -t tmpfs -o size=${megabytes}m tmpfs ${disk} && ${HOLDER} < ${dir}/block && exec sleep 300`;
	const keeper = spawn("unshare", ["-m", "sh", "-c", script], { stdio: ["ignore", "pipe", "inherit"] });
	const line = await new Promise<string>((resolve) => keeper.stdout.once("data", (data) => resolve(String(data))));
	const { holder } = JSON.parse(line);
	const inside = join(`/proc/${keeper.pid}/root`, disk);
	return {
		inside,
		socket: join(inside, "s"),
		holder: Number(holder),
		async [Symbol.asyncDispose]() {
			if (lives(holder)) process.kill(holder, "SIGTERM");
			await gone(holder);
			keeper.kill("SIGKILL");
		},
	};
}

function nothingIn(dir: string): void {
	expect(readdirSync(dir)).toEqual([]);
}

/** Runs a command that prints what launchers say. */
async function sayWith(command: string[]): Promise<{ line: string }> {
	const child = spawn(command[0]!, command.slice(1), { stdio: ["ignore", "pipe", "inherit"] });
	let line = "";
	child.stdout.on("data", (data) => {
		line += data;
	});
	await new Promise((resolve) => child.on("close", resolve));
	return { line };
}
