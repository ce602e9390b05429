// Pagers, browsers, file managers, choosers: they show something and take keys.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Case, type Place, program } from "../case.ts";

const withText =
	(...argv: string[]) =>
	({ directory }: Place) => {
		writeFileSync(join(directory, "f.txt"), Array.from({ length: 200 }, (_, i) => `line ${i + 1}\n`).join(""));
		writeFileSync(join(directory, "f.html"), "<title>t</title><h1>Hello</h1><p><a href=f.txt>link</a>");
		mkdirSync(join(directory, "folder"));
		return argv;
	};

export const cases: Case[] = [
	program(
		"most",
		withText("most", "f.txt"),
		[
			{ truth: "screen", shows: /line 1/ },
			{ text: " ", truth: "screen", shows: /line 40/ },
			{ text: "q", truth: "ended" },
		],
		{ needs: ["most"] },
	),
	program(
		"busybox less",
		withText("busybox", "less", "f.txt"),
		[
			{ truth: "screen", shows: /line 1/ },
			{ text: " ", truth: "screen", shows: /line 40/ },
			{ text: "q", truth: "ended" },
		],
		{ needs: ["busybox", "less"] },
	),
	program(
		"busybox more",
		withText("busybox", "more", "f.txt"),
		[
			{ truth: "key", shows: /More/ },
			{ text: " ", truth: "key", shows: /line 50/ },
			{ text: "q", truth: "ended" },
		],
		{ needs: ["busybox"] },
	),
	program(
		"elinks",
		withText("elinks", "f.html"),
		[
			{ truth: "screen", shows: /Hello|Welcome/ },
			{ keys: ["enter"], truth: "screen" },
		],
		{ needs: ["elinks"] },
	),
	program(
		"vifm",
		withText("vifm"),
		[
			{ truth: "screen", shows: /f\.txt/ },
			{ text: "j", truth: "screen" },
			{ line: ":q", truth: "ended" },
		],
		{ needs: ["vifm"] },
	),
	program(
		"lf",
		withText("lf", "-single"),
		[
			{ truth: "screen", shows: /f\.txt/ },
			{ text: "j", truth: "screen" },
			{ text: "q", truth: "ended" },
		],
		{ needs: ["lf"] },
	),
	program(
		"ytree",
		withText("ytree"),
		[
			{ truth: "screen", shows: /folder/ },
			{ keys: ["down"], truth: "screen" },
		],
		{ needs: ["ytree"] },
	),
	program(
		"clex",
		withText("clex"),
		[
			{ truth: "key", shows: /Press <enter>/ },
			{ keys: ["enter"], truth: "screen", shows: /f\.txt/ },
			{ keys: ["down"], truth: "screen" },
		],
		{ needs: ["clex"] },
	),
	program("calcurse", ["calcurse"], [{ truth: "screen" }, { keys: ["tab"], truth: "screen" }]),
	program(
		"newsboat",
		({ directory }) => {
			writeFileSync(join(directory, "urls"), "http://127.0.0.1:9/feed\n");
			return ["newsboat", "-u", "urls", "-c", "cache.db"];
		},
		[
			{ truth: "screen", shows: /127\.0\.0\.1/ },
			{ text: "?", truth: "screen", shows: /Help/ },
			{ text: "q", truth: "screen" },
			{ text: "q", truth: "ended" },
		],
		{ needs: ["newsboat"] },
	),
	program(
		"mutt",
		({ directory }) => {
			writeFileSync(
				join(directory, "box"),
				"From a@b Mon Jan  1 00:00:00 2024\nFrom: a@b\nSubject: first letter\n\nhello\n\n",
			);
			mkdirSync(join(directory, "Mail"));
			return ["mutt", "-n", "-F", "/dev/null", "-f", "box"];
		},
		[
			{ truth: "screen", shows: /first letter/ },
			{ keys: ["enter"], truth: "screen", shows: /hello/ },
			{ text: "q", truth: "screen" },
			{ text: "x", truth: "ended" },
		],
		{ needs: ["mutt"] },
	),
	program("alpine", ["alpine", "-i"], [{ truth: "screen" }]),
	program(
		"irssi",
		["irssi"],
		[
			{ truth: "screen", shows: /Irssi/ },
			{ line: "/echo hello there", truth: "screen", shows: /hello there/ },
			{ line: "/quit", truth: "ended" },
		],
	),
	program(
		"weechat",
		["weechat", "-a"],
		[
			{ truth: "screen", shows: /WeeChat/ },
			{ line: "/print hello there", truth: "screen", shows: /hello there/ },
			{ line: "/quit", truth: "ended" },
		],
	),
	program(
		"pick",
		["sh", "-c", "printf 'apples\\npears\\n' | pick"],
		[
			{ truth: "screen", shows: /apples/ },
			{ text: "pea", truth: "screen" },
			{ keys: ["enter"], truth: "ended" },
		],
		{ needs: ["pick"] },
	),
	program(
		"peco",
		["sh", "-c", "printf 'apples\\npears\\n' | peco"],
		[
			{ truth: "screen", shows: /apples/ },
			{ text: "pea", truth: "screen", shows: /QUERY> ?pea/ },
			{ keys: ["enter"], truth: "ended" },
		],
		{ needs: ["peco"] },
	),
	program(
		"smenu",
		["sh", "-c", "printf 'apples pears\\n' | smenu"],
		[
			{ truth: "key", shows: /apples/ },
			{ keys: ["right"], truth: "key" },
			{ keys: ["enter"], truth: "ended" },
		],
		{ needs: ["smenu"] },
	),
	program(
		"iselect",
		["iselect", "-a", "apples", "pears"],
		[
			{ truth: "screen", shows: /apples/ },
			{ keys: ["down"], truth: "screen" },
			{ text: "q", truth: "ended" },
		],
	),
	program(
		"aspell",
		({ directory }) => {
			writeFileSync(join(directory, "f.txt"), "This is a speling eror.\n");
			return ["aspell", "--lang=en", "check", "f.txt"];
		},
		[
			{ truth: "screen", shows: /spelling/ },
			{ text: "1", truth: "screen", shows: /error/ },
			{ text: "i", truth: "ended" },
		],
		{ needs: ["aspell"] },
	),
	program(
		"kconfig-mconf",
		({ directory }) => {
			writeFileSync(
				join(directory, "Kconfig"),
				'mainmenu "Things"\nconfig APPLES\n\tbool "Apples"\n\tdefault y\nconfig PEARS\n\tbool "Pears"\n',
			);
			return ["kconfig-mconf", "Kconfig"];
		},
		[
			{ truth: "screen", shows: /Apples/ },
			{ keys: ["down"], truth: "screen" },
			{ text: "y", truth: "screen", shows: /\[\*\] Pears/ },
			{ keys: ["esc", "esc"], truth: "screen", shows: /save/ },
		],
		{ needs: ["kconfig-mconf"] },
	),
	program(
		"kconfig-conf",
		({ directory }) => {
			writeFileSync(
				join(directory, "Kconfig"),
				'config APPLES\n\tbool "Apples"\n\tdefault y\nconfig PEARS\n\tbool "Pears"\n',
			);
			return ["kconfig-conf", "Kconfig"];
		},
		[
			{ truth: "line", shows: /Apples .*\[Y\/n\].* $/ },
			{ line: "n", truth: "line", shows: /Pears .*\[N\/y\].* $/ },
			{ line: "y", truth: "ended" },
		],
		{ needs: ["kconfig-conf"] },
	),
];
