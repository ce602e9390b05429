// A real terminal within: each behaviour is compared with the same program outside of the sandbox.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { confined } from "../../src/pty/sandbox.ts";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";
import type { Started } from "../pty/stage.ts";
import { Box, USERS, type User } from "./box.ts";

// The library as it is, but programs that ask for it in a sandbox whose workspace is their working directory.
vi.mock("../../src/session/terminals.ts", async (original) => {
	const { holderTerminals } = await original<typeof import("../../src/session/terminals.ts")>();
	const launch: typeof holderTerminals.launch = async (spec) =>
		holderTerminals.launch(
			spec.env.WHERE === "inside"
				? await confined(spec, { workspace: spec.cwd, ro: [], rw: [], network: "none" }, {})
				: spec,
		);
	return { holderTerminals: { ...holderTerminals, launch } };
});

const WHERE = ["outside", "inside"] as const;

describe.each(USERS)("R4.9 a terminal in a sandbox, as %s", (user: User) => {
	let box: Box;
	beforeEach(async () => {
		box = await Box.open(user);
	});
	afterEach(() => box[Symbol.asyncDispose]());

	describe.each(WHERE)("%s", (where) => {
		const sandbox = where === "inside" ? {} : null;
		const start = (program: string | readonly string[]) => box.start(program, sandbox);
		const type = ({ pty }: Started, text: string) => pty.write(Buffer.from(text));

		test("/dev/tty is the terminal", async () => {
			const { said, exit } = await box.run("echo through > /dev/tty; exit 3", sandbox);
			expect(said).toBe("through\n");
			expect(exit).toMatchObject({ code: 3, signal: null, reason: "exit", closed: true });
		});

		test("standard input is a terminal with a name, by which it can be opened", async () => {
			const { said } = await box.run('test -t 0 && test -t 1 && test -t 2 && echo "by name" > "$(tty)"', sandbox);
			expect(said).toBe("by name\n");
		});

		test("the program leads its session and has the terminal", needing("ps"), async () => {
			const { said } = await box.run(
				"set -- $(ps -o pid=,pgid=,sid=,tpgid= -p $$); test $1 = $2 && test $2 = $3 && test $3 = $4 && echo leads",
				sandbox,
			);
			expect(said).toBe("leads\n");
		});

		test("Ctrl+C reaches the program only, which may handle it", async () => {
			const started = await start('trap "echo caught" INT; echo ready; while :; do sleep 600 & wait $!; done');
			await started.received.says("ready");
			for (const times of [1, 2]) {
				await type(started, "\x03");
				await until("it is caught", () => started.received.text.split("caught").length > times);
			}
			expect(started.pty.exit).toBe(null);
		});

		test("Ctrl+C kills a program that does not, and that is told as a signal", async () => {
			const started = await start("echo ready; exec sleep 600");
			await started.received.says("ready");
			await type(started, "\x03");
			expect(await started.received.exited).toMatchObject({ code: null, signal: "SIGINT" });
		});

		test.each([
			["exit 130", { code: 130, signal: null }],
			["kill -TERM $$", { code: null, signal: "SIGTERM" }],
			["kill -KILL $$", { code: null, signal: "SIGKILL" }],
			["kill -SEGV $$", { code: null, signal: "SIGSEGV" }],
			["exit 0", { code: 0, signal: null }],
		])("the end of `%s` is told exactly", async (line, end) => {
			expect((await box.run(line, sandbox)).exit).toMatchObject(end);
		});

		test("job control: Ctrl+Z stops, fg continues", async () => {
			const started = await start(["bash", "--norc", "--noprofile", "-i"]);
			await type(started, "echo start-$((1 + 1)); cat\n");
			await started.received.says("start-2");
			await type(started, "one\n");
			await until("cat repeats it", () => started.received.text.split("one").length > 2);
			await type(started, "\x1a");
			await started.received.says("Stopped");
			const before = started.received.text.length;
			await type(started, "fg\n");
			// Bash names the job when it has left its line editor: before that nothing is echoed as it is to cat.
			await until("it goes on", () => started.received.text.slice(before).includes("cat"));
			await type(started, "two\n");
			await until("cat repeats it", () => started.received.text.split("two").length > 2);
		});

		test("a background reader is stopped", async () => {
			const started = await start(["bash", "--norc", "--noprofile", "-ic", "cat & sleep 0.2; wait -n; jobs; echo $?"]);
			await started.received.says("Stopped");
		});

		test("a new size is told by SIGWINCH", async () => {
			const started = await start('trap "stty size" WINCH; echo ready; while :; do sleep 600 & wait $!; done');
			await started.received.says("ready");
			await started.pty.resize(111, 37);
			await started.received.says("37 111");
		});

		test("a password is not echoed", async () => {
			const started = await start(["bash", "-c", 'read -rsp "Password: " p; echo; echo "${#p} letters"']);
			await started.received.says("Password: ");
			await until("echo is off", async () => !(await started.pty.facts()).echo);
			await type(started, "hunter2\n");
			await started.received.says("7 letters");
			expect(started.received.text).not.toContain("hunter2");
		});

		test("vim edits a file", needing("vim"), async () => {
			const started = await start(["vim", "-u", "NONE", "-N", `${where}.txt`]);
			await started.received.says("~");
			await type(started, "ihello\x1b:wq\r");
			expect(await started.received.exited).toMatchObject({ code: 0 });
			expect((await box.run(`cat ${where}.txt`, sandbox)).said).toBe("hello\n");
		});

		test("terminals of its own: script", async () => {
			const { said } = await box.run("script -qec 'tty; test -t 0 && echo terminal' /dev/null", sandbox);
			expect(said).toMatch(/^\/dev\/pts\/\d+\nterminal\n/);
		});

		test("a background process outlives the program, and ends with the session", async () => {
			const started = await start("trap '' HUP; sleep 600 & exit 5");
			const exit = await started.received.exited;
			expect(exit).toMatchObject({ code: 5, closed: false });
			expect(exit.survivors).not.toEqual([]);
			expect(await started.pty.end(2_000)).toEqual([]);
			expect(started.pty.left()).toEqual([]);
		});

		test("the end gives a program time to clean up, and ends all of it", async () => {
			const started = await start(
				'trap "echo cleaned; exit 9" TERM; echo ready; while :; do sleep 600 & wait $!; done',
			);
			await started.received.says("ready");
			expect(await started.pty.end(20_000)).toEqual([]);
			expect(await started.received.exited).toMatchObject({ code: 9 });
			expect(started.received.text).toContain("cleaned");
		});

		test("a signal to the main program reaches it", async () => {
			const started = await start('trap "echo got it; exit 4" USR1; echo ready; while :; do sleep 600 & wait $!; done');
			await started.received.says("ready");
			await started.pty.signal("SIGUSR1", "main");
			expect(await started.received.exited).toMatchObject({ code: 4 });
		});
	});

	test("what cannot be executed is refused as outside, and nothing is left", async () => {
		for (const sandbox of [null, {}]) {
			await expect(box.start(["/no/such/program"], sandbox)).rejects.toMatchObject({ stage: "exec", code: "ENOENT" });
			await expect(box.start(["true"], sandbox, { cwd: "/no/such" })).rejects.toMatchObject({
				stage: "chdir",
				code: "ENOENT",
			});
		}
	});

	test("killing the outer process kills what is within", async () => {
		const { pty, received } = await box.start("echo ready; sleep 600");
		await received.says("ready");
		process.kill(pty.pid, "SIGKILL");
		expect(await received.exited).toMatchObject({ signal: "SIGKILL" });
		expect((await pty.end(0)).length).toBe(0);
	});
});

