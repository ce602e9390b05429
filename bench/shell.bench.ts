// What a command in the stateful shell costs: over a bare round trip through the
// same terminal, next to a fresh `bash -c` and to tmux driven from outside.
//
// Rounds are interleaved, so that whatever else the machine does hits all alike;
// read the ratios, not the numbers. For throughput there are two shells in tmux: one that keeps
// its 2,000 lines of history, and one whose whole output goes to a file too (pipe-pane), which is
// what `run` does. The bare C reader does nothing with what it reads: nobody gets more out of a terminal.
import { execFile, execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Dialtone, type Terminal } from "../src/index.ts";
import { compiledBench } from "./daemon-home.ts";

const execute = promisify(execFile);

export async function run({ quick }: { quick: boolean }): Promise<void> {
	const home = await mkdtemp(join(tmpdir(), "dt-bench-"));
	// Nobody's start files: they would be measured, not we.
	process.env.HOME = home;
	try {
		await using dialtone = await Dialtone.open({ owner: "bench" });
		await using tmux = await Tmux.open(join(home, "tmux.sock"));
		await latency(dialtone, tmux, quick ? 50 : 300);
		await using logged = await Tmux.open(join(home, "logged.sock"), { log: join(home, "pane.log") });
		await throughput(dialtone, { tmux, logged, rounds: quick ? 3 : 7, lines: quick ? 500_000 : 2_000_000 });
	} finally {
		await rm(home, { recursive: true, force: true, maxRetries: 10 });
	}
}

const command = (dialtone: Dialtone, text: string) =>
	dialtone.client.call("run", { command: text, program: "bash", timeoutMs: 120_000 });

async function latency(dialtone: Dialtone, tmux: Tmux | null, rounds: number): Promise<void> {
	const bare = await BareShell.open(dialtone);
	await command(dialtone, "true");
	const ways: Record<string, () => Promise<unknown>> = {
		"a line typed into bash, its answer seen": () => bare.trip(),
		"run true": () => command(dialtone, "true"),
		"run true, stdout and stderr apart": () =>
			dialtone.client.call("run", { command: "true", shell: "apart", program: "bash", separate: true }),
		"bash -c true (keeps nothing)": () => execute("bash", ["-c", "true"]),
		...(tmux === null ? {} : { "tmux send-keys, wait-for, capture-pane": () => tmux.run("true") }),
	};
	const times = new Map<string, number[]>(Object.keys(ways).map((name) => [name, []]));
	for (let round = 0; round < rounds; round++) {
		for (const [name, go] of Object.entries(ways)) {
			const before = performance.now();
			await go();
			times.get(name)?.push(performance.now() - before);
		}
	}
	console.log(`one command, ${rounds} rounds        p50 ms   p95 ms`);
	for (const [name, all] of times) console.log(`${name.padEnd(42)} ${quantile(all, 0.5)} ${quantile(all, 0.95)}`);
	const over = Number(quantile(times.get("run true") ?? [], 0.5)) - Number(quantile([...times.values()][0] ?? [], 0.5));
	console.log(`run true over the bare round trip: ${over.toFixed(2)} ms (goal: at most 5)\n`);
}

interface Throughput {
	readonly tmux: Tmux | null;
	readonly logged: Tmux | null;
	readonly rounds: number;
	readonly lines: number;
}

