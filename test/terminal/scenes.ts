// What is recorded: real programs and the conversation with each.

import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface Scene {
	readonly argv: readonly string[];
	readonly env?: Record<string, string>;
	readonly cols?: number;
	readonly rows?: number;
	readonly setup?: (dir: string) => void;
	readonly steps: readonly Step[];
}

interface Step {
	readonly type?: string;
	readonly keys?: readonly string[];
	/** What the screen shows when it is time to look. */
	readonly until: RegExp | "end";
}

const poem = Array.from(
	{ length: 120 },
	(_, i) => `${i + 1}. the quick brown fox jumps over the lazy dog, said ${i % 7} of them`,
);
const git = (dir: string, ...args: string[]) =>
	execFileSync("git", ["-c", "user.name=A", "-c", "user.email=a@example.org", ...args], {
		cwd: dir,
		env: {
			PATH: process.env.PATH,
			HOME: dir,
			GIT_AUTHOR_DATE: "2026-01-01T00:00Z",
			GIT_COMMITTER_DATE: "2026-01-01T00:00Z",
		},
	});

export const scenes: Record<string, Scene> = {
	vim: {
		argv: ["vim", "-u", "NONE", "-N", "--cmd", "set ruler showmode", "poem.txt"],
		setup: (dir) => writeFileSync(join(dir, "poem.txt"), poem.join("\n")),
		steps: [
			{ until: /1\. the quick/ },
			{ keys: ["down", "down"], until: /3,1/ },
			{ type: "ihello ", until: /-- INSERT --/ },
			{ keys: ["esc"], type: "", until: /hello 3\. the/ },
			{ type: "Vj", until: /-- VISUAL LINE --/ },
			{ keys: ["esc"], until: /hello/ },
			{ keys: ["ctrl+f"], until: /24\. the/ },
			{ type: ":q!\r", until: "end" },
		],
	},
	nvim: {
		argv: ["nvim", "-u", "NONE", "-i", "NONE", "poem.txt"],
		setup: (dir) => writeFileSync(join(dir, "poem.txt"), poem.join("\n")),
		steps: [
			{ until: /1\. the quick/ },
			{ type: "/brown fox\r", until: /\/brown fox/ },
			{ type: "ddp", until: /2\. the/ },
			{ type: ":q!\r", until: "end" },
		],
	},
	less: {
		argv: ["less", "poem.txt"],
		setup: (dir) => writeFileSync(join(dir, "poem.txt"), poem.join("\n")),
		steps: [
			{ until: /poem\.txt/ },
			{ keys: ["space"], until: /40\. the/ },
			{ type: "/dog, said 3\r", until: /said 3/ },
			{ keys: ["up"], until: /the quick/ },
			{ type: "q", until: "end" },
		],
	},
	htop: {
		// Its own process table: the recording shows htop and nothing of the machine.
		argv: ["unshare", "--fork", "--pid", "--mount-proc", "htop", "-d", "600"],
		steps: [
			{ until: /F10/ },
			{ keys: ["f6"], until: /Sort by/ },
			{ keys: ["down", "down"], until: /Sort by/ },
			{ keys: ["esc"], until: /F10/ },
			{ type: "q", until: "end" },
		],
	},
	fzf: {
		argv: ["sh", "-c", "seq 1 500 | sed 's/^/item /' | fzf"],
		steps: [
			{ until: /500\/500/ },
			{ keys: ["up"], until: /item 2/ },
			{ type: "42", until: /item 42\b/ },
			{ keys: ["enter"], until: "end" },
		],
	},
	"fzf-inline": {
		argv: ["sh", "-c", "echo choose one; seq 1 500 | sed 's/^/item /' | fzf --height 8"],
		steps: [
			{ until: /500\/500/ },
			{ keys: ["up"], until: /item 2/ },
			{ keys: ["up"], until: /item 3/ },
			{ keys: ["enter"], until: "end" },
		],
	},
	dialog: {
		argv: ["dialog", "--menu", "Pick a colour", "12", "40", "4", "r", "Red", "g", "Green", "b", "Blue"],
		steps: [
			{ until: /Pick a colour/ },
			{ keys: ["down"], until: /Green/ },
			{ keys: ["tab"], until: /Cancel/ },
			{ keys: ["esc"], until: "end" },
		],
	},
	whiptail: {
		argv: ["whiptail", "--yesno", "Shall we go on?", "10", "40"],
		steps: [{ until: /Shall we/ }, { keys: ["tab"], until: /Yes/ }, { keys: ["enter"], until: "end" }],
	},
	mc: {
		argv: ["mc", "--nosubshell", "--nomouse"],
		setup: (dir) => {
			mkdirSync(join(dir, "letters"));
			writeFileSync(join(dir, "poem.txt"), poem.join("\n"));
			writeFileSync(join(dir, "run.sh"), "#!/bin/sh\n", { mode: 0o755 });
		},
		steps: [
			{ until: /10\s?Quit/ },
			{ keys: ["down", "down"], until: /10\s?Quit/ },
			{ keys: ["f9"], until: /Left/ },
			{ keys: ["enter"], until: /Listing format/ },
			{ keys: ["f10"], until: /10\s?Quit/ },
			{ keys: ["f7"], until: /Create a new Directory/ },
			{ keys: ["f10"], until: /10\s?Quit/ },
			{ keys: ["f10"], until: "end" },
		],
	},
	python: {
		argv: ["python3", "-q"],
		steps: [
			{ until: />>> $/ },
			{ type: "6*7\r", until: /42\n>>> $/ },
			{ type: "for i in range(3):\r", until: /\.\.\. $/ },
			{ type: "  print('x' * i * 50)\r\r", until: /xxx\n>>> $/ },
			{ type: "import sys, time\r", until: />>> $/ },
			{
				type: "for i in range(2001): _ = sys.stdout.write(f'\\r{i/20:.0f} % ' + '#' * (i // 40))\r\r",
				until: /100 %/,
			},
			{ type: "1/0\r", until: /division by zero\n>>> $/ },
			{ keys: ["up"], until: />>> 1\/0$/ },
			{ keys: ["ctrl+c"], until: /KeyboardInterrupt\n>>> $/ },
			{ keys: ["ctrl+d"], until: "end" },
		],
	},
	fish: {
		argv: ["fish", "--no-config", "-C", "function fish_prompt; echo -n 'fish> '; end; set fish_greeting"],
		steps: [
			{ until: /fish> $/ },
			{ type: "echo hello\r", until: /\nhello\nfish> $/ },
			{ type: "echo h", until: /echo hello/ },
			{ keys: ["right"], type: "", until: /echo hello/ },
			{ keys: ["enter"], until: /hello\nfish> $/ },
			{ type: "clear\r", until: /^fish> $/ },
			{ type: "exit\r", until: "end" },
		],
	},
	bash: {
		argv: ["bash", "--rcfile", "rc"],
		setup: (dir) => writeFileSync(join(dir, "rc"), "PS1='$ '\nexport HISTFILE=\n"),
		steps: [
			{ until: /\$ $/ },
			{ type: `echo ${"word ".repeat(40)}\r`, until: /word\n\$ $/ },
			{ type: "seq 1 3000\r", until: /3000\n\$ $/ },
			{ type: "printf 'a\\tb\\n漢字 🦀 ✅ e\\u0301\\n'\r", until: /✅.*\n\$ $/ },
			{ type: "clear\r", until: /^\$ $/ },
			{ type: "exit\r", until: "end" },
		],
	},
	git: {
		argv: ["git", "-c", "core.pager=less -FRX", "add", "-p"],
		setup: (dir) => {
			git(dir, "init", "-q", "-b", "main");
			writeFileSync(join(dir, "a.txt"), poem.slice(0, 20).join("\n"));
			git(dir, "add", ".");
			git(dir, "commit", "-qm", "one");
			writeFileSync(join(dir, "a.txt"), poem.slice(0, 20).with(3, "changed").with(17, "changed too").join("\n"));
		},
		steps: [{ until: /\[y,n.*\]\? $/ }, { type: "y\r", until: /\(2\/2\).*\? $/ }, { type: "n\r", until: "end" }],
	},
	"git-log": {
		argv: ["git", "log", "--graph", "--decorate", "--color"],
		setup: (dir) => {
			git(dir, "init", "-q", "-b", "main");
			for (let i = 0; i < 15; i++) git(dir, "commit", "-q", "--allow-empty", "-m", `change ${i}`);
		},
		steps: [{ until: /change 14/ }, { keys: ["pagedown"], until: /change 9/ }, { type: "q", until: "end" }],
	},
	npm: {
		argv: ["npm", "install", "--no-audit", "--no-fund", "--no-update-notifier", "chalk@4.1.2", "mocha@10.8.2"],
		env: { NO_UPDATE_NOTIFIER: "1", npm_config_loglevel: "error" },
		setup: (dir) => writeFileSync(join(dir, "package.json"), "{}"),
		steps: [{ until: "end" }],
	},
	apt: {
		// From a file, so that the recording names no mirror.
		argv: [
			"sh",
			"-c",
			"apt-get -o DPkg::Lock::Timeout=300 -o Dpkg::Progress-Fancy=1 -o Dir::Ignore-Files-Silently::=disabled install -y --reinstall ./hello.deb",
		],
		env: { DEBIAN_FRONTEND: "noninteractive" },
		setup: (dir) => {
			execFileSync("apt-get", ["download", "-q", "hello"], { cwd: dir, stdio: "ignore" });
			execFileSync("sh", ["-c", "mv hello_*.deb hello.deb"], { cwd: dir });
		},
		steps: [{ until: "end" }],
	},
};
