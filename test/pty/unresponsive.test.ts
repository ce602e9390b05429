// A holder that does not answer harms its own session only, and briefly.
import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { adopt } from "../../src/pty/adopt.ts";
import { HolderPty } from "../../src/pty/holder-pty.ts";
import { identityOf } from "../../src/pty/process-stat.ts";
import { isAlive } from "../alive.ts";
import { HANG_MS, until } from "../condition.ts";
import { Received, Stage } from "./stage.ts";

let stage: Stage;
beforeEach(async () => {
	stage = await Stage.open();
});
afterEach(() => stage[Symbol.asyncDispose]());

const ECHO = 'stty -echo; echo READY; while read line; do echo "<$line>"; done';

/** Settles with the error and how long it took. */
async function failure(promise: Promise<unknown>): Promise<{ error: unknown; ms: number }> {
	const before = performance.now();
	const error = await promise.then(
		() => new Error("it did not fail"),
		(reason: unknown) => reason,
	);
	return { error, ms: performance.now() - before };
}

/** Starts a session and stops its holder. */
async function stopped() {
	const started = await stage.start(ECHO);
	await started.received.says("READY");
	const { holderPid } = started.pty;
	process.kill(holderPid, "SIGSTOP");
	return { ...started, holderPid, resume: () => process.kill(holderPid, "SIGCONT") };
}

describe("S3: a stopped holder", () => {
	test("requests fail as unresponsive, then without being sent, until it goes on", async () => {
		const { pty, received, holderPid, resume } = await stopped();
		const changes: boolean[] = [];
		pty.onResponsive((responsive) => changes.push(responsive));
		const unresponsive = { name: "PtyIoError", code: "unresponsive", facts: { holderPid } };
		const [facts, resize, signal, end] = await Promise.all(
			[pty.facts(), pty.resize(100, 30), pty.signal("TERM", "main"), pty.end(60_000)].map(failure),
		);
		for (const { error, ms } of [facts!, resize!, signal!, end!]) {
			expect(error).toMatchObject({ ...unresponsive, sent: true });
			expect(ms).toBeLessThan(HANG_MS);
		}
		expect(pty.responsive).toBe(false);
		const again = await failure(pty.facts());
		expect(again.error).toMatchObject({ ...unresponsive, sent: false });
		expect((again.error as { facts: { sinceMs: number } }).facts.sinceMs).toBeGreaterThanOrEqual(1900);
		resume();
		await until("it answers again", () => pty.responsive);
		expect(changes).toEqual([false, true]);
		// What was sent is carried out: the caller was not told otherwise.
		expect(await received.exited).toMatchObject({ signal: "SIGTERM" });
	});

	test("a write that was not answered is typed once, however often it is repeated with its id", async () => {
		const { pty, received, resume } = await stopped();
		const id = randomBytes(16).toString("hex");
		const first = await failure(pty.write(Buffer.from("once\n"), { id }));
		expect(first.error).toMatchObject({ code: "unresponsive", sent: true });
		expect(first.ms).toBeLessThan(HANG_MS);
		// Certainly not typed, and says so.
		expect((await failure(pty.write(Buffer.from("never\n")))).error).toMatchObject({ sent: false });
		resume();
		await until("it answers again", () => pty.responsive);
		await pty.write(Buffer.from("once\n"), { id });
		await pty.write(Buffer.from("last\n"));
		await received.says("<last>");
		expect(received.text.match(/<\w+>/g)).toEqual(["<once>", "<last>"]);
	});

	test("other sessions answer as ever, and one that only listens is not called unresponsive", async () => {
		const { pty, resume } = await stopped();
		const other = await stage.start(ECHO);
		await other.received.says("READY");
		const before = performance.now();
		const [failed] = await Promise.all([failure(pty.facts()), other.pty.facts()]);
		await other.pty.write(Buffer.from("here\n"));
		await other.received.says("<here>");
		expect(failed.error).toMatchObject({ code: "unresponsive" });
		expect(performance.now() - before).toBeLessThan(HANG_MS);
		expect(other.pty.responsive).toBe(true);
		resume();
	});

	test("one that is stopped while somebody watches is noticed without a request of ours", async () => {
		const { pty, received } = await stage.start(ECHO);
		await received.says("READY");
		const unwatch = pty.watch();
		await pty.facts();
		process.kill(pty.holderPid, "SIGSTOP");
		await until("it is unresponsive", () => !pty.responsive);
		process.kill(pty.holderPid, "SIGCONT");
		await until("it answers again", () => pty.responsive);
		unwatch();
	});

	test("is adopted as unresponsive, never as lost, and goes on when it does", async () => {
		const { pty, spec, holderPid, resume } = await stopped();
		await pty[Symbol.asyncDispose]();
		const before = performance.now();
		const second = await adopt({ ...spec, epoch: 2n, from: 0, mainProcess: identityOf(pty.pid) });
		expect(performance.now() - before).toBeLessThan(HANG_MS);
		if (!(second instanceof HolderPty)) throw new Error("not running");
		stage.keep(second);
		expect(second).toMatchObject({ responsive: false, holderPid, pid: pty.pid });
		await expect(second.write(Buffer.from("x\n"))).rejects.toMatchObject({ code: "unresponsive", sent: false });
		const received = new Received(second);
		resume();
		await until("it answers", () => second.responsive);
		await second.write(Buffer.from("two\n"));
		await received.says("<two>");
		expect(received.text).not.toContain("<x>");
	});

	test("is given up by an end without grace: killed with all that it holds, and lost", async () => {
		const { pty, received, holderPid } = await stopped();
		await expect(pty.end(1000)).rejects.toMatchObject({ code: "unresponsive" });
		expect(await pty.end(0)).toEqual([]);
		expect(await received.exited).toMatchObject({ reason: "lost" });
		await until("both are gone", () => !isAlive(holderPid) && !isAlive(pty.pid));
	});
});

