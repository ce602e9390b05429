// Editors: of text, of bytes, of tables. Each is opened, typed into, and asks before it is left.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Case, type Place, program, type Step } from "../case.ts";

const inFile =
	(...argv: string[]) =>
	({ directory }: Place) => {
		writeFileSync(join(directory, "f.txt"), Array.from({ length: 100 }, (_, i) => `line ${i + 1}\n`).join(""));
		return [...argv, "f.txt"];
	};

/** Opened, typed into, and then whatever leads out of it. */
const editor = (argv: readonly string[], leave: readonly Step[] = [], more: Partial<Case> = {}): Case =>
	program(
		argv[0] as string,
		inFile(...argv),
		[{ truth: "screen", shows: /line 1/ }, { text: "hello", truth: "screen", shows: /hello/ }, ...leave],
		{ needs: [argv[0] as string], ...more },
	);

export const cases: Case[] = [
	editor(["ne"], [{ keys: ["ctrl+q"], truth: "screen" }]),
	editor(
		["micro"],
		[
			{ keys: ["ctrl+q"], truth: "screen", shows: /Save changes/ },
			{ text: "n", truth: "ended" },
		],
	),
	editor(["jed", "-n"], [{ keys: ["ctrl+x", "ctrl+c"], truth: "screen", shows: /save|Save|modified/ }]),
	editor(
		["zile", "-q"],
		[
			{ keys: ["ctrl+x", "ctrl+c"], truth: "screen", shows: /Save|modified|exit/ },
			{ text: "n", truth: "screen", shows: /exit|modified/i },
		],
	),
	editor(["mg", "-n"], [{ keys: ["ctrl+x", "ctrl+c"], truth: "screen", shows: /Save/ }]),
	editor(["dte"], [{ keys: ["ctrl+q"], truth: "screen" }]),
	editor(["jupp"], [{ keys: ["ctrl+c"], truth: "screen" }]),
	editor(["le"]),
	program(
		"nvi",
		inFile("nvi"),
		[
			{ truth: "screen", shows: /line 1/ },
			{ text: "ohello", truth: "screen", shows: /hello/ },
			{ keys: ["esc"], truth: "screen" },
			{ line: ":!sleep 2", truth: "busy", forMs: 900 },
			{ truth: "screen", shows: /continue/ },
			{ text: "\r", truth: "screen" },
			{ line: ":q!", truth: "ended" },
		],
		{ needs: ["nvi"] },
	),
	program(
		"ex",
		inFile("nvi", "-e"),
		[
			{ truth: "line", shows: /:$/ },
			{ line: "p", truth: "line", shows: /line 100/ },
			{ line: "!sleep 2", truth: "busy", forMs: 900 },
			{ truth: "line", shows: /!\n[\s\S]*:$/ },
		],
		{ needs: ["nvi"] },
	),
	program(
		"vile",
		inFile("vile"),
		[
			{ truth: "screen", shows: /line 1/ },
			{ text: "ohello", truth: "screen", shows: /hello/ },
			{ keys: ["esc"], truth: "screen" },
			{ line: ":q!", truth: "ended" },
		],
		{ needs: ["vile"] },
	),
	program(
		"vis",
		inFile("vis"),
		[
			{ truth: "screen", shows: /line 1/ },
			{ text: "ohello", truth: "screen", shows: /hello/ },
			{ keys: ["esc"], truth: "screen" },
			{ line: ":q!", truth: "ended" },
		],
		{ needs: ["vis"] },
	),
	program(
		"kak",
		inFile("kak", "-n"),
		[
			{ truth: "screen", shows: /line 1/ },
			{ text: "ihello", truth: "screen", shows: /hello/ },
			{ keys: ["esc"], truth: "screen" },
			{ line: ":q!", truth: "ended" },
		],
		{ needs: ["kak"] },
	),
	program(
		"levee",
		inFile("levee"),
		[
			{ truth: "screen", shows: /line 1/ },
			{ text: "j", truth: "screen" },
			{ line: ":q!", truth: "ended" },
		],
		{ needs: ["levee"] },
	),
	program(
		"busybox vi",
		inFile("busybox", "vi"),
		[
			{ truth: "screen", shows: /line 1/ },
			{ text: "ohello", truth: "screen", shows: /hello/ },
			{ keys: ["esc"], truth: "screen" },
			{ line: ":q!", truth: "ended" },
		],
		{ needs: ["busybox"] },
	),
	program(
		"mcedit",
		inFile("mcedit"),
		[
			{ truth: "screen", shows: /line 1/ },
			{ text: "hello", truth: "screen", shows: /hello/ },
			{ keys: ["f10"], truth: "screen", shows: /Save before close|modified|Cancel/ },
		],
		{ needs: ["mcedit"] },
	),
	program(
		"bvi",
		inFile("bvi"),
		[
			{ truth: "screen", shows: /line 1/ },
			{ text: "j", truth: "screen" },
			{ line: ":q", truth: "ended" },
		],
		{ needs: ["bvi"] },
	),
	program(
		"hexedit",
		inFile("hexedit"),
		[
			{ truth: "screen", shows: /line 1/ },
			{ keys: ["down"], truth: "screen" },
			{ keys: ["ctrl+x"], truth: "ended" },
		],
		{ needs: ["hexedit"] },
	),
	program(
		"hexcurse",
		inFile("hexcurse"),
		[
			{ truth: "screen", shows: /line 1/ },
			{ keys: ["down"], truth: "screen" },
		],
		{ needs: ["hexcurse"] },
	),
	program("dhex", inFile("dhex"), [{ truth: "screen", shows: /key/ }], {
		needs: ["dhex"],
		known: "it looks at the keyboard in a loop without a pause: nothing tells that from work",
	}),
	program("wordgrinder", ["wordgrinder"], [{ truth: "screen" }, { text: "hello", truth: "screen", shows: /hello/ }]),
	program("sc", ["sc"], [{ truth: "screen" }, { line: "=6*7", truth: "screen", shows: /42/ }]),
];
