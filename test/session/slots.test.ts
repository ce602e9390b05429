// A session cannot be mislaid: races of start, use, replace, close and remove, what has
// ended, and what outlives a restart. With real programs, through the library.

import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, describe, expect, test } from "vitest";
import { Dialtone, type SessionFacts, type Terminal } from "../../src/index.ts";
import type { Options } from "../../src/session/options.ts";
import { until as eventually } from "../condition.ts";
import { Home } from "../daemon/home.ts";

const opened = new Set<Dialtone>();
const homes: string[] = [];
async function open(options: Partial<Options> = {}, home?: string): Promise<Dialtone> {
	const dialtone = await Dialtone.open({ options, owner: "me", ...(home === undefined ? {} : { home }) });
	opened.add(dialtone);
	return dialtone;
}
async function close(dialtone: Dialtone): Promise<void> {
	opened.delete(dialtone);
	await dialtone[Symbol.asyncDispose]();
}
function newHome(): string {
	const home = mkdtempSync(join(tmpdir(), "dt-slots-"));
	homes.push(home);
	return home;
}
async function endAll(dialtone: Dialtone): Promise<void> {
	for (const { session } of (await dialtone.list({ status: "running" })).sessions) {
		await dialtone.client.call("close", { session, force: true });
	}
}
afterEach(async () => {
	for (const dialtone of [...opened]) {
		await endAll(dialtone);
		await close(dialtone);
	}
	for (const home of homes.splice(0)) rmSync(home, { recursive: true, force: true, maxRetries: 5 });
});
const patient = { timeoutMs: 60_000 };
const factsOf = async (answer: Promise<{ facts: object }>) => (await answer).facts as SessionFacts;
const running = async (dialtone: Dialtone) => (await dialtone.list({ status: "running" })).sessions;
const echoes = async (terminal: Terminal, text: string) =>
	expect((await terminal.send({ text, submit: true, ...patient })).text).toContain(text);

describe("a session is never mislaid", () => {
	test("S1: a second start that uses the same name waits for the first and gets its session", async () => {
		const dialtone = await open({ evictMs: 50 });
		const start = { name: "cat", argv: ["cat"], ifExists: "use" as const, ...patient };
		const terminals = await Promise.all([1, 2, 3, 4].map(() => dialtone.start(start)));
		expect(new Set(terminals.map(({ id }) => id)).size).toBe(1);
		for (const { facts } of terminals) expect(facts).toMatchObject({ status: "running", activity: "waiting" });
		// Longer than it takes to evict what has ended: another session is, and this one is not.
		await dialtone.start({ name: "gone", argv: ["true"], ...patient });
		await eventually("another was evicted", async () => {
			const { sessions } = await dialtone.list({ status: "ended" });
			return sessions.length === 1 && Date.now() - sessions[0]!.updatedAt > 200;
		});
		await echoes(terminals[1]!, "still here");
	});

	test("S1: using a name whose start fails starts it anew", async () => {
		const dialtone = await open();
		const bad = dialtone.start({ name: "x", argv: ["/no/such/program"], ifExists: "use" });
		const good = dialtone.start({ name: "x", argv: ["cat"], ifExists: "use", ...patient });
		await expect(bad).rejects.toMatchObject({ code: "spawn_failed" });
		expect((await good).facts.status).toBe("running");
	});

	test("S7: two replacements at once leave one running session of that name, and both callers have one that works", async () => {
		const dialtone = await open();
		await dialtone.start({ name: "cat", argv: ["cat"], ...patient });
		const replace = { name: "cat", argv: ["cat"], ifExists: "replace" as const, ...patient };
		const terminals = await Promise.all([dialtone.start(replace), dialtone.start(replace)]);
		expect(await running(dialtone)).toHaveLength(1);
		for (const terminal of terminals) await echoes(terminal, "mine");
	});

	test("S7: of different replacements at once the last one stays, alone", async () => {
		const dialtone = await open();
		const replace = (command: string) => dialtone.start({ name: "x", command, ifExists: "replace", ...patient });
		await Promise.all([replace("read a; exit 1"), replace("read b; exit 2"), replace("read c; exit 3")]);
		expect((await running(dialtone)).map(({ command }) => command)).toEqual(["read c; exit 3"]);
	});

	test("S12: what still runs in the background keeps its log, and close with keep and forget is refused", async () => {
		const home = newHome();
		const dialtone = await open({}, home);
		const command = "trap '' HUP; (trap '' HUP TERM; while sleep 0.05; do echo tick; done) & echo up; read x";
		const terminal = await dialtone.start({ name: "bg", command, until: { text: "up" }, ...patient });
		await expect(terminal.close({ keep: true, forget: true })).rejects.toMatchObject({ code: "bad_input" });
		await terminal.close({ keep: true });
		await expect(terminal.close({ keep: false, forget: true })).resolves.toBeDefined();
		expect(existsSync(join(home, "sessions", terminal.id))).toBe(false);
	});

	test("S12: closing and forgetting many at once leaves no directory, no record and no file", async () => {
		const home = newHome();
		const dialtone = await open({}, home);
		const starts = Array.from({ length: 8 }, (_, i) => dialtone.start({ name: `c${i}`, argv: ["cat"], ...patient }));
		const terminals = await Promise.all(starts);
		const problems: Error[] = [];
		const collect = (warning: Error) => void problems.push(warning);
		process.on("warning", collect);
		await Promise.all(terminals.map((terminal) => terminal.close({ forget: true })));
		await close(dialtone);
		process.off("warning", collect);
		expect(problems.filter(({ message }) => message.includes("recording"))).toEqual([]);
		expect(readdirSync(join(home, "sessions")).filter((name) => name !== "ended.jsonl")).toEqual([]);
	});
});

