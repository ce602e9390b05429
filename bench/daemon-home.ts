// A daemon of its own for a measurement, and what becomes of it.
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { reachDaemon } from "../src/daemon/reach.ts";
import type { SocketClient } from "../src/daemon/socket-client.ts";
import { places } from "../src/pty/places.ts";
import { VERSION } from "../src/version.ts";

const root = join(import.meta.dirname, "..");
/** DIALTONE_BENCH_MAIN names another build's main.js, to compare versions. */
const OTHER = process.env.DIALTONE_BENCH_MAIN;
const DAEMON = OTHER === undefined ? [join(root, "dist/daemon.cjs")] : [OTHER, "daemon", "run"];

export class DaemonHome implements AsyncDisposable {
	readonly path: string;
	readonly env: Record<string, string>;
	readonly #clients: SocketClient[] = [];

	private constructor(path: string, env: Record<string, string>) {
		this.path = path;
		this.env = { ...(process.env as Record<string, string>), DIALTONE_HOME: path, ...env };
	}

	static async make(env: Record<string, string> = {}): Promise<DaemonHome> {
		return new DaemonHome(await mkdtemp(join(tmpdir(), "dt-bench-")), { DIALTONE_MAX_SESSIONS: "10000", ...env });
	}

	/** A connection of its own, as each agent has. Starts the daemon where none runs. */
	async connect(owner = "bench"): Promise<SocketClient> {
		const client = await reachDaemon({
			run: places(this.env).run,
			version: VERSION,
			caller: { owner, cwd: "/", env: this.env },
			command: [process.execPath, ...DAEMON],
			env: this.env,
		});
		this.#clients.push(client);
		return client;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		const last = await this.connect();
		await last.stop({ sessions: true });
		for (const client of this.#clients) await client[Symbol.asyncDispose]();
		await rm(this.path, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
	}
}

/** A C program of bench/, compiled. */
export function compiledBench(name: string): string {
	const binary = join(root, "build/bench", name);
	mkdirSync(join(root, "build/bench"), { recursive: true });
	execFileSync("cc", ["-O2", "-o", binary, join(root, "bench", `${name}.c`)]);
	return binary;
}

export function quantile(times: readonly number[], q: number): number {
	const sorted = [...times].sort((a, b) => a - b);
	return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? Number.NaN;
}

/** How long something takes, in milliseconds. */
export async function timed(act: () => Promise<unknown>): Promise<number> {
	const before = performance.now();
	await act();
	return performance.now() - before;
}
