// A flood that nobody attends gives way to other sessions, and does not once somebody does.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SocketClient } from "../../src/daemon/socket-client.ts";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";
import { Home } from "./home.ts";

const niceOf = (pid: number) => Number(/nice (-?\d+)/.exec(readFileSync(`/proc/${pid}/autogroup`, "utf8"))?.[1]);

/** Prints without end while the file is there. */
async function flood(home: Home, client: SocketClient) {
	const file = join(home.path, "go");
	writeFileSync(file, "");
	const print = `while :; do while [ -e ${file} ]; do seq 1 20000; done; sleep 0.1; done`;
	await client.call("start", { name: "flood", argv: ["bash", "-c", print], timeoutMs: 0 });
	const [listed] = (await client.call("list", {})).facts.sessions;
	const pid = Number(listed?.pid);
	return {
		stop: () => rmSync(file),
		becomes: (nice: number) => until(`its group is ${nice}`, () => niceOf(pid) === nice),
	};
}

test("while held back; not while somebody waits on it, nor when it prints no more", needing("autogroups"), async () => {
	await using home = new Home();
	await using client = await home.connect();
	const { becomes, stop } = await flood(home, client);
	await becomes(5);
	const never = { session: "flood", until: { text: "never printed", only: true }, timeoutMs: 60_000 };
	const stopWaiting = new AbortController();
	const waits = client.call("wait", never, { signal: stopWaiting.signal }).catch(() => {}); // given up below
	await becomes(0);
	stopWaiting.abort();
	await waits;
	await becomes(5);
	stop();
	await becomes(0);
});

test("not after its daemon was killed; with the next one it does again", needing("autogroups"), async () => {
	await using home = new Home();
	const first = await home.connect();
	const { becomes } = await flood(home, first);
	await becomes(5);
	process.kill((await first.status()).pid, "SIGKILL");
	await becomes(0);
	await using next = await home.connect();
	await next.call("list", {});
	await becomes(5);
	expect((await next.call("send", { session: "flood", keys: ["Enter"], timeoutMs: 0 })).facts.status).toBe("running");
	await becomes(0);
	await first[Symbol.asyncDispose]();
});
