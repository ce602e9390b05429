// What a session leaves running where no holder can end it: nothing of it is told as ended, and closing ends it.

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { holderOf } from "../../src/pty/process-tree.ts";
import { until } from "../condition.ts";

const patient = { timeoutMs: 60_000 };
let dialtone: Dialtone;
/** In the command line of everything that a test starts: what it leaves is found by it. */
let mark: string;
let marks = 0;

beforeEach(async () => {
	dialtone = await Dialtone.open({});
	mark = `86${process.pid}${marks++}`;
});
afterEach(async () => {
	for (const pid of running()) process.kill(pid, "SIGKILL");
	await dialtone[Symbol.asyncDispose]();
});

/** The processes with the mark. */
function running(matches = (commandLine: string) => commandLine.includes(mark)): number[] {
	return readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name))
		.map(Number)
		.filter((pid) => {
			try {
				return matches(readFileSync(`/proc/${pid}/cmdline`, "utf8"));
			} catch {
				return false; // it has just ended
			}
		});
}

const sleeping = () => running((commandLine) => commandLine === `sleep\0${mark}\0`);
const sleeps = () => sleeping().length > 0;

const pidOf = async (name: string) => (await dialtone.list()).sessions.find((each) => each.name === name)?.pid ?? 0;

test("a stopped holder is killed with a tree that forks away from it all the time", { timeout: 120_000 }, async () => {
	for (let round = 0; round < 3; round++) {
		// Not without end: where it is found late, on a busy machine, there would be ten thousands of them.
		const fork = `(setsid sleep ${mark} >/dev/null 2>&1 </dev/null &)`;
		const command = `trap '' HUP; n=0; while [ $n -lt 1000 ]; do n=$((n+1)); ${fork}; sleep 0.01; done; sleep ${mark}`;
		const session = await dialtone.start({ name: "bomb", command, until: { only: true }, timeoutMs: 300 });
		await until("it forks", () => running().length > 3);
		const holder = holderOf(await pidOf("bomb"));
		process.kill(holder, "SIGSTOP");
		const facts = await session.close({ force: true });
		expect(facts).toMatchObject({ status: "stream_lost" });
		expect(facts.survivors).toBeUndefined();
		expect(running()).toEqual([]);
	}
});

test("a program that outlives its holder is told as running, and ended by close", async () => {
	const command = `trap '' HUP; echo up; while :; do sleep 1; done # ${mark}`;
	const session = await dialtone.start({ name: "h", command, until: { text: "up", only: true }, ...patient });
	const pid = await pidOf("h");
	process.kill(holderOf(pid), "SIGKILL");
	const lost = await session.wait(patient);
	expect(lost).toMatchObject({
		status: "stream_lost",
		because: `its holder died; its program (pid ${pid}) still runs`,
	});
	expect(lost.left).toContainEqual({ pid, command: expect.any(String) });
	expect((await dialtone.client.call("read", { session: "h" })).text).toContain(`its program (pid ${pid}) still runs`);
	const [listed] = (await dialtone.list()).sessions;
	expect(listed).toMatchObject({ status: "stream_lost", because: expect.stringContaining(`(pid ${pid}) still runs`) });
	const closed = await session.close();
	expect(closed.left ?? closed.survivors).toBeUndefined();
	expect(closed.because).not.toContain("still runs");
	expect(running()).toEqual([]);
	expect((await session.close({ forget: true })).survivors).toBeUndefined();
});

test("the next daemon finds a program whose holder died, and ends it when asked to", async () => {
	const home = mkdtempSync(join(tmpdir(), "dt-left-"));
	onTestFinished(() => rmSync(home, { recursive: true }));
	const command = `trap '' HUP; echo up; while :; do sleep 1; done # ${mark}`;
	const first = await Dialtone.open({ home });
	await first.start({ name: "h", command, until: { text: "up", only: true }, ...patient });
	const pid = (await first.list()).sessions[0]?.pid ?? 0;
	const holder = holderOf(pid);
	await first[Symbol.asyncDispose]();
	process.kill(holder, "SIGKILL");
	await until("the holder is gone", () => !existsSync(`/proc/${holder}`));
	await using next = await Dialtone.open({ home });
	const found = await next.find("h");
	expect(found.facts).toMatchObject({ status: "stream_lost" });
	expect((await found.read({ view: "screen" })).text).toBe("up");
	expect(found.facts.because).toBe(`its holder died; its program (pid ${pid}) still runs`);
	await found.close();
	expect(running()).toEqual([]);
	await found.close({ forget: true });
});

