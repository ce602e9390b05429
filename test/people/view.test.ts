// Watching a session: its screen, then its output from exactly there, whatever the watcher's speed.

import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { until } from "../condition.ts";
import { Watcher } from "./watcher.ts";

let dialtone: Dialtone;
beforeAll(async () => {
	dialtone = await Dialtone.open();
});
afterAll(() => dialtone[Symbol.asyncDispose]());

async function watch(session: string, { signal, pauseMs = 0 }: { signal: AbortSignal; pauseMs?: number }) {
	const watcher = new Watcher();
	const done = (async () => {
		for await (const chunk of dialtone.client.view(session, { signal })) {
			watcher.take(chunk);
			if (pauseMs > 0) await delay(pauseMs);
		}
	})();
	return { watcher, done };
}

test("R4.2 a watcher who joins in the middle sees the same rows, also after a resize, and the end", async () => {
	const session = "joined";
	const { client } = dialtone;
	await client.call("start", { name: session, argv: ["bash", "--norc"], env: { PS1: "$ " } });
	await client.call("send", { session, text: "seq 100", submit: true });
	const stop = new AbortController();
	const { watcher, done } = await watch(session, stop);
	const same = async (what: string) => {
		const { facts } = await client.call("read", { session, view: "screen" });
		await until(`${what}: the watcher sees ${facts.text}`, () => watcher.text === facts.text);
	};
	await same("joined");
	await client.call("send", { session, text: "printf '\\033[31mred\\033[0m\\n'; echo a b c", submit: true });
	await same("more");
	await client.call("resize", { session, cols: 60, rows: 12 });
	await same("resized");
	await client.call("send", { session, text: "seq 30", submit: true });
	await same("after it");
	expect([watcher.screen.cols, watcher.screen.rows, watcher.snapshots]).toEqual([60, 12, 1]);
	await client.call("send", { session, text: "exit 3", submit: true });
	await done;
	expect(watcher.end).toMatchObject({ ended: { exit: { code: 3 }, status: "failed" } });
});

test("R4.2 one that is slow is shown the screen of now, not all of a flood, and what it shows in the end is right", async () => {
	const session = "flood";
	const { client } = dialtone;
	await client.call("start", {
		name: session,
		argv: ["bash", "-c", "read; head -c 30000000 /dev/zero | tr '\\0' x | fold -w 70; echo the end; read"],
	});
	const stop = new AbortController();
	const { watcher, done } = await watch(session, { signal: stop.signal, pauseMs: 20 });
	await client.call("send", { session, submit: true, until: { text: "the end" }, timeoutMs: 60_000 });
	await until("the slow one sees the end", () => watcher.text.includes("the end"));
	expect(watcher.bytes).toBeLessThan(20_000_000); // of 30; how far behind it is depends on the machine
	expect(watcher.snapshots).toBeGreaterThan(1);
	stop.abort();
	await done;
	await client.call("close", { session, force: true });
});