describe("what has ended", () => {
	test("S15: is found by id, prefix and name, read and removed, however many ended after it", async () => {
		const home = newHome();
		const options = { rememberEnded: 3, evictMs: 10 };
		let dialtone = await open(options, home);
		const first = await dialtone.start({ name: "first", command: "echo hello", ...patient });
		for (let i = 0; i < 6; i++) await dialtone.start({ command: "echo later", ...patient });
		for (const restarted of [false, true]) {
			if (restarted) {
				await close(dialtone);
				dialtone = await open(options, home);
			}
			const { sessions } = await dialtone.list();
			expect(sessions).toHaveLength(3);
			for (const reference of [first.id, first.id.slice(0, 8), "first"]) {
				const { facts } = await dialtone.client.call("read", { session: reference, view: "lines", lines: 5 });
				expect(facts).toMatchObject({ session: first.id, status: "succeeded", text: "hello" });
			}
		}
		await dialtone.client.call("close", { session: "first", forget: true });
		expect(existsSync(join(home, "sessions", first.id))).toBe(false);
		await expect(dialtone.find("first")).rejects.toMatchObject({ code: "session_not_found" });
	});

	test("S16: has the same card after it was evicted and read again", async () => {
		const home = newHome();
		let dialtone = await open({ evictMs: 1 }, home);
		const terminal = await dialtone.start({ name: "ten", command: "printf '123456789\\n'", ...patient });
		const card = async () => {
			const { offset, lines, lastLine, truncated } = (await dialtone.list()).sessions[0]!;
			return { offset, lines, lastLine, truncated };
		};
		const whole = { offset: 11, lines: 1, lastLine: "123456789", truncated: false };
		expect(await card()).toEqual(whole);
		for (let i = 0; i < 5; i++) {
			await terminal.read();
			expect(await card()).toEqual(whole);
		}
		await close(dialtone);
		dialtone = await open({}, home);
		await dialtone.find("ten");
		expect(await card()).toEqual(whole);
	});

	test("S16: a running session has the same card after a restart", async () => {
		const home = newHome();
		let dialtone = await open({}, home);
		await dialtone.start({ name: "r", command: "printf '12345678\\n'; read x", ...patient });
		await close(dialtone);
		dialtone = await open({}, home);
		const [card] = (await dialtone.list()).sessions;
		expect(card).toMatchObject({ offset: 10, lines: 1, lastLine: "12345678", truncated: false, status: "running" });
	});

	test("S17: is started again with its environment, its limits and keep", async () => {
		const dialtone = await open({ evictMs: 1 });
		const command = "echo $GREETING; ulimit -n";
		await dialtone.start({
			name: "x",
			command,
			env: { GREETING: "hi", OTHER: "1" },
			keep: true,
			limits: { openFiles: 77 },
			...patient,
		});
		const again = await dialtone.start({ again: "x", env: { OTHER: "2" }, ...patient });
		expect(again.facts.text).toBe("hi\n77");
		expect((await dialtone.list()).sessions.map(({ keep }) => keep)).toEqual([true, true]);
		expect((await dialtone.start({ again: "x", keep: false, ...patient })).facts.status).toBe("succeeded");
		expect((await dialtone.list()).sessions[0]!.keep).toBe(false);
	});
});

