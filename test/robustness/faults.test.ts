// What the system, a clock or a client does to us: after each no crash, nothing leaked, and other sessions untouched.
// docs/robustness.md says where the other classes are tested.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { listSegments } from "../../src/journal/segments.ts";
import { until } from "../condition.ts";
import { Client, cleanUp, exitFile, gone, launch } from "../holder/raw-holder.ts";
import { Conversation } from "./conversation.ts";
import { descriptorsOf, Stage } from "./stage.ts";

afterEach(async () => {
	vi.useRealTimers();
	await cleanUp();
});

test("R3.5 memory: a holder that gets no more goes on with what it has, and loses nothing", async () => {
	const session = await launch({ argv: ["sh", "-c", "read x; head -c 3000000 /dev/zero | tr '\\0' x; exit 5"] });
	const client = await Client.open(session.socket);
	const status = readFileSync(`/proc/${session.holder}/status`, "utf8");
	const bytes = Number(/VmSize:\s+(\d+)/.exec(status)![1]) * 1024;
	execFileSync("prlimit", ["--pid", String(session.holder), `--as=${bytes}`]);
	await client.type("\n");
	// A client that lags behind is let go of, for there is no room for what it has not taken: all of it is in the log.
	await gone(session.holder);
	expect(exitFile(session)).toMatchObject({ code: 5, lost: 0 });
	const log = Buffer.concat((await listSegments(session.dir)).map(({ path }) => readFileSync(path)));
	expect(log.subarray(log.indexOf("x")).toString()).toBe("x".repeat(3_000_000));
	// As much as it was sent is what is there.
	expect(log.subarray(0, client.output.length).equals(client.output)).toBe(true);
});

test.each([
	["a year ahead", 365],
	["a year back", -365],
])("R3.5 a clock that jumps %s ends, hides and delays nothing", async (_title, days) => {
	await using dialtone = await Dialtone.open({ options: { keepDays: 0 } });
	const { client } = dialtone;
	await client.call("start", { name: "done", argv: ["echo", "printed"] });
	await client.call("start", { name: "cat", argv: ["cat"] });
	vi.useFakeTimers({ toFake: ["Date"] });
	vi.setSystemTime(Date.now() + days * 86_400_000);
	const typed = await client.call("send", { session: "cat", text: "after", submit: true, until: { text: "after" } });
	expect(typed.facts).toMatchObject({ status: "running", matched: true });
	const waited = await client.call("wait", { session: "cat", until: { text: "never" }, timeoutMs: 50 });
	expect(waited.facts).toMatchObject({ returned: "timeout", status: "running" });
	expect((await client.call("start", { name: "new", argv: ["echo", "new"] })).facts.text).toBe("new");
	expect((await client.call("read", { session: "done" })).facts.text).toBe("printed");
	const { sessions } = (await client.call("list", {})).facts;
	expect(sessions.map(({ name, status }) => [name, status]).sort()).toEqual([
		["cat", "running"],
		["done", "succeeded"],
		["new", "succeeded"],
	]);
	expect((await client.call("close", { session: "cat" })).facts.status).toBe("cancelled");
});

/** Opened, and never read from. */
function silent(to: string | number, first: string): Promise<Socket> {
	const socket = typeof to === "string" ? connect(to) : connect(to, "127.0.0.1");
	socket.pause().on("error", () => {}); // it may be closed for its silence
	return new Promise((resolve) => socket.once("connect", () => socket.write(first, () => resolve(socket))));
}

test("R3.5 half-open connections and clients that read nothing hold up nobody, and are gone when they are", async () => {
	await using stage = await Stage.open();
	const client = await stage.connect();
	const honest = await Conversation.start(client, "bash");
	await honest.turn();
	await stage.idle();
	const before = descriptorsOf(stage.pid);
	const port = Number(new URL(stage.url).port);
	const { host } = new URL(stage.url);
	const flood = `${JSON.stringify({ id: 1, call: "list", input: {} })}\n`.repeat(1000);
	const sockets = await Promise.all(
		Array.from({ length: 40 }, (_, i) => [
			silent(stage.socketPath, ""), // half-open: nothing follows
			silent(stage.socketPath, '{"id":1,"ca'), // … or half a message
			silent(port, `GET /v1/sessions HTTP/1.1\r\nHost: ${host}\r\nX-${i}: `),
			...(i % 10 === 0 ? [silent(stage.socketPath, flood)] : []), // asks and asks, and reads no answer
		]).flat(),
	);
	onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
	for (let i = 0; i < 10; i++) await honest.turn();
	for (const socket of sockets) socket.destroy();
	await until("their descriptors are free again", () => descriptorsOf(stage.pid) <= before);
	await honest.turn();
	expect(stage.death).toBeNull();
	expect(stage.exceptions()).toEqual([]);
	await stage.idle();
	await client[Symbol.asyncDispose]();
});
