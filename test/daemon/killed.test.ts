// The daemon is killed at the worst moments: what a caller had seen stays seen, and
// what could not be ended is named.
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SocketClient } from "../../src/daemon/socket-client.ts";
import type { Fault } from "../../src/protocol/fault.ts";
import { until } from "../condition.ts";
import { Home } from "./home.ts";

const patient = { timeoutMs: 60_000 };

async function kill(client: SocketClient): Promise<void> {
	process.kill((await client.status()).pid, "SIGKILL");
	await until("the connection is lost", () => client.lost);
}

const holderOf = async (client: SocketClient, name: string): Promise<number> => {
	const { facts } = await client.call("list", {});
	const pid = facts.sessions.find((listed) => listed.name === name)?.pid;
	return Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1]);
};

test("S18: right after an answer nothing of it is new again", async () => {
	await using home = new Home();
	let client = await home.connect();
	await client.call("start", { name: "cat", argv: ["cat"], ...patient });
	for (const word of ["one", "two"]) {
		const { facts } = await client.call("send", { session: "cat", text: word, submit: true, ...patient });
		expect(facts.text).toContain(word);
		await kill(client);
		client = await home.connect();
		expect((await client.call("read", { session: "cat" })).facts).toMatchObject({ text: "", status: "running" });
	}
	await client[Symbol.asyncDispose]();
});

test("R4.11: the next daemon knows when a program last printed, and since when nobody has called", async () => {
	await using home = new Home();
	let client = await home.connect();
	const { facts } = await client.call("start", { name: "cat", argv: ["bash", "-c", "echo printed; cat"], ...patient });
	const calledBy = Date.now();
	await kill(client);
	client = await home.connect();
	await client.call("read", { session: "cat" }); // it is adopted
	const [listed] = (await client.call("list", {})).facts.sessions;
	expect(listed).toMatchObject({ session: facts.session, status: "running" });
	expect(listed!.updatedAt).toBeLessThanOrEqual(calledBy);
	await client[Symbol.asyncDispose]();
});

test("S18: after a flood only what came after the last read is new", async () => {
	await using home = new Home();
	let client = await home.connect();
	await client.call("run", { command: "seq 1 1000000", shell: "main", program: "bash", clean: true, ...patient });
	await client.call("wait", { session: "main", ...patient });
	await client.call("read", { session: "main" });
	const [session] = (await client.call("list", {})).facts.sessions;
	// By another: its echo is new to this one.
	const typed = { session: session!.session, text: "# later", timeoutMs: 0 };
	await client.call("send", typed, { caller: { owner: "typist", cwd: "/", env: {} } });
	const other = { owner: "other", cwd: "/", env: {} };
	const later = { session: session!.session, until: { text: "# later" }, ...patient };
	await client.call("wait", later, { caller: other });
	await kill(client);
	// A saved screen numbers its lines as before; without one they have to be found again.
	rmSync(join(home.path, "sessions", session!.session, "keyframe.json"), { force: true });
	client = await home.connect();
	const { facts } = await client.call("read", { session: "main" });
	expect(facts.text).toContain("# later");
	expect(facts.text.split("\n").length).toBeLessThan(5);
	await client[Symbol.asyncDispose]();
});

test("S18: after a flood the first read waits for the replay, and all of it was seen", async () => {
	await using home = new Home();
	let client = await home.connect();
	const last = 1_000_000;
	await client.call("run", { command: `seq 1 ${last}`, shell: "main", program: "bash", clean: true, ...patient });
	const before = (await client.call("read", { session: "main", view: "lines", lines: 5 })).facts;
	await client.call("read", { session: "main" });
	await kill(client);
	client = await home.connect();
	expect((await client.call("read", { session: "main" })).facts).toMatchObject({ text: "", waitingFor: "command" });
	const after = (await client.call("read", { session: "main", view: "lines", lines: 5 })).facts;
	expect(after.text).toBe(before.text);
	expect(after.text).toContain(`\n${last}\n`);
	await client[Symbol.asyncDispose]();
});