describe("S23 what ended sessions cost", () => {
	/** Sessions as an earlier daemon left them. */
	function leaveEnded(home: string, count: number): void {
		for (let number = 1; number <= count; number++) {
			const id = String(number).padStart(26, "0");
			const directory = join(home, "sessions", id);
			mkdirSync(directory, { recursive: true, mode: 0o700 });
			const when = { createdAt: number, updatedAt: number, resolvedAt: number };
			const what = { id, name: `old-${number}`, command: "true", argv: ["true"], cwd: "/", state: "succeeded" };
			writeFileSync(join(directory, "meta.json"), JSON.stringify({ ...what, ...when }));
			for (const file of ["out.00000000000000000000", "timing", "exit"]) writeFileSync(join(directory, file), "");
		}
	}

	/** Milliseconds of CPU, which a busy machine does not change much. */
	async function cpuOfShortCommands(ended: number): Promise<number> {
		const home = newHome();
		leaveEnded(home, ended);
		await close(await open({}, home)); // whatever is done once is done
		const dialtone = await open({}, home);
		const command = () => dialtone.start({ argv: ["true"], ...patient });
		for (let i = 0; i < 5; i++) await command();
		const before = process.cpuUsage();
		for (let i = 0; i < 20; i++) {
			await command();
			await dialtone.list();
		}
		const { user, system } = process.cpuUsage(before);
		await close(dialtone);
		return (user + system) / 1000;
	}

	test("S23: short commands and lists cost the same after 1500 ended sessions as after none", async () => {
		const few = await cpuOfShortCommands(0);
		const many = await cpuOfShortCommands(1500);
		expect(many).toBeLessThan(2 * few + 50);
	});
});

describe("idleness", () => {
	test("a shell in which a command runs, and a session whose output is read as it comes, are in use", async () => {
		const dialtone = await open({ idleMs: 2000 });
		const run = dialtone.run({ command: "sleep 4; echo finished", clean: true, ...patient });
		const terminal = await dialtone.start({ command: "sleep 4; echo printed", timeoutMs: 0 });
		const pieces: Uint8Array[] = [];
		for await (const chunk of terminal.output({ signal: new AbortController().signal }))
			if ("bytes" in chunk) pieces.push(chunk.bytes);
		expect(Buffer.concat(pieces).toString()).toBe("printed\r\n");
		expect(await run).toMatchObject({ exitCode: 0, text: expect.stringContaining("finished") });
	});
});

