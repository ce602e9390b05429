// Servers at rest: nobody's turn.

import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { find } from "../../programs.ts";
import { type Case, program, type Step } from "../case.ts";

const serving: Step[] = [
	{ truth: "serving", forMs: 1500 },
	{ line: "hello", truth: "busy", forMs: 500 },
];

export const cases: Case[] = [
	program("busybox httpd", ["busybox", "httpd", "-f", "-p", "127.0.0.1:0"], serving, { needs: ["busybox"] }),
	program("php -S", ["php", "-S", "127.0.0.1:0"], serving),
	program("socat TCP-LISTEN", ["socat", "TCP-LISTEN:0,bind=127.0.0.1,fork", "SYSTEM:date"], serving),
	program(
		"openssl s_server",
		({ directory }) => {
			const request = "req -x509 -newkey rsa:2048 -nodes -keyout k -out c -subj /CN=a".split(" ");
			execFileSync("openssl", request, { cwd: directory, stdio: "pipe" });
			return "openssl s_server -accept 127.0.0.1:0 -key k -cert c -www".split(" ");
		},
		serving,
		{ needs: ["openssl"] },
	),
	program(
		"node net server",
		["node", "-e", "require('net').createServer().listen(0, '127.0.0.1', () => console.log('up'))"],
		serving,
	),
	program(
		"node cluster of servers",
		({ directory }) => {
			const code =
				"const c = require('cluster'); if (c.isPrimary) { c.fork(); c.fork(); } else require('http').createServer().listen(0, '127.0.0.1')";
			writeFileSync(join(directory, "a.js"), code);
			return ["node", "a.js"];
		},
		[{ truth: "busy", forMs: 1500 }],
	),
	program(
		"python socketserver",
		[
			"python3",
			"-c",
			"import socketserver; socketserver.TCPServer(('127.0.0.1', 0), socketserver.BaseRequestHandler).serve_forever()",
		],
		serving,
	),
	program(
		"python asyncio server",
		[
			"python3",
			"-c",
			"import asyncio\nasync def m(): await (await asyncio.start_server(lambda r, w: None, '127.0.0.1', 0)).serve_forever()\nasyncio.run(m())",
		],
		serving,
	),
	program("ruby TCPServer", ["ruby", "-rsocket", "-e", "TCPServer.new('127.0.0.1', 0).accept"], serving),
	program(
		"perl listens",
		["perl", "-MIO::Socket::INET", "-e", "IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1')->accept"],
		serving,
	),
	program("nc -l", ["nc", "-l", "-d", "127.0.0.1", "0"], [{ truth: "busy", forMs: 1200 }], { needs: ["nc"] }),
	program("ncat -lk", ["ncat", "-lk", "--exec", "/bin/date", "127.0.0.1", "40113"], serving),
	program(
		"sshd -D",
		({ directory }) => {
			mkdirSync(join(directory, "d"));
			writeFileSync(
				join(directory, "go.sh"),
				`mkdir -p /run/sshd; ssh-keygen -q -t ed25519 -N '' -f k; exec ${find("sshd")} -D -e -o ListenAddress=127.0.0.1 -o Port=40114 -o PidFile=none -h $PWD/k -f /dev/null\n`,
			);
			return ["sh", "go.sh"];
		},
		serving,
		{ needs: ["ssh-keygen", "sshd"], user: "root" },
	),
	program(
		"tmux server in the foreground",
		({ directory }) => ["tmux", "-f", "/dev/null", "-S", `${directory}/s`, "-D"],
		serving,
		{ needs: ["tmux"] },
	),
];
