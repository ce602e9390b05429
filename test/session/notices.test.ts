// S13: what was lost or dropped is an event where it happens, and is told to each caller once, with its next answer.
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SocketClient } from "../../src/daemon/socket-client.ts";
import { until } from "../condition.ts";
import { Home, MAIN } from "../daemon/home.ts";
import { needing } from "../programs.ts";

const patient = { timeoutMs: 60_000 };

/** The events of a daemon, as they come. */
function listening(client: SocketClient) {
	const over = new AbortController();
	const events: object[] = [];
	const done = (async () => {
		for await (const event of client.events({ signal: over.signal })) events.push(event);
	})();
	const stop = async () => {
		over.abort();
		await done;
	};
	return { events, stop };
}

test("S13: input that an interrupt dropped is told once, to each caller", async () => {
	await using home = new Home();
	await using client = await home.connect();
	const { events, stop } = listening(client);
	const command = "trap 'echo interrupted' INT; echo up; while :; do sleep 1; done";
	await client.call("start", { name: "deaf", command, until: { text: "up", only: true }, ...patient });
	await client.call("send", { session: "deaf", text: "ahead\n", timeoutMs: 0 });
	const { facts, text } = await client.call("signal", { session: "deaf", timeoutMs: 100 });
	expect(facts.notices).toEqual([expect.stringMatching(/dropped 6 bytes of input/)]);
	expect(text).toContain("dropped 6 bytes of input");
	expect((await client.call("read", { session: "deaf" })).facts.notices).toBe(undefined);
	const caller = { owner: "another", cwd: "/", env: {} };
	const { facts: others } = await client.call("read", { session: facts.session }, { caller });
	expect(others.notices).toEqual([expect.stringMatching(/^this session belongs to /), facts.notices![0]]);
	await until("the event is there", () => events.some((event) => "bytes" in event));
	expect(events).toContainEqual(expect.objectContaining({ event: "input_dropped", name: "deaf", bytes: 6 }));
	await stop();
});

test("H4: input that waits because the program has gone over to lines is told, and the program is seen to wait", async () => {
	await using home = new Home();
	await using client = await home.connect();
	const command = "stty raw isig -echo; echo up; sleep 1; stty cooked; head -n1; echo over; read x";
	await client.call("start", { name: "sh", command, until: { text: "up", only: true }, ...patient });
	const { facts, text } = await client.call("send", { session: "sh", text: `${"x".repeat(12_000)}\n`, ...patient });
	expect(facts.notices).toEqual([
		expect.stringMatching(/^\d+ bytes of input are held back: the program reads whole lines/),
	]);
	expect(text).toContain("bytes of input are held back");
	expect(facts.waitingFor).not.toBe(null);
	const { facts: after } = await client.call("signal", { session: "sh", ...patient });
	expect(after.notices).toEqual([expect.stringMatching(/dropped \d+ bytes of input/)]);
});

test("S13: output that a full disk did not take is told once", needing("mounts"), async () => {
	await using home = new Home();
	const sessions = join(home.path, "sessions");
	mkdirSync(sessions, { mode: 0o700 });
	// The daemon is in a mount namespace of its own, in which its clients are not.
	writeFileSync(join(home.path, "policy.json"), '{ "elsewhere": "allow" }', { mode: 0o600 });
	const script = `mount -t tmpfs -o size=1m,mode=700 none ${sessions} && exec ${process.execPath} ${MAIN} daemon run`;
	const daemon = spawn("unshare", ["-m", "sh", "-c", script], { env: home.env, stdio: "ignore", detached: true });
	daemon.unref();
	await using client = await until("the daemon listens", () => home.find());
	const { events, stop } = listening(client);
	const command = "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo printed; read x";
	const { facts } = await client.call("start", { name: "full", command, ...patient });
	expect(facts.notices).toEqual([expect.stringMatching(/^\d+ bytes of output could not be written to disk/)]);
	expect((await client.call("read", { session: "full" })).facts.notices).toBe(undefined);
	expect(events).toContainEqual(expect.objectContaining({ event: "lost_output", name: "full" }));
	await stop();
});
