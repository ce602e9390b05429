// What the sandbox costs: a start, and a stream of output, in it and outside of it.
//
// Rounds are interleaved, so that whatever else the machine does hits all alike; read the differences. Beside the sandbox
// bwrap is started by itself, with the same namespaces and one bind: what no sandbox of ours can do without. Processor time, of the
// started processes and of our own, differs less than the clock on a busy machine.
import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { makeSessionDirectory } from "../src/journal/session-directories.ts";
import { type LaunchSpec, launch } from "../src/pty/launch.ts";
import { places, preparePlaces } from "../src/pty/places.ts";
import { confined } from "../src/pty/sandbox.ts";

const WAYS = ["outside", "bwrap", "inside"] as const;
const BARE = ["bwrap", "--unshare-all", "--as-pid-1", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"];
const BYTES = 64_000_000;

type Way = (typeof WAYS)[number];
interface Cost {
	readonly startMs: number;
	readonly streamMs: number;
	readonly cpuMs: number;
}

export async function run({ quick }: { quick: boolean }): Promise<void> {
	const home = await mkdtemp(join(tmpdir(), "dt-bench-"));
	const workspace = await mkdtemp(join(tmpdir(), "dt-bench-workspace-"));
	const at = places({ DIALTONE_HOME: home });
	preparePlaces(at);
	let count = 0;
	const once = async (way: Way, argv: readonly string[]): Promise<Cost> => {
		const id = `bench${count++}`;
		const env = { PATH: "/usr/bin:/bin", HOME: "/nonexistent", TERM: "xterm-256color" };
		const directory = await makeSessionDirectory(at.sessions, id);
		const spec: LaunchSpec = {
			directory,
			socketPath: at.socketFor(id),
			argv: way === "bwrap" ? [...BARE, ...argv] : argv,
			env,
			cwd: workspace,
			cols: 80,
			rows: 24,
			epoch: 1n,
		};
		const cpuBefore = process.cpuUsage();
		const before = performance.now();
		const sandbox = { workspace, ro: [], rw: [], network: "none" } as const;
		const pty = await launch(way === "inside" ? await confined(spec, sandbox, {}) : spec);
		const started = performance.now();
		pty.onOutput(() => {});
		const { rusage } = await pty.exited;
		const ended = performance.now();
		const own = process.cpuUsage(cpuBefore);
		await pty[Symbol.asyncDispose]();
		const cpuMs = (own.user + own.system) / 1000 + (rusage?.userMs ?? 0) + (rusage?.systemMs ?? 0);
		// bwrap is executed at once, and what it runs later: only its end tells that it ran.
		return { startMs: (way === "bwrap" ? ended : started) - before, streamMs: ended - started, cpuMs };
	};
	const rounds = async (argv: readonly string[], times: number, ways: readonly Way[]) => {
		const all: Record<Way, Cost[]> = { outside: [], bwrap: [], inside: [] };
		for (let round = 0; round < times; round++) for (const way of ways) all[way].push(await once(way, argv));
		return (way: Way, what: keyof Cost) => median(all[way].map((cost) => cost[what]));
	};
	try {
		await rounds(["true"], 3, WAYS);
		const start = await rounds(["true"], quick ? 30 : 200, WAYS);
		for (const way of WAYS)
			console.log(
				`start, p50: ${start(way, "startMs").toFixed(1)} ms ${way}, ${start(way, "cpuMs").toFixed(1)} ms of a processor`,
			);
		console.log(
			`it costs ${(start("inside", "startMs") - start("outside", "startMs")).toFixed(1)} ms (goal: at most 15), ${(start("inside", "cpuMs") - start("outside", "cpuMs")).toFixed(1)} ms of a processor; load ${loadavg()[0]?.toFixed(1)}`,
		);
		const stream = await rounds(["head", "-c", String(BYTES), "/dev/zero"], quick ? 5 : 15, ["outside", "inside"]);
		const [outside, inside] = [stream("outside", "streamMs"), stream("inside", "streamMs")];
		console.log(`${BYTES / 1e6} MB, p50: ${outside.toFixed(0)} ms outside, ${inside.toFixed(0)} ms in the sandbox`);
		console.log(`it costs ${((inside / outside - 1) * 100).toFixed(1)} % (goal: at most 2)`);
	} finally {
		for (const path of [home, workspace]) await rm(path, { recursive: true, force: true, maxRetries: 10 });
	}
}

function median(values: readonly number[]): number {
	return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
