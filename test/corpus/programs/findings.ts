// Each made version 0.1.0 give a wrong or a late answer. The names begin with the finding's id.

import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Case, type Place, program, type Step } from "../case.ts";
import { serve } from "../server.ts";

const python = (code: string) => ["python3", "-c", code];
const bash = (script: string) => ["bash", "-c", script];
const busy = (forMs = 1200): Step[] => [{ truth: "busy", forMs }];

/** A server that takes connections and says nothing. */
const silent = (argv: (port: number) => readonly string[]) => async (place: Place) =>
	argv(await serve(place, () => {}));

const manyLines = ({ directory }: Place) =>
	writeFileSync(join(directory, "f.txt"), Array.from({ length: 200 }, (_, i) => `line ${i + 1}\n`).join(""));

export const cases: Case[] = [
	program(
		"A1 splice",
		python("import os,time\nr,w = os.pipe()\nos.write(1, b'splice? ')\nos.splice(0, w, 4096)\ntime.sleep(30)"),
		[
			{ truth: "line", shows: /splice\? $/ },
			{ line: "x", truth: "busy" },
		],
	),
	program(
		"A1 preadv2",
		python("import os,time\nos.write(1, b'preadv2? ')\nos.preadv(0, [bytearray(64)], -1)\ntime.sleep(30)"),
		[
			{ truth: "line", shows: /preadv2\? $/ },
			{ line: "x", truth: "busy" },
		],
	),
	...(process.arch === "x64"
		? [
				program(
					"A1 a stack below 4 GiB",
					({ directory }) => {
						const source = join(import.meta.dirname, "../fixtures/low-stack.c");
						execFileSync("cc", ["-o", join(directory, "program"), source], { stdio: "pipe" });
						return [join(directory, "program")];
					},
					[
						{ truth: "line", shows: /low\? $/ },
						{ line: "x", truth: "busy" },
					],
				),
			]
		: []),
	program(
		"A2 60 background jobs",
		bash("for i in $(seq 60); do sleep 100 & done; printf 'Password: '; head -n 1; wait"),
		[
			{ truth: "line", shows: /Password: $/ },
			{ line: "sesame", truth: "busy" },
		],
	),
	program(
		"A2 300 threads",
		python(
			"import threading,sys\nsys.setswitchinterval(1)\ndone = threading.Event()\nfor i in range(300): threading.Thread(target=done.wait, daemon=True).start()\nt = threading.Thread(target=lambda: (input('threads? '), done.wait()))\nt.start(); t.join()",
		),
		[
			{ truth: "line", shows: /threads\? $/ },
			{ line: "x", truth: "busy" },
		],
	),
	program(
		"A2 300 polled pipes",
		python(
			"import os,select,time\np = select.poll()\nfor i in range(300): p.register(os.pipe()[0], select.POLLIN)\np.register(0, select.POLLIN)\nos.write(1, b'pipes? ')\np.poll()\ntime.sleep(30)",
		),
		[
			{ truth: "line", shows: /pipes\? $/ },
			{ line: "x", truth: "busy" },
		],
	),
	program(
		"A3 a spinner that reads with VTIME",
		python(
			"import os,termios,tty\ntty.setraw(0)\nm = termios.tcgetattr(0)\nm[6][termios.VMIN], m[6][termios.VTIME] = 0, 1\ntermios.tcsetattr(0, termios.TCSANOW, m)\ni = 0\nwhile os.read(0, 1) != b'q':\n  os.write(1, b'\\rbuilding ' + b'|/-\\\\'[i % 4:i % 4 + 1]); i += 1",
		),
		busy(1500),
	),
	program(
		"A3 two TCP sockets made together",
		silent((port) =>
			python(
				`import select,socket\ns = [socket.create_connection(('127.0.0.1', ${port})) for i in range(2)]\nprint('fetching')\np = select.poll()\nfor f in (0, s[0], s[1]): p.register(f, select.POLLIN)\np.poll()`,
			),
		),
		busy(),
		{ needs: ["python3"] },
	),
	program(
		"A3 a pipe of which the poller has both ends",
		python(
			"import os,select,time\nr, w = os.pipe()\nif os.fork() == 0:\n  time.sleep(30); os.write(w, b'x'); os._exit(0)\nprint('a child works', flush=True)\np = select.poll()\np.register(0, select.POLLIN); p.register(r, select.POLLIN)\np.poll()",
		),
		busy(),
	),
	program(
		"A3 a stray reader outside the session",
		silent((port) => bash(`exec 3<&0; setsid cat <&3 & exec nc 127.0.0.1 ${port} < /dev/null`)),
		busy(),
		{ needs: ["nc"] },
	),
	program(
		"A3 the main thread reads while a worker computes",
		python(
			"import sys,threading\ndef work():\n  while True: sum(range(100000))\nthreading.Thread(target=work, daemon=True).start()\nprint('computing', flush=True)\nsys.stdin.readline()",
		),
		busy(),
	),
	program(
		"A3 a request in a pipe to the network",
		silent((port) => bash(`(echo request; cat) | nc 127.0.0.1 ${port}`)),
		busy(),
		{ needs: ["nc"] },
	),
	program(
		"A3 node listens on stdin while its child sleeps",
		["node", "-e", "process.stdin.resume(); console.log('building'); require('child_process').spawn('sleep', ['30'])"],
		busy(),
	),
	program(
		"A6 Escape in htop",
		["htop"],
		[
			{ truth: "screen", shows: /PID/ },
			{ keys: ["f6"], truth: "screen", shows: /Sort by/ },
			{ keys: ["esc"], truth: "screen" },
			{ text: "q", truth: "ended" },
		],
	),
	program(
		"A6 Escape in mc",
		["mc", "-u"],
		[
			{ truth: "screen", shows: /Help/ },
			{ keys: ["f9"], truth: "screen", shows: /Left/ },
			{ keys: ["esc"], truth: "screen" },
			{ keys: ["f10"], truth: "ended" },
		],
	),
	program(
		"A7 resize vim",
		(place) => {
			manyLines(place);
			return ["vim", "-u", "NONE", "-N", "f.txt"];
		},
		[
			{ truth: "screen", shows: /line 29/ },
			{ rows: 50, truth: "screen", shows: /line 49/ },
			{ rows: 24, truth: "screen", shows: /line 23\s*$/ },
		],
		{ needs: ["vim"] },
	),
	program(
		"A7 resize less",
		(place) => {
			manyLines(place);
			return ["less", "f.txt"];
		},
		[
			{ truth: "screen", shows: /line 29/ },
			{ rows: 50, truth: "screen", shows: /line 49/ },
		],
		{ needs: ["less"] },
	),
	program(
		"A7 resize htop",
		["htop"],
		[
			{ truth: "screen", shows: /F10Quit/ },
			{ rows: 20, truth: "screen", shows: /F10Quit/ },
			{ rows: 50, truth: "screen", shows: /F10Quit/ },
		],
	),
	program(
		"A8 node REPL with a timer",
		["node", "-i"],
		[
			{ truth: "line", shows: /> $/ },
			{ line: "let t = setInterval(() => {}, 400)", truth: "line", shows: /undefined\n> $/ },
			{ line: "6*7", truth: "line", shows: /42\n> $/ },
		],
	),
	program(
		"A8 the first start of fish",
		({ directory }) => {
			mkdirSync(join(directory, ".config"));
			return ["fish"];
		},
		[
			{ truth: "command", shows: /Welcome to fish[\s\S]*[>#] $/ },
			{ line: "echo hi", truth: "command", shows: /hi\n[\s\S]*[>#] $/ },
		],
		{ needs: ["fish"] },
	),
	program(
		"A8 vim with a timer",
		["vim", "-u", "NONE"],
		[
			{ truth: "screen" },
			{ line: ":call timer_start(100, {->0}, {'repeat': -1})", truth: "screen" },
			{ text: "ox", truth: "screen", shows: /x/ },
			{ keys: ["escape"], truth: "screen" },
		],
		{ needs: ["vim"] },
	),
	program(
		"A7 bash, very many completions",
		["bash", "--norc", "--noprofile"],
		[
			{ truth: "command" },
			{ text: "ls /usr/bin/", truth: "command" },
			{ keys: ["tab", "tab"], truth: "key", shows: /possibilities/ },
			{ text: "n", truth: "command" },
		],
	),
	program(
		"A7 zsh, very many completions",
		["zsh", "-f"],
		[
			{ truth: "command" },
			{ line: "autoload -U compinit; compinit -u", truth: "command" },
			{ text: "ls /usr/bin/", truth: "command" },
			{ keys: ["tab"], truth: "key", shows: /possibilities/ },
			{ text: "n", truth: "command" },
		],
		{ needs: ["zsh"] },
	),
	program("A9 Ctrl+S", bash("for i in $(seq 100000); do echo line $i; sleep 0.01; done"), [
		{ truth: "busy", forMs: 300, shows: /line/ },
		{ keys: ["ctrl+s"], truth: "busy", forMs: 1200 },
		{ keys: ["ctrl+q"], truth: "busy", forMs: 500 },
	]),
	program(
		"A10 TIOCEXCL",
		python(
			"import fcntl,termios,time\nfcntl.ioctl(0, termios.TIOCEXCL)\ninput('alone? ')\nprint('thanks')\ntime.sleep(1.5)\ninput('again? ')\ntime.sleep(30)",
		),
		[
			{ truth: "line", shows: /alone\? $/ },
			{ line: "x", truth: "busy", shows: /thanks/ },
			{ truth: "line", shows: /again\? $/ },
			{ line: "x", truth: "busy" },
		],
	),
];
