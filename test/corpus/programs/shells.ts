import { type Case, program } from "../case.ts";

const bash = ["bash", "--norc", "--noprofile"];

export const cases: Case[] = [
	program("bash", bash, [
		{ truth: "command", shows: /\$|#/ },
		{ line: "echo hi", truth: "command", shows: /hi/ },
		{ line: "sleep 30", truth: "busy" },
		{ keys: ["ctrl+c"], truth: "command" },
		{ line: "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.2; done", truth: "busy", forMs: 1000 },
		{ truth: "command", shows: /8\n/ },
	]),
	program("bash, unfinished input", bash, [
		{ truth: "command" },
		{ line: "for i in 1 2", truth: "line", shows: /> / },
		{ line: "do echo x$i; done", truth: "command", shows: /x2/ },
		{ line: "cat <<END", truth: "line", shows: /> / },
		{ line: "END", truth: "command" },
		{ text: "echo half", truth: "command" },
	]),
	program("bash, jobs", bash, [
		{ truth: "command" },
		{ line: "sleep 30 & echo started", truth: "command", shows: /started/ },
		{ line: "sleep 31", truth: "busy" },
		{ keys: ["ctrl+z"], truth: "command", shows: /Stopped/ },
		{ line: "fg", truth: "busy" },
		{ keys: ["ctrl+c"], truth: "command" },
		{ line: "wait", truth: "busy" },
		{ keys: ["ctrl+c"], truth: "command" },
		{ line: "kill %1", truth: "command" },
	]),
	program(
		"bash read",
		["bash", "-c", "read -p 'name: ' n; read -s -p 'pin: ' p; read -n1 -p 'key: ' k; sleep 30"],
		[
			{ truth: "line", shows: /name: / },
			{ line: "ann", truth: "secret", shows: /pin: / },
			{ line: "1234", truth: "key", shows: /key: / },
			{ text: "x", truth: "busy" },
		],
	),
	program(
		"bash read with a timeout",
		["bash", "-c", "read -t 60 -p 'name: ' n; sleep 30"],
		[
			{ truth: "line", shows: /name: / },
			{ line: "ann", truth: "busy" },
		],
	),
	program(
		"bash select",
		["bash", "-c", "select f in apples pears; do echo got $f; break; done; sleep 30"],
		[
			{ truth: "line", shows: /#\? / },
			{ line: "2", truth: "busy", shows: /got pears/ },
		],
	),
	program(
		"bash, a prompt long before its read",
		["bash", "-c", "printf 'name: '; sleep 1.5; read n; sleep 30"],
		[
			{ truth: "busy", forMs: 1000, shows: /name: / },
			{ truth: "line", shows: /name: / },
			{ line: "ann", truth: "busy" },
		],
	),
	program(
		"bash, typed ahead",
		["bash", "-c", "sleep 1.2; read -p 'a: ' a; echo got $a; sleep 30"],
		[
			{ truth: "busy", forMs: 300 },
			{ line: "early", truth: "busy", forMs: 500 },
			{ truth: "busy", forMs: 1000 },
		],
	),
	program(
		"bash, a script that reads from a pipe",
		["bash", "-c", "(sleep 2; echo x) | { read a; echo got $a; sleep 30; }"],
		[{ truth: "busy", forMs: 900 }],
	),
	program(
		"dash",
		["dash"],
		[
			{ truth: "line", shows: /\$|#/ },
			{ line: "echo hi", truth: "line", shows: /hi/ },
			{ line: "sleep 30", truth: "busy" },
			{ keys: ["ctrl+c"], truth: "line" },
		],
	),
	program(
		"zsh",
		["zsh", "-f"],
		[
			{ truth: "command", shows: /%|#/ },
			{ line: "echo hi", truth: "command", shows: /hi/ },
			{ line: "sleep 30", truth: "busy" },
			{ keys: ["ctrl+c"], truth: "command" },
			{ line: "read -k1 '?key: '", truth: "key", shows: /key: / },
			{ text: "x", truth: "command" },
		],
	),
	program(
		"fish",
		["fish", "--no-config"],
		[
			{ truth: "command", shows: />|#|\$/ },
			{ line: "echo hi", truth: "command", shows: /hi/ },
			{ line: "sleep 30", truth: "busy" },
			{ keys: ["ctrl+c"], truth: "command" },
			{ line: "read -P 'name: '", truth: "line", shows: /name: / },
			{ line: "ann", truth: "command" },
		],
	),
	program(
		"cat",
		["cat"],
		[
			{ truth: "line" },
			{ line: "hello", truth: "line", shows: /hello\nhello/ },
			{ text: "half a li", truth: "line" },
			{ keys: ["enter"], truth: "line", shows: /half a li\nhalf a li/ },
			{ keys: ["ctrl+d"], truth: "ended" },
		],
	),
	program(
		"ed",
		["ed", "-p", "* "],
		[
			{ truth: "line", shows: /\* / },
			{ line: "a", truth: "line" },
			{ line: "text", truth: "line" },
			{ line: ".", truth: "line", shows: /\* $/ },
		],
	),
	program(
		"rm -i",
		["sh", "-c", "touch a; rm -i a; sleep 30"],
		[
			{ truth: "line", shows: /remove .*'a'\?/ },
			{ line: "y", truth: "busy" },
		],
	),
	program(
		"rlwrap cat",
		["rlwrap", "-S", "> ", "cat"],
		[
			{ truth: "line", shows: /> / },
			{ line: "hello", truth: "line", shows: /hello/ },
		],
		{ known: "which of the two, rlwrap or the program in it, takes the input is not in the kernel: told as line" },
	),
];