describe("what each caller has seen", () => {
	test("S18: survives a daemon that leaves, for a program and for a shell", async () => {
		const home = newHome();
		let dialtone = await open({}, home);
		await dialtone.start({ name: "cat", argv: ["cat"], ...patient });
		await dialtone.client.call("send", { session: "cat", text: "before", submit: true, ...patient });
		await dialtone.client.call("run", { command: "echo in the shell", ...patient });
		await dialtone.client.call("wait", { session: "main", ...patient });
		await close(dialtone);
		dialtone = await open({}, home);
		for (const session of ["cat", "main"]) {
			expect((await dialtone.client.call("read", { session })).facts).toMatchObject({ text: "" });
		}
		const { facts } = await dialtone.client.call("send", { session: "cat", text: "after", submit: true, ...patient });
		expect(facts).toMatchObject({ text: "after" });
		const run = await dialtone.client.call("run", { command: "echo again", ...patient });
		expect(run.facts).toMatchObject({ exitCode: 0, text: expect.stringContaining("again") });
		expect(await running(dialtone)).toHaveLength(2);
	});

	test("S18: survives kill -9 of the daemon, for a program and for a shell, also after a resize", async () => {
		await using home = new Home();
		const first = await home.connect();
		await first.call("start", { name: "py", argv: ["cat"], ...patient });
		await first.call("send", { session: "py", text: "one\ntwo\nthree", submit: true, ...patient });
		await first.call("resize", { session: "py", cols: 60, rows: 20 });
		const cat = await factsOf(first.call("send", { session: "py", text: "four", submit: true, ...patient }));
		await first.call("run", { command: "seq 1 50", ...patient });
		const shell = await factsOf(first.call("wait", { session: "main", ...patient }));
		const { pid } = await first.status();
		const saved = (id: string) => {
			const file = join(home.path, "sessions", id, "seen.json");
			return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).seen[0][1].offset : null;
		};
		await eventually(
			"it is saved what was seen",
			() => saved(cat.session) === cat.offset && saved(shell.session) === shell.offset,
		);
		process.kill(pid, "SIGKILL");
		await first[Symbol.asyncDispose]();
		await using second = await home.connect();
		for (const session of ["py", "main"]) {
			expect((await second.call("read", { session })).facts).toMatchObject({ text: "" });
		}
		const { facts } = await second.call("send", { session: "py", text: "five", submit: true, ...patient });
		expect(facts).toMatchObject({ text: "five" });
		const screen = await second.snapshot("py");
		expect([screen.cols, screen.rows]).toEqual([60, 20]);
	});
});

describe("S21 the conversation that opened a session", () => {
	test("S21: is recorded as given, else as the caller's environment says", async () => {
		const dialtone = await open();
		await dialtone.start({ name: "given", command: "true", parent: "conversation-1", ...patient });
		const caller = { owner: "me", cwd: "/", env: {}, parent: "from-host" };
		await dialtone.client.call("start", { name: "host", command: "true", ...patient }, { caller });
		const { sessions } = await dialtone.list();
		expect(sessions.map(({ name, parent }) => [name, parent])).toEqual([
			["host", "from-host"],
			["given", "conversation-1"],
		]);
	});
});

describe("S9 a program that uses the library", () => {
	test("S9: is told of an error that has no caller by a warning, and goes on", async () => {
		const dist = join(import.meta.dirname, "../../dist");
		const program = `
			import { Dialtone } from ${JSON.stringify(join(dist, "index.js"))};
			import { reportError } from ${JSON.stringify(join(dist, "protocol/listeners.js"))};
			const dialtone = await Dialtone.open();
			reportError(new Error("mine"), "output: listener");
			await new Promise(setImmediate);
			await dialtone[Symbol.asyncDispose]();
			console.log("goes on");
		`;
		const run = promisify(execFile);
		const { stdout, stderr } = await run(process.execPath, ["--input-type=module", "-e", program]);
		expect(stdout).toContain("goes on");
		expect(stderr).toContain("Warning: dialtone: output: listener: Error: mine");
	});
});
