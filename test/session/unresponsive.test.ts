// A stopped holder as a caller meets it: named, bounded in time, and nobody else's problem.

import { afterEach, expect, onTestFinished, test } from "vitest";
import { Dialtone, type SessionFacts } from "../../src/index.ts";
import { identityOf, isAlive } from "../../src/pty/process-stat.ts";
import { holderOf } from "../../src/pty/process-tree.ts";
import { HANG_MS, until } from "../condition.ts";

const patient = { timeoutMs: 60_000 };
let dialtone: Dialtone;
const stopped = new Set<number>();
afterEach(async () => {
	for (const pid of stopped) goOn(pid);
	await allAnswer();
	await dialtone[Symbol.asyncDispose]();
});

async function holders(...names: string[]): Promise<number[]> {
	const { sessions } = await dialtone.list();
	return names.map((name) => holderOf(sessions.find((each) => each.name === name)?.pid ?? 0));
}

function stop(holder: number): void {
	process.kill(holder, "SIGSTOP");
	stopped.add(holder);
}

const allAnswer = () =>
	until("all answer again", async () => {
		const { sessions } = await dialtone.list();
		return sessions.every(({ activity }) => activity !== "unresponsive");
	});

function goOn(holder: number): void {
	process.kill(holder, "SIGCONT");
	stopped.delete(holder);
}

async function timed<T>(promise: Promise<T>): Promise<{ value: T; ms: number }> {
	const before = performance.now();
	return { value: await promise, ms: performance.now() - before };
}

test("S3: among 20 sessions a stopped one is named by list; the others answer as ever", async () => {
	dialtone = await Dialtone.open({});
	const names = Array.from({ length: 20 }, (_, i) => `s${i}`);
	await Promise.all(names.map((name) => dialtone.start({ name, argv: ["cat"], ...patient })));
	const [holder = 0] = await holders("s7");
	stop(holder);
	const { value, ms } = await timed(dialtone.list());
	expect(ms).toBeLessThan(HANG_MS);
	for (const { name, activity, because } of value.sessions) {
		expect({ name, activity }).toEqual({ name, activity: name === "s7" ? "unresponsive" : "waiting" });
		if (name === "s7") expect(because).toContain(`process ${holder}`);
	}
	expect((await timed(dialtone.list())).ms).toBeLessThan(HANG_MS);
	const other = await dialtone.find("s8");
	const answer = await timed(other.send({ text: "still here", submit: true, ...patient }));
	expect(answer.value.text).toContain("still here");
	expect(answer.ms).toBeLessThan(HANG_MS);
});

test("S3: calls on it say what is wrong and what to do, a wait in progress ends, and it goes on", async () => {
	dialtone = await Dialtone.open({});
	const session = await dialtone.start({ name: "s", command: "stty -echo; echo READY; cat", ...patient });
	// Only a condition that never holds is waited for, and the program is asked for no input.
	const slow = await dialtone.start({ name: "slow", argv: ["sleep", "1000"], timeoutMs: 100 });
	const waits = [
		slow.wait({ timeoutMs: 100_000 }),
		slow.wait({ until: { text: "never", only: true }, timeoutMs: 100_000 }),
	];
	const [holder = 0, slowHolder = 0] = await holders("s", "slow");
	stop(holder);
	stop(slowHolder);
	const waiting = timed(Promise.all(waits));
	await expect(session.send({ text: "hello", submit: true })).rejects.toMatchObject({
		code: "unresponsive",
		status: 503,
		message: expect.stringMatching(
			`^Session "s" is not responding: its holder \\(process ${holder}\\) .*may still take effect`,
		),
		next: expect.stringContaining(`kill -CONT ${holder}`),
	});
	for (const call of [
		() => session.send({ text: "never" }),
		() => session.resize({ cols: 90, rows: 30 }),
		() => session.signal({ signal: "TERM" }),
		() => session.close(),
	])
		await expect(call()).rejects.toMatchObject({ code: "unresponsive" });
	const { value: verdicts, ms }: { value: SessionFacts[]; ms: number } = await waiting;
	for (const verdict of verdicts)
		expect(verdict).toMatchObject({ returned: "still", activity: "unresponsive", certainty: "certain" });
	expect(ms).toBeLessThan(HANG_MS);
	goOn(holder);
	goOn(slowHolder);
	await allAnswer();
	let text: string = (await session.send({ text: "again", submit: true, ...patient })).text;
	await until("the second line came back", async () => {
		text += (await session.read()).text;
		return text.includes("again");
	});
	expect(text.match(/hello|never|again/g)).toEqual(["hello", "again"]);
});

test("S3: how long a holder has not answered is told as it is", async () => {
	dialtone = await Dialtone.open({});
	await dialtone.start({ name: "s", argv: ["cat"], ...patient });
	stop((await holders("s"))[0]!);
	const seconds = async () => {
		const [listed] = (await dialtone.list()).sessions;
		return Number(/has not answered for (\d+) s/.exec(listed?.because ?? "")?.[1]);
	};
	const first = await timed(seconds());
	expect(first.value).toBeGreaterThanOrEqual(2);
	expect(first.value).toBeLessThanOrEqual(first.ms / 1000 + 1);
	await until("it has been longer", async () => (await seconds()) >= 4);
});

test("S3: a stopped session can be given up with force", async () => {
	dialtone = await Dialtone.open({});
	const session = await dialtone.start({ name: "s", argv: ["cat"], ...patient });
	const [holder = 0] = await holders("s");
	process.kill(holder, "SIGSTOP");
	const { value, ms } = await timed(session.close({ force: true }));
	expect(ms).toBeLessThan(HANG_MS);
	expect(value).toMatchObject({ status: "stream_lost", because: expect.stringMatching(/^closed by force; /) });
	expect((await session.read()).because).toMatch(/^closed by force; /);
	expect((await dialtone.list()).sessions[0]?.because).toMatch(/^closed by force; /);
});

test("a session whose holder died after its program is closed and forgotten at once", async () => {
	dialtone = await Dialtone.open({});
	const command = "trap '' HUP; sleep 1000 & echo pid $!; read x";
	const session = await dialtone.start({ name: "s", command, until: { text: "pid " }, ...patient });
	const background = Number(/pid (\d+)/.exec((await session.read({ view: "screen" })).text)?.[1]);
	onTestFinished(() => expect(isAlive(identityOf(background))).toBe(false));
	const [holder = 0] = await holders("s");
	await session.send({ submit: true, until: { only: true }, ...patient });
	process.kill(holder, "SIGKILL");
	expect((await session.close({ forget: true })).status).toBe("succeeded");
	await expect(session.read()).rejects.toMatchObject({ code: "session_not_found" });
});
