// Waiting as a caller meets it, with real programs: how long it takes and what it leaves behind.

import { afterAll, beforeAll, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { openSubscriptions } from "../../src/protocol/listeners.ts";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";

const REDRAWS = `import os, signal
signal.signal(signal.SIGWINCH, lambda *_: print(os.get_terminal_size()))
print("started")
while True: signal.pause()`;

let dialtone: Dialtone;
beforeAll(async () => {
	dialtone = await Dialtone.open();
});
afterAll(() => dialtone[Symbol.asyncDispose]());

test("S2: stillness counts from the beginning of the call, however long the session has been quiet", async () => {
	const quiet = await dialtone.start({
		command: "stty -echo; echo started; exec sleep 600",
		until: { text: "started" },
		timeoutMs: 60_000,
	});
	await quiet.wait({ until: { stillMs: 500 }, timeoutMs: 60_000 });
	const before = openSubscriptions();
	for (const call of [
		() => quiet.wait({ until: { stillMs: 500 }, timeoutMs: 60_000 }),
		() => quiet.send({ text: "x", until: { stillMs: 500 }, timeoutMs: 60_000 }),
	]) {
		const startedAt = performance.now();
		expect(await call()).toMatchObject({ returned: "still" });
		expect(performance.now() - startedAt).toBeGreaterThanOrEqual(499);
	}
	expect(openSubscriptions()).toBe(before);
	await quiet.close();
});

test("S2: resize answers after the program has redrawn", needing("python3"), async () => {
	const redraws = await dialtone.start({
		argv: ["python3", "-uc", REDRAWS],
		until: { text: "started", only: true },
		timeoutMs: 60_000,
	});
	await redraws.wait({ until: { stillMs: 100, only: true }, timeoutMs: 60_000 });
	const { text, elapsedMs } = await redraws.resize({ cols: 77, rows: 33 });
	expect(elapsedMs).toBeGreaterThanOrEqual(50);
	// A busy machine may take longer than that to run the handler.
	if (!text.includes("columns=77, lines=33"))
		await until("the new size is shown", async () =>
			(await redraws.wait({ timeoutMs: 50 })).text.includes("columns=77, lines=33"),
		);
	await redraws.close();
});

test("S2: waits of every kind that end at once leave no subscription behind", async () => {
	const program = await dialtone.start({ argv: ["cat"], timeoutMs: 60_000 });
	const before = openSubscriptions();
	for (const until of [{ gone: "not there" }, { stillMs: 1 }, { text: "x", stillMs: 1 }, {}]) {
		await program.wait({ until, timeoutMs: 60_000 });
	}
	await expect(program.wait({ until: { pattern: "(" } })).rejects.toMatchObject({ code: "bad_pattern" });
	await program.close();
	await program.wait({ until: { text: "x", port: 1, stillMs: 5 } });
	expect(openSubscriptions()).toBeLessThanOrEqual(before);
});
