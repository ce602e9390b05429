// Whose turn is it: how long after a program blocks on its terminal its caller knows, and how often the
// caller was told although it was still working; Dialtone by three ways in, and what an agent would use instead.
//
// The programs are real. A preloaded clock (peers/stamp.c) notes the moment at which each one
// is about to block, the same for all callers. Turns are interleaved, so that whatever else the machine does
// hits all alike; read the ratios, not the numbers.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import { attentionCost } from "./attention-cost.ts";
import { lookCost } from "./look-cost.ts";
import { type Caller, type Line, PATIENCE_MS, type Program } from "./peers/caller.ts";
import { desktopCommander } from "./peers/desktop-commander.ts";
import { inProcess, overMcp, temporaryHome, throughDaemon } from "./peers/dialtone.ts";
import { pexpectCaller } from "./peers/pexpect.ts";
import { tmuxCallers } from "./peers/tmux.ts";

const peer = (name: string) => join(import.meta.dirname, "peers", name);

const programs: readonly Program[] = [
	{ name: "read -p", argv: ["bash", peer("asks.sh")], answer: "Ada", pattern: "Name\\? ", slow: false },
	{ name: "python3", argv: ["/usr/bin/python3", "-q", "-i"], answer: "6*7", pattern: ">>> ", slow: false },
	{ name: "bash", argv: ["bash", "--norc", "-i"], answer: "echo hello", pattern: "[$#] ", slow: false },
	{ name: "sqlite3", argv: ["sqlite3", "-interactive"], answer: "select 6*7;", pattern: "sqlite> ", slow: false },
	{
		name: "300 ms silent, then asks",
		argv: ["/usr/bin/python3", peer("resolves.py")],
		answer: "y",
		pattern: "\\[y/N\\] ",
		slow: true,
	},
	{
		name: "bash, `$ ` in the output",
		argv: ["bash", "--norc", "-i"],
		answer: "echo 'total: 5 $ '; sleep 0.3",
		pattern: "[$#] ",
		slow: true,
	},
];

// pexpect may see the prompt a moment before the program blocks; nobody would call that wrong.
const EARLY_MS = 5;

interface Talk {
	readonly caller: Caller;
	readonly program: Program;
	readonly line: Line;
	readonly stamps: string;
	turns: number;
	/** Told after it blocked, by so many ms. */
	readonly delays: number[];
	/** Told although it still worked. */
	early: number;
	/** Not told at all. */
	never: number;
}

export async function run({ quick }: { quick: boolean }): Promise<void> {
	const directory = await mkdtemp(join(tmpdir(), "dialtone-attention-"));
	try {
		await using house = await temporaryHome();
		const callers: Caller[] = [];
		try {
			callers.push(await inProcess(), await throughDaemon(house.home), await overMcp(house.env));
			callers.push(...(await peers(directory)));
			await delays(callers, directory, quick);
		} finally {
			for (const caller of callers) await caller[Symbol.asyncDispose]();
		}
		await attentionCost(house, quick);
		await lookCost(directory);
	} finally {
		await rm(directory, { recursive: true, force: true });
	}
}

/** Those that are there; the others say why not. */
async function peers(directory: string): Promise<Caller[]> {
	const home = join(directory, "desktop-commander");
	await mkdir(home);
	const found: Caller[] = [];
	const attempts: Record<string, () => Caller[] | Promise<Caller[]>> = {
		tmux: () => {
			execFileSync("tmux", ["-V"]);
			return tmuxCallers(directory);
		},
		pexpect: () => [pexpectCaller()],
		"Desktop Commander": async () => [await desktopCommander(home)],
	};
	for (const [name, open] of Object.entries(attempts)) {
		try {
			found.push(...(await open()));
		} catch (error) {
			console.log(`without ${name}: ${(error as Error).message.trim().split("\n")[0]}`);
		}
	}
	return found;
}

async function delays(callers: readonly Caller[], directory: string, quick: boolean): Promise<void> {
	const preload = join(directory, "stamp.so");
	execFileSync("cc", ["-O2", "-shared", "-fPIC", "-o", preload, peer("stamp.c"), "-ldl"]);
	const talks: Talk[] = [];
	for (const caller of callers) {
		for (const program of programs) {
			const stamps = join(directory, `stamps.${talks.length}`);
			const argv = ["env", `LD_PRELOAD=${preload}`, `STAMPS=${stamps}`, ...program.argv];
			const line = await caller.open(program, argv);
			const talk = { caller, program, line, stamps, turns: 0, delays: [], early: 0, never: 0 };
			await blocked(talk);
			talks.push(talk);
		}
	}
	const until = performance.now() + (quick ? 20_000 : 105_000);
	for (let round = 0; performance.now() < until; round++) {
		// Each round begins with another one: nobody always comes after the same neighbour.
		const order = talks.map((_, i) => talks[(i * 5 + round * 7) % talks.length]!);
		for (const talk of order) {
			if (round > 0 && performance.now() > until) break;
			const times = talk.caller.polls || talk.program.slow ? 1 : quick ? 4 : 6;
			for (let i = 0; i < times; i++) await turn(talk);
		}
	}
	report(callers, talks);
}

