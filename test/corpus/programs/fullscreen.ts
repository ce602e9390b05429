import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Case, program } from "../case.ts";

const manyLines = Array.from({ length: 200 }, (_, i) => `line ${i + 1}`).join("\n");
const inFile =
	(...argv: string[]) =>
	async ({ directory }: { directory: string }) => {
		await writeFile(join(directory, "file.txt"), manyLines);
		return argv;
	};

export const cases: Case[] = [
	program(
		"vim",
		inFile("vim", "-u", "NONE", "-N", "--cmd", "set showmode", "file.txt"),
		[
			{ truth: "screen", shows: /line 1/ },
			{ keys: ["i"], truth: "screen", shows: /INSERT/ },
			{ text: "hello", truth: "screen", shows: /hello/ },
			{ keys: ["esc"], truth: "screen" },
			{ line: ":!echo shelled", truth: "key", shows: /Press ENTER/ },
			{ keys: ["enter"], truth: "screen" },
			{ line: ":sleep 1500m", truth: "busy", forMs: 800 },
			{ truth: "screen" },
			{ line: ":q!", truth: "ended" },
		],
		{ needs: ["vim"] },
	),
	program(
		"nano",
		inFile("nano", "file.txt"),
		[
			{ truth: "screen", shows: /line 1/ },
			{ text: "hello", truth: "screen", shows: /hello/ },
			{ keys: ["ctrl+x"], truth: "screen", shows: /Save modified/ },
			{ text: "n", truth: "ended" },
		],
		{ needs: ["nano"] },
	),
	program(
		"less",
		inFile("less", "file.txt"),
		[
			{ truth: "screen", shows: /line 1/ },
			{ text: " ", truth: "screen", shows: /line 50/ },
			{ text: "G", truth: "screen", shows: /\(END\)/ },
			{ text: "q", truth: "ended" },
		],
		{ needs: ["less"] },
	),
	program(
		"less, no data yet",
		["sh", "-c", "sleep 1.5 | less"],
		[
			{ truth: "busy", forMs: 900 },
			{ truth: "screen", shows: /END/ },
		],
		{ needs: ["less"] },
	),
	program("more", inFile("more", "file.txt"), [
		{ truth: "key", shows: /More/ },
		{ text: " ", truth: "key", shows: /More/ },
		{ text: "q", truth: "ended" },
	]),
	program("man", ["man", "bash"], [{ truth: "screen" }, { text: "q", truth: "ended" }], {
		user: "root",
		env: { PAGER: "less" },
		needs: ["less"],
	}),
	program(
		"htop",
		["htop"],
		[
			{ truth: "screen", shows: /PID/ },
			{ keys: ["down"], truth: "screen" },
			{ text: "q", truth: "ended" },
		],
	),
	program(
		"htop, often",
		["htop", "-d", "2"],
		[
			{ truth: "screen", shows: /PID/ },
			{ keys: ["down"], truth: "screen" },
			{ keys: ["f6"], truth: "screen" },
		],
	),
	program(
		"top, often",
		["top", "-d", "0.2"],
		[
			{ truth: "screen", shows: /PID/ },
			{ text: "q", truth: "ended" },
		],
	),
	program(
		"top",
		["top"],
		[
			{ truth: "screen", shows: /PID/ },
			{ text: "q", truth: "ended" },
		],
	),
	program("watch", ["watch", "-n", "1", "date"], [{ truth: "busy", forMs: 1800, shows: /Every/ }]),
	program(
		"mc",
		["mc", "-u"],
		[
			{ truth: "screen", shows: /Help/ },
			{ keys: ["down"], truth: "screen" },
		],
		{ needs: ["mc"] },
	),
	program(
		"mc with its shell within",
		["mc", "-U"],
		[
			{ truth: "screen", shows: /Help/ },
			{ keys: ["down"], truth: "screen" },
		],
	),
	program(
		"dialog",
		["dialog", "--menu", "Pick", "12", "40", "4", "a", "apples", "b", "pears"],
		[
			{ truth: "screen", shows: /apples/ },
			{ keys: ["down"], truth: "screen" },
			{ keys: ["enter"], truth: "ended" },
		],
	),
	program(
		"dialog gauge",
		["sh", "-c", "(for i in 10 20 30 40 50 60 70 80 90; do echo $i; sleep 0.5; done) | dialog --gauge Working 8 40"],
		[{ truth: "busy", forMs: 1500, shows: /Working/ }],
		{ needs: ["dialog"] },
	),
	program(
		"whiptail",
		["whiptail", "--yesno", "Sure?", "10", "40"],
		[
			{ truth: "screen", shows: /Sure/ },
			{ keys: ["tab"], truth: "screen" },
			{ keys: ["enter"], truth: "ended" },
		],
	),
	program(
		"fzf",
		["sh", "-c", "printf 'apples\\npears\\n' | fzf"],
		[
			{ truth: "screen", shows: /apples/ },
			{ text: "pea", truth: "screen", shows: /1\/2/ },
			{ keys: ["enter"], truth: "ended" },
		],
		{ needs: ["fzf"] },
	),
	program(
		"w3m",
		async ({ directory }) => {
			await writeFile(join(directory, "a.html"), "<h1>Hello</h1><p>text");
			return ["w3m", "a.html"];
		},
		[
			{ truth: "screen", shows: /Hello/ },
			{ text: "q", truth: "screen", shows: /exit w3m/ },
		],
		{ needs: ["w3m"] },
	),
	program(
		"screen",
		["screen", "-q", "cat"],
		[{ truth: "line" }, { line: "hello", truth: "line", shows: /hello\nhello/ }],
	),
];
