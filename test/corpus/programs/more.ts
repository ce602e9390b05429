// Programs that no rule was made for. Each was added with its truth before it was first played.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Case, type Place, program } from "../case.ts";

const withText =
	(...argv: string[]) =>
	({ directory }: Place) => {
		writeFileSync(join(directory, "f.txt"), Array.from({ length: 100 }, (_, i) => `line ${i + 1}`).join("\n"));
		writeFileSync(join(directory, "f.html"), "<title>t</title><h1>Hello</h1><p><a href=f.txt>link</a>");
		return argv;
	};

export const cases: Case[] = [
	program(
		"nvim",
		withText("nvim", "-u", "NONE", "-i", "NONE", "f.txt"),
		[
			{ truth: "screen", shows: /line 1/ },
			{ keys: ["i"], truth: "screen", shows: /INSERT/ },
			{ text: "hello", truth: "screen", shows: /hello/ },
			{ keys: ["esc"], truth: "screen" },
			{ line: ":q!", truth: "ended" },
		],
		{ needs: ["nvim"] },
	),
	program(
		"emacs",
		withText("emacs", "-nw", "-Q", "f.txt"),
		[
			{ truth: "screen", shows: /line 1/ },
			{ text: "hello", truth: "screen", shows: /hello/ },
			{ keys: ["ctrl+x", "ctrl+c"], truth: "screen", shows: /Save file/ },
			{ text: "n", truth: "screen", shows: /exit anyway/ },
			{ line: "yes", truth: "ended" },
		],
		{ needs: ["emacs"] },
	),
	program(
		"joe",
		withText("joe", "f.txt"),
		[
			{ truth: "screen", shows: /line 1/ },
			{ text: "hello", truth: "screen", shows: /hello/ },
		],
		{
			needs: ["joe"],
		},
	),
	program(
		"ncdu",
		withText("ncdu", "."),
		[
			{ truth: "screen", shows: /f\.txt/ },
			{ text: "q", truth: "ended" },
		],
		{ needs: ["ncdu"] },
	),
	program(
		"nnn",
		withText("nnn"),
		[
			{ truth: "screen", shows: /f\.txt/ },
			{ keys: ["down"], truth: "screen" },
			{ text: "q", truth: "ended" },
		],
		{ needs: ["nnn"] },
	),
	program(
		"ranger",
		withText("ranger", "--clean"),
		[
			{ truth: "screen", shows: /f\.txt/ },
			{ keys: ["down"], truth: "screen" },
			{ text: "q", truth: "ended" },
		],
		{ needs: ["ranger"] },
	),
	program(
		"lynx",
		withText("lynx", "f.html"),
		[
			{ truth: "screen", shows: /Hello/ },
			{ text: "q", truth: "screen", shows: /quit/ },
			{ text: "y", truth: "ended" },
		],
		{ needs: ["lynx"] },
	),
	program(
		"links",
		withText("links", "f.html"),
		[
			{ truth: "screen", shows: /Hello/ },
			{ keys: ["down"], truth: "screen" },
		],
		{
			needs: ["links"],
		},
	),
	program(
		"tig",
		({ directory }) => {
			const git = (...args: string[]) =>
				execFileSync("git", ["-c", "user.name=A", "-c", "user.email=a@b", ...args], { cwd: directory });
			git("init", "-q");
			git("commit", "-q", "--allow-empty", "-m", "first commit");
			return ["tig"];
		},
		[
			{ truth: "screen", shows: /first commit/ },
			{ text: "q", truth: "ended" },
		],
		{ needs: ["tig", "git"] },
	),
	program(
		"gawk",
		["gawk", 'BEGIN { printf "name? "; getline n < "/dev/tty"; system("sleep 30") }'],
		[
			{ truth: "line", shows: /name\? $/ },
			{ line: "ann", truth: "busy" },
		],
	),
	program(
		"units",
		["units"],
		[
			{ truth: "line", shows: /You have: $/ },
			{ line: "1 mile", truth: "line", shows: /You want: $/ },
			{ line: "km", truth: "line", shows: /You have: $/ },
		],
	),
	program(
		"guile",
		["guile", "-q"],
		[
			{ truth: "line", shows: /> $/ },
			{ line: "(* 6 7)", truth: "line", shows: /42[\s\S]*> $/ },
		],
	),
	program(
		"gforth",
		["gforth"],
		[
			{ truth: "line", shows: /Type/ },
			{ line: "6 7 * .", truth: "line", shows: /42/ },
		],
	),
	program(
		"gp",
		["gp", "-q", "-f"],
		[
			{ truth: "line", shows: /\? $/ },
			{ line: "6*7", truth: "line", shows: /42/ },
			{ line: "for(i=1,10^12,)", truth: "busy" },
			{ keys: ["ctrl+c"], truth: "line", shows: /interrupt/ },
		],
	),
	program(
		"lftp",
		["lftp"],
		[
			{ truth: "line", shows: /lftp :~> $/ },
			{ line: "sleep 2", truth: "busy", forMs: 1000 },
			{ truth: "line", shows: /lftp :~> $/ },
		],
	),
	program("dc", ["dc"], [{ truth: "line" }, { line: "6 7 * p", truth: "line", shows: /42/ }]),
	program(
		"calc",
		["calc", "-q"],
		[
			{ truth: "line", shows: /; $/ },
			{ line: "6*7", truth: "line", shows: /42/ },
		],
	),
	program(
		"gnuplot",
		["gnuplot", "-d"],
		[
			{ truth: "line", shows: /gnuplot> $/ },
			{ line: "print 6*7", truth: "line", shows: /42\ngnuplot> $/ },
			{ line: "pause 2", truth: "busy", forMs: 1000 },
			{ truth: "line", shows: /gnuplot> $/ },
			{ line: "pause -1 'hit return'", truth: "line", shows: /hit return/ },
		],
	),
	program(
		"swipl",
		["swipl", "-q", "-f", "none"],
		[
			{ truth: "line", shows: /\?- $/ },
			{ line: "X is 6*7.", truth: "line", shows: /X = 42/ },
			{ line: "member(X, [1,2,3]).", truth: "key", shows: /X = 1 $/ },
			{ text: ";", truth: "key", shows: /X = 2 $/ },
		],
	),
	program("jq", ["jq", "."], [{ truth: "line" }, { line: "{}", truth: "line", shows: /\{\}/ }]),
	program("pv", ["sh", "-c", "pv -L 100 /dev/zero > /dev/null"], [{ truth: "busy", forMs: 1500 }], { needs: ["pv"] }),
	program("cmatrix", ["cmatrix"], [{ truth: "busy", forMs: 1500 }]),
	program("tee", ["tee", "out"], [{ truth: "line" }, { line: "hello", truth: "line", shows: /hello\nhello/ }]),
	program("sort", ["sort"], [{ truth: "line" }, { line: "b", truth: "line" }, { keys: ["ctrl+d"], truth: "ended" }]),
	program(
		"telnet without a host",
		["telnet"],
		[
			{ truth: "line", shows: /telnet> $/ },
			{ line: "status", truth: "line", shows: /telnet> $/ },
		],
	),
	program(
		"sftp-like batch over a pipe",
		["sh", "-c", "yes | head -c 300M | gzip -9 | wc -c; sleep 30"],
		[{ truth: "busy", forMs: 1500 }],
		{ name: "a long pipe" },
	),
	program(
		"bash debugger trap",
		["bash", "-c", "trap 'read -p \"trapped? \" x' INT; while :; do sleep 0.2; done"],
		[{ truth: "busy" }, { keys: ["ctrl+c"], truth: "line", shows: /trapped\? $/ }, { line: "y", truth: "busy" }],
	),
	program(
		"python curses",
		["python3", "-c", "import curses\ncurses.wrapper(lambda s: (s.addstr('press q'), s.refresh(), s.getch()))"],
		[
			{ truth: "screen", shows: /press q/ },
			{ text: "q", truth: "ended" },
		],
	),
	program(
		"python curses with a clock",
		[
			"python3",
			"-c",
			"import curses,time\ndef m(s):\n  s.timeout(1000)\n  while s.getch()<0: s.addstr(0,0,time.ctime()); s.refresh()\ncurses.wrapper(m)",
		],
		[{ truth: "screen" }, { text: "q", truth: "ended" }],
	),
	program(
		"python cmd module",
		["python3", "-c", "import cmd,time\nclass C(cmd.Cmd):\n  def do_w(s,a): time.sleep(1.2)\nC().cmdloop()"],
		[
			{ truth: "line", shows: /\(Cmd\) $/ },
			{ line: "w", truth: "busy", forMs: 600 },
			{ truth: "line", shows: /\(Cmd\) $/ },
		],
	),
	program(
		"python breakpoint() in a pipe of work",
		["python3", "-c", "x=1\nfor i in range(3):\n  breakpoint()"],
		[
			{ truth: "line", shows: /\(Pdb\) $/ },
			{ line: "c", truth: "line", shows: /\(Pdb\) $/ },
		],
	),
	program(
		"node readline/promises twice",
		[
			"node",
			"--input-type=module",
			"-e",
			"import {createInterface} from 'readline/promises';const r=createInterface({input:process.stdin,output:process.stdout});await r.question('a? ');await new Promise(d=>setTimeout(d,1200));await r.question('b? ');r.close()",
		],
		[
			{ truth: "line", shows: /a\? $/ },
			{ line: "1", truth: "busy", forMs: 700 },
			{ truth: "line", shows: /b\? $/ },
			{ line: "2", truth: "ended" },
		],
	),
	program(
		"node waits for a child that asks",
		["node", "-e", "require('child_process').spawn('bash',['-c','read -p \"sure? \" x; sleep 30'],{stdio:'inherit'})"],
		[
			{ truth: "line", shows: /sure\? $/ },
			{ line: "y", truth: "busy" },
		],
	),
	program(
		"npx-like wrapper around a server",
		["bash", "-c", "python3 -m http.server 0 --bind 127.0.0.1; true"],
		[{ truth: "serving", forMs: 1500 }],
		{ needs: ["python3"] },
	),
	program("top in batch mode", ["top", "-b", "-d", "0.5"], [{ truth: "busy", forMs: 1500 }]),
	program(
		"less +F",
		withText("less", "+F", "f.txt"),
		[
			{ truth: "busy", forMs: 1200 },
			{ keys: ["ctrl+c"], truth: "screen" },
		],
		{ needs: ["less"] },
	),
	program(
		"git commit, a hook that sleeps",
		({ directory }) => {
			execFileSync("git", ["init", "-q"], { cwd: directory });
			writeFileSync(join(directory, ".git/hooks/pre-commit"), "#!/bin/sh\nprintf 'checking? '\nsleep 20\n", {
				mode: 0o755,
			});
			return ["git", "-c", "user.name=A", "-c", "user.email=a@b", "commit", "--allow-empty", "-m", "x"];
		},
		[{ truth: "busy", forMs: 1200 }],
		{ needs: ["git"] },
	),
];