async function turn(talk: Talk): Promise<void> {
	const told = await talk.line.turn(talk.program.answer);
	talk.turns++;
	const truth = await blocked(talk);
	const delayMs = told === null ? null : Number(told - truth) / 1e6;
	if (delayMs === null) talk.never++;
	else if (delayMs < -EARLY_MS) talk.early++;
	else talk.delays.push(delayMs);
}

/** When the program was ready for its next line, by its own clock; waits for it if it is not yet. */
async function blocked({ caller, program, stamps, turns }: Talk): Promise<bigint> {
	const deadline = performance.now() + PATIENCE_MS;
	while (performance.now() < deadline) {
		for (const stamp of existsSync(stamps) ? readFileSync(stamps, "utf8").split("\n") : []) {
			const [at, lines] = stamp.split(" ");
			if (lines !== undefined && Number(lines) >= turns) return BigInt(at!);
		}
		await after(2);
	}
	throw new Error(`${program.name} by ${caller.name} did not come back after line ${turns}`);
}

function report(callers: readonly Caller[], talks: readonly Talk[]): void {
	const rows = callers.map(({ name }) => {
		const own = talks.filter((it) => it.caller.name === name);
		const all = own.flatMap((it) => it.delays);
		return {
			name,
			own,
			turns: sum(own, "turns"),
			early: sum(own, "early"),
			never: sum(own, "never"),
			p50: at(all, 0.5),
			p99: at(all, 0.99),
		};
	});
	const [library, , mcp] = rows;
	console.log('\nfrom "the program blocks" to "the caller knows", all programs');
	print(
		["", "p50 ms", "p99 ms", "p50 / ours in process", "p50 / ours by MCP", "told too early", "never told", "turns"],
		rows.map((it) => [
			it.name,
			it.p50.toFixed(2),
			it.p99.toFixed(1),
			ratio(it.p50, library!.p50),
			ratio(it.p50, mcp!.p50),
			share(it.early, it.turns),
			share(it.never, it.turns),
			String(it.turns),
		]),
	);
	console.log(`goal: ${mcp!.name} p50 ≤ 15 ms: ${mcp!.p50 <= 15 ? "met" : "missed"}`);
	console.log("\np50 ms by program; told too early or never: how often of how many turns");
	print(
		["", ...programs.map(({ name }) => name)],
		rows.map(({ name, own }) => [name, ...own.map(cell)]),
	);
}

function cell({ delays: of, early, never, turns }: Talk): string {
	const parts = [
		of.length > 0 ? at(of, 0.5).toFixed(1) : "",
		early > 0 ? `${early}/${turns} early` : "",
		never > 0 ? `${never}/${turns} never` : "",
	];
	return parts.filter((part) => part !== "").join(", ");
}

/** A table that is Markdown too. */
function print(head: readonly string[], rows: readonly (readonly string[])[]): void {
	const widths = head.map((title, i) => Math.max(title.length, 3, ...rows.map((row) => row[i]!.length)));
	const line = (cells: readonly string[]) =>
		`| ${cells.map((it, i) => (i === 0 ? it.padEnd(widths[i]!) : it.padStart(widths[i]!))).join(" | ")} |`;
	console.log(line(head));
	console.log(`| ${widths.map((width, i) => `${"-".repeat(width - 1)}${i === 0 ? "-" : ":"}`).join(" | ")} |`);
	for (const row of rows) console.log(line(row));
}

const sum = (talks: readonly Talk[], of: "turns" | "early" | "never") => talks.reduce((total, it) => total + it[of], 0);
const share = (count: number, of: number) => (count === 0 ? "0" : `${count} (${((100 * count) / of).toFixed(0)} %)`);
const ratio = (a: number, b: number) => (a / b).toFixed(a / b < 10 ? 2 : 0);

function at(values: readonly number[], part: number): number {
	const sorted = [...values].sort((a, b) => a - b);
	return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}
