import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../../test/servers/free-port.ts";
import {
	type Conversation,
	pexpectLine,
	pexpectLook,
	pexpectOpen,
	pexpectStart,
	press,
	send,
	start,
	TMUX_AGAIN,
	tmuxKeys,
	tmuxLine,
	tmuxPaste,
	tmuxShell,
	tmuxStart,
} from "../conversation.ts";

const fixture = (name: string) => join(import.meta.dirname, "../fixtures", name);

const server: Conversation = {
	name: "server, port, curl, log",
	task: "place an order once the server listens, and find its shelf in the log",
	needs: ["curl"],
	turns: async (scene) => {
		const port = await freePort();
		scene.run("cp", fixture("server.mjs"), "server.mjs");
		const command = `node server.mjs ${port}`;
		const curl = `curl -s -X POST localhost:${port}/orders`;
		return [
			{
				shows: /listening on|matched/,
				ours: start(command, { name: "web", until: { port } }),
				tmux: tmuxStart(command, 2),
				pexpect: pexpectStart(command, "listening on"),
			},
			{
				shows: /accepted/,
				ours: ["run", { command: curl }],
				tmux: curl,
				pexpect: `import subprocess; print(subprocess.getoutput('${curl}'))`,
			},
			{
				shows: /shelf 42/,
				ours: ["wait", { session: "web", until: { text: "stored" } }],
				tmux: TMUX_AGAIN.replace("1", "2"),
				pexpect: "c.expect('stored.*'); print(c.after)",
			},
			{
				shows: null,
				ours: ["close", { session: "web" }],
				tmux: "tmux kill-session -t s",
				pexpect: "print(c.terminate())",
			},
		];
	},
	achieved: (_, read) => /accepted/.test(read) && /shelf 42/.test(read),
};

const suite: Conversation = {
	name: "a suite of 5,000 lines",
	task: "find the two failures and what was expected",
	needs: [],
	quick: true,
	turns: (scene) => {
		scene.run("cp", fixture("suite.mjs"), "suite.mjs");
		return [
			{
				shows: /fail 2/,
				ours: ["run", { command: "node suite.mjs" }],
				tmux: `tmux start-server \\; set -g history-limit 50000 \\; new-session -d -s s -x 120 -y 40; tmux send-keys -t s 'node suite.mjs' Enter; sleep 2; tmux capture-pane -p -t s`,
				pexpect:
					"import pexpect; c = pexpect.spawn('node suite.mjs', encoding='utf-8'); c.expect(pexpect.EOF); print(c.before[-1000:])",
			},
			{
				shows: /half a cent up[\s\S]*actual: 0.12[\s\S]*equal keys[\s\S]*actual: b,a/,
				ours: ["read", { session: "main", search: "not ok", context: 5 }],
				tmux: "tmux capture-pane -p -t s -S - | grep -A5 '^not ok'",
				pexpect: String.raw`import re; print('\n'.join(re.findall(r'not ok(?:.*\n){6}', c.before)))`,
			},
		];
	},
	achieved: (_, read) =>
		/expected: 0\.13[\s\S]*?actual: 0\.12/.test(read) && /expected: a,b[\s\S]*?actual: b,a/.test(read),
};

const tail: Conversation = {
	name: "tail -f",
	task: "wait for an error in a growing log, then stop",
	needs: [],
	turns: (scene) => {
		scene.write("app.log", "");
		let line = 0;
		const log = (text: string) => appendFileSync(scene.path("app.log"), `${text}\n`);
		const writer = setInterval(() => {
			line++;
			log(line === 24 ? "ERROR database 5 is gone" : `INFO request ${line} served`);
		}, 200);
		scene.defer(() => clearInterval(writer));
		return [
			{
				shows: /ERROR database 5/,
				ours: start("tail -f app.log", { until: { text: "ERROR" } }),
				tmux: tmuxStart("tail -f app.log", 2),
				pexpect:
					"import pexpect; c = pexpect.spawn('tail -f app.log', encoding='utf-8'); c.expect('ERROR.*'); print(c.before, c.after)",
			},
			{
				shows: null,
				ours: press("tail", "ctrl+c"),
				tmux: tmuxKeys("C-c"),
				pexpect: "c.sendintr(); c.expect(pexpect.EOF); print(c.before)",
			},
		];
	},
	achieved: (_, read) => /ERROR database 5 is gone/.test(read),
};

const NOTES = Array.from({ length: 12 }, (_, n) => `${n + 1}. it's $HOME and "quotes" \\n`);
const HEREDOC = `cat > notes.txt <<'EOF'\n${NOTES.join("\n")}\nEOF`;