async function throughput(dialtone: Dialtone, { tmux, logged, rounds, lines }: Throughput): Promise<void> {
	const text = `seq 1 ${lines}`;
	const bytes = Number(execFileSync("bash", ["-c", `${text} | wc -c`]));
	const reader = compiledBench("bare-reader");
	const apart = { command: text, shell: "apart", program: "bash", separate: true, timeoutMs: 120_000 };
	const ways: Record<string, () => Promise<unknown>> = {
		run: () => command(dialtone, text),
		"run, stdout and stderr apart": () => dialtone.client.call("run", apart),
		"a bare C reader on a terminal": () => execute(reader, ["bash", "-c", text]),
		"bash -c through a pipe": () => execute("bash", ["-c", text], { maxBuffer: 1 << 30 }),
		...(tmux === null ? {} : { "tmux, 2,000 lines kept": () => tmux.run(text) }),
		...(logged === null ? {} : { "tmux, all kept by pipe-pane": () => logged.run(text) }),
	};
	const speeds = new Map<string, number[]>(Object.keys(ways).map((name) => [name, []]));
	for (let round = 0; round < rounds; round++) {
		for (const [name, go] of Object.entries(ways)) {
			const before = performance.now();
			await go();
			speeds.get(name)?.push(bytes / 1000 / (performance.now() - before));
		}
	}
	const run = Number(quantile(speeds.get("run") ?? [], 0.5));
	console.log(`${(bytes / 1e6).toFixed(1)} MB of output, ${rounds} rounds   MB/s (median)   run against it`);
	for (const [name, all] of speeds) {
		const speed = quantile(all, 0.5);
		console.log(`${name.padEnd(42)} ${speed} ${(run / Number(speed)).toFixed(2).padStart(12)}`);
	}
}

function quantile(values: readonly number[], q: number): string {
	const sorted = [...values].sort((a, b) => a - b);
	return (sorted[Math.floor(q * (sorted.length - 1))] ?? Number.NaN).toFixed(2).padStart(8);
}

/** bash on a terminal with nothing of ours in it: a typed line and the line it prints. */
class BareShell {
	readonly #dialtone: Dialtone;
	readonly #terminal: Terminal;
	readonly #output: AsyncIterator<unknown>;
	#text = "";
	#count = 0;
	#lease = "";

	private constructor(dialtone: Dialtone, terminal: Terminal) {
		this.#dialtone = dialtone;
		this.#terminal = terminal;
		this.#output = terminal.output({ signal: new AbortController().signal })[Symbol.asyncIterator]();
	}

	static async open(dialtone: Dialtone): Promise<BareShell> {
		const shell = new BareShell(dialtone, await dialtone.start({ argv: ["bash", "--norc"], env: { PS1: "$ " } }));
		const { lease = "" } = await dialtone.client.act(shell.#terminal.id, { act: "take", who: "bench" });
		shell.#lease = lease;
		await shell.trip();
		return shell;
	}

	async trip(): Promise<void> {
		const answer = `<${++this.#count}>`;
		const base64 = btoa(`true; echo "<"${this.#count}">"\r`);
		await this.#dialtone.client.act(this.#terminal.id, { act: "keys", lease: this.#lease, base64 });
		while (!this.#text.includes(answer)) {
			const { value } = await this.#output.next();
			this.#text += new TextDecoder().decode((value as { bytes?: Uint8Array }).bytes);
		}
		this.#text = "";
	}
}

/** A shell in tmux, as scripts drive one: keys in, a channel to wait on, the pane captured. */
class Tmux implements AsyncDisposable {
	readonly #socket: string;

	private constructor(socket: string) {
		this.#socket = socket;
	}

	static async open(socket: string, { log }: { log?: string } = {}): Promise<Tmux | null> {
		const tmux = new Tmux(socket);
		try {
			await tmux.#do("new-session", "-d", "-x", "120", "-y", "40", "bash --norc");
			if (log !== undefined) await tmux.#do("pipe-pane", `exec cat > ${log}`);
			await tmux.run("true");
			return tmux;
		} catch {
			console.log("without tmux: it is not installed");
			return null;
		}
	}

	async run(text: string): Promise<string> {
		await this.#do("send-keys", `${text}; tmux -S ${this.#socket} wait-for -S done`, "Enter");
		await this.#do("wait-for", "done");
		return this.#do("capture-pane", "-p");
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.#do("kill-server");
	}

	async #do(...args: string[]): Promise<string> {
		return (await execute("tmux", ["-S", this.#socket, ...args])).stdout;
	}
}