test("a background process that outlives holder and program is ended by close, too", async () => {
	const command = `(trap '' HUP; exec sleep ${mark}) & echo up; cat`;
	const session = await dialtone.start({ name: "h", command, until: { text: "up", only: true }, ...patient });
	await until("it sleeps", sleeps);
	const pid = await pidOf("h");
	process.kill(holderOf(pid), "SIGKILL");
	const lost = await session.wait(patient);
	expect(lost.because).toBe("its holder died; something that it started still runs");
	await session.close();
	expect(running()).toEqual([]);
});

test("a lost session whose program ends later is closed by itself", async () => {
	const command = `trap '' HUP; echo up; while :; do sleep 0.1; done # ${mark}`;
	const session = await dialtone.start({ name: "h", command, until: { text: "up", only: true }, ...patient });
	const pid = await pidOf("h");
	process.kill(holderOf(pid), "SIGKILL");
	expect((await session.wait(patient)).left).toBeDefined();
	process.kill(pid, "SIGKILL");
	await until("nothing is left", async () => (await session.read()).left === undefined);
	await session.close({ forget: true });
});

/** What keeps running when the program has ended, by where it is. */
const leftovers = [
	["has its terminal open", false, () => `trap '' HUP; sleep ${mark} & echo up`],
	["has left its terminal", true, () => `(setsid sleep ${mark} >/dev/null 2>&1 </dev/null &); echo up`],
] as const;