test("S18 S3: a read while the holder is stopped forgets nothing that was seen", async () => {
	await using home = new Home();
	let client = await home.connect();
	await client.call("start", { name: "cat", argv: ["cat"], ...patient });
	await client.call("send", { session: "cat", text: "old", submit: true, ...patient });
	const holder = await holderOf(client, "cat");
	process.kill(holder, "SIGSTOP");
	try {
		await kill(client);
		client = await home.connect();
		expect((await client.call("read", { session: "cat" })).facts).toMatchObject({ activity: "unresponsive" });
	} finally {
		process.kill(holder, "SIGCONT");
	}
	await until("it answers", async () => {
		const { facts } = await client.call("list", {});
		return facts.sessions.every(({ activity }) => activity === "waiting");
	});
	expect((await client.call("read", { session: "cat" })).facts.text).toBe("");
	await client[Symbol.asyncDispose]();
});

test("S3: the calls of a new daemon on a stopped holder are answered from the log, or refused, within 2.5 s each", async () => {
	await using home = new Home();
	let client = await home.connect();
	await client.call("start", { name: "cat", argv: ["cat"], ...patient });
	await client.call("send", { session: "cat", text: "old", submit: true, ...patient });
	const holder = await holderOf(client, "cat");
	process.kill(holder, "SIGSTOP");
	try {
		await kill(client);
		client = await home.connect();
		const session = "cat";
		const timed = async (call: () => Promise<{ facts: { text: string } }>) => {
			const before = performance.now();
			const text = await call().then(
				({ facts }) => facts.text,
				(error: Fault) => error.code,
			);
			return { text, inTime: performance.now() - before < 2500 };
		};
		const screen = () => client.call("read", { session, view: "screen" });
		expect(await timed(screen)).toEqual({ text: "old\nold", inTime: true });
		expect(await timed(() => client.call("read", { session, view: "lines" }))).toMatchObject({ inTime: true });
		expect(await timed(() => client.call("read", { session }))).toMatchObject({ inTime: true });
		expect(await timed(() => client.call("wait", { session, ...patient }))).toMatchObject({ inTime: true });
		expect(await timed(() => client.call("send", { session, text: "x" }))).toEqual({
			text: "unresponsive",
			inTime: true,
		});
		expect(await timed(screen)).toEqual({ text: "old\nold", inTime: true });
	} finally {
		process.kill(holder, "SIGCONT");
	}
	await until("it answers", async () => {
		const { facts } = await client.call("list", {});
		return facts.sessions.every(({ activity }) => activity === "waiting");
	});
	await client.call("send", { session: "cat", text: "more", submit: true, ...patient });
	const { facts } = await client.call("read", { session: "cat", view: "screen" });
	expect(facts.text).toBe("old\nold\nmore\nmore");
	await client[Symbol.asyncDispose]();
});

test("S2: a wait for a person who was asked goes on under the next daemon, until they have entered something", async () => {
	await using home = new Home();
	let client = await home.connect();
	const session = "su";
	const command = "until [ \"$x\" = right ]; do read -rsp 'Password: ' x; echo; done";
	await client.call("start", { name: session, argv: ["bash", "-c", command], ...patient });
	await client.call("ask_human", { session, question: "Type the password" });
	for (const typed of ["wr", "ong"]) {
		await kill(client);
		client = await home.connect();
		const none = await client.call("wait", { session, timeoutMs: 1000 });
		expect(none.facts).toMatchObject({ returned: "timeout", waitingFor: "secret" });
		expect(none.text).toContain("nobody has entered anything since the person was asked");
		await client.call("send", { session, text: typed, timeoutMs: 0 });
	}
	const waiting = client.call("wait", { session, ...patient });
	await client.call("send", { session, submit: true, timeoutMs: 0 });
	expect((await waiting).facts).toMatchObject({ returned: "waiting", waitingFor: "secret" });
	// It was answered, and is not asked again by the next daemon.
	await kill(client);
	client = await home.connect();
	expect((await client.call("wait", { session, ...patient })).facts).toMatchObject({ returned: "waiting" });
	await client[Symbol.asyncDispose]();
});