const interrupts: Conversation = {
	name: "Ctrl+C and a heredoc",
	task: "stop a command that hangs, then write a file of 12 lines",
	needs: [],
	quick: true,
	turns: () => {
		const hangs = "while :; do echo waiting for the lock; sleep 1; done";
		return [
			{
				shows: /waiting for the lock/,
				ours: ["run", { command: hangs, timeoutMs: 2000, onTimeout: "leave" }],
				tmux: tmuxShell(hangs, 2),
				pexpect: `import pexpect, time; c = pexpect.spawn('bash', encoding='utf-8'); c.sendline('${hangs}'); ${pexpectLook()}`,
			},
			{
				shows: /\^C|exit code 130/,
				ours: press("main", "ctrl+c"),
				tmux: tmuxKeys("C-c"),
				pexpect: "c.sendintr(); c.expect('# '); print(c.before)",
			},
			{
				shows: /^12 notes.txt/m,
				ours: ["run", { command: `${HEREDOC}\nwc -l notes.txt` }],
				tmux: tmuxPaste(`${HEREDOC}\nwc -l notes.txt`),
				pexpect: `c.sendline(r"""${HEREDOC}\nwc -l notes.txt"""); c.expect('12 notes.txt'); print(c.before)`,
			},
		];
	},
	achieved: (scene) => scene.read("notes.txt") === `${NOTES.join("\n")}\n`,
};

const jobs: Conversation = {
	name: "jobs",
	task: "stop a job, let it go on in the background, end it",
	needs: [],
	turns: () => [
		{
			shows: /[#$>] ?$/m,
			ours: start("bash", { name: "sh" }),
			tmux: "tmux new-session -d -s s -x 120 -y 40; sleep 1; tmux capture-pane -p -t s",
			pexpect: pexpectStart("bash", "# "),
		},
		{
			shows: /\[1\]/,
			ours: send("sh", "sleep 301 &"),
			tmux: tmuxLine("sleep 301 &"),
			pexpect: pexpectLine("sleep 301 &", "# "),
		},
		{
			shows: /Stopped\s+sleep 301/,
			ours: ["send", { session: "sh", text: "fg", submit: true, keys: ["ctrl+z"] }],
			tmux: "tmux send-keys -t s fg Enter; sleep 1; tmux send-keys -t s C-z; sleep 1; tmux capture-pane -p -t s",
			pexpect: "c.sendline('fg'); c.expect('sleep 301'); c.sendcontrol('z'); c.expect('# '); print(c.before)",
		},
		{
			shows: /Running\s+sleep 301/,
			ours: send("sh", "bg; jobs"),
			tmux: tmuxLine("bg; jobs"),
			pexpect: pexpectLine("bg; jobs", "# "),
		},
		{
			shows: /ended with 143/,
			ours: send("sh", "kill %1; wait %1; echo ended with $?"),
			tmux: tmuxLine("kill %1; wait %1; echo ended with $?"),
			pexpect: "c.sendline('kill %1; wait %1; echo ended with $?'); c.expect(r'ended with \\d+'); print(c.after)",
		},
		{ shows: null, ours: send("sh", "exit"), tmux: tmuxLine("exit"), pexpect: pexpectLine("exit", null) },
	],
	achieved: (_, read) =>
		/Stopped\s+sleep 301/.test(read) && /Running\s+sleep 301/.test(read) && /ended with 143/.test(read),
};

const UNICODE = `import os, signal
def size(*_):
    columns, rows = os.get_terminal_size()
    print(f"\\n{columns}x{rows}", "日本語 ✓ 🎉".center(columns - 20, "─"), flush=True)
signal.signal(signal.SIGWINCH, size)
while (text := input("text> ")) != "quit":
    print(len(text), "characters, backwards", text[::-1])
`;

const unicode: Conversation = {
	name: "unicode and resize",
	task: "send wide characters, then see the program at another size",
	needs: ["python3"],
	turns: (scene) => {
		scene.write("wide.py", UNICODE);
		return [
			{
				shows: /text>/,
				ours: start("python3 wide.py"),
				tmux: tmuxStart("python3 wide.py"),
				pexpect: pexpectOpen("python3 wide.py"),
			},
			{
				shows: /9 characters, backwards 語本日 evïan/,
				ours: send("python3", "naïve 日本語"),
				tmux: tmuxLine("naïve 日本語"),
				pexpect: pexpectLine("naïve 日本語", "text> "),
			},
			{
				shows: /60x20 ─+日本語 ✓ 🎉─+/,
				ours: ["resize", { session: "python3", cols: 60, rows: 20 }],
				tmux: "tmux resize-window -t s -x 60 -y 20; sleep 1; tmux capture-pane -p -t s",
				pexpect: "c.setwinsize(20, 60); c.expect('60x20.*\\n'); print(c.after)",
			},
			{ shows: null, ours: send("python3", "quit"), tmux: tmuxLine("quit"), pexpect: pexpectLine("quit", null) },
		];
	},
	achieved: (_, read) => /9 characters, backwards 語本日 evïan/.test(read) && /60x20 ─+日本語 ✓ 🎉─+/.test(read),
};

export const talks = [server, suite, tail, interrupts, jobs, unicode];
