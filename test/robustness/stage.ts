// A daemon under attack: a home of its own, HTTP, a token of each kind, and a probe
// inside that tells what the process has in use.

import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { until } from "../condition.ts";
import { Home, MAIN } from "../daemon/home.ts";

/** What the daemon has in use, after a garbage collection. */
export interface Usage {
	readonly heap: number;
	readonly rss: number;
	readonly descriptors: number;
	readonly subscriptions: number;
	readonly timers: number;
	/** Of the event loop, since the start. */
	readonly longestStallMs: number;
}

const IDLE_WINDOW_MS = 250;
/** Of one core. A loop that spins takes all of it. */
const IDLE_SHARE = 0.3;

export class Stage extends Home {
	#daemon: ChildProcess | null = null;
	#said = "";
	#longestStallMs = 0;
	url = "";
	token = "";
	readOnly = "";
	socketPath = "";
	pid = 0;

	/** A stage whose daemon listens. */
	static async open(env: NodeJS.ProcessEnv = {}): Promise<Stage> {
		const stage = new Stage(env);
		try {
			await stage.#start();
		} catch (error) {
			await stage[Symbol.asyncDispose]();
			throw error;
		}
		return stage;
	}

	async #start(): Promise<void> {
		const probe = new URL("./probe.mjs", import.meta.url);
		probe.searchParams.set("file", this.#usageFile);
		probe.searchParams.set("listeners", pathToFileURL(join(dirname(MAIN), "protocol/listeners.js")).href);
		const daemon = spawn(process.execPath, ["--expose-gc", "--import", probe.href, MAIN, "daemon", "run"], {
			env: this.env,
			stdio: ["ignore", "pipe", "pipe"],
		});
		this.#daemon = daemon;
		for (const stream of [daemon.stdout, daemon.stderr])
			stream.setEncoding("utf8").on("data", (text: string) => {
				this.#said = (this.#said + text).slice(-4000);
			});
		await until("the daemon is ready", () => {
			if (this.death !== null) throw new Error(`it exited with ${this.death}`);
			return this.#said.includes("ready");
		});
		const served = await this.cli("serve", "--port", "0");
		this.url = /http:\/\/127\.0\.0\.1:\d+/.exec(served.stdout)![0];
		this.token = (await this.cli("token", "create", "types")).stdout.trim();
		this.readOnly = (await this.cli("token", "create", "--read-only", "looks")).stdout.trim();
		const client = await this.connect();
		const { pid, socket } = await client.status();
		await client[Symbol.asyncDispose]();
		this.pid = pid;
		this.socketPath = socket!;
	}

	get #usageFile(): string {
		return join(this.path, "usage.json");
	}

	/** What the daemon printed on its way out; null while it runs. */
	get death(): string | null {
		const { exitCode, signalCode } = this.#daemon ?? {};
		return exitCode === null && signalCode === null ? null : `${exitCode ?? signalCode}: ${this.#said}`;
	}

	async usage(): Promise<Usage> {
		rmSync(this.#usageFile, { force: true });
		process.kill(this.pid, "SIGUSR2");
		const text = await until("the daemon tells what it uses", () => {
			try {
				return readFileSync(this.#usageFile, "utf8");
			} catch {
				if (this.death !== null) throw new Error(`the daemon ended: ${this.death}`);
				return null; // not yet
			}
		});
		const facts = JSON.parse(text) as Omit<Usage, "descriptors">;
		this.#longestStallMs = Math.max(this.#longestStallMs, Math.round(facts.longestStallMs));
		return { ...facts, longestStallMs: this.#longestStallMs, descriptors: descriptorsOf(this.pid) };
	}

	/** Fails when the daemon keeps a core busy with nothing to do. */
	idle(): Promise<void> {
		return untilIdle(this.pid);
	}

	/** Exceptions in the daemon's own log. (That a client was disconnected is worth a line there, and no defect.) */
	exceptions(): readonly string[] {
		return errorsLogged(this.path).filter((line) => line.includes('"stack"'));
	}

	override async [Symbol.asyncDispose](): Promise<void> {
		if (this.death === null && this.#daemon !== null) {
			const client = await this.find().catch(() => null);
			await client?.stop({ sessions: true }).catch(() => {}); // checked below
			await until("the daemon has left", () => this.death !== null).catch(() => {
				process.kill(this.pid || this.#daemon!.pid!, "SIGKILL");
			});
		}
		await super[Symbol.asyncDispose]();
	}
}

export function descriptorsOf(pid: number): number {
	return readdirSync(`/proc/${pid}/fd`).length;
}

/** Processor time of a process so far, in milliseconds (the kernel counts in 10 ms). */
export function cpuMs(pid: number): number {
	const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
	const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
	return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Settles when the process is idle; fails by name when it keeps spinning. */
export async function untilIdle(pid: number, withinMs = 15_000): Promise<void> {
	await until(
		"the daemon is idle",
		async () => {
			const before = cpuMs(pid);
			await new Promise((resolve) => setTimeout(resolve, IDLE_WINDOW_MS));
			return cpuMs(pid) - before < IDLE_WINDOW_MS * IDLE_SHARE;
		},
		{ withinMs },
	);
}

const ERROR_LEVEL = 50;

/** Lines of level error in the logs of a home's daemons. */
export function errorsLogged(home: string): readonly string[] {
	try {
		return readFileSync(join(home, "daemon.log"), "utf8")
			.split("\n")
			.filter((line) => line !== "" && (levelOf(line) ?? ERROR_LEVEL) >= ERROR_LEVEL);
	} catch {
		return []; // no daemon has run here
	}
}

function levelOf(line: string): number | undefined {
	try {
		return (JSON.parse(line) as { level: number }).level;
	} catch {
		return undefined; // the last line of a daemon that was killed
	}
}

/** Fails when `work` takes longer than any honest machine needs. */
export async function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
	let timer: NodeJS.Timeout | undefined;
	const late = new Promise<never>((_, reject) => {
		timer = setTimeout(() => reject(new Error(`${what}: no answer within ${ms} ms`)), ms);
	});
	try {
		return await Promise.race([work, late]);
	} finally {
		clearTimeout(timer);
	}
}