test("a shell that a killed daemon had held, to stop its command, goes on under the next one", async () => {
	await using home = new Home();
	let client = await home.connect();
	await client.call("run", { command: "true", shell: "main", program: "bash", clean: true, ...patient });
	const pid = (await client.call("list", {})).facts.sessions.find(({ name }) => name === "main")!.pid!;
	process.kill(pid, "SIGSTOP"); // as `run` does for a moment at a timeout
	await kill(client);
	client = await home.connect();
	const { facts } = await client.call("run", { command: "echo on", shell: "main", ...patient });
	expect(facts).toMatchObject({ exitCode: 0, text: "on\n" });
	await client[Symbol.asyncDispose]();
});

test("S3: stopping with the sessions names the one that could not be ended", async () => {
	await using home = new Home();
	const client = await home.connect();
	await client.call("start", { name: "stuck", argv: ["cat"], ...patient });
	await client.call("start", { name: "other", argv: ["cat"], ...patient });
	const holder = await holderOf(client, "stuck");
	process.kill(holder, "SIGSTOP");
	try {
		const { stdout } = await home.cli("daemon", "stop", "--sessions");
		expect(stdout).toContain("stuck");
		expect(stdout).not.toContain("other");
	} finally {
		process.kill(holder, "SIGCONT");
	}
});

test("S12: what was left in the background of an ended session can be removed with it after a kill", async () => {
	await using home = new Home();
	let client = await home.connect();
	await client.call("start", { name: "leak", argv: ["bash", "-c", "setsid sleep 5551 & read x"], ...patient });
	await client.call("send", { session: "leak", text: "go", submit: true, ...patient });
	await kill(client);
	client = await home.connect();
	await client.call("close", { session: "leak", forget: true });
	expect((await client.call("list", {})).facts.sessions).toEqual([]);
	await client[Symbol.asyncDispose]();
});

test("T1: a command that was to be stopped at its timeout is stopped by the next daemon, also when its time was over before", async () => {
	await using home = new Home();
	for (const [shell, timeoutMs, isLate] of [
		["soon", 15_000, false],
		["late", 3000, true],
	] as const) {
		let client = await home.connect();
		const how = { shell, program: "bash", clean: true } as const;
		await client.call("run", { command: "true", ...how, ...patient });
		const startedAt = Date.now();
		const call = client.call("run", { command: "echo begun; sleep 600", ...how, timeoutMs }).catch(() => null);
		await client.call("wait", { session: shell, until: { text: "begun" }, ...patient });
		await kill(client);
		await call;
		if (isLate) await until("its time is over", () => Date.now() > startedAt + timeoutMs);
		client = await home.connect();
		const { facts, text } = await client.call("wait", { session: shell, ...patient });
		expect(facts).toMatchObject({ waitingFor: "command", lastCommand: { exitCode: 130 } });
		expect(text).toContain("timed out and was stopped");
		expect(Date.now() - startedAt).toBeGreaterThanOrEqual(timeoutMs);
		await client[Symbol.asyncDispose]();
	}
});

test("T1: a command that may go on after its timeout is left to run by the next daemon", async () => {
	await using home = new Home();
	let client = await home.connect();
	const how = { program: "bash", clean: true, onTimeout: "leave", timeoutMs: 500 } as const;
	await client.call("run", { command: "echo begun; read x; echo got $x", ...how });
	await kill(client);
	client = await home.connect();
	const { facts } = await client.call("send", { session: "main", text: "it", submit: true, ...patient });
	expect(facts.text).toContain("got it");
	await client[Symbol.asyncDispose]();
});
