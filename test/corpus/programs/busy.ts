// What is not your turn, however quiet it is and whatever it printed last.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Case, program, type Step } from "../case.ts";
import { serve } from "../server.ts";

const sh = (script: string) => ["sh", "-c", script];
const busy = (forMs = 900, shows?: RegExp): Step[] => [{ truth: "busy", forMs, ...(shows ? { shows } : {}) }];

export const cases: Case[] = [
	program("sleep", ["sleep", "30"], busy()),
	program("a computation", ["python3", "-c", "while True: pass"], busy()),
	program(
		"a computation behind a question",
		sh("printf 'Continue? [y/N] '; while :; do :; done"),
		busy(900, /Continue/),
	),
	program("a silent minute behind a prompt", sh("printf 'password: '; sleep 70"), busy(2500, /password/)),
	program("a silent minute behind a shell's prompt", sh("printf '$ '; sleep 70"), busy(1500)),
	program("a slow producer", sh("while :; do echo line; sleep 0.3; done"), busy(1500)),
	program("a slow producer of dots", sh("while :; do printf .; sleep 0.4; done"), busy(1500)),
	program("a flood", ["yes"], busy(1200)),
	program("a pipeline", sh("sleep 30 | cat | sort"), busy()),
	program("find | sort", sh("find / -xdev 2>/dev/null | sort > /dev/null; sleep 30"), busy(1200)),
	program(
		"make -j",
		({ directory }) => {
			writeFileSync(join(directory, "Makefile"), "all: a b c d\na b c d:\n\t@echo building $@; sleep 20\n");
			return ["make", "-j4"];
		},
		busy(1200, /building/),
		{ needs: ["make"] },
	),
	program(
		"a C build",
		({ directory }) => {
			const code = Array.from(
				{ length: 4000 },
				(_, i) => `int f${i}(int x) { return x * ${i} + f${Math.max(0, i - 1)}(x - 1); }`,
			);
			writeFileSync(join(directory, "a.c"), code.join("\n"));
			return ["sh", "-c", "printf 'compiling: '; while :; do gcc -O2 -w -c a.c; done"];
		},
		busy(1500, /compiling/),
		{ needs: ["gcc"] },
	),
	program(
		"a download that stalls",
		async (place) => {
			const port = await serve(place, (socket) =>
				socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\nx")),
			);
			return ["curl", `http://127.0.0.1:${port}/`, "-o", "/dev/null"];
		},
		busy(1500),
		{ needs: ["curl"] },
	),
	program(
		"tail -f",
		({ directory }) => {
			writeFileSync(join(directory, "log"), "one\ntwo\n");
			return ["tail", "-f", "log"];
		},
		busy(900, /two/),
	),
	program(
		"tail -f of a line without an end",
		({ directory }) => {
			writeFileSync(join(directory, "log"), "one\ntwo");
			return ["tail", "-f", "log"];
		},
		busy(900, /two/),
	),
	program("ping", ["ping", "-i", "0.5", "127.0.0.1"], busy(1500)),
	program("a background job that prints", ["bash", "-c", "(while :; do echo bg; sleep 0.3; done) & wait"], busy(1200)),
	program("a stopped program", ["bash", "-c", "kill -STOP $$; sleep 30"], [{ truth: "stopped", forMs: 700 }]),
	program("grep -r", sh("grep -rs something-that-is-nowhere /usr/share > /dev/null; sleep 30"), busy(1200)),
	program(
		"flock",
		({ directory }) => sh(`exec 9> ${directory}/lock; flock 9; flock ${directory}/lock true`),
		busy(),
		{},
	),
	program("a fifo nobody writes to", ({ directory }) => sh(`mkfifo ${directory}/f; cat ${directory}/f`), busy()),
	program(
		"git over a slow disk",
		({ directory }) => {
			mkdirSync(join(directory, "d"));
			return sh("tar cf - /usr/share/doc 2>/dev/null | gzip -9 > /dev/null; sleep 30");
		},
		busy(1200),
		{ name: "tar | gzip" },
	),
	program("sleep in a subshell of a shell", ["bash", "-c", "bash -c 'bash -c \"sleep 30; true\"; true'; true"], busy()),
	program("xargs", sh("printf '1\\n2\\n3\\n' | xargs -n1 -P3 sh -c 'sleep 30'"), busy()),
	program("timeout", ["timeout", "30", "sleep", "30"], busy()),
	program(
		"python that waits for a thread",
		["python3", "-c", "import threading,time\nt=threading.Thread(target=time.sleep,args=(30,));t.start();t.join()"],
		busy(),
	),
	program("python asyncio sleep", ["python3", "-c", "import asyncio; asyncio.run(asyncio.sleep(30))"], busy()),
	program(
		"nginx",
		({ directory }) => {
			mkdirSync(join(directory, "logs"));
			writeFileSync(
				join(directory, "n.conf"),
				`daemon off; pid ${directory}/pid; error_log stderr; events {} http { access_log off; server { listen unix:${directory}/sock; } }`,
			);
			return ["nginx", "-p", directory, "-c", `${directory}/n.conf`];
		},
		busy(900),
		{ needs: ["nginx"], user: "root" },
	),
	program(
		"redis-server",
		["redis-server", "--port", "0", "--save", "", "--unixsocket", "redis.sock"],
		busy(1500, /Ready to accept/i),
	),
	program(
		"apt-get asks",
		["apt-get", "remove", "-o", "Debug::NoLocking=1", "bc"],
		[
			{ truth: "line", shows: /\[Y\/n\] $/ },
			{ line: "n", truth: "ended" },
		],
		{ needs: ["apt-get", "bc"], user: "root" },
	),
];
