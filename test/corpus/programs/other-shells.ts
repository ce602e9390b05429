// Shells without marks: their prompt is known from the kernel alone.

import { type Case, program, type Step } from "../case.ts";

const works: Step[] = [
	{ line: "sleep 30", truth: "busy" },
	{ keys: ["ctrl+c"], truth: "command" },
	{ line: "cat", truth: "line" },
	{ keys: ["ctrl+d"], truth: "command" },
];
const shell = (name: string, argv: readonly string[], prompt: RegExp, steps = works): Case =>
	program(name, argv, [
		{ truth: "command", shows: prompt },
		{ line: "echo hi", truth: "command", shows: /hi\n/ },
		...steps,
	]);

export const cases: Case[] = [
	shell("ksh93", ["ksh93"], /[$#] $/),
	shell("mksh", ["mksh"], /[$#] $/),
	shell("tcsh", ["tcsh", "-f"], /> $|# $/),
	shell("yash", ["yash", "--noprofile", "--norcfile"], /[$#] $/),
	shell("rc", ["rc"], /; $/),
	shell("elvish", ["elvish", "-norc"], /[>#] /),
	shell("busybox ash", ["busybox", "ash"], /[$#] $/),
	program(
		"tcsh asks",
		["tcsh", "-f", "-c", 'echo -n "name? "; set n = $<; sleep 30'],
		[
			{ truth: "line", shows: /name\? $/ },
			{ line: "ann", truth: "busy" },
		],
	),
];
