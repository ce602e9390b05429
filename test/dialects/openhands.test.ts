// What OpenHands documents of its bash tool (`command`, `is_input`, `timeout`; `C-c`; an empty command
// for more output), as behaviour that the sets here have: one command at a time in a shell that keeps its
// state, input for a program that runs, a timeout that leaves it running with a hint what to do.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { needing } from "../programs.ts";
import { until, WAYS, type Way } from "./ways.ts";

interface Result {
	session_id: string;
	output: string;
	running: boolean;
	exit_code: number | null;
}

describe.each(Object.entries(WAYS))("%s", (_, open) => {
	let exec: Way;
	let terminal: Way;
	beforeAll(async () => {
		[exec, terminal] = await Promise.all([open("exec"), open("terminal")]);
	});
	afterAll(async () => {
		await exec[Symbol.asyncDispose]();
		await terminal[Symbol.asyncDispose]();
	});

	const start = (cmd: string, yield_time_ms = 20_000) =>
		exec.call<Result>("unified_exec", { cmd, shell: "/bin/bash", yield_time_ms });
	const type = (session_id: string, chars: string) =>
		exec.call<Result>("write_stdin", { session_id, chars, yield_time_ms: 20_000 });

	test("`is_input`: what a running command asks is answered", async () => {
		const { session_id, running, output } = await start("read -p 'Your name? ' name; echo Hello $name");
		expect({ running, output: output.trimEnd() }).toEqual({ running: true, output: "Your name?" });
		const answer = await type(session_id, "Ada\n");
		expect(answer).toMatchObject({ running: false, exit_code: 0 });
		expect(answer.output).toContain("Hello Ada");
	});

	test("an interactive python: entered, used and left", needing("python3"), async () => {
		const { session_id } = await start("python3 -q");
		expect((await type(session_id, "sum(range(10))\n")).output).toContain("45");
		expect(await type(session_id, "exit()\n")).toMatchObject({ running: false, exit_code: 0 });
	});

	test("`timeout`: the command is left running, an empty command shows more, `C-c` interrupts it", async () => {
		const { session_id, running } = await start("echo started; sleep 1; echo more; exec sleep 600", 100);
		expect(running).toBe(true);
		const more = await until(
			() => exec.call<Result>("write_stdin", { session_id }),
			({ output }) => output.includes("more"),
		);
		expect(more.running).toBe(true);
		expect(await type(session_id, "\u0003")).toMatchObject({ running: false, exit_code: 130 });
	});

	test("one bash for all commands: directory and variables stay, the exit code is the command's", async () => {
		const bash = (command: string) => terminal.call("run_bash", { command });
		await bash("cd /usr; export WORD=kept");
		expect(await bash("echo $PWD $WORD; (exit 3)")).toMatchObject({ stdout: "/usr kept\n", exit_code: 3 });
	});

	test("a command past a hard timeout is ended, and the shell goes on", async () => {
		const bash = (command: string, more: object = {}) => terminal.call("run_bash", { command, ...more });
		expect(await bash("echo begun; sleep 600", { timeout_seconds: 0.5 })).toMatchObject({
			stdout: "begun\n",
			timed_out: true,
		});
		expect(await bash("echo on")).toMatchObject({ stdout: "on\n", exit_code: 0 });
	});
});
