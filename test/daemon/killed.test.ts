// The daemon is killed at the worst moments: what a caller had seen stays seen, and
// what could not be ended is named.
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SocketClient } from "../../src/daemon/socket-client.ts";
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

test("S18: after a flood only what came after the last read is new", async () => {
	await using home = new Home();
	let client = await home.connect();
	await client.call("run", { command: "seq 1 1000000", shell: "main", program: "bash", clean: true, ...patient });
	await client.call("wait", { session: "main", ...patient });
	await client.call("read", { session: "main" });
	await client.type("main", Buffer.from("# later"));
	const other = { owner: "other", cwd: "/", env: {} };
	const [session] = (await client.call("list", {})).facts.sessions;
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
