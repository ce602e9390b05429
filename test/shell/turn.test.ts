// R1.4, R5.1: a command that asks something is the caller's turn; one past its
// time is ended, and the shell is not.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { named, needing, skipWithout } from "../programs.ts";
import { Shells } from "./shells.ts";

let shells: Shells;
beforeAll(async () => {
	shells = await Shells.open();
});
afterAll(() => shells[Symbol.asyncDispose]());

describe("R1.4 a command that asks", () => {
	test.for([
		["read -p", "bash", "read -p 'name? ' name; echo hello $name", "name? ", "line"],
		["read", "zsh", "read 'name?name? '; echo hello $name", "name? ", "line"],
		["python's input()", "fish", "python3 -c \"print('hello', input('name? '))\"", "name? ", "line"],
		["python's input()", "bash", "python3 -c \"print('hello', input('name? '))\"", "name? ", "line"],
		["read in sh", "dash", "printf 'name? '; read name; echo hello $name", "name? ", "line"],
	] as const)(
		"%s in %s is waiting at once, and send answers it",
		async ([, program, command, prompt, waitingFor], context) => {
			skipWithout(context, ...named([program, command]));
			const shell = `asks-${program}`;
			const facts = await shells.run(command, { shell, program });
			expect(facts).toMatchObject({
				returned: "waiting",
				activity: "waiting",
				waitingFor,
				exitCode: null,
				ok: null,
				timedOut: false,
			});
			expect(facts.text).toBe(prompt);
			const answered = await shells.send({ session: facts.session, text: "Bob", submit: true });
			expect(answered).toMatchObject({ activity: "waiting", waitingFor: "command" });
			expect(answered.text).toContain("hello Bob");
			expect((await shells.run("echo ready", { shell, program })).text).toBe("ready\n");
		},
	);

	test("a password is a secret, and never echoed", needing("python3"), async () => {
		const shell = "secret";
		const facts = await shells.run("read -rs -p 'Password: ' word; echo; echo ${#word}", { shell });
		expect(facts).toMatchObject({ returned: "waiting", text: "Password: " });
		const python = await shells.run("python3 -c 'import getpass; print(len(getpass.getpass()))'", { shell: "secret2" });
		expect(python).toMatchObject({ returned: "waiting", waitingFor: "secret" });
		const answered = await shells.send({ session: python.session, text: "hunter2", submit: true });
		expect(answered.text).toContain("7");
		expect(answered.text).not.toContain("hunter2");
	});

	test("a prompt on stderr is seen although the streams are kept apart", async () => {
		const shell = "stderr-prompt";
		const facts = await shells.run("read -p 'on stderr? ' x; echo got $x", { shell, separate: true });
		expect(facts).toMatchObject({ returned: "waiting", waitingFor: "line" });
		expect(facts.text).toContain("on stderr?");
		const answered = await shells.send({ session: facts.session, text: "yes", submit: true });
		expect(answered.text).toContain("got yes");
		expect(answered.lastCommand).toEqual({ exitCode: 0, pipeStatus: [0] });
	});

	test("while one runs the next is refused with what runs, and nothing is typed", async () => {
		const shell = "busy";
		const facts = await shells.run("read -p 'first? ' x; echo [$x]", { shell });
		await expect(shells.run("echo second", { shell })).rejects.toMatchObject({
			code: "shell_busy",
			message: expect.stringContaining("read -p 'first? '"),
		});
		expect((await shells.run("echo elsewhere", { shell: "another" })).text).toBe("elsewhere\n");
		expect((await shells.send({ session: facts.session, text: "1", submit: true })).text).toContain("[1]");
	});

	test("two calls at the same moment: one runs, the other is told", async () => {
		const shell = "together";
		await shells.run("true", { shell });
		const both = await Promise.allSettled([
			shells.run("sleep 0.3; echo a", { shell }),
			shells.run("sleep 0.3; echo b", { shell }),
		]);
		expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
	});

	test(
		"pagers are off, and one that opens all the same is waiting for its screen and leaves the shell usable",
		needing("less"),
		async () => {
			const shell = "pager";
			expect(await shells.run("seq 500 | $PAGER | tail -1; echo $GIT_PAGER $MANPAGER", { shell })).toMatchObject({
				text: "500\ncat cat\n",
				returned: "ended",
			});
			const facts = await shells.run("seq 500 | less -+F", { shell });
			expect(facts).toMatchObject({ returned: "waiting", waitingFor: "screen" });
			await shells.send({ session: facts.session, keys: ["q"] });
			expect((await shells.run("echo usable", { shell })).text).toBe("usable\n");
		},
	);

	test("a shell within the shell waits for a line, and leaving it gives the first one back", async () => {
		const shell = "nested";
		const facts = await shells.run("PS1='inner> ' bash --norc", { shell });
		expect(facts).toMatchObject({ returned: "waiting" });
		await shells.send({ session: facts.session, text: "exit 4", submit: true });
		expect((await shells.run("echo outer $?", { shell })).text).toBe("outer 4\n");
	});

	test("silence is not completion", async () => {
		// Others take 30 s of silence for the end.
		const facts = await shells.run("sleep 33; echo done", { shell: "silent", timeoutMs: 110_000 });
		expect(facts).toMatchObject({ text: "done\n", returned: "ended", timedOut: false });
		expect(facts.durationMs).toBeGreaterThanOrEqual(33_000);
	}, 130_000);
});

