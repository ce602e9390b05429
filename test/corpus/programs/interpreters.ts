// Interpreters that edit their own lines or leave that to the terminal: at the prompt, at work, interrupted.

import { type Case, program, type Step } from "../case.ts";

/** A prompt, an answer, work that ends by itself or is interrupted, and the prompt after it. */
function repl(
	name: string,
	start: readonly string[],
	prompt: RegExp,
	[line, shows]: readonly [string, RegExp],
	work: readonly Step[] = [],
	more: Partial<Case> = {},
): Case {
	return program(name, start, [{ truth: "line", shows: prompt }, { line, truth: "line", shows }, ...work], more);
}

/** Two seconds of work, then the prompt again. */
const pause = (line: string, prompt: RegExp): Step[] => [
	{ line, truth: "busy", forMs: 900 },
	{ truth: "line", shows: prompt },
];
/** Work without an end, until it is interrupted. */
const endless = (line: string, prompt: RegExp): Step[] => [
	{ line, truth: "busy", forMs: 900 },
	{ keys: ["ctrl+c"], truth: "line", shows: prompt },
];

export const cases: Case[] = [
	repl(
		"clisp",
		["clisp", "-q", "-norc"],
		/\[1\]> $/,
		["(* 6 7)", /42\n\[2\]> $/],
		[...pause("(sleep 2)", /NIL\n\[3\]> $/), { line: "(read-line)", truth: "line" }],
	),
	repl(
		"sbcl",
		["sbcl", "--noinform", "--no-sysinit", "--no-userinit"],
		/\* $/,
		["(* 6 7)", /42\n\* $/],
		endless("(loop)", /0\] $/),
	),
	repl("erl", ["erl"], /1> $/, ["6*7.", /42\n2> $/], pause("timer:sleep(2000).", /ok\n3> $/), { needs: ["erl"] }),
	repl("iex", ["iex"], /iex\(1\)> $/, ["6*7", /42\niex\(2\)> $/], pause(":timer.sleep(2000)", /:ok\niex\(3\)> $/), {
		needs: ["erl"],
	}),
	repl(
		"maxima",
		["maxima", "-q"],
		/\(%i1\) $/,
		["6*7;", /42\n\(%i2\) $/],
		[
			{ line: 'read("how many?");', truth: "line", shows: /how many\?/ },
			{ line: "5;", truth: "line", shows: /\(%i3\) $/ },
			{ line: "for i:1 step 1 while true do 0;", truth: "busy", forMs: 900 },
		],
	),
	repl("gap", ["gap", "-b"], /gap> $/, ["6*7;", /42\ngap> $/], endless("while true do od;", /brk> $/)),
	repl("nickle", ["nickle"], /> $/, ["6*7", /42\n> $/], pause("sleep(2000)", /\n> $/)),
	repl("yorick", ["yorick", "-q"], /> $/, ["print, 6*7", /42\n> $/], endless("while (1);", /> $/)),
	repl("qalc", ["qalc"], /> $/, ["6*7", /42[\s\S]*> $/]),
	repl("genius", ["genius"], /genius> $/, ["6*7", /= 42\ngenius> $/], endless("while true do 1", /\^C[\s\S]*> $/)),
	repl("wcalc", ["wcalc"], /-> $/, ["6*7", /= 42[\s\S]*-> $/]),
	repl("picolisp", ["picolisp"], /: $/, ["(* 6 7)", /42\n: $/], pause("(wait 2000)", /\n: $/)),
	repl("newlisp", ["newlisp"], /> $/, ["(* 6 7)", /42\n> $/], pause("(sleep 2000)", /2000\n> $/)),
	repl("csi", ["csi", "-q", "-n"], /#;1> $/, ["(* 6 7)", /42\n#;2> $/], endless("(let l () (l))", /#;2> $/)),
	repl("scheme48", ["scheme48"], /> $/, ["(* 6 7)", /42\n> $/], [{ line: "(let l () (l))", truth: "busy" }]),
	repl(
		"mit-scheme",
		["mit-scheme", "--no-init-file"],
		/1 \]=> $/,
		["(* 6 7)", /42[\s\S]*1 \]=> $/],
		[{ line: "(let l () (l))", truth: "busy" }],
	),
	repl(
		"poly",
		["poly"],
		/> $/,
		["6*7;", /42: int\n> $/],
		pause("OS.Process.sleep (Time.fromSeconds 2);", /\(\): unit\n> $/),
	),
	repl(
		"hugs",
		["hugs", "-98"],
		/Hugs> $/,
		["6*7", /42\nHugs> $/],
		endless("length [1..]", /Interrupted[\s\S]*Hugs> $/),
	),
	repl(
		"bwbasic",
		["bwbasic"],
		/bwBASIC: $/,
		["PRINT 6*7", /42[\s\S]*bwBASIC: $/],
		[
			{ line: 'INPUT "name"; A$', truth: "line", shows: /name\? $/ },
			{ line: "ann", truth: "line", shows: /bwBASIC: $/ },
		],
	),
	repl("pforth", ["pforth"], /PForth/, ["6 7 * .", /42/], pause("2000 msec", /ok/)),
	repl("slsh", ["slsh", "-n", "-i"], /slsh> $/, ["6*7;", /42\nslsh> $/], pause("sleep(2);", /\nslsh> $/)),
	repl(
		"ipython3",
		["ipython3", "--no-banner", "--colors=NoColor"],
		/In \[1\]: $/,
		["6*7", /Out\[1\]: 42[\s\S]*In \[2\]: $/],
		[
			...pause("import time; time.sleep(2)", /In \[3\]: $/),
			{ line: "input('name? ')", truth: "line", shows: /name\? $/ },
			{ line: "ann", truth: "line", shows: /'ann'[\s\S]*In \[4\]: $/ },
		],
	),
	repl(
		"bpython",
		["bpython"],
		/>>> /,
		["6*7", /42\n>>> /],
		pause("import time; time.sleep(2); print('slept')", /slept[\s\S]*>>> /),
	),
	repl("ptpython", ["ptpython"], />>> /, ["6*7", /42[\s\S]*>>> /]),
	repl(
		"mawk",
		["mawk", "-W", "interactive", '{ print $1 * 7; fflush(); if ($1 == 8) system("sleep 30") }'],
		/^$/,
		["6", /42/],
		[{ line: "8", truth: "busy" }],
	),
	repl("lldb", ["lldb", "--no-lldbinit", "sleep", "--", "2"], /\(lldb\) $/, ["version", /version[\s\S]*\(lldb\) $/]),
	program(
		"gnuchess",
		["gnuchess"],
		[
			{ truth: "line", shows: /White \(1\) : $/ },
			{ line: "manual", truth: "line", shows: /White \(1\) : $/ },
			{ line: "e4", truth: "line", shows: /Black \(1\) : $/ },
		],
	),
	program(
		"gnugo",
		["gnugo", "--mode", "ascii", "--boardsize", "9", "--level", "1"],
		[
			{ truth: "line", shows: /black\(1\): $/ },
			{ line: "E5", truth: "line", shows: /black\(3\): $/ },
		],
	),
];
