// Slots and Sessions over a fake of the terminals: no process, and a scheduler that decides
// in which order launches, adoptions and ends happen.

import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { until } from "../../test/condition.ts";
import { FakePty } from "../../test/fake-pty.ts";
import { LeakCheck } from "../../test/session/leaks.ts";
import { batches, forAWhile, newModel, type World } from "../../test/session/slot-model.ts";
import { places, preparePlaces } from "../pty/places.ts";
import type { PtyExit } from "../pty/pty.ts";
import { type Options, resolveOptions } from "./options.ts";
import { Sessions } from "./sessions.ts";
import type { Terminals } from "./terminals.ts";

type Later = <T>(what: string, value: T) => Promise<T>;

/** A program that keeps running when its terminal is detached. */
class FakeProgram {
	readonly #directory: string;
	#pty: FakeProgramPty | null = null;
	isAlive = true;

	constructor(directory: string) {
		this.#directory = directory;
	}

	open(later: Later): FakeProgramPty {
		this.#pty = new FakeProgramPty(this, later);
		return this.#pty;
	}

	exit(how: { code: number | null; signal: string | null }): void {
		if (!this.isAlive) return;
		this.isAlive = false;
		const signal = how.signal === null ? null : 15;
		writeFileSync(
			join(this.#directory, "exit"),
			JSON.stringify({ code: how.code, signal, size: 0, closed: true, reason: "exit", endedAt: Date.now() }),
		);
		this.#pty?.finish(how);
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
		await this.#later("end", null);
		this.#program.exit({ code: null, signal: "SIGTERM" });
		return [];
	}

	override async signal(signal: string): Promise<void> {
		await this.#later("signal", null);
		this.#program.exit({ code: null, signal });
	}
}

class FakeTerminals implements Terminals {
	readonly programs = new Map<string, FakeProgram>();
	readonly #later: Later;
	/** What adoption fails with, while set. */
	adoptionFails: Error | null = null;

	constructor(later: Later = async (_, value) => value) {
		this.#later = later;
	}

	launch: Terminals["launch"] = async ({ directory }) => {
		await this.#later("launch", null);
		const program = new FakeProgram(directory);
		this.programs.set(basename(directory), program);
		return program.open(this.#later);
	};

	adopt: Terminals["adopt"] = async ({ directory }) => {
		await this.#later("adopt", null);
		if (this.adoptionFails !== null) throw this.adoptionFails;
		const program = this.programs.get(basename(directory));
		return program?.isAlive ? program.open(this.#later) : null;
	};

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
		await expect(sessions.remove("cat")).rejects.toMatchObject({ code: "not_allowed" });
		terminals.adoptionFails = null;
		expect(await sessions.find("cat")).toMatchObject({ id, status: "running" });
		expect(sessions.list()[0]!.record.reason).toBeNull();
		expect(await sessions.endAll()).toEqual([]);
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
		await using sessions = await open({ launch: terminals.launch, adopt });
		expect((await sessions.find("quick")).status).toBe("running");
		const waiting = sessions.find("slow");
		expect(sessions.list().map(({ session }) => session === null)).toEqual([false, true]);
		release();
		expect((await waiting).status).toBe("running");
		await sessions.endAll();
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

describe("model", () => {
	test("under concurrent calls no session is lost, duplicated or left running unowned", async () => {
		const property = fc.asyncProperty(fc.scheduler(), batches(12), async (scheduler, commands) => {
			rmSync(home, { recursive: true, force: true });
			home = mkdtempSync(join(tmpdir(), "dt-slot-"));
			{
				await using _leaks = new LeakCheck();
				const terminals = new FakeTerminals((what, value) => scheduler.schedule(Promise.resolve(value), what));
				const options = { evictMs: 1, rememberEnded: 2 };
				const world: World = {
					places: places({ DIALTONE_HOME: home }),
					sessions: await open(terminals, options),
					restart: async () => {
						await world.sessions[Symbol.asyncDispose]();
						world.sessions = await open(terminals, options);
					},
					alive: () => terminals.alive(),
					exit: async ({ id }) => terminals.programs.get(id)?.exit({ code: 0, signal: null }),
					settle: (promise) => scheduler.waitFor(promise),
					start: { argv: ["cat"] },
				};
				await fc.asyncModelRun(() => ({ model: newModel(), real: world }), commands);
				expect(await world.settle(world.sessions.endAll())).toEqual([]);
				expect([...terminals.alive()]).toEqual([]);
				await world.settle(world.sessions[Symbol.asyncDispose]());
			}
			rmSync(home, { recursive: true, force: true, maxRetries: 5 });
		});
		await forAWhile(5000, () => fc.assert(property, { numRuns: 10, endOnFailure: true }));
	}, 60_000);
});
