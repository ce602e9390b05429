// What repaints by itself: monitors that also take keys, and shows that take none.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Case, program } from "../case.ts";

export const cases: Case[] = [
	program(
		"A4 nload",
		["nload", "-u", "h", "lo"],
		[
			{ truth: "screen", shows: /Incoming/ },
			{ keys: ["right"], truth: "screen" },
			{ text: "q", truth: "ended" },
		],
	),
	program("A4 bmon", ["bmon", "-p", "lo"], [{ truth: "screen", shows: /Interfaces/ }]),
	program(
		"btop",
		["btop", "--utf-force"],
		[
			{ truth: "screen", shows: /cpu/i },
			{ keys: ["esc"], truth: "screen", shows: /██/ },
			{ keys: ["esc"], truth: "screen" },
			{ text: "q", truth: "ended" },
		],
	),
	program(
		"nmon",
		["nmon"],
		[
			{ truth: "screen", shows: /nmon/ },
			{ text: "q", truth: "ended" },
		],
		{ known: "it sleeps a second between two looks at the keyboard, as programs do that take no keys" },
	),
	program(
		"mtr",
		["mtr", "127.0.0.1"],
		[
			{ truth: "screen", shows: /Loss/ },
			{ text: "q", truth: "ended" },
		],
		{ user: "root" },
	),
	program("mtr --report", ["mtr", "--report", "-c", "20", "127.0.0.1"], [{ truth: "busy", forMs: 1500 }], {
		user: "root",
	}),
	program(
		"multitail",
		({ directory }) => {
			writeFileSync(join(directory, "log"), "one\ntwo\n");
			return ["multitail", "log"];
		},
		[
			{ truth: "screen", shows: /two/ },
			{ text: "q", truth: "ended" },
		],
		{ needs: ["multitail"] },
	),
	program(
		"busybox top",
		["busybox", "top"],
		[
			{ truth: "screen", shows: /PID/ },
			{ text: "q", truth: "ended" },
		],
		{ needs: ["busybox", "top"] },
	),
	program(
		"slabtop",
		["slabtop"],
		[
			{ truth: "screen", shows: /OBJS/ },
			{ text: "q", truth: "ended" },
		],
		{ user: "root", needs: ["slabtop"] },
	),
	program("vmstat 1", ["vmstat", "1"], [{ truth: "busy", forMs: 1800, shows: /procs/ }], { needs: ["vmstat"] }),
	program("sl", ["sl"], [{ truth: "busy", forMs: 1500 }]),
	program("worms", ["worms", "-d", "50"], [{ truth: "busy", forMs: 1500 }]),
	program("rain", ["rain", "-d", "50"], [{ truth: "busy", forMs: 1500 }]),
	program("busybox watch", ["busybox", "watch", "-n", "1", "date"], [{ truth: "busy", forMs: 1500 }], {
		needs: ["busybox", "watch"],
	}),
];
