// Ways to read a terminal that need a compiler to show.

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { type Case, type Place, program } from "../case.ts";

const compiled =
	(source: string, ...flags: string[]) =>
	({ directory }: Place) => {
		const output = join(directory, "program");
		execFileSync("cc", [...flags, "-o", output, join(import.meta.dirname, "..", "fixtures", source)], {
			stdio: "pipe",
		});
		return [output];
	};
const bare = ["-m32", "-nostdlib", "-static", "-fno-pie", "-no-pie", "-fno-stack-protector"];

export const cases: Case[] = [
	program("io_uring", compiled("ring.c"), [
		{ truth: "line", shows: /ring\? $/ },
		{ line: "x", truth: "busy" },
	]),
	...(process.arch === "x64"
		? [
				program("a 32-bit program", compiled("narrow.c", ...bare), [
					{ truth: "line", shows: /read\? $/ },
					{ line: "x", truth: "line", shows: /poll\? $/ },
					{ line: "x", truth: "busy" },
				]),
			]
		: []),
];
