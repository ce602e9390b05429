// Waiting as a caller meets it, with real programs: how long it takes and what it leaves behind.

import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { openSubscriptions } from "../../src/protocol/listeners.ts";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";
import { leavesNoSubscription } from "./leaks.ts";

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
	const calls = [
		() => quiet.wait({ until: { stillMs: 500 }, timeoutMs: 60_000 }),
		() => quiet.send({ text: "x", until: { stillMs: 500 }, timeoutMs: 60_000 }),
	];
	await leavesNoSubscription(async () => {
		for (const call of calls) {
			const startedAt = performance.now();
			expect(await call()).toMatchObject({ returned: "still" });
			expect(performance.now() - startedAt).toBeGreaterThanOrEqual(499);
		}
	});
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
	await leavesNoSubscription(async () => {
		for (const until of [{ gone: "not there", stillMs: 1 }, { stillMs: 1 }, { text: "x", stillMs: 1 }, {}]) {
			await program.wait({ until, timeoutMs: 60_000 });
		}
		await expect(program.wait({ until: { pattern: "(" } })).rejects.toMatchObject({ code: "bad_pattern" });
	});
	await program.close();
	await leavesNoSubscription(() => program.wait({ until: { text: "x", port: 1, stillMs: 5 } }));
});

test("T4: a server at rest does not end a wait for something else", needing("python3"), async () => {
	const server = await dialtone.start({
		command: "python3 -um http.server 0 --bind 127.0.0.1",
		until: { text: "Serving HTTP" },
		timeoutMs: 60_000,
	});
	expect(await server.wait({ timeoutMs: 60_000 })).toMatchObject({ activity: "serving", returned: "still" });
	const waiting = server.wait({ until: { text: "/no-such-page" }, timeoutMs: 60_000 });
	const [port] = server.facts.ports;
	await (await fetch(`http://127.0.0.1:${port}/no-such-page`, { headers: { connection: "close" } })).arrayBuffer();
	expect(await waiting).toMatchObject({ returned: "matched", matched: true });
	await server.close();
});

test("T4: a prompt that was there before does not end a wait; the answer says that nothing matched", async () => {
	const program = await dialtone.start({
		command: "printf 'Name? '; read name; echo done; read rest",
		timeoutMs: 60_000,
	});
	expect(await program.read()).toMatchObject({ activity: "waiting", matched: null });
	const waited = await program.wait({ until: { text: "done" }, timeoutMs: 300 });
	expect(waited).toMatchObject({ returned: "timeout", matched: false, activity: "waiting" });
	const ends = program.wait({ until: { text: "never" }, timeoutMs: 60_000 });
	const sent = await program.send({ text: "Ada", submit: true, until: { text: "done" }, timeoutMs: 60_000 });
	expect(sent).toMatchObject({ matched: true });
	await program.close();
	expect(await ends).toMatchObject({ returned: "ended", matched: false });
});

test("T4: `send` with a condition returns when the program asks again", async () => {
	const program = await dialtone.start({ command: 'for q in a b; do read -p "$q? " x; done', timeoutMs: 60_000 });
	const sent = await program.send({ text: "1", submit: true, until: { text: "never" }, timeoutMs: 60_000 });
	expect(sent).toMatchObject({ returned: "waiting", matched: false, waitingFor: "line" });
	await program.close();
});

test("T10: a pattern that proves slow once something was typed is no fault, and the answer says so", async () => {
	const cat = await dialtone.start({ command: "cat", name: "slow", timeoutMs: 60_000 });
	const answer = await dialtone.client.call<string>("send", {
		session: "slow",
		text: `${"a".repeat(60)}!`,
		submit: true,
		until: { pattern: "(a+)+$" },
		timeoutMs: 60_000,
	});
	expect(answer.facts).toMatchObject({ matched: false, returned: "still" });
	expect(answer.text).toMatch(/^\[slow\] not matched: /);
	expect(answer.text).toContain("took longer than 50 ms");
	await expect(cat.wait({ until: { pattern: "(a+)+$" }, from: 0, timeoutMs: 60_000 })).rejects.toMatchObject({
		code: "bad_pattern",
	});
	await cat.close({ force: true });
});

test("T10: a start that uses a running session says so where that runs something else", async () => {
	const start = async (command: string) =>
		(await dialtone.client.call("start", { command, name: "used", ifExists: "use", timeoutMs: 60_000 })).text;
	for (const command of ["cat", "cat"]) expect(await start(command)).not.toContain("nothing was started");
	expect(await start("sleep 600")).toContain('nothing was started: this runs "cat"');
	await dialtone.client.call("close", { session: "used", force: true });
});

test("T5: a text is gone when it was there", async () => {
	const program = await dialtone.start({ command: "cat", timeoutMs: 60_000 });
	const never = await program.wait({ until: { gone: "Loading" }, timeoutMs: 300 });
	expect(never).toMatchObject({ returned: "timeout", matched: false });
	const waiting = program.wait({ until: { gone: "Loading" }, timeoutMs: 60_000 });
	await program.send({ text: "Loading", submit: true, timeoutMs: 60_000 });
	await program.send({ text: "\x1b[2J\x1b[H", submit: true, timeoutMs: 60_000 });
	expect(await waiting).toMatchObject({ returned: "matched", matched: true });
	await program.close();
});

test("S2: many calls at once are no leak, and are not warned of as one", async () => {
	const warnings: string[] = [];
	const note = ({ name }: Error) => void warnings.push(name);
	process.on("warning", note);
	onTestFinished(() => void process.off("warning", note));
	await using many = await Dialtone.open();
	const program = await many.start({ command: "cat", timeoutMs: 60_000 });
	const before = openSubscriptions();
	const waits = Array.from({ length: 30 }, () => program.wait({ until: { text: "done" }, timeoutMs: 60_000 }));
	await until("all wait", () => openSubscriptions() > before + 30);
	await program.send({ text: "done", submit: true, timeoutMs: 60_000 });
	for (const waited of waits) expect(await waited).toMatchObject({ matched: true });
	await until("all have left", () => openSubscriptions() < before + 5);
	expect(warnings).toEqual([]);
	await program.close({ force: true });
});
