// Long jobs of many kinds: silent, chatty, with a bar or a spinner. None reads the terminal, so what is typed meanwhile stays unread.

import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { type Case, type Place, program, type Step } from "../case.ts";

const sh = (script: string) => ["sh", "-c", script];
/** Watched once, then typed to ahead of time, and watched again. */
const job = (name: string, start: Case["start"], more: Partial<Case> & { shows?: RegExp } = {}): Case => {
	const { shows, ...rest } = more;
	const steps: Step[] = [
		{ truth: "busy", forMs: 800, ...(shows ? { shows } : {}) },
		{ line: "y", truth: "busy", forMs: 500 },
		{ truth: "busy", forMs: 400 },
	];
	return program(name, start, steps, rest);
};
const withFile =
	(megabytes: number, ...argv: string[]) =>
	({ directory }: Place) => {
		const line = Array.from({ length: 64 }, () => Math.random().toString(36)).join(" ");
		writeFileSync(join(directory, "data"), Buffer.alloc(megabytes << 20, line));
		return argv;
	};

/** A web server that sends a kilobyte at a time. */
const slowly =
	(argv: (url: string) => readonly string[]) =>
	async ({ defer }: Place) => {
		const server = createServer((_, response) => {
			response.writeHead(200, { "content-length": 10_000_000 });
			const timer = setInterval(() => response.write(Buffer.alloc(1024)), 100);
			response.on("close", () => clearInterval(timer));
		}).listen(0, "127.0.0.1");
		await new Promise((resolve) => server.once("listening", resolve));
		defer(() => server.closeAllConnections());
		defer(() => void server.close());
		return argv(`http://127.0.0.1:${(server.address() as { port: number }).port}/file`);
	};

const python = (code: string) => ["python3", "-c", code];

