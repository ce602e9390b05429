// A file system that has stopped answering, under a process that the holder looks at or under its own log:
// clients are answered, what is typed arrives, the session can be ended, and nothing is lost.

import { spawn, spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { HolderPty } from "../../src/pty/holder-pty.ts";
import { asFault } from "../../src/session/terminal-faults.ts";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";
import { compiled } from "../pty/stage.ts";
import { MirrorMount } from "./mirror-mount.ts";
import { Client, cleanUp, exitFile, launch, lives, SLOWED, sessionDirectory } from "./raw-holder.ts";

afterEach(cleanUp);

const mounted = needing("file systems", "fusermount3", "/usr/include/fuse3/fuse.h");

/** Far above what an answer takes on a busy machine, far below for ever. */
const ANSWER_MS = 15_000;
/** A look has a second; the rest is for a busy machine. */
const LOOK_MS = 5_000;

async function within<T>(ms: number, what: string, answer: Promise<T>): Promise<T> {
	let timer: NodeJS.Timeout | undefined;
	const late = new Promise<never>((_, reject) => {
		timer = setTimeout(() => reject(new Error(`${what}: no answer within ${ms} ms`)), ms);
	});
	try {
		return await Promise.race([answer, late]);
	} finally {
		clearTimeout(timer);
	}
}

/** The file's first byte has been asked for once, so that the file system has said all it says at a first use. */
function warm(path: string): void {
	writeFileSync(path, "x".repeat(100));
	closeSync(openSync(path, "r"));
}

/** Everything a client may ask of a session whose looks are stuck, and its end. */
async function staysAlive(session: { socket: string; holder: number }, client: Client): Promise<void> {
	for (let i = 0; i < 3; i++) {
		const facts = await within(LOOK_MS, "FACTS", client.facts());
		expect(facts).toMatchObject({ offset: client.cursor, queued: 0 });
	}
	expect(await within(ANSWER_MS, "INPUT", client.type("x"))).toEqual({ done: 1 });
	expect(await within(ANSWER_MS, "RESIZE", client.resize(100, 30))).toEqual({ done: 0 });
	const other = await within(ANSWER_MS, "HELLO", Client.open(session.socket, { owner: false }));
	expect(other.welcome).toMatchObject({ cols: 100, inputOffset: 1 });
	await within(ANSWER_MS, "WATCH", client.watch(true));
	await within(
		ANSWER_MS,
		"facts pushed",
		client.until(() => client.pushed.length > 0),
	);
	process.kill(session.holder, "SIGTERM");
	await within(
		ANSWER_MS,
		"TERM",
		client.until(() => client.exit?.closed === true),
	);
	expect(client.exit).toMatchObject({ reason: "end", survivors: [] });
	other.close();
	client.close();
	// Its process may sleep in the file system for as long as that sleeps; all that others can see of it is gone.
	await within(
		ANSWER_MS,
		"the holder leaves",
		until("its socket is gone", () => !existsSync(session.socket)),
	);
}

describe("H1 a file system that stopped answering does not stop the holder", () => {
	test("when the program that reads the terminal has a file of it open", mounted, async () => {
		await using mount = await MirrorMount.open();
		warm(join(mount.path, "file"));
		const session = await launch({
			argv: ["bash", "-c", 'exec 5<"$0"; echo ready; read -rn 5 x', join(mount.path, "file")],
		});
		const client = await Client.open(session.socket);
		await client.until(() => client.text.includes("ready\r\n"));
		await mount.stop();
		await staysAlive(session, client);
	});

	test("when an unrelated process of the same user has", mounted, async () => {
		await using mount = await MirrorMount.open();
		warm(join(mount.path, "file"));
		const file = openSync(join(mount.path, "file"), "r");
		const unrelated = spawn("sleep", ["600"], { detached: true, stdio: [file, "ignore", "ignore"] });
		closeSync(file);
		try {
			// No reader and raw mode: it may be a server outside that reads, so all processes are searched.
			const session = await launch({ argv: ["bash", "-c", "stty raw -echo; exec sleep 600"] });
			const client = await Client.open(session.socket);
			await until("it sleeps", () => readFileSync(`/proc/${session.pid}/stat`, "utf8").includes("(sleep) S"));
			await mount.stop();
			expect(await within(LOOK_MS, "FACTS", client.facts())).toMatchObject({ canonical: false });
			await staysAlive(session, client);
		} finally {
			unrelated.kill("SIGKILL");
		}
	});

	test("when the set of descriptors that a thread polls is in a file of it", mounted, async () => {
		await using mount = await MirrorMount.open();
		warm(join(mount.path, "file"));
		const session = await launch({ argv: [compiled("poll-on-file", "-pthread"), join(mount.path, "file")] });
		const client = await Client.open(session.socket);
		await client.until(() => client.text.includes("not in memory"));
		await mount.stop();
		expect(await within(LOOK_MS, "FACTS", client.facts())).toMatchObject({ late: true, readable: false, threads: [] });
		await staysAlive(session, client);
	});

	test("when a program is inside execve and waits for it", mounted, async () => {
		await using mount = await MirrorMount.open({ flushes: true });
		warm(join(mount.path, "file"));
		const session = await launch({ argv: [compiled("exec-on-file"), join(mount.path, "file")] });
		const client = await Client.open(session.socket);
		await client.until(() => client.text.includes("ready"));
		await client.facts();
		await mount.stop();
		process.kill(session.pid, "SIGUSR1");
		const heldUp = () => spawnSync("cat", [`/proc/${session.pid}/stat`], { timeout: 500 }).signal !== null;
		await until("it waits inside execve", heldUp);
		expect(await within(ANSWER_MS, "INPUT", client.type("one\n"))).toEqual({ done: 4 });
		expect(await within(ANSWER_MS, "RESIZE", client.resize(100, 30))).toEqual({ done: 0 });
		expect(await within(LOOK_MS, "FACTS", client.facts())).toMatchObject({ late: true, readable: false });
		expect(await within(ANSWER_MS, "INPUT", client.type("two\n"))).toEqual({ done: 8 });
		await within(ANSWER_MS, "HELLO", Client.open(session.socket, { owner: false }));
		mount.continue();
		// Twice each, by the terminal and by the program; which comes first is up to the kernel.
		const times = (word: string) => client.text.split(`${word}\r\n`).length - 1;
		await client.until(() => times("one") === 2 && times("two") === 2);
	});

	const withPeer = needing("file systems", "fusermount3", "/usr/include/fuse3/fuse.h", "python3");

	/** A program inside execve that waits for the mount, below it one that prints, and one that connects when it is told to. */
	async function insideExecve(mount: MirrorMount) {
		warm(join(mount.path, "file"));
		const socket = join(sessionDirectory(), "s");
		const connects = `import socket, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
print("waiting", flush=True)
signal.sigwait([signal.SIGUSR2])
s = socket.socket(socket.AF_UNIX)
s.connect("${socket}")
print("refused" if s.recv(1) else "closed", flush=True)`;
		const session = await launch({
			argv: [
				"bash",
				"-c",
				'while :; do echo tick; sleep 0.1; done & python3 -c "$2" & echo "peer $!."; exec "$0" "$1"',
				compiled("exec-on-file"),
				join(mount.path, "file"),
				connects,
			],
			socket,
		});
		const client = await Client.open(session.socket);
		await client.until(() => client.text.includes("ready") && client.text.includes("waiting"));
		await client.facts();
		const peer = Number(/peer (\d+)\./.exec(client.text)?.[1]);
		await mount.stop();
		process.kill(session.pid, "SIGUSR1");
		const heldUp = () => spawnSync("cat", [`/proc/${session.pid}/stat`], { timeout: 500 }).signal !== null;
		await until("it waits inside execve", heldUp);
		return { session, client, peer };
	}
	const ticks = (client: Client) => client.text.split("tick").length;

	test("when a program inside execve has input waiting, and a process below it connects", withPeer, async () => {
		await using mount = await MirrorMount.open({ flushes: true });
		const { session, client, peer } = await insideExecve(mount);
		const lines = Array.from({ length: 200 }, (_, i) => `line ${i}\n`).join("");
		expect(await within(LOOK_MS, "INPUT", client.type(lines))).toEqual({ done: lines.length });
		process.kill(peer, "SIGUSR2");
		await within(
			LOOK_MS,
			"the process below is refused",
			client.until(() => /refused|closed/.test(client.text)),
		);
		const seen = ticks(client);
		await within(
			LOOK_MS,
			"output",
			client.until(() => ticks(client) > seen + 5),
		);
		await within(LOOK_MS, "HELLO", Client.open(session.socket, { owner: false }));
		expect(await within(LOOK_MS, "FACTS", client.facts())).toMatchObject({ late: true });
		mount.continue();
		await client.until(() => client.text.includes("line 199\r\n"));
	});

	test("when a session is ended whose program is inside execve", withPeer, async () => {
		await using mount = await MirrorMount.open({ flushes: true });
		const { session, client } = await insideExecve(mount);
		const ended = client.end(500);
		await within(LOOK_MS, "HELLO", Client.open(session.socket, { owner: false }));
		// Not even KILL reaches it there: END says so, and the rest of the session has ended.
		expect(await within(ANSWER_MS, "END", ended)).toEqual({ done: 1 });
		const survivors = client.events.find((event) => event.event === "survivors")?.survivors;
		expect(survivors).toEqual([{ pid: session.pid, command: "exec-on-file" }]);
		mount.continue();
		expect(await within(ANSWER_MS, "EXIT", client.exited())).toMatchObject({ reason: "end", survivors: [] });
	});

	test("and looks go on when it answers again, with one thread less", mounted, async () => {
		await using mount = await MirrorMount.open();
		warm(join(mount.path, "file"));
		const session = await launch({ argv: [compiled("poll-on-file", "-pthread"), join(mount.path, "file")] });
		const client = await Client.open(session.socket);
		await client.until(() => client.text.includes("not in memory"));
		await mount.stop();
		const asked = await Promise.all(Array.from({ length: 40 }, () => within(LOOK_MS, "FACTS", client.facts())));
		expect(asked.every((facts) => facts.late === true)).toBe(true);
		const threads = () => readdirSync(`/proc/${session.holder}/task`).length;
		expect(threads()).toBeLessThanOrEqual(SLOWED ? 4 : 3); // one sleeps, one runs the loop, one stands by (a sanitizer has its own)
		await client.watch(true);
		await within(
			LOOK_MS,
			"late facts are pushed",
			client.until(() => client.pushed.some((facts) => facts.late)),
		);
		mount.continue();
		await within(
			ANSWER_MS,
			"facts are pushed again",
			client.until(() => client.pushed.some((facts) => !facts.late && facts.readable)),
		);
		await client.watch(false);
		await until("the standby thread has ended", () => threads() <= (SLOWED ? 3 : 2));
	});
});

describe("H12 a disk that stopped answering does not stop the session", () => {
	/** A session whose directory is on the mount, and whose socket is not. */
	async function onMount(mount: MirrorMount, argv: string[]) {
		const session = await launch({ argv, dir: mount.path, socket: join(sessionDirectory(), "s") });
		expect(session.ok).toBe(true);
		return session;
	}
	const logOf = (mount: MirrorMount): string =>
		readdirSync(mount.behind)
			.filter((name) => name.startsWith("out."))
			.sort()
			.map((name) => readFileSync(join(mount.behind, name), "latin1"))
			.join("");

	test(
		"input, looks and a new client go on; no client sees what is not on disk; nothing is lost",
		mounted,
		async () => {
			await using mount = await MirrorMount.open();
			const session = await onMount(mount, ["bash", "-c", 'while read -r x; do echo "got $x"; done']);
			const client = await Client.open(session.socket);
			await client.type("before\n");
			await client.until(() => client.text.includes("got before\r\n"));
			const seen = client.cursor;
			await mount.stop();
			for (let i = 0; i < 20; i++) await within(ANSWER_MS, "INPUT", client.type(`line ${i}\n`));
			const other = await within(ANSWER_MS, "HELLO", Client.open(session.socket, { owner: false }));
			expect(other.welcome.size).toBe(seen);
			// The program has read it all, while the disk has taken none of what it wrote.
			const facts = async () => within(LOOK_MS, "FACTS", client.facts());
			await until("the program has read all lines", async () => {
				const { unread, queued, threads } = await facts();
				return unread === 0 && queued === 0 && threads.some((thread: { doing: string }) => thread.doing === "tty-read");
			});
			expect((await facts()).offset).toBeGreaterThan(seen);
			await client.until(() => client.events.some((event) => event.event === "disk_stalled"));
			expect(client.cursor).toBe(seen);
			expect(other.cursor).toBeLessThanOrEqual(seen);
			mount.continue();
			await client.until(() => client.text.includes("got line 19\r\n"));
			await other.until(() => other.text.includes("got line 19\r\n"));
			expect(client.events.map((event) => event.event)).toEqual(["disk_stalled", "disk_back"]);
			expect(client.gaps).toEqual([]);
			for (let i = 0; i < 20; i++) expect(client.text).toContain(`got line ${i}\r\n`);
			expect(logOf(mount)).toBe(client.text);
			expect(other.text).toBe(client.text);
		},
	);

	test(
		"a flood waits: the holder keeps a bounded part, the program waits for the rest, nothing is lost",
		mounted,
		async () => {
			await using mount = await MirrorMount.open();
			const count = 6_000_000;
			const session = await onMount(mount, ["bash", "-c", `stty -echo; exec "$0" ${count} 7`, compiled("burst")]);
			const client = await Client.open(session.socket);
			await client.until(() => client.bytes > 500_000);
			await mount.stop();
			const offset = async () => (await within(LOOK_MS, "FACTS", client.facts())).offset as number;
			let last = -1;
			await until("no more is read from the terminal", async () => {
				const before = last;
				last = await offset();
				return last === before && client.events.some((event) => event.event === "disk_stalled");
			});
			expect(last).toBeLessThan(count);
			const { welcome } = await within(ANSWER_MS, "HELLO", Client.open(session.socket, { owner: false }));
			expect(last - welcome.size).toBeGreaterThan(900_000);
			expect(last - welcome.size).toBeLessThan((1 << 20) + (1 << 17));
			await within(ANSWER_MS, "INPUT", client.type("x"));
			mount.continue();
			expect(await client.exited()).toMatchObject({ code: 7, size: count, lost: 0 });
			expect(client.bytes).toBe(count);
			expect(client.gaps).toEqual([]);
			expect(logOf(mount).length).toBe(count);
		},
	);

	test("END is answered, and the exit is told and on disk when the disk answers again", mounted, async () => {
		await using mount = await MirrorMount.open();
		const session = await onMount(mount, [
			"bash",
			"-c",
			"trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.1; done",
		]);
		const client = await Client.open(session.socket);
		await client.until(() => client.text.includes("ready\r\n"));
		await mount.stop();
		expect(await within(ANSWER_MS, "END", client.end(10_000))).toEqual({ done: 0, unsaved: true });
		expect(lives(session.pid)).toBe(false);
		expect(client.exit).toBe(null);
		// A machine that shuts down says TERM to the holder, too.
		process.kill(session.holder, "SIGTERM");
		expect((await within(ANSWER_MS, "HELLO", Client.open(session.socket, { owner: false }))).welcome.exit).toBe(null);
		mount.continue();
		expect(await client.exited()).toMatchObject({ code: 3, reason: "end", lost: 0, survivors: [] });
		expect(client.text).toContain("bye\r\n");
		expect(exitFile({ dir: mount.behind })).toEqual(client.exit);
		expect(logOf(mount)).toBe(client.text);
	});

	test(
		"a close is answered, says that the exit is not known yet, and gets it when the disk answers",
		mounted,
		async () => {
			await using mount = await MirrorMount.open();
			const session = await onMount(mount, [
				"bash",
				"-c",
				"trap 'exit 3' TERM; echo ready; while :; do sleep 0.1; done",
			]);
			const parts = { directory: mount.path, socketPath: session.socket, epoch: 1n, secret: null, from: 0 };
			await using pty = new HolderPty(parts);
			let text = "";
			pty.onOutput((chunk) => {
				if ("bytes" in chunk) text += Buffer.from(chunk.bytes).toString();
			});
			expect(await pty.connect()).toBe(true);
			await until("the program is ready", () => text.includes("ready"));
			await mount.stop();
			const refusal = await within(
				ANSWER_MS,
				"end",
				pty.end(10_000).then(
					() => null,
					(error: unknown) => asFault(error, { name: "one", id: "0one", status: "running", howItEnded: "" }),
				),
			);
			expect(refusal).toMatchObject({
				code: "disk_stalled",
				message: expect.stringContaining("Everything in session"),
			});
			expect(lives(session.pid)).toBe(false);
			expect(pty.exit).toBe(null);
			mount.continue();
			expect(await within(ANSWER_MS, "the exit", pty.closed)).toMatchObject({ code: 3, reason: "end", survivors: [] });
		},
	);

	test("a client that reads older output from it waits alone", mounted, async () => {
		await using mount = await MirrorMount.open();
		const session = await onMount(mount, ["bash", "-c", '"$0" 3000000; exec cat', compiled("burst")]);
		const client = await Client.open(session.socket);
		await client.until(() => client.bytes >= 3_000_000);
		await mount.stop();
		const reader = await within(ANSWER_MS, "HELLO", Client.open(session.socket, { owner: false }));
		await within(ANSWER_MS, "INPUT", client.type("x"));
		await within(ANSWER_MS, "RESIZE", client.resize(90, 30));
		await within(LOOK_MS, "FACTS", client.facts());
		mount.continue();
		await reader.until(() => reader.bytes >= 3_000_000);
		expect(reader.gaps).toEqual([]);
	});
});