describe("R5.1 a command past its timeout", () => {
	test("is interrupted, and the shell keeps its state", async () => {
		const shell = "slow";
		await shells.run("kept=1; cd /usr", { shell });
		const facts = await shells.run("sleep 600; echo never", { shell, timeoutMs: 200 });
		expect(facts).toMatchObject({ timedOut: true, returned: "ended", exitCode: 130, signal: "SIGINT" });
		expect(facts.text).not.toContain("never");
		expect((await shells.run("echo $kept $PWD", { shell })).text).toBe("1 /usr\n");
	});

	test.for(["zsh", "fish", "dash"])("and so it is in %s", async (program, context) => {
		skipWithout(context, ...named([program]));
		const shell = `slow-${program}`;
		expect(await shells.run("sleep 600", { shell, program, timeoutMs: 500 })).toMatchObject({
			timedOut: true,
			exitCode: 130,
		});
		expect((await shells.run("echo on", { shell, program })).text).toBe("on\n");
	});

	test(
		"a program that ignores INT and TERM is killed, and what stands behind it in the line does not go on for ever",
		needing("python3"),
		async () => {
			const shell = "stubborn";
			await shells.run("kept=1", { shell });
			const deaf =
				"python3 -c 'import signal,time; [signal.signal(s, signal.SIG_IGN) for s in (2, 15)]; print(\"deaf\", flush=True); time.sleep(600)'";
			const facts = await shells.run(deaf, { shell, timeoutMs: 3000 });
			expect(facts).toMatchObject({ timedOut: true, exitCode: 137, signal: "SIGKILL" });
			expect((await shells.run("echo $kept", { shell })).text).toBe("1\n");
		},
	);

	test.for(["bash", "zsh", "fish", "dash"])(
		"the rest of its line is not run in %s, also where the program takes Ctrl+C for itself",
		async (program, context) => {
			skipWithout(context, ...named([program, "perl"]));
			const shell = `takes-${program}`;
			const takes = `$SIG{INT} = sub { print "bye\\n"; exit }; sleep 600`; // it is there within milliseconds
			await shells.run("true", { shell, program });
			const facts = await shells.run(`perl -e '${takes}'; echo deployed`, { shell, timeoutMs: 1000 });
			expect(facts).toMatchObject({ timedOut: true, text: expect.stringContaining("bye") });
			expect(facts.text).not.toContain("deployed");
			expect(await shells.run("echo usable", { shell })).toMatchObject({ text: "usable\n", exitCode: 0 });
		},
	);

	test("only the job in front is hit: what runs in the background goes on", async () => {
		const shell = "front";
		await shells.run("sleep 600 & echo $! > $HOME/pid", { shell });
		await shells.run("sleep 601", { shell, timeoutMs: 200 });
		expect((await shells.run("kill -0 $(cat $HOME/pid) && echo alive; kill %1", { shell })).text).toBe("alive\n");
	});

	test("an endless loop of the shell itself is broken off", async () => {
		const shell = "loop";
		expect(await shells.run("kept=1; while :; do :; done", { shell, timeoutMs: 300 })).toMatchObject({
			timedOut: true,
			exitCode: 130,
		});
		expect((await shells.run("echo $kept", { shell })).text).toBe("1\n");
	});

	test("a shell that hears nothing is ended as the last resort, and said to be", async () => {
		const shell = "deaf";
		const facts = await shells.run("trap '' INT; while :; do :; done", { shell, timeoutMs: 300 });
		expect(facts.timedOut).toBe(true);
		expect(facts.shellNote).toContain("ended the shell");
		expect((await shells.run("echo new", { shell })).text).toBe("new\n");
	});

	test("or is left running when that was asked for", async () => {
		const shell = "left";
		const facts = await shells.run("sleep 1; echo finished", { shell, timeoutMs: 100, onTimeout: "leave" });
		expect(facts).toMatchObject({ timedOut: true, returned: "timeout", exitCode: null, activity: "working" });
		await expect(shells.run("echo x", { shell })).rejects.toMatchObject({ code: "shell_busy" });
		expect(await shells.wait({ session: facts.session })).toMatchObject({
			waitingFor: "command",
			text: expect.stringContaining("finished"),
		});
	});

	test.for(["bash", "zsh", "fish", "dash"])(
		"a %s that does not read its terminal is told within the time of the call, and does not run the command later",
		async (program, context) => {
			skipWithout(context, ...named([program]));
			const shell = `deaf-${program}`;
			const pid = Number(
				(await shells.run(program === "fish" ? "echo $fish_pid" : "echo $$", { shell, program })).text,
			);
			const made = join(shells.home, shell);
			process.kill(pid, "SIGSTOP");
			try {
				const from = performance.now();
				await expect(shells.run(`touch ${made}`, { shell, program, timeoutMs: 1000 })).rejects.toMatchObject({
					code: "shell_busy",
					message: expect.stringContaining("nothing was run"),
				});
				expect(performance.now() - from).toBeLessThan(10_000);
			} finally {
				process.kill(pid, "SIGCONT");
			}
			expect((await shells.run("echo usable", { shell, program })).text).toBe("usable\n");
			expect(existsSync(made)).toBe(false);
		},
	);

	test("an agent that goes away leaves the command running", async () => {
		const gone = new AbortController();
		const shell = "gone";
		await shells.run("true", { shell });
		const call = shells.dialtone.client.call(
			"run",
			{ command: "sleep 1; echo finished", shell, program: "bash" },
			{ signal: gone.signal },
		);
		setTimeout(() => gone.abort(), 200);
		await expect(call).rejects.toThrow();
		expect((await shells.wait({ session: shell })).text).toContain("finished");
		expect((await shells.run("echo next", { shell })).text).toBe("next\n");
	});
});

