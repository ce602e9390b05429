import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Case, program } from "../case.ts";

export const cases: Case[] = [
	program(
		"ruby gets",
		["ruby", "-e", "print 'name? '; gets; sleep 30"],
		[
			{ truth: "line", shows: /name\? $/ },
			{ line: "ann", truth: "busy" },
		],
	),
	program(
		"irb",
		["irb", "-f", "--nocolorize"],
		[
			{ truth: "line", shows: /irb\(main\).*[>*] $/ },
			{ line: "6*7", truth: "line", shows: /=> 42/ },
			{ line: "sleep 1.5; 'slept'", truth: "busy", forMs: 800 },
			{ truth: "line", shows: /=> "slept"/ },
		],
	),
	program(
		"perl <STDIN>",
		["perl", "-e", "$|=1; print 'name? '; <STDIN>; sleep 30"],
		[
			{ truth: "line", shows: /name\? $/ },
			{ line: "ann", truth: "busy" },
		],
	),
	program(
		"perl -d",
		async ({ directory }) => {
			await writeFile(join(directory, "p.pl"), "my $x = 1;\nsleep 2;\nmy $y = 2;\nprint $y;\n");
			return ["perl", "-d", "p.pl"];
		},
		[
			{ truth: "line", shows: /DB<1> $/ },
			{ line: "n", truth: "line", shows: /DB<1> $/ },
			{ line: "n", truth: "busy", forMs: 1000 },
			{ truth: "line", shows: /\$y = 2/ },
		],
		// The debugger comes with the whole of perl, as this program does; perl-base has neither.
		{ needs: ["prove"] },
	),
	program(
		"lua",
		["lua5.4"],
		[
			{ truth: "line", shows: /> $/ },
			{ line: "=6*7", truth: "line", shows: /42\n> $/ },
		],
	),
	program(
		"lua io.read",
		["lua5.4", "-e", "io.write('name? ') io.flush() io.read() os.execute('sleep 30')"],
		[
			{ truth: "line", shows: /name\? $/ },
			{ line: "ann", truth: "busy" },
		],
	),
	program(
		"php -a",
		["php", "-a"],
		[
			{ truth: "line", shows: /php > $/ },
			{ line: "echo 6*7;", truth: "line", shows: /42/ },
		],
	),
	program(
		"tclsh",
		["tclsh"],
		[
			{ truth: "line", shows: /% $/ },
			{ line: "expr 6*7", truth: "line", shows: /42\n% $/ },
			{ line: "after 1500", truth: "busy", forMs: 800 },
			{ truth: "line" },
		],
	),
	program("bc", ["bc", "-q"], [{ truth: "line" }, { line: "6*7", truth: "line", shows: /42/ }]),
	program(
		"gdb",
		async ({ directory }) => {
			await writeFile(join(directory, ".gdbinit"), "set debuginfod enabled off\n");
			return ["gdb", "-q", "-nx", "--args", "sleep", "2"];
		},
		[
			{ truth: "line", shows: /\(gdb\) $/ },
			{ line: "p 6*7", truth: "line", shows: /42\n\(gdb\) $/ },
			{ line: "run", truth: "busy", forMs: 900 },
			{ truth: "line", shows: /exited normally.*\n\(gdb\) $/ },
		],
		{ needs: ["gdb"] },
	),
	program(
		"gdb, a program that asks",
		["gdb", "-q", "-nx", "-ex", "set debuginfod enabled off", "-ex", "run", "--args", "cat"],
		[
			{ truth: "line", shows: /Starting program/ },
			{ line: "hello", truth: "line", shows: /hello\nhello/ },
			{ keys: ["ctrl+c"], truth: "line", shows: /SIGINT[\s\S]*\(gdb\) $/ },
		],
	),
];
