// Clients and debuggers: between a person and something else that may take its time.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Case, type Place, program } from "../case.ts";
import { serve } from "../server.ts";

/** A server that greets at once, and answers each line after two seconds. */
const greeting =
	(argv: (port: number) => readonly string[], greets = "220 hello\r\n") =>
	async (place: Place) =>
		argv(
			await serve(place, (socket) => {
				socket.write(greets);
				socket.on("data", () => setTimeout(() => socket.writable && socket.write("230 thanks\r\n"), 2000));
			}),
		);

const fiveLines = ({ directory }: Place) =>
	writeFileSync(
		join(directory, "a.c"),
		'#include <stdio.h>\n#include <unistd.h>\nint main(void) {\n\tint x = 42;\n\tsleep(2);\n\tprintf("%d\\n", x);\n\treturn 0;\n}\n',
	);

export const cases: Case[] = [
	program(
		"tnftp",
		greeting((port) => ["tnftp", "127.0.0.1", String(port)]),
		[
			{ truth: "line", shows: /Name \(127\.0\.0\.1:.*\): $/ },
			{ line: "ann", truth: "busy", forMs: 900 },
			{ truth: "line", shows: /ftp> $/ },
		],
		{ needs: ["tnftp"] },
	),
	program(
		"telnet",
		greeting((port) => ["telnet", "127.0.0.1", String(port)], "login: "),
		[{ truth: "line", shows: /login: $/ }],
		{ needs: ["telnet"] },
	),
	program(
		"nc to a server that asks",
		greeting((port) => ["nc", "127.0.0.1", String(port)], "name? "),
		[
			{ truth: "line", shows: /name\? $/ },
			{ line: "ann", truth: "busy", forMs: 900 },
		],
		{ needs: ["nc"] },
	),
	program(
		"ncat to a server that asks",
		greeting((port) => ["ncat", "127.0.0.1", String(port)], "name? "),
		[
			{ truth: "line", shows: /name\? $/ },
			{ line: "ann", truth: "busy", forMs: 900 },
		],
		{ needs: ["ncat"] },
	),
	program(
		"litecli",
		["litecli", "a.db"],
		[
			{ truth: "line", shows: /> / },
			{ line: "select 6*7;", truth: "line", shows: /42[\s\S]*> / },
		],
	),
	program(
		"sqlcipher",
		["sqlcipher", ":memory:"],
		[
			{ truth: "line", shows: /sqlite> $/ },
			{ line: "select 6*7;", truth: "line", shows: /42\nsqlite> $/ },
			{ line: "with recursive t(x) as (select 1 union all select x+1 from t) select count(*) from t;", truth: "busy" },
			{ keys: ["ctrl+c"], truth: "line", shows: /sqlite> $/ },
		],
	),
	program(
		"cgdb",
		(place) => {
			fiveLines(place);
			return ["sh", "-c", "cc -g a.c -o a; exec cgdb -q -nx ./a"];
		},
		[
			{ truth: "screen", shows: /\(gdb\)/ },
			{ line: "break main", truth: "screen", shows: /Breakpoint 1 at/ },
		],
		{ needs: ["cgdb", "gdb", "gcc"] },
	),
	program(
		"gdb -tui",
		(place) => {
			fiveLines(place);
			return ["sh", "-c", "cc -g a.c -o a; exec gdb -q -nx -tui -iex 'set debuginfod enabled off' ./a"];
		},
		[
			{ truth: "screen", shows: /\(gdb\)/ },
			{ line: "break main", truth: "screen", shows: /Breakpoint 1 at/ },
		],
		{ needs: ["gdb", "gcc"] },
	),
	program(
		"lldb runs a program",
		(place) => {
			fiveLines(place);
			return ["sh", "-c", "cc -g a.c -o a; exec lldb --no-lldbinit -Q ./a"];
		},
		[
			{ truth: "line", shows: /\(lldb\) $/ },
			{ line: "breakpoint set -n main", truth: "line", shows: /Breakpoint 1/ },
			{ line: "quit", truth: "ended" },
		],
		{ needs: ["lldb", "gcc"] },
	),
	program(
		"gawk -D",
		({ directory }) => {
			writeFileSync(join(directory, "a.awk"), 'BEGIN { x = 42; system("sleep 2"); print x }\n');
			return ["gawk", "-D", "-f", "a.awk"];
		},
		[
			{ truth: "line", shows: /gawk> $/ },
			{ line: "list", truth: "line", shows: /BEGIN[\s\S]*gawk> $/ },
			{ line: "run", truth: "busy", forMs: 900 },
			{ truth: "line", shows: /42[\s\S]*gawk> $/ },
		],
		{ needs: ["gawk"] },
	),
	program(
		"taskset of a shell",
		["taskset", "1", "dash"],
		[
			{ truth: "line", shows: /[$#] $/ },
			{ line: "sleep 30", truth: "busy" },
		],
	),
];