describe("a holder that dies after its program, while a background process has the terminal", () => {
	test("closes the terminal when that is ended, and whatever is asked later says that it has ended", async () => {
		const { pty, received } = await stage.start("trap '' HUP; sleep 1000 & echo $!; exit 6", {
			noControllingTerminal: true,
		});
		expect(await pty.exited).toMatchObject({ code: 6, closed: false });
		const background = Number(received.text);
		process.kill(pty.holderPid, "SIGKILL");
		expect(await pty.end(1000)).toEqual([]);
		expect(isAlive(background)).toBe(false);
		expect(await pty.closed).toMatchObject({ code: 6, closed: true });
		expect((await failure(pty.facts())).error).toMatchObject({ code: "ended" });
	});
});

describe("S11: what races the end of the terminal says so", () => {
	test("requests in flight when the program ends, when we let go and when a newer owner comes", async () => {
		const ending = await stage.start("read line");
		const requests = () => [
			ending.pty.write(Buffer.from("\n")),
			ending.pty.resize(90, 30),
			ending.pty.facts(),
			ending.pty.signal("WINCH", "main"),
		];
		await ending.pty.write(Buffer.from("go\n"));
		const codes = new Set<unknown>();
		while (ending.pty.exit === null)
			for (const each of await Promise.allSettled(requests()))
				if (each.status === "rejected") codes.add((each.reason as { code: string }).code);
		expect([...codes].filter((code) => code !== "ended")).toEqual([]);

		const { pty, spec } = await stage.start("sleep 1000");
		const newer = await adopt({ ...spec, epoch: 2n, from: "end" });
		if (!(newer instanceof HolderPty)) throw new Error("not running");
		stage.keep(newer);
		expect((await failure(pty.resize(90, 30))).error).toMatchObject({ code: "fenced" });
		const inFlight = failure(newer.facts());
		await newer[Symbol.asyncDispose]();
		expect((await inFlight).error).toMatchObject({ code: "disconnected" });
		expect((await failure(newer.write(Buffer.from("x")))).error).toMatchObject({ code: "disconnected", sent: false });
		const last = await adopt({ ...spec, epoch: 3n, from: "end" });
		if (last instanceof HolderPty) stage.keep(last);
	});
});
