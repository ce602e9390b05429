// stdout and stderr of a command apart, in every shell: docs/shell.md.

import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";
import { leavesNoSubscription } from "../session/leaks.ts";
import { Shells } from "./shells.ts";

let shells: Shells;
beforeAll(async () => {
	shells = await Shells.open();
});
afterAll(() => shells[Symbol.asyncDispose]());

/** The directory in which commands are handed to a shell. */
async function handOver(shell: string): Promise<string> {
	const { stdout = "" } = await shells.run('echo "$_dt_dir"', { shell, separate: true });
	return stdout.trim();
}

/** The process that copies the streams of a shell. */
function helperOf(session: string): number {
	const isHelper = (pid: string) => {
		try {
			return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(`/${session}/shell/streams\0streams\0`);
		} catch {
			return false; // it has ended meanwhile
		}
	};
	return Number(readdirSync("/proc").find((name) => /^\d+$/.test(name) && isHelper(name)));
}

/** What is there between two runs. */
const leftovers = async (dir: string) => {
	const own = /^(\.z\w+|init\.\w+|shell\.json|deadline\.json|nonce|state|streams|spare)$/;
	return (await readdir(dir)).filter((name) => !own.test(name));
};

describe.each(["bash", "zsh", "fish", "dash"])("streams apart in %s", (program) => {
	const needed = needing("python3", ...(["zsh", "fish"].includes(program) ? [program] : []));
	const run = (command: string, more: object = {}) =>
		shells.run(command, { shell: `apart-${program}`, program, separate: true, ...more });

	test("each stream is exact, run after run, and codes are the command's", needed, async () => {
		for (let i = 0; i < 10; i++) {
			expect(await run(`echo out ${i}; echo err ${i} >&2; sh -c 'exit ${i}'`)).toMatchObject({
				stdout: `out ${i}\n`,
				stderr: `err ${i}\n`,
				exitCode: i,
				returned: "ended",
			});
		}
		expect(await run("printf 'no end'")).toMatchObject({ stdout: "no end", stderr: "" });
		expect(await run("printf 'a\\r\\nb\\t'; printf '\\033]133;E;1;aid=0;r=x\\007' >&2")).toMatchObject({
			stdout: "a\r\nb\t",
			stderr: "\x1b]133;E;1;aid=0;r=x\x07",
		});
	});

	test(
		"a job in the background delays neither the command nor the next one, and its later words are its own",
		needed,
		async () => {
			const gate = join(shells.home, "gate");
			rmSync(gate, { force: true });
			const facts = await run(`sh -c 'until [ -e ${gate} ]; do sleep 0.1; done; echo late' & echo now`);
			expect(facts).toMatchObject({ stdout: "now\n", exitCode: 0 });
			expect(await run("echo next")).toMatchObject({ stdout: "next\n" });
			writeFileSync(gate, "");
			await until("the job's words are on the terminal", async () => {
				const { facts: seen } = await shells.dialtone.client.call("read", {
					session: facts.session,
					view: "lines",
					lines: 20,
				});
				return /late$/m.test((seen as { text: string }).text);
			});
			expect(await run("echo after")).toMatchObject({ stdout: "after\n" }); // dash reports the job on stderr
		},
	);

	test("a command that is ended at its timeout keeps what it printed, and the next one is clean", needed, async () => {
		const facts = await run("echo first; echo problem >&2; sleep 600", { timeoutMs: 2000 });
		expect(facts).toMatchObject({ timedOut: true, exitCode: 130, stdout: expect.stringMatching(/^first\n/) });
		expect(facts.stderr).toContain("problem\n");
		expect(await run("echo clean")).toMatchObject({ stdout: "clean\n", stderr: "" });
	});

	test("a command left running gives what it has printed so far, and leaves no file behind", needed, async () => {
		const facts = await run("echo early; sleep 4; echo late", { timeoutMs: 2000, onTimeout: "leave" });
		expect(facts).toMatchObject({ returned: "timeout", stdout: "early\n", exitCode: null });
		expect(await shells.wait({ session: facts.session })).toMatchObject({ text: expect.stringContaining("late") });
		expect(await run("echo next")).toMatchObject({ stdout: "next\n" });
	});

	test("a program may open its own /dev/stdout and /dev/stderr again", needed, async () => {
		const facts = await run("echo one; sh -c 'echo two >/dev/stdout; echo three >/dev/stderr'; echo four");
		expect(facts).toMatchObject({ stdout: "one\ntwo\nfour\n", stderr: "three\n" });
	});

	test("a helper that was killed is replaced", needed, async () => {
		const { session } = await run("echo started");
		const pid = helperOf(session);
		process.kill(pid, "SIGKILL");
		await until("it has gone", () => helperOf(session) !== pid);
		expect(await run("echo again")).toMatchObject({ stdout: "again\n", exitCode: 0 });
	});
});