describe.each(leftovers)("what an ended program left running and %s", (_, isAway, leaves) => {
	const started = (name = "held") => ({ name, command: `${leaves()}; read line`, ...patient });
	/** Ended, with what it left. */
	async function endsIn(home: Dialtone, name = "held") {
		const before = sleeping().length;
		const session = await home.start(started(name));
		await until("it sleeps", () => sleeping().length > before);
		return { session, ended: await session.send({ submit: true, until: { only: true }, ...patient }) };
	}

	test("is told, listed as running, and ended by close", async () => {
		const { session, ended } = await endsIn(dialtone);
		expect(ended).toMatchObject({ status: "succeeded", exit: { code: 0 }, left: [{ command: "sleep" }] });
		expect((await dialtone.client.call("read", { session: "held" })).text).toContain("still running: sleep (");
		const listed = await dialtone.client.call("list", { status: "running" });
		expect(listed.facts.sessions).toMatchObject([{ name: "held", status: "succeeded", left: [{ command: "sleep" }] }]);
		expect(listed.text).toMatch(/^\[held\] ended, exit code 0 .* still running: sleep \(\d+\)/);
		expect((await dialtone.client.status()).sessions).toBe(1);
		const closed = await session.close();
		expect(closed.left ?? closed.survivors).toBeUndefined();
		await until("it is closed", async () => (await dialtone.client.status()).sessions === 0);
		expect(running()).toEqual([]);
	});

	test("ends with the session that is forgotten", async () => {
		const { session } = await endsIn(dialtone);
		expect(sleeping()).toHaveLength(1);
		await session.close({ forget: true });
		expect(running()).toEqual([]);
	});

	test("counts no more once it has ended by itself", async () => {
		await endsIn(dialtone);
		for (const pid of sleeping()) process.kill(pid, "SIGKILL");
		await until("nothing is left", async () => (await dialtone.client.status()).sessions === 0);
		expect((await dialtone.list()).sessions).toMatchObject([{ status: "succeeded" }]);
	});

	test("counts towards the limit of sessions, unless it has left its terminal", async () => {
		await using small = await Dialtone.open({ options: { maxSessions: 1 } });
		const { session } = await endsIn(small);
		if (isAway) {
			await until("its terminal is closed", () => small.start({ argv: ["true"], ...patient }).catch(() => false));
			await session.close();
			return;
		}
		await expect(small.start({ argv: ["cat"] })).rejects.toMatchObject({ code: "too_many_sessions" });
		await session.close();
		await until("there is room", () =>
			small.start({ argv: ["true"], ...patient }).then(
				() => true,
				() => false,
			),
		);
	});

	test("ends with a library that is disposed, unless it has left its terminal", async () => {
		const library = await Dialtone.open({ options: { maxSessions: 1 } });
		await endsIn(library);
		if (isAway)
			await until("its terminal is closed", () => library.start({ argv: ["true"], ...patient }).catch(() => false));
		await library[Symbol.asyncDispose]();
		expect(sleeping()).toHaveLength(isAway ? 1 : 0);
	});

	test("is not started a second time: that is refused, or replaces it", async () => {
		await endsIn(dialtone);
		const [pid] = sleeping();
		const refused = { code: "still_running", message: expect.stringContaining(`sleep (${pid})`) };
		await expect(dialtone.start(started())).rejects.toMatchObject(refused);
		const next = await dialtone.start({ ...started(), ifExists: "replace" });
		await until("the new one sleeps", () => sleeping().length === 1 && sleeping()[0] !== pid);
		await next.close();
	});

	test("is ended when it is idle, also by the next daemon, unless it was to be kept or has left its terminal", async () => {
		const home = mkdtempSync(join(tmpdir(), "dt-idle-"));
		onTestFinished(() => rmSync(home, { recursive: true }));
		const options = { idleMs: 400, endGraceMs: 200 };
		const first = await Dialtone.open({ home, options: { ...options, idleMs: 600_000 } });
		await endsIn(first);
		const kept = await first.start(started("kept"));
		await until("both sleep", () => sleeping().length === 2);
		await kept.close({ keep: true });
		await first[Symbol.asyncDispose]();
		await using next = await Dialtone.open({ home, options });
		const facts = async (name: string) => (await next.list()).sessions.find((one) => one.name === name);
		if (isAway) {
			await setTimeout(3 * options.idleMs);
			expect(sleeping()).toHaveLength(2);
			for (const name of ["held", "kept"]) await (await next.find(name)).close();
			expect(running()).toEqual([]);
			return;
		}
		const because = "what it left running was ended: idle for 0 s; exit code 0";
		const ended = await until("it was idle", async () => {
			const held = await facts("held");
			return held?.because === because && held;
		});
		expect(ended).toMatchObject({ status: "succeeded" });
		expect(sleeping()).toHaveLength(1);
		expect((await facts("kept"))?.left).toMatchObject([{ command: "sleep" }]);
		await (await next.find("kept")).close();
		expect(running()).toEqual([]);
	});
});

test("a program whose holder died is not started a second time beside it: it is refused, or replaced", async () => {
	const command = `trap '' HUP; echo up; while :; do sleep 1; done # ${mark}`;
	const start = { name: "h", command, until: { text: "up", only: true }, ...patient };
	const session = await dialtone.start(start);
	const pid = await pidOf("h");
	process.kill(holderOf(pid), "SIGKILL");
	await session.wait(patient);
	const refused = {
		code: "still_running",
		message: expect.stringContaining(`(${pid})`),
		next: expect.stringContaining('`ifExists: "replace"`'),
	};
	await expect(dialtone.start(start)).rejects.toMatchObject(refused);
	await expect(dialtone.start({ ...start, ifExists: "use" })).rejects.toMatchObject(refused);
	await expect(dialtone.start({ again: "h" })).rejects.toMatchObject(refused);
	expect(running((line) => line.includes(`# ${mark}`))).toEqual([pid]);
	const next = await dialtone.start({ ...start, ifExists: "replace" });
	expect(running((line) => line.includes(`# ${mark}`))).toEqual([await pidOf("h")]);
	expect(await pidOf("h")).not.toBe(pid);
	await next.close();
});

test("a name is free as soon as what its session started has ended with it", async () => {
	for (let round = 0; round < 5; round++) {
		await dialtone.start({ name: "n", command: `sleep ${mark} & echo up; exit 0`, until: { only: true }, ...patient });
	}
	expect(running()).toEqual([]);
});
