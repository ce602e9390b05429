// What it takes to find something in 100 MB of kept output (T2): the first time, when it is rendered, and
// then by text and by pattern, in this process and through a daemon, beside `grep -c` over the same lines in a file, one
// after the other.

import { execFile } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { promisify } from "node:util";
import { Dialtone } from "../src/index.ts";
import { DaemonHome } from "./daemon-home.ts";

const exec = promisify(execFile);
const MB = 1e6;

/** Lines as a build prints them. */
async function writeLog(path: string, bytes: number): Promise<void> {
	const file = createWriteStream(path);
	const modules = ["parser", "scheduler", "network", "storage", "renderer"];
	let written = 0;
	for (let number = 1; written < bytes; ) {
		let piece = "";
		for (; piece.length < 1 << 16; number++) {
			const module = modules[number % modules.length];
			piece += `[${number}] compiling src/${module}/unit_${(number * 7919) % 10_007}.c -O2 -g (${number % 97} ms)\n`;
			if (number % 1000 === 0) piece += `  warning: unused variable 'x${number}' in ${module} [-Wunused-variable]\n`;
			if (number % 50_000 === 0) piece += `  error: ${module}: undefined reference to 'symbol_${number}'\n`;
		}
		written += piece.length;
		if (!file.write(piece)) await once(file, "drain");
	}
	file.end();
	await finished(file);
}

/** A session that has printed a file and ended, and of which nothing is rendered. */
async function printed(path: string, home: string): Promise<string> {
	const dialtone = await Dialtone.open({ home });
	await dialtone.client.call("start", { name: "s", argv: ["cat", path], timeoutMs: 0 });
	const { facts } = await dialtone.client.call("wait", { session: "s", timeoutMs: 120_000 });
	await dialtone[Symbol.asyncDispose]();
	const directory = join(home, "sessions", facts.session);
	for (const name of readdirSync(directory)) if (name.startsWith("text.")) rmSync(join(directory, name));
	return facts.session;
}

interface Search {
	readonly title: string;
	readonly ours: { readonly search: string } | { readonly pattern: string };
	readonly grep: readonly string[];
}

const SEARCHES: readonly Search[] = [
	{ title: "a text that is rare", ours: { search: "undefined reference" }, grep: ["-F", "undefined reference"] },
	{ title: "a text in every fifth line", ours: { search: "src/network" }, grep: ["-F", "src/network"] },
	{ title: "a text that is nowhere", ours: { search: "segmentation fault" }, grep: ["-F", "segmentation fault"] },
	{
		title: "a pattern with a text",
		ours: { pattern: "error: .*symbol_[0-9]+" },
		grep: ["-E", "error: .*symbol_[0-9]+"],
	},
	{ title: "a pattern of alternatives", ours: { pattern: "error:|warning:" }, grep: ["-E", "error:|warning:"] },
	{
		title: "a pattern with a text in every line",
		ours: { pattern: "\\(9[0-9] ms\\)$" },
		grep: ["-E", "\\(9[0-9] ms\\)$"],
	},
	{ title: "(?i) with a text that is rare", ours: { pattern: "(?i)ERROR" }, grep: ["-i", "ERROR"] },
	{
		title: "(?i) with a text and more",
		ours: { pattern: "(?i)SYMBOL_[0-9]+" },
		grep: ["-iE", "SYMBOL_[0-9]+"],
	},
	{ title: "a pattern of classes", ours: { pattern: "[0-9]{4}[.]c" }, grep: ["-E", "[0-9]{4}[.]c"] },
];

const median = (times: readonly number[]) => [...times].sort((a, b) => a - b)[times.length >> 1] ?? 0;

async function timed<T>(act: () => Promise<T>): Promise<{ readonly ms: number; readonly result: T }> {
	const startedAt = performance.now();
	const result = await act();
	return { ms: performance.now() - startedAt, result };
}

/** Without a match grep exits with 1, and has printed 0. */
const countOf = (path: string, options: readonly string[]): Promise<number> =>
	exec("grep", ["-c", ...options, path]).then(
		({ stdout }) => Number(stdout),
		({ stdout }: { stdout: string }) => Number(stdout),
	);

type Found = { readonly count: number } | undefined;

/** What a search takes beside grep, the two one after the other. */
async function measure(path: string, rounds: number, search: (what: object) => Promise<Found>): Promise<void> {
	const rows: Record<string, Record<string, string | number>> = {};
	for (const { title, ours, grep } of SEARCHES) {
		const times = { ours: [] as number[], grep: [] as number[] };
		for (let i = 0; i < rounds; i++) {
			const counted = await timed(() => countOf(path, grep));
			const found = await timed(() => search(ours));
			if (found.result?.count !== counted.result) {
				throw new Error(`${title}: ${found.result?.count} lines are not the ${counted.result} of grep`);
			}
			times.ours.push(found.ms);
			times.grep.push(counted.ms);
		}
		const [mine, theirs] = [median(times.ours), median(times.grep)];
		rows[title] = {
			"ours, ms": Math.round(mine),
			"grep -c, ms": Math.round(theirs),
			"1.5 × grep + 50, ms": Math.round(1.5 * theirs + 50),
		};
	}
	console.table(rows);
}

export async function run({ quick }: { quick: boolean }): Promise<void> {
	const directory = mkdtempSync(join(tmpdir(), "dt-recall-bench-"));
	try {
		const path = join(directory, "log");
		await writeLog(path, (quick ? 10 : 100) * MB);
		const { size } = statSync(path);
		await using home = await DaemonHome.make();
		const session = await printed(path, home.path);
		const rounds = quick ? 3 : 5;
		{
			await using dialtone = await Dialtone.open({ home: home.path });
			const search = async (what: object) => (await dialtone.client.call("read", { session, ...what })).facts.matches;
			const first = await timed(() => search({ search: "undefined reference" }));
			console.log(`The first search over ${Math.round(size / MB)} MB renders them: ${Math.round(first.ms)} ms,`);
			console.log(
				`${Math.round(size / MB / (first.ms / 1000))} MB/s. After that, medians of searches that count all matches:`,
			);
			await measure(path, rounds, search);
		}
		const client = await home.connect();
		console.log("Through a daemon:");
		await measure(path, rounds, async (what) => (await client.call("read", { session, ...what })).facts.matches);
	} finally {
		rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
	}
}
