// What the sandbox costs: a start, and a stream of output, in it and outside of it.
//
// Rounds are interleaved, so that whatever else the machine does hits all alike; read the differences. Beside the sandbox
// bwrap is started by itself, with the same namespaces and one bind: what no sandbox of ours can do without. Processor time, of the
// started processes and of our own, differs less than the clock on a busy machine. How fast a terminal is read varies threefold from
// round to round: hence many short streams, and their mean with its standard error.
import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { makeSessionDirectory } from "../src/journal/session-directories.ts";
import type { HolderPty } from "../src/pty/holder-pty.ts";
import { type LaunchSpec, launch } from "../src/pty/launch.ts";
import { places, preparePlaces } from "../src/pty/places.ts";
import { confined } from "../src/pty/sandbox.ts";

const WAYS = ["outside", "bwrap", "inside"] as const;
const BARE = ["bwrap", "--unshare-all", "--as-pid-1", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"];
const BYTES = 8_000_000;
/** Begins when it is told to: what a start and an end cost is not the stream's. */
const STREAM = ["sh", "-c", `read start; head -c ${BYTES} /dev/zero; read end`];

type Way = (typeof WAYS)[number];
interface Cost {
	readonly ms: number;
	readonly cpuMs: number;
}

export async function run({ quick }: { quick: boolean }): Promise<void> {
	const home = await mkdtemp(join(tmpdir(), "dt-bench-"));
	const workspace = await mkdtemp(join(tmpdir(), "dt-bench-workspace-"));
	const at = places({ DIALTONE_HOME: home });
	preparePlaces(at);
	let count = 0;
	const launched = async (way: Way, argv: readonly string[]): Promise<HolderPty> => {
		const id = `bench${count++}`;
		const spec: LaunchSpec = {
			directory: await makeSessionDirectory(at.sessions, id),
			socketPath: at.socketFor(id),
			argv: way === "bwrap" ? [...BARE, ...argv] : argv,
			env: { PATH: "/usr/bin:/bin", HOME: "/nonexistent", TERM: "xterm-256color" },
			cwd: workspace,
			cols: 80,
			rows: 24,
			epoch: 1n,
		};
		const sandbox = { workspace, ro: [], rw: [], network: "none" } as const;
		return launch(way === "inside" ? await confined(spec, sandbox, {}) : spec);
	};
	const start = async (way: Way): Promise<Cost> => {
		const cpuBefore = process.cpuUsage();
		const before = performance.now();
		await using pty = await launched(way, ["true"]);
		const started = performance.now();
		const { rusage } = await pty.exited;
		const own = process.cpuUsage(cpuBefore);
		const cpuMs = (own.user + own.system) / 1000 + (rusage?.userMs ?? 0) + (rusage?.systemMs ?? 0);
		// bwrap is executed at once, and what it runs later: only its end tells that it ran.
		return { ms: (way === "bwrap" ? performance.now() : started) - before, cpuMs };
	};
	const stream = async (way: Way): Promise<number> => {
		await using pty = await launched(way, STREAM);
		const done = streamed(pty);
		await pty.write(Buffer.from("\n"));
		const ms = await done;
		await pty.write(Buffer.from("\n"));
		await pty.exited;
		return ms;
	};
	/** In turns, every other time the other way round. */
	const rounds = async <T>(measure: (way: Way) => Promise<T>, times: number, ways: readonly Way[]) => {
		const all: Record<Way, T[]> = { outside: [], bwrap: [], inside: [] };
		for (let round = 0; round < times; round++)
			for (const way of round % 2 === 0 ? ways : ways.toReversed()) all[way].push(await measure(way));
		return all;
	};
	try {
		await rounds(start, 3, WAYS);
		const starts = await rounds(start, quick ? 30 : 200, WAYS);
		const p50 = (way: Way, what: keyof Cost) => median(starts[way].map((cost) => cost[what]));
		for (const way of WAYS)
			console.log(
				`start, p50: ${p50(way, "ms").toFixed(1)} ms ${way}, ${p50(way, "cpuMs").toFixed(1)} ms of a processor`,
			);
		const [ms, cpuMs] = (["ms", "cpuMs"] as const).map((what) => p50("inside", what) - p50("outside", what));
		console.log(
			`it costs ${ms!.toFixed(1)} ms (goal: at most 15), ${cpuMs!.toFixed(1)} ms of a processor; load ${loadavg()[0]?.toFixed(1)}`,
		);
		const streams = await rounds(stream, quick ? 10 : 60, ["outside", "inside"]);
		const [outside, inside] = [mean(streams.outside), mean(streams.inside)];
		console.log(`${BYTES / 1e6} MB, mean: ${inWords(outside)} outside, ${inWords(inside)} in the sandbox`);
		console.log(
			`it costs ${((inside.value / outside.value - 1) * 100).toFixed(1)} % (goal: at most 2; error ${((Math.hypot(inside.error, outside.error) / outside.value) * 100).toFixed(1)})`,
		);
	} finally {
		for (const path of [home, workspace]) await rm(path, { recursive: true, force: true, maxRetries: 10 });
	}
}

/** Milliseconds from the first kilobyte of the stream to its last byte. */
function streamed(pty: HolderPty): Promise<number> {
	let began = 0;
	let size = 0;
	return new Promise((resolve) => {
		pty.onOutput((chunk) => {
			size += "bytes" in chunk ? chunk.bytes.length : 0;
			if (began === 0 && size > 1024) began = performance.now();
			if (size >= BYTES) resolve(performance.now() - began);
		});
	});
}

interface Mean {
	readonly value: number;
	readonly error: number;
}

function mean(values: readonly number[]): Mean {
	const value = values.reduce((sum, one) => sum + one, 0) / values.length;
	const squares = values.reduce((sum, one) => sum + (one - value) ** 2, 0);
	return { value, error: Math.sqrt(squares) / values.length };
}

const inWords = ({ value, error }: Mean) => `${value.toFixed(0)} ± ${error.toFixed(0)} ms`;

function median(values: readonly number[]): number {
	return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