describe("R4.9 R1.4 whose turn it is, in a sandbox", () => {
	const shared = { dialtone: undefined as Dialtone | undefined };
	beforeAll(async () => {
		shared.dialtone = await Dialtone.open({ options: { maxSessions: 20 } });
	});
	afterAll(() => shared.dialtone?.[Symbol.asyncDispose]());

	const answerOf = async (argv: readonly string[], WHERE: string) => {
		const cwd = mkdtempSync(join(tmpdir(), "dt-turn-"));
		const env = { PATH: "/usr/bin:/bin", HOME: "/nonexistent", LC_ALL: "C.UTF-8", WHERE };
		await using terminal = await shared.dialtone!.start({
			argv: [...argv],
			cwd,
			env,
			inherit: "none",
			timeoutMs: 5_000,
		});
		const { activity, certainty, waitingFor } = terminal.facts;
		await terminal.close({ force: true });
		rmSync(cwd, { recursive: true, force: true });
		return { activity, certainty, waitingFor };
	};

	test.each([
		[["python3", "-q"], "waiting"],
		[["bash", "--norc", "--noprofile"], "waiting"],
		[["cat"], "waiting"],
		[["bash", "-c", 'read -rsp "Password: " p'], "waiting"],
		[["vim", "-u", "NONE", "-N"], "waiting"],
		[["less", "/etc/services"], "waiting"],
		[["bash", "-c", 'read -rn1 -p "Continue? [y/n] " a'], "waiting"],
		[["sleep", "600"], "working"],
	] as const)("%j is told as outside", needing("python3", "vim", "less"), async (argv, activity) => {
		const [outside, inside] = [await answerOf(argv, "outside"), await answerOf(argv, "inside")];
		expect(inside).toEqual(outside);
		expect(inside.activity).toBe(activity);
	});
});
