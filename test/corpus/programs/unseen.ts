// Programs that the kernel hides from a normal user: executable, but not readable, as set-uid programs are.
//
// Only root can make such files, so corpus.test.ts does, and names their directory.

import { type Case, program, type Step } from "../case.ts";

const directory = process.env.DIALTONE_CORPUS_UNSEEN;
const unseen = (name: string, argv: readonly string[], steps: readonly Step[], known?: string): Case[] =>
	directory === undefined
		? []
		: [
				program(`unseen ${name}`, [`${directory}/${argv[0]}`, ...argv.slice(1)], steps, {
					user: "normal",
					needs: [],
					...(known === undefined ? {} : { known }),
				}),
			];

export const cases: Case[] = [
	...unseen(
		"dash",
		["dash"],
		[
			{ truth: "line", shows: /\$ $/ },
			{ line: "echo hi", truth: "line", shows: /hi\n\$ $/ },
			{ line: "while :; do :; done", truth: "busy" },
			{ keys: ["ctrl+c"], truth: "line", shows: /\$ $/ },
			{ line: "sleep 30", truth: "busy" },
			{ keys: ["ctrl+c"], truth: "line", shows: /\$ $/ },
			{ line: "printf 'Continue? [y/N] '; read x", truth: "line", shows: /N\] $/ },
			{ line: "y", truth: "line", shows: /\$ $/ },
		],
	),
	...unseen(
		"bash",
		["bash", "--norc", "--noprofile"],
		[
			{ truth: "command", shows: /\$ $/ },
			{ line: "read -s -p 'password: ' p", truth: "secret", shows: /password: $/ },
			{ line: "sesame", truth: "command", shows: /\$ $/ },
		],
	),
	...unseen("sleep", ["sleep", "30"], [{ truth: "busy" }]),
	...unseen(
		"less",
		["less", "/etc/services"],
		[{ truth: "screen" }, { text: " ", truth: "screen" }, { text: "q", truth: "ended" }],
	),
	...unseen(
		"python input()",
		["python3", "-I", "-S", "-c", "import time; n = input('name? '); print('hello'); time.sleep(30)"],
		[
			{ truth: "line", shows: /name\? $/ },
			{ line: "ann", truth: "busy", shows: /hello/ },
		],
	),
	...unseen(
		"python works behind a prompt",
		["python3", "-I", "-S", "-c", "print('name? ', end='', flush=True)\nwhile True: pass"],
		[{ truth: "busy", forMs: 1200, shows: /name\? $/ }],
	),
	...unseen(
		"cat",
		["cat"],
		[{ truth: "line" }],
		"it says nothing, the kernel says nothing: nothing tells it from a program that works",
	),
	...unseen(
		"sleep behind a prompt",
		["python3", "-I", "-S", "-c", "import time; print('name? ', end='', flush=True); time.sleep(30)"],
		[{ truth: "busy", forMs: 1200 }],
		"it prints a question and sleeps: without the kernel that is a question",
	),
];
