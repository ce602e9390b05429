// Games that wait for a move: text games ask for a line, others for a key.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Case, program } from "../case.ts";

export const cases: Case[] = [
	program(
		"nethack",
		["nethack", "-u", "Ann", "-p", "Val", "-r", "hum"],
		// One that is killed leaves its lock, and ten of them let nobody play.
		[{ truth: "screen" }, { keys: ["enter"], truth: "screen" }, { keys: ["q"], truth: "ended" }],
	),
	program("moon-buggy", ["moon-buggy"], [{ truth: "screen", shows: /start|SPACE|game/i }]),
	program("nudoku", ["nudoku"], [{ truth: "screen" }, { keys: ["down"], truth: "screen" }]),
	program("greed", ["greed"], [{ truth: "screen" }, { text: "?", truth: "screen" }]),
	program(
		"hangman",
		({ directory }) => {
			writeFileSync(join(directory, "words"), "telephone\nexchange\noperator\n".repeat(200));
			return ["hangman", "-d", "words"];
		},
		[
			{ truth: "screen", shows: /Guess:/ },
			{ text: "e", truth: "screen", shows: /Guessed:.*e/ },
		],
		{ needs: ["hangman"] },
	),
	program(
		"arithmetic",
		["arithmetic", "-r", "5"],
		[
			{ truth: "line", shows: /=\s+$/ },
			{ line: "x", truth: "line", shows: /Please type a number/ },
		],
	),
	program(
		"monop",
		["monop"],
		[
			{ truth: "line", shows: /How many players\? $/ },
			{ line: "2", truth: "line", shows: /Player 1's name: $/ },
			{ line: "ann", truth: "line", shows: /Player 2's name: $/ },
		],
	),
	program(
		"wump",
		["wump"],
		[
			{ truth: "line", shows: /Instructions\? \(y-n\) $/ },
			{ line: "n", truth: "line", shows: /Move or shoot\? \(m-s\) $/ },
		],
	),
	program(
		"trek",
		["trek"],
		[
			{ truth: "line", shows: /Press return to continue/ },
			{ line: "", truth: "line", shows: /length game: $/i },
			{ line: "short", truth: "line", shows: /skill/i },
		],
	),
	program(
		"adventure",
		["bsdgames-adventure"],
		[
			{ truth: "line", shows: /instructions/i },
			{ line: "no", truth: "line", shows: /standing at the end of a road/i },
		],
	),
	program(
		"quiz",
		["quiz", "europe", "capital"],
		[
			{ truth: "line", shows: /\?/ },
			{ line: "nowhere", truth: "line", shows: /What|\?/ },
		],
	),
	program(
		"robots",
		["robots"],
		[
			{ truth: "screen", shows: /Directions/ },
			{ text: "q", truth: "screen", shows: /Really quit/ },
			{ text: "y", truth: "ended" },
		],
	),
	program("canfield", ["canfield"], [{ truth: "screen" }, { line: "n", truth: "screen" }]),
	program("primes", ["sh", "-c", "primes 1 > /dev/null"], [{ truth: "busy", forMs: 1000 }]),
];