test("a shell that is not there is named in the fault", async () => {
	const missing = shells.run("true", { shell: "missing", program: "no-such-shell" });
	await expect(missing).rejects.toMatchObject({ code: "spawn_failed", facts: { command: "no-such-shell" } });
});

describe("what a model reads", () => {
	test("a failure inside a pipe is said although the pipe succeeded; a reader that has enough is none", async () => {
		expect(await shells.text("sh -c 'echo 1 failed; exit 1' | tail -1", { shell: "model" })).toMatch(
			/^\[model\] exit code 0, pipe failed <<(\d+)\n1 failed\n\1\npipe status 1 \| 0$/,
		);
		expect(await shells.text("yes | head -1", { shell: "model" })).toMatch(/^\[model\] exit code 0 <<(\d+)\ny\n\1$/);
	});

	test("a job that begins in the background after a failure has not failed", async () => {
		await shells.run("false", { shell: "model" });
		const text = await shells.text("sleep 60 &", { shell: "model" });
		expect(text).toMatch(/^\[model\] exit code 0\b/);
		expect(text).not.toContain("pipe");
		await shells.run("kill %1", { shell: "model" });
		expect((await shells.run("! false", { shell: "model" })).pipeStatus).toEqual([0]);
	});

	test("colours, redrawn lines and hidden characters are gone; a command without output is one line", async () => {
		expect(await shells.text("printf '\\e[31mred\\e[0m 10%%\\r\\e[Kdone\\n'", { shell: "model" })).toMatch(
			/ <<(\d+)\ndone\n\1$/,
		);
		expect(await shells.text("true", { shell: "model" })).toMatch(/^\[model\] exit code 0$/);
	});

	test("much output is cut, and the cut says how to get it all", async () => {
		const facts = await shells.run("seq 1 400000", { shell: "model", maxTokens: 500 });
		expect(facts.truncated).toBe(true);
		expect(facts.text.length).toBeLessThan(3000);
		expect(facts.text).toMatch(/^1\n2\n/);
		expect(facts.text).toMatch(/400000\n?$/);
		expect((await shells.bytes(facts)).length).toBe(2_688_895);
	});
});
