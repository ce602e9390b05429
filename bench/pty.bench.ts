// What a terminal that nothing kills costs: bytes per second, keystrokes, starts
// and memory, next to a bare C loop and to node-pty in this process.
//
// Rounds are interleaved, so that whatever else the machine does hits all alike;
// read the ratios, not the numbers.
import { execFile, execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { makeSessionDirectory } from "../src/journal/session-directories.ts";
import type { HolderPty } from "../src/pty/holder-pty.ts";
import { launch } from "../src/pty/launch.ts";
import { places, preparePlaces } from "../src/pty/places.ts";
import { nodePty } from "./peers.ts";

const root = join(import.meta.dirname, "..");
const env = { PATH: process.env.PATH ?? "", TERM: "xterm-256color" };

export async function run({ quick }: { quick: boolean }): Promise<void> {
	const home = await mkdtemp(join(tmpdir(), "dt-bench-"));
	try {
		const start = await starter(home);
		await throughput(start, quick);
		await keystrokes(start, quick);
		await starts(start, quick);
		await memory(start, quick);
	} finally {
		await rm(home, { recursive: true, force: true });
	}
}

type Start = (argv: readonly string[]) => Promise<HolderPty & { readonly socketPath: string }>;

async function starter(home: string): Promise<Start> {
	const where = places({ DIALTONE_HOME: home });
	preparePlaces(where);
	return async (argv) => {
		const id = randomBytes(8).toString("hex");
		const directory = await makeSessionDirectory(where.sessions, id);
		const socketPath = where.socketFor(id);
		const pty = await launch({ directory, socketPath, argv, env, cwd: "/", cols: 80, rows: 24, epoch: 1n });
		return Object.assign(pty, { socketPath });
	};
}

async function throughput(start: Start, quick: boolean): Promise<void> {
	const count = quick ? 30_000_000 : 100_000_000;
	const argv = [compiled("test/fixtures/burst.c"), String(count)];
	const reader = compiled("bench/bare-reader.c");
	const spawn = nodePty();
	const speeds = { bare: [] as number[], dialtone: [] as number[], nodePty: [] as number[] };
	let nodePtyLost = 0;
	for (let round = 0; round < (quick ? 3 : 7); round++) {
		const { stdout } = await promisify(execFile)(reader, argv);
		speeds.bare.push(count / 1000 / Number(stdout.split(" ")[1]));
		const before = performance.now();
		const pty = await start(argv);
		let heard = 0;
		pty.onOutput((chunk) => {
			if ("bytes" in chunk) heard += chunk.bytes.length;
		});
		await pty.exited;
		speeds.dialtone.push(count / 1000 / (performance.now() - before));
		if (heard !== count) throw new Error(`heard ${heard} of ${count} bytes`);
		if (spawn === null) continue;
		const began = performance.now();
		const peer = spawn(argv[0]!, argv.slice(1), { env, encoding: null });
		let got = 0;
		peer.onData((bytes) => {
			got += bytes.length;
		});
		await new Promise((resolve) => peer.onExit(resolve));
		speeds.nodePty.push(got / 1000 / (performance.now() - began));
		if (got < count) nodePtyLost++;
	}
	const bare = median(speeds.bare);
	say("program → log → client", [
		["bare C read loop, no log", `${bare.toFixed(0)} MB/s`, ""],
		[
			"dialtone, logged",
			`${median(speeds.dialtone).toFixed(0)} MB/s`,
			`${ratio(median(speeds.dialtone), bare)} of bare (goal ≥ 0.6)`,
		],
		[
			"node-pty in process, no log",
			spawn ? `${median(speeds.nodePty).toFixed(0)} MB/s` : "absent",
			`${ratio(median(speeds.nodePty), bare)} of bare; lost the end in ${nodePtyLost} of ${speeds.nodePty.length} runs`,
		],
	]);
}

/** Presses a key and settles when its echo is there. */
type Press = () => Promise<void>;

async function keystrokes(start: Start, quick: boolean): Promise<void> {
	const program = compiled("bench/raw-echo.c");
	const contenders = { dialtone: await dialtoneKeys(start, program), minimal: await minimalKeys(start, program) };
	const peer = await nodePtyKeys(program);
	const presses: Record<string, { press: Press; end: () => unknown }> = peer ? { ...contenders, peer } : contenders;
	const times = Object.fromEntries(Object.keys(presses).map((name) => [name, [] as number[]]));
	// The first blocks warm up the compiler and do not count: a daemon has typed more than that.
	for (let block = -30; block < (quick ? 60 : 200); block++)
		for (const [name, { press }] of Object.entries(presses))
			for (let i = 0; i < 50; i++) {
				const before = performance.now();
				await press();
				if (block >= 0) times[name]?.push((performance.now() - before) * 1000);
			}
	for (const { end } of Object.values(presses)) await end();
	const { dialtone = [], minimal = [], peer: others = [] } = times;
	const row = (name: string, of: number[], against: string, than: number[]) =>
		[
			name,
			`p10 ${at(of, 0.1).toFixed(0)}, p50 ${at(of, 0.5).toFixed(0)}, p99 ${at(of, 0.99).toFixed(0)} µs`,
			against && `p10 ${ratio(at(of, 0.1), at(than, 0.1))}, p50 ${ratio(at(of, 0.5), at(than, 0.5))} of ${against}`,
		] as const;
	say("a keystroke and its echo", [
		row("dialtone", dialtone, "the minimal client (goal ≤ 1.15)", minimal),
		row("minimal client of the holder", minimal, "node-pty", others),
		row("node-pty in process", others, "", others),
	]);
}

async function dialtoneKeys(start: Start, program: string): Promise<{ press: Press; end: () => unknown }> {
	const key = Buffer.from("k");
	const pty = await start([program]);
	let echoed = () => {};
	const echo = () =>
		new Promise<void>((resolve) => {
			echoed = resolve;
		});
	pty.onOutput(() => echoed());
	await echo();
	const press = () => {
		void pty.write(key);
		return echo();
	};
	return { press, end: () => pty.end(0) };
}

/** The floor: the same holder, spoken to with three kinds of frames and none of our code. */
async function minimalKeys(start: Start, program: string): Promise<{ press: Press; end: () => unknown }> {
	const OUTPUT = 0x82;
	const pty = await start([program]);
	const socket = connect({ path: pty.socketPath });
	let echoed = () => {};
	const echo = () =>
		new Promise<void>((resolve) => {
			echoed = resolve;
		});
	let rest = Buffer.alloc(0);
	socket.on("data", (chunk) => {
		rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
		while (rest.length >= 8 && rest.length >= 8 + rest.readUInt32LE(0)) {
			const type = rest[4];
			rest = rest.subarray(8 + rest.readUInt32LE(0));
			if (type === OUTPUT) echoed();
		}
	});
	socket.write(Buffer.from("180000000100000044544e31010001000100000000000000ffff000000000000", "hex"));
	socket.write(Buffer.from("10000000020000000000000000000000ffffffffffffff7f", "hex"));
	await echo();
	const key = Buffer.concat([Buffer.from("2100000004000000", "hex"), Buffer.alloc(33)]);
	key.fill(0xff, 16, 24);
	key[40] = "k".charCodeAt(0);
	const press = () => {
		socket.write(key);
		return echo();
	};
	return { press, end: () => socket.write(Buffer.from("0800000007000000" + "0100000000000000", "hex")) };
}

async function nodePtyKeys(program: string): Promise<{ press: Press; end: () => unknown } | null> {
	const peer = nodePty()?.(program, [], { env, encoding: null });
	if (peer === undefined) return null;
	let echoed = () => {};
	const echo = () =>
		new Promise<void>((resolve) => {
			echoed = resolve;
		});
	peer.onData(() => echoed());
	await echo();
	const press = () => {
		peer.write("k");
		return echo();
	};
	return { press, end: () => peer.kill("SIGKILL") };
}

async function starts(start: Start, quick: boolean): Promise<void> {
	const times = { dialtone: [] as number[], nodePty: [] as number[] };
	// One that stays: node-pty may lose the only byte of one that does not.
	const program = compiled("bench/raw-echo.c");
	const spawn = nodePty();
	for (let i = 0; i < (quick ? 15 : 60); i++) {
		const before = performance.now();
		const pty = await start([program]);
		await new Promise((resolve) => pty.onOutput(resolve));
		times.dialtone.push(performance.now() - before);
		await pty.end(0);
		if (spawn === null) continue;
		const began = performance.now();
		const peer = spawn(program, [], { env, encoding: null });
		await new Promise((resolve) => peer.onData(resolve));
		times.nodePty.push(performance.now() - began);
		const ended = new Promise((resolve) => peer.onExit(resolve));
		peer.kill("SIGKILL");
		await ended;
	}
	const peer = median(times.nodePty);
	say("from start to the first byte", [
		["dialtone", `${median(times.dialtone).toFixed(1)} ms`, `${ratio(median(times.dialtone), peer)} of node-pty`],
		["node-pty in process", `${peer.toFixed(1)} ms`, ""],
	]);
}

async function memory(start: Start, quick: boolean): Promise<void> {
	const count = quick ? 100 : 1000;
	const before = process.memoryUsage().rss;
	const ptys: HolderPty[] = [];
	while (ptys.length < count)
		ptys.push(...(await Promise.all(Array.from({ length: 10 }, () => start(["sleep", "100000"])))));
	for (const pty of ptys) pty.onOutput(() => {});
	await Promise.all(ptys.map((pty) => pty.facts()));
	const holders = ptys.reduce((sum, pty) => sum + pssKb(pty.holderPid), 0) / count;
	const ours = (process.memoryUsage().rss - before) / 1024 / count;
	await Promise.all(ptys.map((pty) => pty.end(0)));
	say(`memory of an idle session, at ${count}`, [
		["holder (its share of pages)", `${holders.toFixed(0)} KB`, `${ratio(holders, 150)} of the goal (≤ 150 KB)`],
		["in this process", `${ours.toFixed(0)} KB`, "pty room only; a screen comes on top"],
	]);
}

function pssKb(pid: number): number {
	const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
	return Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1] ?? 0);
}

function compiled(source: string): string {
	const binary = join(root, "build/bench", source.replaceAll("/", "-").replace(".c", ""));
	const stale = !existsSync(binary) || statSync(binary).mtimeMs < statSync(join(root, source)).mtimeMs;
	mkdirSync(join(root, "build/bench"), { recursive: true });
	if (stale) execFileSync("cc", ["-O2", "-o", binary, join(root, source)]);
	return binary;
}

function at(values: readonly number[], share: number): number {
	const sorted = [...values].sort((a, b) => a - b);
	return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
const median = (values: readonly number[]) => at(values, 0.5);
const ratio = (a: number, b: number) => (a / b).toFixed(2);

function say(title: string, rows: readonly (readonly [string, string, string])[]): void {
	console.log(`\n${title}`);
	for (const [name, value, note] of rows) console.log(`  ${name.padEnd(28)} ${value.padEnd(28)} ${note}`);
}
