// R5.1: one shell keeps its state between calls, and what becomes of it is said.

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { needing } from "../programs.ts";
import { Shells } from "./shells.ts";

let shells: Shells;
beforeAll(async () => {
	shells = await Shells.open();
});
afterAll(() => shells[Symbol.asyncDispose]());

describe("R5.1 a shell between calls", () => {
	test("the state is right across 200 calls", async () => {
		await shells.run("n=0; export total=0; cd /; step() { n=$((n + 1)); export total=$((total + n)); }");
		let total = 0;
		for (let call = 1; call <= 200; call++) {
			total += call;
			const facts = await shells.run(
				`step; mkdir -p ~/state/${call % 7}; cd ~/state/${call % 7}; echo $n; sh -c 'echo $total'`,
			);
			expect(facts.text).toBe(`${call}\n${total}\n`);
			expect(facts.cwd).toBe(join(shells.home, `state/${call % 7}`));
		}
		await shells.run("cd /");
	});

	test("directory, exports, functions, aliases, options and traps last", async () => {
		const shell = "lasting";
		await shells.run(
			"cd /usr; export WORD=kept; greet() { echo \"hello $1\"; }; alias ll='echo listed'; set -f; shopt -s nullglob",
			{ shell },
		);
		const facts = await shells.run("pwd; sh -c 'echo $WORD'; greet you; ll; echo /*; shopt nullglob | cut -f2", {
			shell,
		});
		expect(facts.text).toBe("/usr\nkept\nhello you\nlisted\n/*\non\n");
	});

	test("cwd changes the directory for this command and those after it", async () => {
		const shell = "places";
		expect((await shells.run("pwd", { shell, cwd: "/usr" })).text).toBe("/usr\n");
		expect((await shells.run("pwd", { shell })).text).toBe("/usr\n");
		const odd = await mkdtemp(join(tmpdir(), "it's a %20 ünïcode;\tplace "));
		onTestFinished(() => rm(odd, { recursive: true }));
		const facts = await shells.run("echo $?", { shell, cwd: odd });
		expect(facts).toMatchObject({ text: "0\n", cwd: odd });
		await expect(shells.run("pwd", { shell, cwd: "/no/such/place" })).rejects.toMatchObject({ code: "bad_input" });
	});

	test("two shells do not know of each other", async () => {
		await shells.run("here=one", { shell: "one" });
		expect((await shells.run("echo [$here]", { shell: "two" })).text).toBe("[]\n");
	});

	test("`set -euo pipefail` ends a command at its first failure, and the shell remembers everything", async () => {
		const shell = "strict";
		await shells.run("export A=1; cd /usr; f() { echo f; }", { shell });
		const facts = await shells.run("set -euo pipefail\necho before\nfalse | cat\necho after", { shell });
		expect(facts).toMatchObject({ text: "before\n", exitCode: 1, returned: "ended", shellNote: null });
		expect((await shells.run("echo $A $PWD $-; f; set +e; false; echo on", { shell })).text).toMatch(
			/^1 \/usr \w*e\w*\nf\non\n$/,
		);
	});

	test("R2.10 a command that the kernel ended for a file's size is told so, also to a model", async () => {
		const input = { shell: "limited", limits: { fileBytes: 2 ** 20 } };
		const command = 'head -c 5M /dev/zero > "$HOME/fill"';
		const note = "a process of it reached the 1 MB file size limit";
		expect(await shells.run(command, input)).toMatchObject({ exitCode: 153, shellNote: note });
		expect(await shells.text(command, { shell: "limited" })).toContain(note);
	});

	test("R3.2 `exit` ends the shell with its code, and the next call gets a new one and is told", async () => {
		const shell = "leaving";
		await shells.run("x=1", { shell });
		const gone = await shells.run("exit 7", { shell });
		expect(gone).toMatchObject({ exitCode: 7, returned: "ended", status: "failed" });
		expect(gone.shellNote).toContain("ended the shell (exit code 7)");
		const fresh = await shells.run("echo [$x]", { shell });
		expect(fresh.text).toBe("[]\n");
		expect(fresh.shellNote).toContain("the previous one ended (exit code 7)");
		expect((await shells.run("echo again", { shell })).shellNote).toBeNull();
	});

	test("`exec` of a program ends the shell with that program's code", async () => {
		const shell = "executing";
		expect(await shells.run("exec sh -c 'echo last; exit 3'", { shell })).toMatchObject({
			text: "last\n",
			exitCode: 3,
			status: "failed",
		});
		expect((await shells.run("echo new", { shell })).text).toBe("new\n");
	});

	test("a shell that was killed is replaced", async () => {
		const shell = "killed";
		const dead = await shells.run("kill -KILL $$", { shell });
		expect(dead.shellNote).toContain("SIGKILL");
		expect((await shells.run("echo new", { shell })).text).toBe("new\n");
	});

	test("a command in the background returns at once and is named", async () => {
		const shell = "background";
		const facts = await shells.run("sleep 300 &", { shell, timeoutMs: 20_000 });
		expect(facts).toMatchObject({ exitCode: 0, returned: "ended", timedOut: false });
		expect(facts.jobs.map(({ command }) => command)).toEqual(["sleep 300"]);
		expect((await shells.run("jobs -r | wc -l; kill %1", { shell })).text.trim()).toBe("1");
	});

	test("a subshell in the background is called one, and not by how its shell was started", async () => {
		const { jobs } = await shells.run("(sleep 300; echo late) &", { shell: "subshell", timeoutMs: 20_000 });
		const commands = jobs.map(({ command }) => command);
		expect(commands).toContain("a subshell of the command");
		for (const command of commands) expect(command).not.toMatch(/init|\//);
		await shells.run("kill %1", { shell: "subshell" });
	});

	test("what a job in the background holds open does not hold up its command", async () => {
		const facts = await shells.run("(sleep 300 &) ; echo done", {
			shell: "holding",
			separate: true,
			timeoutMs: 20_000,
		});
		expect(facts).toMatchObject({ stdout: "done\n", stderr: "", exitCode: 0, timedOut: false });
	});

	test("a port that a command opens is told", needing("python3"), async () => {
		const facts = await shells.run(
			"python3 -c 'import socket,time; s=socket.socket(); s.bind((\"127.0.0.1\",0)); s.listen(); print(s.getsockname()[1], flush=True); time.sleep(60)' > $HOME/port & until [ -s $HOME/port ]; do sleep 0.05; done; cat $HOME/port",
			{ shell: "port" },
		);
		expect(facts.ports).toEqual([Number(/^(\d+)$/m.exec(facts.text)?.[1])]);
	});

	test("what is handed over is readable by this user alone and does not stay", async () => {
		const facts = await shells.run("true 'a secret word'", { shell: "files" });
		const { stdout } = await shells.run(
			`ls -la ${join("$HOME", "..")} >/dev/null; find ${tmpdir()} -path '*/sessions/${facts.session}/shell' -printf '%m\\n' -execdir find {} -type f -printf '%m\\n' \\; 2>/dev/null | sort -u; grep -rls 'secret wor[d]' ${tmpdir()}/dialtone-*/sessions/${facts.session}/shell || echo none`,
			{ shell: "files", separate: true },
		);
		expect(stdout).toBe("600\n700\nnone\n");
	});
});

test("R4.7 a shell outlives its daemon with its state, and what ran meanwhile is known", async () => {
	const home = await mkdtemp(join(tmpdir(), "dialtone-lasting-"));
	const run = async (dialtone: Dialtone, command: string, more: object = {}) =>
		(await dialtone.client.call("run", { command, program: "bash", clean: true, ...more })).facts;
	{
		await using first = await Dialtone.open({ home, owner: "lasting" });
		await run(first, "kept=1; cd /usr");
		expect(await run(first, "sleep 1; (exit 9)", { timeoutMs: 50, onTimeout: "leave" })).toMatchObject({
			returned: "timeout",
		});
	}
	{
		await using second = await Dialtone.open({ home, owner: "lasting" });
		await expect(run(second, "echo too early")).rejects.toMatchObject({ code: "shell_busy" });
		const { facts } = await second.client.call("wait", { session: "main" });
		expect(facts).toMatchObject({ waitingFor: "command", lastCommand: { exitCode: 9 } });
		expect(await run(second, "echo $kept $PWD $?")).toMatchObject({ text: "1 /usr 9\n", shellNote: null });
		await second.client.call("close", { session: "main" });
	}
	await rm(home, { recursive: true, force: true });
});

describe("R5.1 the user's own shell", () => {
	test("start files are honoured, nothing of ours is visible, and history stays theirs", async () => {
		await using theirs = await Shells.open({
			".bashrc":
				"PS1='> '; alias mine='echo mine'; PROMPT_COMMAND='hooked=$((hooked+1))'; PS0='run!\\n'; HISTFILE=~/.hist; export PAGER=less",
		});
		expect((await theirs.run("mine; echo $PAGER")).text).toBe("mine\ncat\n");
		expect((await theirs.run("test $hooked -ge 1 && echo hooked")).text).toBe("hooked\n");
		// A person types two lines.
		await theirs.send({ session: "main", text: "echo typed", submit: true });
		const screen = await theirs.send({ session: "main", text: "false", submit: true });
		expect(screen.waitingFor).toBe("command");
		expect((await theirs.run("echo $?; history | sed 's/^ *[0-9]* *//'")).text).toBe("1\necho typed\nfalse\n");
		await theirs.run("exit 0");
		expect(await readFile(join(theirs.home, ".hist"), "utf8")).toBe("echo typed\nfalse\n");
		// What the person saw: no mark, no word of ours but the line that hands over.
		const all = await theirs.dialtone.client.call("read", { session: "main", view: "lines", lines: 100 });
		expect(all.facts.text.split("\n")[0]).toMatch(/^> /);
	});

	test("a fancy prompt that writes PS1 anew each time, with many lines and colours, breaks nothing", async () => {
		await using theirs = await Shells.open({
			".bashrc": `
prompt() { local s=$?; PS1="\\[\\e[31m\\]┌─ \\w ($s)\\n\\[\\e[0m\\]└─ \\$ "; printf '\\e]0;title\\a'; }
PROMPT_COMMAND=prompt
trap 'last=$BASH_COMMAND' DEBUG
set -o vi
shopt -s extdebug`,
		});
		expect(await theirs.run("echo 1; false")).toMatchObject({ text: "1\n", exitCode: 1 });
		expect(await theirs.run("PROMPT_COMMAND=; echo 2; kill -INT $$; echo no")).toMatchObject({
			text: expect.stringMatching(/^2\n*$/),
			exitCode: 130,
		});
		expect(await theirs.run("unset PROMPT_COMMAND; (exit 5)")).toMatchObject({ text: "", exitCode: 5 });
		expect(await theirs.run("unalias -a; exec 2>/dev/null; echo 3")).toMatchObject({ text: "3\n", exitCode: 0 });
		expect(await theirs.run("echo 4; nosuch")).toMatchObject({ text: "4\n", exitCode: 127 });
	});

	test("a clean shell reads none of the user's files", async () => {
		await using theirs = await Shells.open({ ".bashrc": "MINE=1" });
		expect((await theirs.run("echo [$MINE]", { clean: true })).text).toBe("[]\n");
	});

	test("the nonce is in no program's environment", async () => {
		const facts = await shells.run("set -a; one=1; set +a; env; set | grep ^_dt_aid=", { shell: "nonce" });
		const aid = /^_dt_aid=(\w{32})$/m.exec(facts.text)?.[1];
		expect(aid).toBeDefined();
		expect(facts.text.split(String(aid))).toHaveLength(2);
		expect((await shells.run("export PS1; env | grep -c aid=", { shell: "nonce" })).text).toMatch(/^\d+\n$/);
		expect((await shells.run("env | grep -c aid=", { shell: "nonce" })).text).toBe("0\n");
	});

	test("zsh: start files in ZDOTDIR, hooks, history and options stay the user's", needing("zsh"), async () => {
		await using theirs = await Shells.open({
			".zshenv": "export FROM_ENV=1",
			".zshrc":
				"PROMPT='%~ > '; alias mine='echo mine'; precmd() { hooked=1 }; setopt sh_word_split; HISTFILE=~/.zhist SAVEHIST=10 HISTSIZE=10",
		});
		const input = { program: "zsh" };
		expect((await theirs.run("mine $FROM_ENV $hooked; a='1 2'; print -l $a; echo $ZDOTDIR", input)).text).toBe(
			"mine 1 1\n1\n2\n\n",
		);
		await theirs.send({ session: "main", text: "echo typed", submit: true });
		expect((await theirs.run("fc -ln 1", input)).text).toBe("echo typed\n");
		expect(await theirs.run("set -e; echo in; false; echo out", input)).toMatchObject({ text: "in\n", exitCode: 1 });
		expect((await theirs.run("echo on", input)).text).toBe("on\n");
	});

	test("fish: functions, variables and the user's prompt stay", needing("fish"), async () => {
		const input = { program: "fish", shell: "fishy" };
		await shells.run(
			"function fish_prompt; echo -n 'fishy> '; end; set -gx WORD kept; function greet; echo hello $argv; end; cd /usr",
			input,
		);
		expect((await shells.run("greet you; sh -c 'echo $WORD'; pwd", input)).text).toBe("hello you\nkept\n/usr\n");
		expect(await shells.run("exit 7", input)).toMatchObject({ exitCode: 7 });
		expect((await shells.run("echo [$WORD]", input)).shellNote).toContain("the previous one ended");
	});
});

test(
	"R5.1 stdout and stderr come apart, complete, in order, and both are seen on the terminal",
	needing("python3"),
	async () => {
		const file = join(shells.home, "both.py");
		await writeFile(
			file,
			`import sys
for i in range(20000):
    print("out", i)
    print("err", i, file=sys.stderr)
sys.exit(4)
`,
		);
		const facts = await shells.run(`python3 ${file}`, { shell: "apart", separate: true });
		const lines = (word: string) => Array.from({ length: 20_000 }, (_, i) => `${word} ${i}\n`).join("");
		expect(facts.stdout === lines("out")).toBe(true);
		expect(facts.stderr === lines("err")).toBe(true);
		expect(facts).toMatchObject({ exitCode: 4, pipeStatus: [4] });
		const small = await shells.run("echo shown 1; echo shown 2 >&2", { shell: "apart", separate: true });
		expect(small).toMatchObject({ stdout: "shown 1\n", stderr: "shown 2\n" });
		const screen = await shells.dialtone.client.call("read", { session: "apart", view: "lines", lines: 10 });
		expect(screen.facts.text).toContain("shown 1");
		expect(screen.facts.text).toContain("shown 2");
	},
);
