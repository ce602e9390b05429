// Slots and Sessions over a fake of the terminals: no process, and a scheduler that decides
// in which order launches, adoptions and ends happen.

import { execFileSync } from "node:child_process";
import {
	chmodSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { until } from "../../test/condition.ts";
import { FakePty } from "../../test/fake-pty.ts";
import { LeakCheck } from "../../test/session/leaks.ts";
import { batches, forAWhile, newModel } from "../../test/session/slot-model.ts";
import { SlotWatch } from "../../test/session/slot-watch.ts";
import { InProcessWorld } from "../../test/session/slot-world.ts";
import * as segments from "../journal/segments.ts";
import { deferred } from "../pty/deferred.ts";
import { PtyIoError } from "../pty/errors.ts";
import { places, preparePlaces } from "../pty/places.ts";
import type { PtyExit } from "../pty/pty.ts";
import { within } from "../pty/wait.ts";
import { DrawScheduler } from "./draw-scheduler.ts";
import { type Options, resolveOptions } from "./options.ts";
import { outputOf, Sessions } from "./sessions.ts";
import type { Terminals } from "./terminals.ts";

vi.mock("../journal/segments.ts", async (original) => {
	const actual = await original<typeof segments>();
	return { ...actual, logBounds: vi.fn(actual.logBounds) };
});

type Later = <T>(what: string, value: T) => Promise<T>;

/** A program that keeps running when its terminal is detached. */
class FakeProgram {
	readonly #directory: string;
	pty: FakeProgramPty | null = null;
	isAlive = true;

	constructor(directory: string) {
		this.#directory = directory;
	}

	open(later: Later): FakeProgramPty {
		this.pty = new FakeProgramPty(this, later);
		return this.pty;
	}

	exit(how: { code: number | null; signal: string | null }): void {
		if (!this.isAlive) return;
		this.isAlive = false;
		const signal = how.signal === null ? null : 15;
		writeFileSync(
			join(this.#directory, "exit"),
			JSON.stringify({ code: how.code, signal, size: 0, closed: true, reason: "exit", endedAt: Date.now() }),
		);
		this.pty?.finish(how);
	}
}

class FakeProgramPty extends FakePty {
	readonly #program: FakeProgram;
	readonly #later: Later;

	constructor(program: FakeProgram, later: Later) {
		super();
		this.#program = program;
		this.#later = later;
	}

	override async end(): Promise<PtyExit["survivors"]> {
		this.#mustAnswer();
		await this.#later("end", null);
		this.#program.exit({ code: null, signal: "SIGTERM" });
		return [];
	}

	override async signal(signal: string): Promise<void> {
		this.#mustAnswer();
		await this.#later("signal", null);
		this.#program.exit({ code: null, signal });
	}

	/** It reads lines until Ctrl+D. */
	override async write(...args: Parameters<FakePty["write"]>): Promise<void> {
		await super.write(...args);
		if (this.typed.endsWith("\x04")) this.#program.exit({ code: 0, signal: null });
	}

	#mustAnswer(): void {
		if (!this.responsive) throw new PtyIoError("unresponsive", "the holder does not answer");
	}
}

class FakeTerminals implements Terminals {
	readonly programs = new Map<string, FakeProgram>();
	readonly #later: Later;
	#daemon = 0;
	/** What adoption fails with, while set. */
	adoptionFails: Error | null = null;

	constructor(later: Later = async (_, value) => value) {
		this.#later = later;
	}

	launch: Terminals["launch"] = (options) => this.#launch(options, this.#daemon);

	/** Those of one daemon: nothing is launched for it after `kill`. */
	forDaemon(): Terminals {
		const daemon = this.#daemon;
		return { ...this, launch: (options) => this.#launch(options, daemon) };
	}

	async #launch({ directory }: Parameters<Terminals["launch"]>[0], daemon: number): ReturnType<Terminals["launch"]> {
		await this.#later("launch", null);
		if (daemon !== this.#daemon) throw new Error("killed before it launched");
		const program = new FakeProgram(directory);
		this.programs.set(basename(directory), program);
		return program.open(this.#later);
	}

	adopt: Terminals["adopt"] = async ({ directory }) => {
		await this.#later("adopt", null);
		if (this.adoptionFails !== null) throw this.adoptionFails;
		const program = this.programs.get(basename(directory));
		return program?.isAlive ? program.open(this.#later) : null;
	};

	endHolder: Terminals["endHolder"] = async (_, { directory }) => {
		this.programs.get(basename(directory))?.exit({ code: null, signal: "SIGTERM" });
		return [];
	};

	/** The daemon is dead: what it was about to launch is not, and it hears of no end. */
	kill(): void {
		this.#daemon++;
		for (const program of this.programs.values()) program.pty = null;
	}

	alive(): ReadonlySet<string> {
		return new Set([...this.programs].flatMap(([id, { isAlive }]) => (isAlive ? [id] : [])));
	}
}

let home: string;
beforeEach(() => {
	home = mkdtempSync(join(tmpdir(), "dt-slot-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));

const caller = { owner: "me", cwd: "/", env: {} };
const problems: unknown[] = [];
async function open(terminals: Terminals, options: Partial<Options> = {}): Promise<Sessions> {
	const where = places({ DIALTONE_HOME: home });
	preparePlaces(where);
	return Sessions.open({
		places: where,
		options: resolveOptions({ endGraceMs: 50, ...options }),
		epoch: 1,
		onProblem: (problem) => void problems.push(problem),
		onFenced: () => {},
		terminals,
	});
}

describe("a slot over a fake terminal", () => {
	test("S1: an adoption that fails for want of descriptors leaves the session running, and the next call reaches it", async () => {
		const terminals = new FakeTerminals();
		const first = await open(terminals);
		const { id } = await first.start({ argv: ["cat"], name: "cat", caller });
		await first[Symbol.asyncDispose]();
		terminals.adoptionFails = Object.assign(new Error("too many open files"), { code: "EMFILE" });
		await using sessions = await open(terminals, { evictMs: 1 });
		await expect(sessions.find("cat")).rejects.toMatchObject({ code: "session_unreachable" });
		expect(sessions.list()[0]!.record).toMatchObject({ id, state: "running" });
		expect(sessions.list()[0]!.record.reason).toContain("too many open files");
		await expect(sessions.remove("cat")).rejects.toMatchObject({ code: "still_running" });
		terminals.adoptionFails = null;
		expect(await sessions.find("cat")).toMatchObject({ id, status: "running" });
		expect(sessions.list()[0]!.record.reason).toBeNull();
		expect(await sessions.endAll()).toEqual([]);
	});

	test("R4.11: an adoption is no news of a session, also where its daemon was killed before it had recorded the launch", async () => {
		const terminals = new FakeTerminals();
		const first = await open(terminals);
		const { id } = await first.start({ argv: ["cat"], name: "cat", caller });
		await first[Symbol.asyncDispose]();
		const file = join(home, "sessions", id, "meta.json");
		const record = JSON.parse(readFileSync(file, "utf8"));
		const early = { state: "starting", pid: null, born: null, holder: null, updatedAt: record.createdAt };
		writeFileSync(file, JSON.stringify({ ...record, ...early }));
		await using sessions = await open(terminals);
		expect(await sessions.find("cat")).toMatchObject({ id, status: "running" });
		expect(sessions.list()[0]!.record).toMatchObject({ state: "running", updatedAt: record.createdAt });
		await sessions.endAll();
	});

	test("open does not wait for adoptions; each session waits for its own", async () => {
		let release = () => {};
		const slow = new Promise<void>((resolve) => {
			release = resolve;
		});
		const terminals = new FakeTerminals();
		const first = await open(terminals);
		for (const name of ["slow", "quick"]) await first.start({ argv: ["cat"], name, caller });
		const slowId = (await first.find("slow")).id;
		await first[Symbol.asyncDispose]();
		const adopt: Terminals["adopt"] = async (options) => {
			if (options.directory.endsWith(slowId)) await slow;
			return terminals.adopt(options);
		};
		await using sessions = await open({ ...terminals, adopt });
		expect((await sessions.find("quick")).status).toBe("running");
		const waiting = sessions.find("slow");
		expect(sessions.list().map(({ session }) => session === null)).toEqual([false, true]);
		release();
		expect((await waiting).status).toBe("running");
		await sessions.endAll();
	});

	test("R4.3: its end is the last that is told of a program's turn", async () => {
		const terminals = new FakeTerminals();
		await using sessions = await open(terminals);
		const { id } = await sessions.start({ argv: ["cat"], caller });
		const program = terminals.programs.get(id)!;
		const { pty } = program;
		program.exit({ code: 0, signal: null });
		const told = () => Array.from({ length: sessions.events.seq }, (_, seq) => sessions.events.after(seq)!.event);
		await until("the end is told", () => told().includes("ended"));
		pty!.answer(false); // decides anew
		expect(told().slice(told().indexOf("ended"))).not.toContain("attention");
	});

	test("one session that cannot be ended is named, and the others are ended", async () => {
		const terminals = new FakeTerminals();
		await using sessions = await open(terminals);
		const stuck = await sessions.start({ argv: ["cat"], name: "stuck", caller });
		stuck.close = () => Promise.reject(new Error("the holder does not answer"));
		await sessions.start({ argv: ["cat"], name: "fine", caller });
		expect(await sessions.endAll()).toEqual(["stuck"]);
		expect([...terminals.alive()]).toEqual([stuck.id]);
	});

	test("a session that is not used is ended for it, one that has ended leaves memory, and a use puts both off", async () => {
		const terminals = new FakeTerminals();
		await using sessions = await open(terminals, { idleMs: 60, evictMs: 20 });
		await sessions.start({ argv: ["cat"], name: "idle", caller });
		await sessions.start({ argv: ["cat"], name: "kept", keep: true, caller });
		await until("the idle one has left memory", () => sessions.list()[1]!.session === null);
		expect(sessions.list().map(({ record }) => record.state)).toEqual(["running", "cancelled"]);
		expect(sessions.list()[1]!.record.reason).toContain("idle for");
		expect((await sessions.find("idle")).ended).toBe(true);
		await sessions.endAll();
	});

	test("S23: the oldest that ended make room for the newest, and no other is read", async () => {
		const terminals = new FakeTerminals();
		await using sessions = await open(terminals, { totalBytes: 3000, evictMs: 0 });
		for (let i = 0; i < 12; i++) {
			const session = await sessions.start({ argv: ["cat"], name: `s${i}`, caller });
			await sessions.close(session, { force: true, keep: false });
		}
		const directories = () => readdirSync(join(home, "sessions")).filter((name) => name !== "ended.jsonl");
		await until("the oldest are removed", () => directories().length < 8);
		await expect(sessions.find("s0")).rejects.toMatchObject({ code: "session_not_found" });
		expect((await sessions.find("s11")).status).toBe("cancelled");
	});
});

describe("one slot for each session", () => {
	test("S1: of an ended session that is not remembered there is one, also while it is evicted and read again", async () => {
		await using sessions = await open(new FakeTerminals(), { evictMs: 0, rememberEnded: 1 });
		const ids: string[] = [];
		for (const name of ["old", "newer", "newest"]) {
			const session = await sessions.start({ argv: ["cat"], name, caller });
			ids.push(session.id);
			await sessions.close(session, { force: true, keep: false });
			await session.closed;
		}
		using slots = new SlotWatch();
		for (let i = 0; i < 100; i++) {
			// In turn, the one before is in memory, being evicted, or on disk only.
			const [first, , again] = await Promise.all([
				sessions.find(ids[0]!),
				sessions.endedRecord(ids[0]!, { owner: "anyone" }),
				sessions.find("old"),
			]);
			expect(again).toBe(first);
			slots.check();
			for (let turns = i % 5; turns > 0; turns--) await new Promise((resolve) => setTimeout(resolve, turns % 2));
			slots.check();
		}
	});

	test("S12: the quota removes an old session that is in memory as a whole, and it is gone", async () => {
		await using sessions = await open(new FakeTerminals(), { totalBytes: 3000, evictMs: 60_000, rememberEnded: 0 });
		using slots = new SlotWatch();
		const startAndEnd = async (name: string) => {
			const session = await sessions.start({ argv: ["cat"], name, caller });
			await sessions.close(session, { force: true, keep: false });
			return session;
		};
		const { id } = await startAndEnd("first");
		await until("it is in memory", () => sessions.find(id));
		for (let i = 0; i < 12; i++) await startAndEnd(`s${i}`);
		await until(
			"the oldest is removed",
			async () => (await sessions.find(id).catch(({ code }) => code)) === "session_not_found",
		);
		slots.check();
		expect(slots.statesOf(id)).toEqual(["removed"]);
		expect(readdirSync(join(home, "sessions"))).not.toContain(id);
		for (const [reference, message] of [
			[id, /^Session ".*" was removed with its output at 20.*DIALTONE_TOTAL_BYTES/],
			["first", /^Session "first" was removed with its output at 20.*DIALTONE_TOTAL_BYTES/],
			["never", /^There is no session called "never"/],
		] as const)
			await expect(sessions.find(reference)).rejects.toThrow(message);
	});
});

describe("starts and ends", () => {
	test("R2.7: a start while all sessions are being ended is refused, and nothing is left running", async () => {
		const gate = deferred<void>();
		let isOpen = true;
		const terminals = new FakeTerminals(async (_, value) => {
			if (!isOpen) await gate.promise;
			return value;
		});
		await using sessions = await open(terminals);
		await sessions.start({ argv: ["cat"], name: "first", caller });
		isOpen = false;
		const underWay = sessions.start({ argv: ["cat"], name: "second", caller });
		await until("it is being started", () => sessions.list().length === 2);
		const queued = sessions.start({ argv: ["cat"], name: "second", ifExists: "replace", caller });
		const left = sessions.endAll();
		const late = sessions.start({ argv: ["cat"], caller });
		const codes = Promise.all([queued, late].map((start) => start.catch(({ code }) => code)));
		gate.resolve();
		expect(await left).toEqual([]);
		expect((await underWay).ended).toBe(true);
		expect(await codes).toEqual(["no_daemon", "no_daemon"]);
		expect([...terminals.alive()]).toEqual([]);
	});

	test("S7: of two replacements at once from different directories or environments each is started as asked", async () => {
		const terminals = new FakeTerminals();
		const launched: unknown[] = [];
		const launch: Terminals["launch"] = (options) => {
			launched.push([options.cwd, options.env.LANG]);
			return terminals.launch(options);
		};
		await using sessions = await open({ ...terminals, launch });
		const replace = (cwd: string, LANG: string) =>
			sessions.start({ argv: ["cat"], name: "x", ifExists: "replace", caller: { owner: "me", cwd, env: { LANG } } });
		const all = await Promise.all([
			replace("/usr", "C"),
			replace("/usr", "C"),
			replace("/etc", "C"),
			replace("/etc", "de"),
		]);
		expect(launched).toEqual([
			["/usr", "C"],
			["/etc", "C"],
			["/etc", "de"],
		]);
		expect(all[1]).toBe(all[0]);
		expect(sessions.list().filter(({ record }) => record.state === "running")).toHaveLength(1);
		await sessions.endAll();
	});

	test("a session that somebody waits on or reads as it prints is not idle, and is ended when they have left", async () => {
		await using sessions = await open(new FakeTerminals(), { idleMs: 40 });
		const session = await sessions.start({ argv: ["cat"], name: "used", caller });
		const done = session.use();
		const aborted = new AbortController();
		const wait = session.wait({ until: {}, timeoutMs: 60_000, signal: aborted.signal });
		await sessions.start({ argv: ["cat"], name: "unused", caller });
		await until("the unused one is ended", () => sessions.list().some(({ record }) => record.state === "cancelled"));
		aborted.abort();
		await expect(wait).rejects.toThrow();
		expect(session.ended).toBe(false);
		const { usedAt } = session;
		done();
		await until("nobody uses it", () => session.ended);
		expect(performance.now() - usedAt).toBeGreaterThanOrEqual(40);
	});

	test("a clock that is set forward ends no session that was used a moment ago", async () => {
		await using sessions = await open(new FakeTerminals(), { idleMs: 600 });
		const session = await sessions.start({ argv: ["cat"], name: "used", caller });
		const start = performance.now();
		await until("its timer is nearer than its limit", () => performance.now() - start > 300);
		await sessions.find("used");
		const usedAt = performance.now();
		const now = Date.now;
		const clock = vi.spyOn(Date, "now").mockImplementation(() => now() + 3_600_000);
		try {
			await until("it is idle", () => session.ended);
		} finally {
			clock.mockRestore();
		}
		expect(performance.now() - usedAt).toBeGreaterThanOrEqual(590);
	});

	test("what races the end of a program does not speak of typing, and an end that was asked for has come", async () => {
		const ended = new PtyIoError("ended", "the program has ended", { sent: true });
		class Racing extends FakePty {
			override resize = () => Promise.reject(ended);
			override signal = () => {
				setImmediate(() => this.finish({ code: 5 }));
				return Promise.reject(ended);
			};
			override write = () => Promise.reject(ended);
		}
		await using sessions = await open({
			launch: async () => new Racing(),
			adopt: async () => null,
			endHolder: async () => null,
		});
		const session = await sessions.start({ argv: ["cat"], caller });
		const as = { agent: "test" };
		const refused = (call: Promise<unknown>) =>
			call.then(
				() => "done",
				(error: Error) => error.message,
			);
		const message = `Session "${session.name}" has ended (just now).`;
		expect(await refused(session.resize(90, 30, { as }))).toBe(message);
		expect(await refused(session.signal("SIGINT", as))).toBe(message);
		expect(await refused(session.type(Buffer.from("x"), { as }))).toContain("may have been typed");
		expect(await sessions.close(session, { force: false, keep: true })).toEqual([]);
		expect(session.exit).toEqual({ code: 5, signal: null });
		expect(await refused(session.signal("SIGTERM", as))).not.toContain("typed");
	});

	test("S10: a program that ends by itself after its close was refused and never sent has not been cancelled", async () => {
		for (const keep of [true, false]) {
			const terminals = new FakeTerminals();
			await using sessions = await open(terminals);
			const session = await sessions.start({ argv: ["cat"], caller });
			const program = terminals.programs.get(session.id)!;
			program.pty!.answer(false);
			await expect(sessions.close(session, { force: false, keep })).rejects.toMatchObject({ code: "unresponsive" });
			program.pty!.answer(true);
			program.exit({ code: 0, signal: null });
			await until("it has ended", () => session.ended);
			expect(session.status).toBe("succeeded");
		}
	});
});

test("a start that failed is told as an end with its reason, and has no exit code", async () => {
	const terminals = new FakeTerminals();
	const launch: Terminals["launch"] = () => Promise.reject(new Error("no such directory"));
	await using sessions = await open({ ...terminals, launch }, { evictMs: 0 });
	await expect(sessions.start({ argv: ["cat"], name: "bad", caller })).rejects.toThrow("no such directory");
	expect((await sessions.find("bad")).howItEnded).toBe("no such directory");
	expect(sessions.events.after(0)).toMatchObject({
		event: "ended",
		status: "failed",
		exit: null,
		because: "no such directory",
	});
});

test("a program that ends by itself after its end for idleness was refused has not ended for idleness", async () => {
	const terminals = new FakeTerminals();
	await using sessions = await open(terminals);
	const session = await sessions.start({ argv: ["cat"], caller });
	const program = terminals.programs.get(session.id)!;
	program.pty!.answer(false);
	await expect(session.close(50, "idle for 1 s")).rejects.toMatchObject({ code: "unresponsive" });
	program.pty!.answer(true);
	program.exit({ code: 0, signal: null });
	await until("it has ended", () => session.ended);
	expect(session).toMatchObject({ status: "succeeded", endedBecause: null, howItEnded: "exit code 0" });
});

test("a session that ends while it is about to be ended for idleness has not ended for that, and nothing happens to it once it is removed", async () => {
	const terminals = new FakeTerminals();
	const [asked, answered] = [deferred<void>(), deferred<void>()];
	const { logBounds } = await vi.importActual<typeof segments>("../journal/segments.ts");
	vi.mocked(segments.logBounds).mockImplementation(async (directory, end) => {
		asked.resolve();
		await answered.promise;
		// As if it had printed in the meantime.
		return { ...(await logBounds(directory, end)), to: 100 };
	});
	try {
		await using sessions = await open(terminals, { idleMs: 20, evictMs: 60 });
		const session = await sessions.start({ argv: ["cat"], name: "x", caller });
		await asked.promise;
		terminals.programs.get(session.id)!.exit({ code: 0, signal: null });
		await until("it has ended", () => session.ended);
		answered.resolve();
		await vi.mocked(segments.logBounds).mock.results.at(-1)!.value;
		await nextTurn(); // what waited for it goes on
		expect(sessions.list()[0]!.record).toMatchObject({ state: "succeeded", reason: null });
		await sessions.remove(session.id);
		await delay(120); // nothing happens to it any more: an error in a timer would fail the test
		expect(sessions.list()).toEqual([]);
	} finally {
		vi.mocked(segments.logBounds).mockImplementation(logBounds);
	}
});

test("an adoption that failed for a moment is not the reason of a session that had ended before", async () => {
	const terminals = new FakeTerminals();
	const first = await open(terminals);
	const session = await first.start({ argv: ["cat"], name: "x", caller });
	// Its program has ended, and something that it started has its terminal open.
	terminals.programs.get(session.id)!.pty!.finish({ closed: false });
	await until("it has ended", () => session.ended);
	await first[Symbol.asyncDispose]();
	terminals.adoptionFails = new Error("too many open files");
	await using sessions = await open(terminals);
	await expect(sessions.find("x")).rejects.toMatchObject({ code: "session_unreachable" });
	expect(sessions.list()[0]!.record.reason).toContain("too many open files");
	terminals.adoptionFails = null;
	expect((await sessions.find("x")).endedBecause).toBeNull();
	expect(sessions.list()[0]!.record).toMatchObject({ state: "succeeded", reason: null });
});

describe("a removal", () => {
	test("of a session that cannot be let go of is told, and the session is read again from disk", async () => {
		await using sessions = await open(new FakeTerminals(), { evictMs: 60_000 });
		const session = await sessions.start({ argv: ["cat"], name: "x", caller });
		await sessions.close(session, { force: true, keep: false });
		vi.spyOn(session, Symbol.asyncDispose).mockRejectedValueOnce(new Error("its files are busy"));
		const removal = sessions.remove(session.id);
		const meanwhile = sessions.find("x");
		await expect(removal).rejects.toMatchObject({ code: "not_removed", facts: { problem: "its files are busy" } });
		expect((await meanwhile).status).toBe("cancelled");
		await session[Symbol.asyncDispose]();
		await sessions.remove(session.id);
		expect(sessions.list()).toEqual([]);
	});

	test("that cannot be made leaves the session as it was, and can be repeated", async () => {
		await using sessions = await open(new FakeTerminals(), { evictMs: 0 });
		const session = await sessions.start({ argv: ["cat"], name: "x", caller });
		await sessions.close(session, { force: true, keep: false });
		const inTheWay = join(home, "sessions", `${session.id}.removed`);
		mkdirSync(join(inTheWay, "full"), { recursive: true });
		await expect(sessions.remove("x")).rejects.toMatchObject({ code: "not_removed" });
		expect((await sessions.find("x")).status).toBe("cancelled");
		expect(sessions.list().map(({ record }) => record.name)).toEqual(["x"]);
		rmSync(inTheWay, { recursive: true });
		await sessions.remove("x");
		await expect(sessions.find("x")).rejects.toMatchObject({ code: "session_not_found" });
		expect(sessions.list()).toEqual([]);
	});

	test("whose files cannot be deleted is told, and the next daemon deletes them", async () => {
		const where = join(home, "sessions");
		const stubborn = () => readdirSync(where).filter((name) => name.endsWith(".removed"));
		{
			await using sessions = await open(new FakeTerminals(), { evictMs: 0 });
			const session = await sessions.start({ argv: ["cat"], name: "x", caller });
			await sessions.close(session, { force: true, keep: false });
			mkdirSync(join(where, session.id, "busy/file"), { recursive: true });
			// What stops root is a mount; what stops another user is the mode.
			const isRoot = process.getuid?.() === 0;
			const busy = (name: string) => join(where, name, "busy");
			if (isRoot) execFileSync("mount", ["-t", "tmpfs", "tmpfs", busy(session.id)]);
			else chmodSync(busy(session.id), 0o500);
			try {
				await expect(sessions.remove("x")).rejects.toMatchObject({ code: "not_removed", facts: { isOut: true } });
			} finally {
				const [left = session.id] = stubborn();
				if (isRoot) execFileSync("umount", [busy(left)]);
				else chmodSync(busy(left), 0o700);
			}
			expect(sessions.list()).toEqual([]);
			await expect(sessions.find("x")).rejects.toMatchObject({ code: "session_not_found" });
		}
		await using sessions = await open(new FakeTerminals());
		expect(sessions.list()).toEqual([]);
		await until("its files are deleted", () => stubborn().length === 0);
	});
});

test("a session whose daemon died while it was being started says so, not that its holder died", async () => {
	const gate = deferred<void>();
	const terminals = new FakeTerminals(async (what, value) => {
		if (what === "launch") await gate.promise;
		return value;
	});
	const first = await open(terminals);
	const start = first.start({ argv: ["cat"], caller }).catch(() => {}); // its daemon is dead
	const directory = join(home, "sessions");
	await until("it is recorded", () =>
		readdirSync(directory).some((id) => existsSync(join(directory, id, "meta.json"))),
	);
	{
		await using next = await open(new FakeTerminals());
		await until("it is lost", () => next.list()[0]!.record.state === "stream_lost");
		expect(next.list()[0]!.record.reason).toBe("the daemon died while it was being started");
		expect((await next.find(next.list()[0]!.record.id)).howItEnded).toBe("the daemon died while it was being started");
	}
	terminals.kill();
	gate.resolve();
	await start;
	await first[Symbol.asyncDispose]();
});

describe("what ended while no daemon ran", () => {
	const LINES = 700_000;

	/** A flood of 5.5 MB, and the record of a daemon that was killed during it. */
	async function leaveFlood(): Promise<string> {
		const first = await open(new FakeTerminals());
		const { id } = await first.start({ argv: ["seq"], name: "flood", caller });
		await first[Symbol.asyncDispose]();
		const directory = join(home, "sessions", id);
		const text = Array.from({ length: LINES }, (_, i) => `${i + 1}\r\n`).join("");
		writeFileSync(join(directory, "out.00000000000000000000"), text);
		writeFileSync(
			join(directory, "exit"),
			JSON.stringify({ code: 0, signal: null, size: text.length, closed: true, reason: "exit", endedAt: Date.now() }),
		);
		rmSync(join(directory, "keyframe.json"), { force: true });
		return id;
	}

	test("is read at once: its caller does not share the time that is left for output nobody looks at", async () => {
		const id = await leaveFlood();
		// Whatever nobody waits for is not drawn at all.
		vi.spyOn(DrawScheduler.prototype, "changed").mockImplementation((drawable) => {
			if (!drawable.attended && drawable.pendingBytes >= 256 * 1024) drawable.hold(true);
		});
		try {
			await using sessions = await open(new FakeTerminals());
			const session = await within(15_000, "reading it", sessions.find(id));
			expect(session.status).toBe("succeeded");
			expect(session.screen.lines(2)).toEqual([String(LINES - 1), String(LINES)]);
		} finally {
			vi.restoreAllMocks();
		}
	});

	test("S16: has the number of lines that it printed, or none until they are counted; so it stays when evicted and read again", async () => {
		const id = await leaveFlood();
		const options = { evictMs: 1, replayBytes: 64 * 1024 };
		const numbers = new Set<number | null>();
		for (let daemon = 0; daemon < 2; daemon++) {
			await using sessions = await open(new FakeTerminals(), options);
			const card = () => outputOf(sessions.list()[0]!);
			for (let i = 0; i < 3; i++) {
				await sessions.find(id);
				await until("the lines are counted", () => {
					numbers.add(card().linesOut);
					return card().linesOut !== null;
				});
				await until("it has left memory", () => sessions.list()[0]!.session === null);
				expect(card()).toMatchObject({ linesOut: LINES, lastLine: String(LINES), truncated: true });
			}
		}
		expect([...numbers].filter((number) => number !== null)).toEqual([LINES]);
	});
});

describe("model", () => {
	test("under concurrent calls no session is lost, duplicated or left running unowned", async () => {
		const property = fc.asyncProperty(fc.scheduler(), batches(12), async (scheduler, commands) => {
			rmSync(home, { recursive: true, force: true });
			home = mkdtempSync(join(tmpdir(), "dt-slot-"));
			{
				await using _leaks = new LeakCheck();
				const terminals = new FakeTerminals((what, value) => scheduler.schedule(Promise.resolve(value), what));
				const where = places({ DIALTONE_HOME: home });
				await preparePlaces(where);
				const world = await InProcessWorld.open({
					places: where,
					options: { evictMs: 1, rememberEnded: 2, endGraceMs: 50 },
					terminals: () => terminals.forDaemon(),
					onKill: () => terminals.kill(),
					alive: () => terminals.alive(),
					settle: (promise) => scheduler.waitFor(promise),
					start: { argv: ["cat"] },
				});
				await fc.asyncModelRun(() => ({ model: newModel(), real: world }), commands);
				expect(await world.settle(world.endAll())).toEqual([]);
				expect([...terminals.alive()]).toEqual([]);
				await world.settle(world[Symbol.asyncDispose]());
			}
			rmSync(home, { recursive: true, force: true, maxRetries: 5 });
		});
		await forAWhile(5000, (random) => fc.assert(property, { ...random, numRuns: 5, endOnFailure: true }));
	}, 60_000);
});