test("a redirection for good is not the streams' end", async () => {
	const shell = "redirected";
	const facts = await shells.run("echo 1; exec >$HOME/elsewhere; echo 2", { shell, separate: true });
	expect(facts).toMatchObject({ stdout: "1\n", exitCode: 0 });
	expect(await readFile(join(shells.home, "elsewhere"), "utf8")).toBe("2\n");
});

test("`set -e` ends the command and not the shell, whose next output is on the terminal again", async () => {
	const shell = "strict-apart";
	await shells.run("kept=1", { shell });
	const facts = await shells.run("set -e; echo before; false; echo after", { shell, separate: true });
	expect(facts).toMatchObject({ stdout: "before\n", exitCode: 1 });
	expect((await shells.run("set +e; echo $kept", { shell })).text).toBe("1\n");
	expect(await shells.run("echo out", { shell, separate: true })).toMatchObject({ stdout: "out\n" });
});

test("a shell that is slow to end its streams is waited for, and finds them still read", async () => {
	const shell = "slow-end";
	await shells.run("trap '[[ $BASH_COMMAND != _dt_w* ]] || sleep 0.2' DEBUG", { shell });
	for (let i = 0; i < 3; i++) {
		expect(await shells.run(`echo ${i}`, { shell, separate: true, timeoutMs: 20_000 })).toMatchObject({
			stdout: `${i}\n`,
			exitCode: 0,
		});
	}
});

test("a command that ends the shell gives what it printed", async () => {
	for (let i = 0; i < 5; i++) {
		const facts = await shells.run("echo last words; exit 7", { shell: `leaving-${i}`, separate: true });
		expect(facts).toMatchObject({ stdout: "last words\n", exitCode: 7 });
	}
});

test("G5: while a command runs with its streams apart, no process has the nonce as an argument", async () => {
	const shell = "nonce-apart";
	const dir = await handOver(shell);
	const nonce: string = JSON.parse(await readFile(join(dirname(dir), "shell.json"), "utf8")).end;
	const running = shells.run("sleep 1 & cat /proc/[0-9]*/cmdline | tr '\\0' ' '; wait", { shell, separate: true });
	const seen: string[] = [];
	for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
		try {
			seen.push(readFileSync(`/proc/${pid}/cmdline`, "utf8"));
		} catch {
			// It has ended meanwhile.
		}
	}
	expect(nonce).toMatch(/^\w{32}$/);
	expect((await running).stdout).not.toContain(nonce);
	expect(seen.join("\n")).not.toContain(nonce);
});

describe("S22 what is handed over does not stay", () => {
	test.each([false, true])("S22: when the caller goes away at once, streams apart: %s", async (separate) => {
		const shell = `gone-${separate}`;
		const dir = await handOver(shell);
		const gone = new AbortController();
		const call = shells.dialtone.client.call(
			"run",
			{ command: "true 'a secret'; sleep 0.5", shell, program: "bash", separate },
			{ signal: gone.signal },
		);
		gone.abort(new Error("gone"));
		await expect(call).rejects.toThrow("gone");
		await until("the shell has read its command", async () => (await leftovers(dir)).length === 0);
		await shells.wait({ session: shell });
		expect((await shells.run("echo next", { shell })).text).toBe("next\n");
	});

	test.each([false, true])("S22: when the command is left running, streams apart: %s", async (separate) => {
		const shell = `left-${separate}`;
		const dir = await handOver(shell);
		await shells.run("true 'a secret'; sleep 0.5", { shell, separate, timeoutMs: 100, onTimeout: "leave" });
		await until("nothing of it is left", async () => (await leftovers(dir)).length === 0);
		await shells.wait({ session: shell });
		expect((await shells.run("echo next", { shell })).text).toBe("next\n");
	});

	test("no subscription is left after runs of every kind", async () => {
		const shell = "counted";
		await shells.run("true", { shell });
		await leavesNoSubscription(async () => {
			await shells.run("true", { shell });
			await shells.run("sleep 0.1", { shell, separate: true });
			await shells.run("sleep 0.2", { shell, timeoutMs: 50, onTimeout: "leave" });
			await shells.wait({ session: shell });
			await shells.run("sleep 600", { shell, timeoutMs: 50 });
		});
	});
});