export const cases: Case[] = [
	job(
		"dd with progress",
		sh(
			"dd if=/dev/zero bs=1k count=1 status=none; exec dd if=/dev/zero of=/dev/null bs=1M count=900000 status=progress",
		),
	),
	job(
		"curl with a meter",
		slowly((url) => ["curl", "-o", "/dev/null", url]),
		{ needs: ["curl"] },
	),
	job(
		"curl with a bar",
		slowly((url) => ["curl", "-#", "-o", "/dev/null", url]),
		{ needs: ["curl"] },
	),
	job(
		"lftp -c get",
		slowly((url) => ["lftp", "-c", `get ${url} -o file`]),
		{ needs: ["lftp"] },
	),
	job(
		"busybox wget",
		slowly((url) => ["busybox", "wget", "-O", "/dev/null", url]),
		{ needs: ["busybox"] },
	),
	job(
		"node fetch",
		slowly((url) => ["node", "-e", `fetch('${url}').then((r) => r.text())`]),
	),
	job(
		"python urllib",
		slowly((url) => python(`import urllib.request; urllib.request.urlopen('${url}').read()`)),
		{ needs: ["python3"] },
	),
	job("openssl genrsa", ["openssl", "genrsa", "16384"]),
	job("openssl speed", ["openssl", "speed", "-seconds", "5", "sha256"]),
	job("openssl dhparam", ["openssl", "dhparam", "8192"], { shows: /Generating/ }),
	job("ssh-keygen, a long key", ["ssh-keygen", "-q", "-t", "rsa", "-b", "16384", "-N", "", "-f", "key"]),
	job("xz", withFile(60, "sh", "-c", "xz -9e -k data; sleep 30"), { needs: ["xz"] }),
	job("bzip2", withFile(60, "sh", "-c", "bzip2 -9 -k data; sleep 30"), { needs: ["bzip2"] }),
	job("sha512sum", sh("sha512sum /dev/zero")),
	job("zip", withFile(80, "sh", "-c", "zip -9 a.zip data; sleep 30"), { needs: ["zip"] }),
	job("sort a big file", withFile(20, "sh", "-c", "sort -R data | sort -k3 > sorted; sleep 30")),
	job("du", sh("while :; do du -s /usr > /dev/null; done")),
	job("awk computes", ["mawk", "BEGIN { while (1) i++ }"]),
	job("bc computes", sh("echo 'scale=200000; a(1)' | BC_LINE_LENGTH=0 bc -lq"), { needs: ["bc"] }),
	job("dc computes", ["dc", "-e", "2 99999999 ^ p"]),
	job("perl computes", ["perl", "-e", "$|=1; print 'working '; 1 while 1"], { shows: /working/ }),
	job("ruby computes", ["ruby", "-e", "loop {}"]),
	job("lua computes", ["lua5.4", "-e", "while true do end"]),
	job("php computes", ["php", "-r", "echo 'loading... '; while (true);"], { shows: /loading/ }),
	job("guile computes", ["guile", "-q", "-c", "(let loop () (loop))"]),
	job("tclsh waits", sh("echo 'after 30000' | tclsh"), { needs: ["tclsh"] }),
	job("gap computes", sh("echo 'while true do od;' > f.g; gap -q f.g < /dev/null"), { needs: ["gap"] }),
	job("sqlite3 computes", [
		"sqlite3",
		":memory:",
		"with recursive t(x) as (select 1 union all select x+1 from t) select count(*) from t;",
	]),
	job(
		"python multiprocessing",
		python("import multiprocessing as m,time\nif __name__ == '__main__':\n  m.Pool(4).map(time.sleep, [30] * 8)"),
		{},
	),
	job("python queue.get", python("import queue; queue.Queue().get()")),
	job("python signal.pause", python("import signal; print('Ready? ', end='', flush=True); signal.pause()"), {
		shows: /Ready\? $/,
	}),
	job("python subprocess", python("import subprocess; subprocess.run(['sleep', '30'])")),
	job(
		"python socket accept",
		python(
			"import socket; s = socket.create_server(('127.0.0.1', 0)); print('waiting for a call: ', end='', flush=True); s.accept()",
		),
		{ shows: /call: $/ },
	),
	job(
		"python, a hidden cursor and a spinner",
		python(
			"import sys,time\nsys.stdout.write('\\x1b[?25l')\ni = 0\nwhile True:\n  sys.stdout.write('\\r' + '⠋⠙⠹⠸⠼⠴'[i % 6] + ' Installing'); sys.stdout.flush(); i += 1; time.sleep(0.08)",
		),
		{ shows: /Installing/ },
	),
	job(
		"python, a bar of ten steps",
		python(
			"import time\nfor i in range(100): print('\\r[' + '#' * i + ' ' * (100 - i) + ']', end='', flush=True); time.sleep(0.5)",
		),
	),
	job(
		"python, dots with long pauses",
		python("import time\nfor i in range(100): print('.', end='', flush=True); time.sleep(0.9)"),
	),
	job("node, a busy loop", ["node", "-e", "for (;;);"]),
	job("node waits for a timer", ["node", "-e", "process.stdout.write('Proceed? (y) '); setTimeout(() => {}, 30000)"], {
		shows: /Proceed/,
	}),
	job("node waits for a worker", ["node", "-e", "new (require('worker_threads').Worker)('for (;;);', { eval: true })"]),
	job("node watches a directory", ["node", "-e", "require('fs').watch('.'); console.log('watching')"], {
		shows: /watching/,
	}),
	job("node waits for a promise of a child", ["node", "-e", "require('child_process').exec('sleep 30')"]),
	job(
		"node --watch",
		({ directory }) => {
			writeFileSync(join(directory, "a.js"), "console.log('ran')");
			return ["node", "--watch", "a.js"];
		},
		{ shows: /ran/ },
	),
	job("ruby sleeps behind a prompt", ["ruby", "-e", "$stdout.sync = true; print 'password: '; sleep"], {
		shows: /password: $/,
	}),
	job("perl waits for a child", ["perl", "-e", "print qq(1\\n); system('sleep 30')"]),
	job("erl computes", ["erl", "-noshell", "-eval", "timer:sleep(30000)."]),
	job("sbcl computes", ["sbcl", "--noinform", "--non-interactive", "--eval", "(loop)"]),
	job("bash wait", ["bash", "-c", "sleep 30 & sleep 31 & echo 'Waiting for jobs: '; wait"]),
	job("bash reads a pipe", ["bash", "-c", "while read -r l; do echo $l; done < <(echo a; sleep 30)"]),
	job("bash coproc", ["bash", "-c", "coproc sleep 30; read -r -u ${COPROC[0]} x"]),
	job("tail --pid", ["bash", "-c", "sleep 30 & tail --pid=$! -f /dev/null"]),
	job("busybox tail -f", sh("echo one > log; busybox tail -f log"), { needs: ["busybox"], shows: /one/ }),
	job("tar over a slow pipe", sh("tar cf - /usr/share/doc 2> /dev/null | pv -q -L 20k | tar tf - > /dev/null"), {
		needs: ["pv"],
	}),
	job("socat waits for a file", sh("mkfifo f; socat -u PIPE:f STDOUT"), { needs: ["socat"] }),
	job("gdb runs a program in a batch", [
		"gdb",
		"-q",
		"-nx",
		"-batch",
		"-ex",
		"set debuginfod enabled off",
		"-ex",
		"run",
		"--args",
		"sleep",
		"30",
	]),
	job(
		"strace-like tracer",
		python("import os,signal\npid = os.fork()\nif pid == 0: os.execvp('sleep', ['sleep', '30'])\nos.waitpid(pid, 0)"),
	),
	job("dialog --infobox", sh("dialog --infobox Working 5 30; sleep 30"), { needs: ["dialog"], shows: /Working/ }),
	job(
		"whiptail --gauge",
		sh("(for i in 10 20 30 40 50 60 70 80 90; do echo $i; sleep 1; done) | whiptail --gauge Copying 8 40 0"),
		{ needs: ["whiptail"], shows: /Copying/ },
	),
	job(
		"make, one step at a time",
		({ directory }) => {
			writeFileSync(
				join(directory, "Makefile"),
				"all:\n\t@for i in 1 2 3 4 5 6 7 8 9; do echo step $$i; sleep 0.6; done\n\t@sleep 30\n",
			);
			return ["make"];
		},
		{ needs: ["make"], shows: /step/ },
	),
	job(
		"git clone from a slow server",
		slowly((url) => ["git", "clone", url]),
		{ needs: ["git"] },
	),
];
